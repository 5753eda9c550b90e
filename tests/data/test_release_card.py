"""The card of an imported edition: `load_dataset` finds its tasks, and it says what is there and what is not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest
import yaml

from drivehierarchy_data.card_parts import CARD_FILE
from drivehierarchy_data.editions import Edition, open_edition
from drivehierarchy_data.image_roots import ImageRoots
from drivehierarchy_data.release import QUESTION_FILES
from drivehierarchy_data.release_import import EXCLUDED_FILE, import_release
from tests.data import release_records


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    """An import without one question file and without one image."""
    folder = tmp_path_factory.mktemp("release")
    questions = release_records.write_questions(folder / "questions")
    roots = ImageRoots(release_records.write_images(folder / "sets", questions))
    (questions / "R2_3_Spatial_Relations.jsonl").unlink()
    next((roots.folders["lingoqa"] / "images/train").glob("*/3.jpg")).unlink()
    return import_release(questions, folder / "out", roots).edition


@pytest.fixture(scope="module")
def text(imported: Edition) -> str:
    return (imported.folder.parent / CARD_FILE).read_text(encoding="utf-8")


def head(text: str) -> dict[str, Any]:
    found = yaml.safe_load(text.split("---\n")[1])
    assert isinstance(found, dict)
    return found


def test_datasets_loads_every_task_that_is_there(imported: Edition, tmp_path: Path) -> None:
    folder = str(imported.folder.parent)
    assert datasets.get_dataset_config_names(folder) == [f.task for f in QUESTION_FILES if f.task != "r2_3"]
    loaded = datasets.load_dataset(folder, "r1_3", cache_dir=str(tmp_path))
    assert list(loaded) == ["test"]
    assert loaded["test"]["id"] == ["R1_3_0", "R1_3_1", "R1_3_2"]
    assert loaded["test"][0]["images"][0].size == (270, 152)
    with pytest.raises(ValueError, match="BuilderConfig 'r2_3' not found"):
        datasets.load_dataset(folder, "r2_3", cache_dir=str(tmp_path))


def test_the_licence_is_that_of_the_records(text: str) -> None:
    assert head(text)["license"] == "cc-by-nc-sa-4.0"
    assert "synthetic" not in head(text)["tags"]
    assert "authors' work under CC BY-NC-SA" in text
    assert "**Do not upload this folder or pass it on.**" in text
    assert "apache" not in text.lower()


def test_it_says_what_is_there_what_is_not_and_why(imported: Edition, text: str) -> None:
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    assert [line[0] for line in lines] == [f"`{file.task}`" for file in QUESTION_FILES]
    found = {line[0].strip("`"): tuple(line[2:]) for line in lines}
    assert found["r1_4"] == ("lingoqa", "2", "missing image 1")
    assert found["r2_3"] == ("nuscenes", "0", "missing question file 1")
    assert found["r3_2"] == ("navsim", "3", "nothing")
    assert imported.digest in text
    assert f"`data/{EXCLUDED_FILE}`" in text
    assert (imported.folder / EXCLUDED_FILE).is_file()


def test_a_later_import_that_finds_more_says_so(tmp_path: Path) -> None:
    questions = release_records.write_questions(tmp_path / "questions")
    roots = release_records.write_images(tmp_path / "sets", questions)
    out = tmp_path / "out"
    import_release(questions, out, ImageRoots({"drama": roots["drama"]}))
    assert [config["config_name"] for config in head((out / CARD_FILE).read_text())["configs"]] == ["r1_3"]
    import_release(questions, out, ImageRoots(roots))
    text = (out / CARD_FILE).read_text()
    assert len(head(text)["configs"]) == len(QUESTION_FILES)
    assert open_edition(out).digest in text
