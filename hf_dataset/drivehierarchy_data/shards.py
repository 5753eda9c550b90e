"""One Parquet file of an edition: written whole or not at all, read without its pixels, its images on demand."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

from drivehierarchy_gym.road.cache import write_atomically

from .errors import DataError, ImageError, one_line
from .images import MEDIA_TYPES, EncodedImage, content_name, decode
from .items import SCHEMA, Item, row

ROWS_PER_GROUP = 8
"""Rows in one row group: an image is found by reading its group, so groups are small."""

RECIPE_KEY = b"drivehierarchy.recipe"
"""Footer entry that says what a file was made of; a resumed import keeps a whole file of the same recipe."""

_UNREADABLE = (OSError, ValueError, IndexError, KeyError, TypeError, pa.ArrowException)
"""What reading a damaged file raises: Arrow believes the lengths and the text that it finds."""

_PIXELS = "images.list.element.bytes"
_NAMES = "images.list.element.path"
_COMPRESSED = [name for name in SCHEMA.names if name != "images"]
_OPEN_FILES = 64
_OPEN_GROUPS = 16
"""Row groups whose images stay in memory, of all files together: about 8 MB each with pictures 1600 pixels wide."""


@dataclass(frozen=True, slots=True, order=True)
class ImageLocation:
    """Where one image lies: Parquet file, row, position in the row; and its content name.

    Reading many in ascending order is fast: neighbours lie in one row group.
    """

    shard: str
    row: int
    index: int
    name: str

    def read(self) -> bytes:
        """The bytes of the image file. Raises ImageError when they are not the recorded ones."""
        data = _image_bytes(self)
        extension = self.name.rpartition(".")[2]
        if content_name(data, extension) != self.name:
            raise ImageError(f"{self}: the bytes do not match their name {self.name}; rebuild or re-copy the file")
        return data

    @property
    def media_type(self) -> str:
        """MIME type of the image file."""
        return MEDIA_TYPES[self.name.rpartition(".")[2]]

    def decode(self) -> Image.Image:
        """The decoded image. Raises ImageError when it is damaged."""
        return decode(self.read(), str(self))

    def __str__(self) -> str:
        return f"{self.shard}, row {self.row}, image {self.index}"


def write_shard(path: Path, items: Sequence[Item], recipe: str) -> None:
    """Writes `items` as the Parquet file `path`, atomically: a killed writer leaves the old file or none.

    The same items and recipe give the same bytes. `recipe` identifies what the file was made of (seed, sources,
    builder version); `is_finished` compares it.
    """
    table = pa.Table.from_pylist([row(item) for item in items], schema=SCHEMA)
    table = table.replace_schema_metadata({**(SCHEMA.metadata or {}), RECIPE_KEY: recipe.encode()})

    def write(partial: Path) -> None:
        pq.write_table(
            table,
            partial,
            row_group_size=ROWS_PER_GROUP,
            compression={**dict.fromkeys(_leaves(table.schema), "ZSTD"), _PIXELS: "NONE"},
            use_dictionary=_COMPRESSED,
            write_statistics=["id"],
        )

    write_atomically(path, write)


def _leaves(schema: pa.Schema) -> list[str]:
    """Parquet paths of the columns, the way `compression` wants them named."""
    leaves = []
    for field in schema:
        if field.name == "images":
            leaves += [_PIXELS, _NAMES]
        elif pa.types.is_list(field.type) or pa.types.is_fixed_size_list(field.type):
            leaves.append(f"{field.name}.list.element")
        else:
            leaves.append(field.name)
    return leaves


def is_finished(path: Path, recipe: str) -> bool:
    """Whether `path` was made by this very recipe and is whole: every row is read, every image has the bytes of its
    name."""
    try:
        with pq.ParquetFile(path) as file:
            metadata = file.schema_arrow.metadata or {}
            if metadata.get(RECIPE_KEY) != recipe.encode():
                return False
            groups = (file.read_row_group(group).to_pylist() for group in range(file.num_row_groups))
            return all(_is_named(image) for rows in groups for entry in rows for image in entry["images"])
    except _UNREADABLE:
        return False


def _is_named(image: dict[str, Any]) -> bool:
    name: str = image["path"]
    return content_name(image["bytes"], name.rpartition(".")[2]) == name


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """What the manifest says about one file.

    `sha256` is of its bytes, `content` of its rows, with every image by its content name: equal rows have equal
    `content` whichever version of Parquet wrote them.
    """

    sha256: str
    content: str
    bytes: int
    items: int
    images: int


def checksum(path: Path) -> str:
    """SHA-256 of the bytes of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def shard_record(path: Path) -> ShardRecord:
    """Checksums, size and counts of a finished file."""
    rows = _rows_without_pixels(path)
    content = hashlib.sha256(json.dumps(rows, sort_keys=True).encode())
    images = sum(len(entry["images"]) for entry in rows)
    return ShardRecord(checksum(path), content.hexdigest(), path.stat().st_size, len(rows), images)


