"""Exports: what they hold, that they share nothing with a test split, and that a damaged one is noticed."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from datasets import load_dataset
from PIL import Image

from drivehierarchy_data.editions import SAMPLE, Edition, find_edition, open_edition
from drivehierarchy_data.errors import EditionNotFoundError
from drivehierarchy_data.images import EncodedImage, content_name
from drivehierarchy_data.items import Item
from drivehierarchy_gym.errors import UnknownNameError
from lm_eval_drivehierarchy.sft.errors import SftError
from lm_eval_drivehierarchy.sft.export import VALIDATION_SHARE, Export, check_export, export
from lm_eval_drivehierarchy.sft.leakage import IMAGE, PICTURE, SCENE
from lm_eval_drivehierarchy.sft.recipe import SCRIPTS
from lm_eval_drivehierarchy.sft.samples import sample_of
from lm_eval_drivehierarchy.sft.split import held_out_scenes
from lm_eval_drivehierarchy.tasks import TASKS
from tests.lm_eval.sft.conftest import Assemble, noise_edition, silent

ALL = [task.id for task in TASKS]
SIX = ["r3_1", "r1_2_a", "r1_2_b", "r1_3", "r2_1", "r2_2_a"]


@pytest.fixture(scope="session")
def full_edition() -> Edition:
    """An edition with a train split, where this machine has one in the cache folder or DRIVEHIERARCHY_DATA."""
    if FOUND is None:
        pytest.skip("no edition with a train split; drivehierarchy data build --edition sim --size full makes one")
    return FOUND


def _edition_with_training() -> Edition | None:
    try:
        found = find_edition()
    except EditionNotFoundError:
        return None
    return found if found.tasks("train") else None


FOUND = _edition_with_training()
"""Looked for at import: the tests' own environment hides the user's."""


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def run(edition: Edition, out: Path, tasks: list[str] = SIX, framework: Any = "ms-swift", **options: Any) -> Export:
    return export(edition, tasks, framework, out, progress=silent, **options)


# --- what is in it ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("framework", SCRIPTS)
def test_every_task_is_exported_and_read_by_datasets(framework: Any, train_edition: Edition, tmp_path: Path) -> None:
    result = run(train_edition, tmp_path, ALL, framework)
    assert result.left_out == {}
    assert result.manifest["counts"] == {
        "train": dict.fromkeys(sorted(ALL), 4),
        "validation": dict.fromkeys(sorted(ALL), 2),
    }
    paths = {split: str(tmp_path / f"{split}.jsonl") for split in ("train", "validation")}
    data = load_dataset("json", data_files=paths, cache_dir=str(tmp_path / "cache"))
    documents = {d["id"]: d for task in ALL for d in train_edition.documents(task, "train")}
    records = lines(tmp_path / "items.jsonl")
    assert len(records) == 6 * len(ALL)
    scenes: dict[str, set[str]] = {"train": set(), "validation": set()}
    for split in data:
        own = [record for record in records if record["split"] == split]
        for row, record in zip(data[split], own, strict=True):
            sample = sample_of(documents[record["item"]])
            assert [(tmp_path / path).read_bytes() for path in row["images"]] == [i.read() for i in sample.images]
            assert _dialogue(row) == [
                ("system", sample.system),
                ("user", "".join(part.get("text", "<image>") for part in sample.parts)),
                ("assistant", sample.answer),
            ]
            scenes[split].add(record["scene_id"])
    assert scenes["train"].isdisjoint(scenes["validation"])
    assert check_export(tmp_path, [train_edition], silent) == []


def _dialogue(row: dict[str, Any]) -> list[tuple[str, str]]:
    """Role and text of each message, an image shown as `<image>`."""

    def text(content: Any) -> str:
        if isinstance(content, str):
            return content
        return "".join("<image>" if part["type"] == "image" else part["text"] for part in content)

    messages = row["messages"] if "messages" in row else row["prompt"] + row["completion"]
    return [(message["role"], text(message["content"])) for message in messages]


def test_exports_of_different_tasks_hold_out_the_same_scenes(train_edition: Edition, tmp_path: Path) -> None:
    for name, tasks in {"a": ["r1_3"], "b": ["r2_1", "r3_2"]}.items():
        run(train_edition, tmp_path / name, tasks)
    held = [
        {record["scene_id"] for record in lines(tmp_path / name / "items.jsonl") if record["split"] == "validation"}
        for name in "ab"
    ]
    assert held[0] == held[1]
    assert len(held[0]) == 1


def test_equal_numbers_are_drawn(train_edition: Edition, tmp_path: Path) -> None:
    result = run(train_edition, tmp_path, ["r1_3", "r2_1"], samples=6)
    assert result.manifest["counts"]["train"] == {"r1_3": 3, "r2_1": 3}


def test_the_same_export_twice_has_the_same_bytes(train_edition: Edition, tmp_path: Path) -> None:
    for name in ("a", "b"):
        run(train_edition, tmp_path / name, SIX, "llamafactory")
    assert files(tmp_path / "a") == files(tmp_path / "b")
    run(train_edition, tmp_path / "c", SIX, "llamafactory", seed=1)
    assert files(tmp_path / "c")["train.jsonl"] != files(tmp_path / "a")["train.jsonl"]


def test_a_broken_off_export_is_completed(train_edition: Edition, tmp_path: Path) -> None:
    run(train_edition, tmp_path / "whole")
    out = tmp_path / "broken"
    run(train_edition, out)
    (out / "manifest.json").unlink()
    (out / "train.jsonl").unlink()
    cut, missing, kept = sorted((out / "images").iterdir())[:3]
    cut.write_bytes(cut.read_bytes()[:100])
    missing.unlink()
    before = kept.stat().st_mtime_ns
    (out / "images" / "of-other-arguments.jpg").write_bytes(b"x")
    run(train_edition, out)
    assert files(out) == files(tmp_path / "whole")
    assert kept.stat().st_mtime_ns == before


def test_png_images_become_jpeg_as_in_evaluation(assemble: Assemble, sim_items: list[Item], tmp_path: Path) -> None:
    test, train = _halves(sim_items)
    tasks, seed = _trainable(train)
    edition = assemble(test, [_with_images(item, _as_png) for item in train])
    run(edition, tmp_path / "out", tasks, seed=seed)
    for path in (tmp_path / "out" / "images").iterdir():
        assert Image.open(path).format == "JPEG"
        assert content_name(path.read_bytes(), "jpg") == path.name


# --- refusals --------------------------------------------------------------------------------------------------------


def test_an_unknown_task_suggests_the_nearest(train_edition: Edition, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'r1_2_a'"):
        run(train_edition, tmp_path, ["r1_2_aa"])


def test_an_edition_without_training_items_says_which_has_some(tmp_path: Path) -> None:
    with pytest.raises(SftError, match=r"has no train items of r1_3; it has: none.*--size full"):
        run(open_edition(SAMPLE), tmp_path, ["r1_3"])


def test_another_export_is_not_overwritten(train_edition: Edition, tmp_path: Path) -> None:
    run(train_edition, tmp_path, ["r1_3"])
    before = files(tmp_path)
    with pytest.raises(SftError, match=r"holds another export \(different: seed, tasks\)"):
        run(train_edition, tmp_path, ["r2_1"], seed=3)
    assert files(tmp_path) == before


# --- leakage: on pictures of the sim edition -------------------------------------------------------------------------


def _halves(items: list[Item]) -> tuple[list[Item], list[Item]]:
    """Items of the sample in two halves that share no scene."""
    scenes = sorted({item.scene_id for item in items})
    first = set(scenes[::2])
    return [i for i in items if i.scene_id in first], [i for i in items if i.scene_id not in first]


def _trainable(items: list[Item]) -> tuple[list[str], int]:
    """Tasks with items outside the held-out scenes, and a seed that holds out a scene with items of some of them."""
    scenes = {(item.source, item.scene_id) for item in items}
    for seed in range(100):
        held_out = held_out_scenes(scenes, VALIDATION_SHARE, seed)
        kept = {item.task for item in items if (item.source, item.scene_id) not in held_out}
        if kept & {item.task for item in items if (item.source, item.scene_id) in held_out}:
            return sorted(kept), seed
    raise AssertionError("the sample has too few scenes for this test")


def _with_images(item: Item, change: Any) -> Item:
    return replace(item, images=tuple(change(image) for image in item.images))


def _as_png(image: EncodedImage) -> EncodedImage:
    return _encoded(image, image.width, image.height, "PNG")


def _smaller(image: EncodedImage) -> EncodedImage:
    return _encoded(image, image.width // 2, image.height // 2, "JPEG", quality=60)


def _encoded(image: EncodedImage, width: int, height: int, image_format: str, **options: int) -> EncodedImage:
    buffer = io.BytesIO()
    picture = Image.open(io.BytesIO(image.data)).convert("RGB").resize((width, height))
    picture.save(buffer, image_format, **options)
    return EncodedImage.of(buffer.getvalue(), width, height, image_format)


def _renamed(item: Item, scene: str) -> Item:
    return replace(item, id=f"copy-of-{item.id}", scene_id=scene)


@pytest.mark.parametrize("leak", [SCENE, IMAGE, PICTURE])
def test_what_is_in_a_test_split_is_left_out(
    leak: str, assemble: Assemble, sim_items: list[Item], tmp_path: Path
) -> None:
    test, train = _halves(sim_items)
    tasks, seed = _trainable(train)
    victim = next(item for item in test if item.task in tasks)
    own = next(item for item in train if item.task in tasks)
    leaked = {
        SCENE: replace(own, id="leak", scene_id=victim.scene_id),
        IMAGE: replace(_renamed(victim, own.scene_id), id="leak"),
        PICTURE: replace(_with_images(_renamed(victim, own.scene_id), _smaller), id="leak"),
    }[leak]
    edition = assemble(test, [*train, leaked])
    result = run(edition, tmp_path / "out", tasks, seed=seed)
    assert {reason: list(items) for reason, items in result.left_out.items()} == {leak: ["leak"]}
    assert result.manifest["left_out"] == {leak: dict(result.left_out[leak])}
    exported = {record["item"] for record in lines(tmp_path / "out" / "items.jsonl")}
    assert exported == {item.id for item in train if item.task in tasks}
    assert check_export(tmp_path / "out", [edition], silent) == []


def test_check_finds_what_another_edition_tests(assemble: Assemble, sim_items: list[Item], tmp_path: Path) -> None:
    test, train = _halves(sim_items)
    edition = assemble(test, train)
    tasks, seed = _trainable(train)
    exported = [item for item in train if item.task in tasks]
    run(edition, tmp_path / "out", tasks, seed=seed)
    problems = check_export(tmp_path / "out", [edition, open_edition(SAMPLE)], silent)
    assert Counter(problem.partition(":")[0] for problem in problems) == {
        SCENE: len({item.scene_id for item in exported}),
        IMAGE: len({image.name for item in exported for image in item.images}),
    }
    with pytest.raises(SftError, match=r"gives no train samples.*items left out"):
        run(edition, tmp_path / "none", tasks, against=[open_edition(SAMPLE)], seed=seed)


def test_an_export_of_a_whole_edition_shares_nothing(full_edition: Edition, tmp_path: Path) -> None:
    result = run(full_edition, tmp_path, list(full_edition.tasks("train")), validation=0.2)
    assert SCENE not in result.left_out
    assert IMAGE not in result.left_out
    assert check_export(tmp_path, [full_edition, open_edition(SAMPLE)], silent) == []


# --- damage ----------------------------------------------------------------------------------------------------------


def _swap_images(out: Path) -> None:
    rows = lines(out / "train.jsonl")
    rows[0]["images"] = rows[1]["images"]
    _rewrite(out, "train.jsonl", rows)


def _move_to_validation(out: Path) -> None:
    records = lines(out / "items.jsonl")
    validated = next(record for record in records if record["split"] == "validation")
    records[0]["scene_id"] = validated["scene_id"]
    _rewrite(out, "items.jsonl", records)


def _rewrite(out: Path, name: str, rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (out / name).write_text(text, encoding="utf-8")
    manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"][name] = hashlib.sha256(text.encode()).hexdigest()
    (out / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def _add(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"anything")


def _change_an_image(out: Path) -> None:
    path = min((out / "images").iterdir())
    path.write_bytes(path.read_bytes() + b"x")


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda out: (out / "run.sh").write_text("rm -r /"), "run.sh: differs from its checksum"),
        (lambda out: (out / "train.jsonl").unlink(), "train.jsonl: missing"),
        (_change_an_image, "not the image it was recorded as"),
        (_swap_images, "train.jsonl: shows other images than items.jsonl says"),
        (_move_to_validation, "is trained and validated on"),
        (lambda out: _add(out / "images" / "extra.jpg"), "images/extra.jpg: is not of this export"),
        (lambda out: _add(out / "images" / "more" / "notes.txt"), "images/more/notes.txt: is not of this export"),
        (lambda out: (out / "images" / "link.jpg").symlink_to("."), "images/link.jpg: is not of this export"),
        (lambda out: _add(out / "more.jsonl"), "more.jsonl: is not of this export"),
        (lambda out: _add(out / "photo.PNG"), "photo.PNG: is not of this export"),
    ],
)
def test_damage_is_found(damage: Any, problem: str, tmp_path: Path) -> None:
    edition = noise_edition(tmp_path / "edition")
    run(edition, tmp_path / "out", ["r1_3", "r2_1"])
    damage(tmp_path / "out")
    assert [problem in line for line in check_export(tmp_path / "out", [edition], silent)] == [True]


def test_what_training_writes_is_no_damage(tmp_path: Path) -> None:
    edition = noise_edition(tmp_path / "edition")
    out = tmp_path / "out"
    run(edition, out, ["r1_3"])
    _add(out / "output" / "logging.jsonl")
    _add(out / "train.log")
    assert check_export(out, [edition], silent) == []


def test_nothing_is_proved_without_the_recorded_edition(train_edition: Edition, tmp_path: Path) -> None:
    run(train_edition, tmp_path / "out", ["r1_3"])
    with pytest.raises(SftError, match=r"but no such edition was found\. So it cannot be checked"):
        check_export(tmp_path / "out", [], silent)
    with pytest.raises(SftError, match=f"but sim in .* has digest {open_edition(SAMPLE).digest[:16]}"):
        check_export(tmp_path / "out", [open_edition(SAMPLE)], silent)


@pytest.mark.parametrize(
    "change", [{"tests": []}, {"tests": [{"name": "sim"}]}, {"tests": None}, {"edition": "sim"}, {"edition": {}}]
)
def test_a_manifest_that_does_not_name_its_editions_proves_nothing(
    change: dict[str, Any], train_edition: Edition, tmp_path: Path
) -> None:
    run(train_edition, tmp_path / "out", ["r1_3"])
    path = tmp_path / "out" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    with pytest.raises(SftError, match="export again"):
        check_export(tmp_path / "out", [train_edition], silent)


def test_an_edition_that_differs_from_its_own_manifest_proves_nothing(tmp_path: Path) -> None:
    edition = noise_edition(tmp_path / "edition")
    run(edition, tmp_path / "out", ["r1_3"])
    shard = edition.shards("r1_3", "test")[0]
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(bytes(data))
    with pytest.raises(SftError, match=r"cannot be checked against: r1_3/test-00000\.parquet: differs"):
        check_export(tmp_path / "out", [edition], silent)


def test_an_unfinished_export_is_not_checked(tmp_path: Path) -> None:
    with pytest.raises(SftError, match=r"holds no finished export: manifest\.json is missing"):
        check_export(tmp_path, [], silent)
