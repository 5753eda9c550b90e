"""Parquet files: same bytes for the same items, whole or absent, images on demand and checked against their names."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import datasets
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from drivehierarchy_data import shards
from drivehierarchy_data.editions import Edition
from drivehierarchy_data.errors import DataError, ImageError
from drivehierarchy_data.images import EncodedImage, ImageSequence, decode, pixel_digest, read_image
from drivehierarchy_data.items import Item
from drivehierarchy_data.release import QUESTION_FILES
from drivehierarchy_data.shards import ImageLocation, is_finished, read_documents, read_items, shard_record, write_shard
from tests import tiny_edition

COUNTING = next(file for file in QUESTION_FILES if file.task == "r2_1")


@pytest.fixture
def items() -> list[Item]:
    return [tiny_edition.item(COUNTING, index) for index in range(shards.ROWS_PER_GROUP + 3)]


@pytest.fixture
def shard(tmp_path: Path, items: list[Item]) -> Path:
    path = tmp_path / "r2_1" / "test-00000.parquet"
    write_shard(path, items, "recipe")
    return path


def test_what_is_written_is_read_back(shard: Path, items: list[Item]) -> None:
    assert list(read_items(shard)) == items


def test_equal_items_give_equal_bytes(shard: Path, items: list[Item]) -> None:
    before = shard.read_bytes()
    write_shard(shard, items, "recipe")
    assert shard.read_bytes() == before


def test_a_failed_write_leaves_the_old_file_and_no_other(shard: Path, items: list[Item], monkeypatch: object) -> None:
    before = shard.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(pq, "write_table", fail)  # type: ignore[attr-defined]
    with pytest.raises(OSError, match="no space left"):
        write_shard(shard, items[:1], "other")
    assert shard.read_bytes() == before
    assert list(shard.parent.iterdir()) == [shard]


def test_recipe_says_whether_a_file_can_be_kept(shard: Path) -> None:
    assert is_finished(shard, "recipe")
    assert not is_finished(shard, "another recipe")
    assert not is_finished(shard.with_name("absent.parquet"), "recipe")
    shard.write_bytes(shard.read_bytes()[:-100])
    assert not is_finished(shard, "recipe")


def test_a_file_with_another_picture_is_not_kept(shard: Path) -> None:
    data = bytearray(shard.read_bytes())
    data[len(data) // 3] ^= 0xFF  # in the pictures, which are most of it
    shard.write_bytes(data)
    assert not is_finished(shard, "recipe")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_bit_is_named_or_harmless(shard: Path, data: st.DataObject) -> None:
    """Whatever byte is damaged: an error of ours that names the file, or the pictures that were written."""
    whole = shard.read_bytes()
    # Half of the examples hit the few bytes of text, lengths and footer before and behind the pictures.
    edge = st.integers(0, 3000) | st.integers(len(whole) - 6000, len(whole) - 1)
    place, bits = data.draw(edge | st.integers(0, len(whole) - 1)), data.draw(st.integers(1, 255))
    damaged = bytearray(whole)
    damaged[place] ^= bits
    path = shard.with_name(f"{place}-{bits}.parquet")
    path.write_bytes(damaged)
    pictures = {location.name: location.read() for document in read_documents(shard) for location in document["images"]}
    said = ""
    try:
        read = [location.read() for document in read_documents(path) for location in document["images"]]
    except DataError as error:
        said, read = str(error), []
    assert all(picture in pictures.values() for picture in read)
    assert not said or (path.name in said and "\n" not in said)


def test_record_counts_items_and_images(shard: Path, items: list[Item]) -> None:
    record = shard_record(shard)
    assert (record.items, record.images, record.bytes) == (len(items), 6 * len(items), shard.stat().st_size)


def test_equal_rows_have_equal_content_whatever_the_file_says_besides(shard: Path, items: list[Item]) -> None:
    record = shard_record(shard)
    write_shard(shard, items, "another recipe")
    again = shard_record(shard)
    assert again.sha256 != record.sha256
    assert again.content == record.content
    for changed in (
        dataclasses.replace(items[0], question=items[0].question + " "),
        dataclasses.replace(items[0], meta={**items[0].meta, "seen": 1}),
        dataclasses.replace(items[0], images=items[0].images[::-1]),
    ):
        write_shard(shard, [changed, *items[1:]], "recipe")
        assert shard_record(shard).content != record.content


def test_datasets_reads_the_file_with_decoded_images(shard: Path, items: list[Item], tmp_path: Path) -> None:
    loaded = datasets.load_dataset("parquet", data_files=str(shard), cache_dir=str(tmp_path / "cache"))["train"]
    assert len(loaded) == len(items)
    assert loaded[2]["images"][5].size == (tiny_edition.WIDTH, tiny_edition.HEIGHT)
    assert loaded[2]["views"] == list(tiny_edition.CAMERAS)
    assert loaded[2]["image_size"] == [tiny_edition.WIDTH, tiny_edition.HEIGHT]


def test_documents_locate_images_without_holding_them(shard: Path, items: list[Item]) -> None:
    documents = read_documents(shard)
    last = documents[-1]["images"]
    assert [location.read() for location in last] == [image.data for image in items[-1].images]
    assert {location.media_type for location in last} == {"image/jpeg"}
    assert max(len(repr(document)) for document in documents) < 5000


def test_an_exchanged_image_is_noticed(shard: Path, items: list[Item]) -> None:
    location = read_documents(shard)[0]["images"][0]
    wrong = ImageLocation(location.shard, location.row, location.index, items[1].images[0].name)
    with pytest.raises(ImageError, match=r"test-00000.parquet, row 0, image 0: the bytes do not match their name"):
        wrong.decode()


def test_files_that_are_not_parquet_are_named(tmp_path: Path) -> None:
    path = tmp_path / "test-00000.parquet"
    path.write_bytes(b"not parquet")
    with pytest.raises(DataError, match=r"test-00000\.parquet: not a readable Parquet file"):
        read_documents(path)
    with pytest.raises(ImageError, match=r"test-00000\.parquet: not a readable Parquet file"):
        ImageLocation(str(path), 0, 0, "x.jpg").read()


def test_meta_that_is_not_json_is_named(shard: Path, items: list[Item]) -> None:
    table = pq.read_table(shard)
    broken = table.set_column(table.column_names.index("meta"), "meta", [["{"] * len(table)])
    pq.write_table(broken, shard)
    with pytest.raises(DataError, match="item r2_1-test-0000: field 'meta' is not JSON"):
        read_documents(shard)


def test_threads_read_the_images_of_their_own_rows(shard: Path, items: list[Item]) -> None:
    documents = read_documents(shard)
    wrong: list[str] = []

    def read(start: int) -> None:
        for index in range(start, start + 3 * len(items)):
            item, document = items[index % len(items)], documents[index % len(items)]
            if document["images"][index % 6].read() != item.images[index % 6].data:
                wrong.append(item.id)

    threads = [threading.Thread(target=read, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


class TestReads:
    """How often files are read: images of one row group lie together, and memory holds a few groups only."""

    @pytest.fixture
    def groups(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """The row groups that were read."""
        read, plainly = list[int](), pq.ParquetFile.read_row_group

        def counting(file: pq.ParquetFile, group: int, **kwargs: object) -> object:
            read.append(group)
            return plainly(file, group, **kwargs)

        monkeypatch.setattr(pq.ParquetFile, "read_row_group", counting)
        return read

    def test_threads_that_ask_for_the_same_group_read_it_once(self, shard: Path, groups: list[int]) -> None:
        locations = [location for document in read_documents(shard) for location in document["images"]]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ImageLocation.read, locations))
        assert groups == [0, 1]

    def test_only_the_latest_groups_stay_in_memory(self, tmp_path: Path, items: list[Item], groups: list[int]) -> None:
        locations = []
        for number in range(shards._OPEN_GROUPS + 1):
            path = tmp_path / f"{number}.parquet"
            write_shard(path, items[:1], "recipe")
            locations.append(read_documents(path)[0]["images"][0])
        for location in locations:
            location.read()
        assert len(groups) == len(locations)
        locations[-1].read()
        assert len(groups) == len(locations)
        locations[0].read()
        assert len(groups) == len(locations) + 1

    def test_ascending_locations_lie_together(self, shard: Path, tmp_path: Path, items: list[Item]) -> None:
        other = tmp_path / "r2_1" / "test-00001.parquet"
        write_shard(other, items, "recipe")
        stored = [
            location for path in (shard, other) for document in read_documents(path) for location in document["images"]
        ]
        assert sorted(random.Random(0).sample(stored, len(stored))) == stored


class TestImageSequence:
    """What harnesses do with the images of an item: iterate, slice, log, hash, copy."""

    @pytest.fixture
    def images(self, edition: Edition) -> ImageSequence:
        return ImageSequence(edition.documents("r2_1")[0]["images"])

    def test_iterates_indexes_and_slices_to_pictures(self, images: ImageSequence) -> None:
        pictures = list(images)
        assert len(images) == len(pictures) == 6
        assert all(isinstance(picture, Image.Image) for picture in pictures)
        assert [pixel_digest(p) for p in images[:2]] == [pixel_digest(p) for p in pictures[:2]]
        assert pixel_digest(images[-1]) == pixel_digest(pictures[-1])

    def test_logs_and_hashes_as_content_names(self, images: ImageSequence) -> None:
        names = " ".join(location.name for location in images.locations)
        assert json.dumps({"visual": images}) == json.dumps({"visual": names})
        assert str(images) == names

    def test_survives_copying_and_pickling(self, images: ImageSequence) -> None:
        for copied in (copy.deepcopy(images), pickle.loads(pickle.dumps(images))):
            assert copied.locations == images.locations
            assert len(list(copied)) == 6

    def test_is_false_only_without_images(self, images: ImageSequence) -> None:
        assert images
        assert not ImageSequence(())


class TestImages:
    """Image files from elsewhere."""

    def test_reads_jpeg_and_png(self, tmp_path: Path) -> None:
        for name, extension in (("a.jpg", "jpg"), ("b.png", "png")):
            Image.new("RGB", (8, 4)).save(tmp_path / name)
            image = read_image(tmp_path / name)
            assert (image.width, image.height, image.name.rpartition(".")[2]) == (8, 4, extension)

    def test_names_missing_cut_and_foreign_files(self, tmp_path: Path) -> None:
        with pytest.raises(ImageError, match=r"absent.jpg: cannot be read \(No such file"):
            read_image(tmp_path / "absent.jpg")
        whole = tiny_edition.noise(1).data
        (tmp_path / "cut.jpg").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(ImageError, match=r"cut\.jpg: not a readable image"):
            read_image(tmp_path / "cut.jpg")
        (tmp_path / "text.jpg").write_text("hello")
        with pytest.raises(ImageError, match=r"text\.jpg: not a readable image"):
            read_image(tmp_path / "text.jpg")
        Image.new("RGB", (8, 4)).save(tmp_path / "a.gif")
        with pytest.raises(ImageError, match=r"a\.gif: format GIF is not supported"):
            read_image(tmp_path / "a.gif")

    def test_pixel_digest_sees_pixels_not_files(self, tmp_path: Path) -> None:
        image = EncodedImage.checked(tiny_edition.noise(3).data, "noise")
        picture = decode(image.data, "noise")
        picture.save(tmp_path / "again.png")
        assert pixel_digest(Image.open(tmp_path / "again.png")) == pixel_digest(picture)
        assert pixel_digest(decode(tiny_edition.noise(4).data, "other")) != pixel_digest(picture)