def read_columns(path: Path, columns: Sequence[str]) -> pa.Table:
    """Some columns of a file. Raises DataError naming the file when it is not a readable Parquet file of ours."""
    try:
        with pq.ParquetFile(path, memory_map=True) as file:
            return file.read(columns=list(columns))
    except _UNREADABLE as error:
        raise _unreadable(path, error) from error


def read_documents(path: Path) -> list[dict[str, Any]]:
    """The rows of a file without their pixels: `meta` decoded, `images` replaced by a tuple of `ImageLocation`."""
    documents = []
    for index, document in enumerate(_rows_without_pixels(path)):
        names = [image["path"] for image in document["images"]]
        document["images"] = tuple(ImageLocation(str(path), index, i, name) for i, name in enumerate(names))
        try:
            document["meta"] = json.loads(document["meta"])
        except json.JSONDecodeError as error:
            raise DataError(f"{path}, item {document['id']}: field 'meta' is not JSON ({error})") from error
        documents.append(document)
    return documents


def _rows_without_pixels(path: Path) -> list[dict[str, Any]]:
    """The rows as they are stored; of the images only their names."""
    columns = [name for name in SCHEMA.names if name != "images"]
    table = read_columns(path, [*columns, _NAMES])
    try:
        rows: list[dict[str, Any]] = table.to_pylist()
    except _UNREADABLE as error:
        raise _unreadable(path, error) from error
    return rows


def _unreadable(path: Path, error: Exception) -> DataError:
    return DataError(f"{path}: not a readable Parquet file ({one_line(error)}); rebuild or re-copy it")


def read_items(path: Path) -> Iterator[Item]:
    """The complete items of a file, one row group in memory at a time; every image checked to decode."""
    for document in read_documents(path):
        images = tuple(EncodedImage.checked(location.read(), str(location)) for location in document["images"])
        fields = {key: document[key] for key in ("id", "task", "rank", "source", "scene_id", "question", "answer")}
        yield Item(
            **fields,
            answer_kind=document["answer_kind"],
            images=images,
            views=tuple(document["views"]),
            options=tuple(document["options"]),
            meta=document["meta"],
        )


@dataclass(frozen=True, slots=True)
class _OpenShard:
    """An open file, and the row group and the place in it of every row."""

    file: pq.ParquetFile
    places: tuple[tuple[int, int], ...]


_reading = threading.Lock()
"""Held while something is looked up or read, so that what many threads ask for is read once."""


def _image_bytes(location: ImageLocation) -> bytes:
    with _reading:
        shard = _open(location.shard)
        try:
            group, offset = shard.places[location.row]
            data = _images(location.shard, group)[offset].values.field("bytes")[location.index].as_py()
        except _UNREADABLE as error:
            raise ImageError(f"{location}: cannot be read ({one_line(error)}); rebuild or re-copy the file") from error
    if data is None:
        raise ImageError(f"{location}: holds no bytes; rebuild or re-copy the file")
    return bytes(data)


@lru_cache(maxsize=_OPEN_FILES)
def _open(path: str) -> _OpenShard:
    try:
        file = pq.ParquetFile(path)  # not memory-mapped: every page read would stay resident
    except _UNREADABLE as error:
        raise ImageError(f"{path}: not a readable Parquet file ({one_line(error)}); rebuild or re-copy it") from error
    sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
    return _OpenShard(file, tuple((group, offset) for group, size in enumerate(sizes) for offset in range(size)))


@lru_cache(maxsize=_OPEN_GROUPS)
def _images(path: str, group: int) -> pa.Array:
    """The images of a row group, a list a row."""
    return _open(path).file.read_row_group(group, columns=[_PIXELS])["images"].combine_chunks()
