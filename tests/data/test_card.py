"""Card and Croissant metadata: what `load_dataset`, the Hub and mlcroissant read."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from drivehierarchy_data.builders import BUILDERS
from drivehierarchy_data.card import CARD_FILE, TITLES, card, write_card
from drivehierarchy_data.croissant import CROISSANT_FILE, SPLIT_FIELD, write_croissant
from drivehierarchy_data.editions import DATA_FOLDER, SAMPLE, open_edition, shard_path, write_manifest
from drivehierarchy_data.gates import Gate, GateReport, check_edition
from drivehierarchy_data.items import FEATURES
from drivehierarchy_data.release import QUESTION_FILES
from drivehierarchy_data.shards import write_shard
from tests import tiny_edition


def _box(width: int, height: int) -> str:
    return json.dumps({"bbox": [0, 0, width, height], "format": "xyxy"})


def metadata() -> dict[str, object]:
    head = (SAMPLE / CARD_FILE).read_text(encoding="utf-8").split("---\n")[1]
    found = yaml.safe_load(head)
    assert isinstance(found, dict)
    return found


def test_the_card_has_a_configuration_for_every_task() -> None:
    configs = metadata()["configs"]
    assert isinstance(configs, list)
    assert [config["config_name"] for config in configs] == list(BUILDERS)
    for config in configs:
        for entry in config["data_files"]:
            assert entry["split"] == "test"
            assert list(SAMPLE.glob(entry["path"]))


def test_the_card_tells_what_it_belongs_to() -> None:
    text = (SAMPLE / CARD_FILE).read_text(encoding="utf-8")
    edition = open_edition(SAMPLE)
    assert edition.digest in text
    for task in BUILDERS:
        assert f"| `{task}` | {TITLES[task]} |" in text
        assert text.count(f"`{task}`") >= 3
    assert metadata()["license"] == "apache-2.0"
    assert "{" not in text.partition("## Content")[2]


def test_the_committed_card_is_that_of_the_committed_items(tmp_path: Path) -> None:
    """Made anew from the items, card and metadata are the same to the byte."""
    edition = open_edition(SAMPLE)
    write_card(edition, check_edition(edition), tmp_path)
    write_croissant(edition, tmp_path)
    for name in (CARD_FILE, CROISSANT_FILE):
        assert (tmp_path / name).read_bytes() == (SAMPLE / name).read_bytes()


@pytest.mark.parametrize(
    ("task", "answers", "summary"),
    [
        ("r1_2_a", ["7.00 m", "4.00 m"], "4.0 m to 7.0 m, median 5.5 m"),
        ("r1_2_b", ["7.00 m", "4.00 m", "30.25 m"], "4.0 m to 30.2 m, median 7.0 m"),
        ("r1_3", [_box(10, 20), _box(5, 5)], "boxes of 25 to 200 pixels, median 112.5"),
        (
            "r1_3",
            [_box(1600, 900), _box(1500, 900), _box(1000, 900)],
            "boxes of 900000 to 1440000 pixels, median 1350000",
        ),
    ],
)
def test_the_card_sums_up_numbers(task: str, answers: list[str], summary: str, tmp_path: Path) -> None:
    """Least, greatest and median; of an even number of items the median is the mean of the two in the middle."""
    file = next(file for file in QUESTION_FILES if file.task == task)
    world = {"sky": "clear", "sun_altitude_deg": 40.0, "scenario": "free"}
    items = [replace(tiny_edition.item(file, index), answer=answer, meta=world) for index, answer in enumerate(answers)]
    write_shard(shard_path(tmp_path / DATA_FOLDER, task, "test", 0), items, "test")
    provenance = open_edition(SAMPLE).manifest.provenance
    write_manifest(tmp_path / DATA_FOLDER, "sim", provenance)
    assert f"| `{task}` | {summary} |" in card(open_edition(tmp_path), GateReport(()))


def test_the_card_says_where_the_blind_check_is_idle() -> None:
    edition = open_edition(SAMPLE)
    few = [Gate("r1_1_a", "test", f"blind: rule {n}", 0.5, limit) for n, limit in enumerate((1.2, 1.0, 0.7))]
    assert "2 of the 3 `blind` rows have a limit of 1 or more" in card(edition, GateReport(tuple(few)))
    assert "say nothing" not in card(edition, GateReport(tuple(few[2:])))


def test_croissant_lists_every_file_with_its_checksum() -> None:
    content = json.loads((SAMPLE / CROISSANT_FILE).read_text(encoding="utf-8"))
    objects = {entry["contentUrl"]: entry for entry in content["distribution"] if entry["@type"] == "cr:FileObject"}
    files = open_edition(SAMPLE).manifest.files
    assert set(objects) == {f"{DATA_FOLDER}/{file}" for file in files}
    assert all(objects[f"{DATA_FOLDER}/{file}"]["sha256"] == record.sha256 for file, record in files.items())
    assert [record["@id"] for record in content["recordSet"]] == sorted(BUILDERS)
    for record in content["recordSet"]:
        assert [field["name"] for field in record["field"]] == [*FEATURES, SPLIT_FIELD]


def test_mlcroissant_accepts_the_metadata(tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = mlcroissant.Dataset(jsonld=SAMPLE / CROISSANT_FILE)
    assert not dataset.metadata.ctx.issues.errors
    assert {record.uuid for record in dataset.metadata.record_sets} == set(BUILDERS)
    broken = json.loads((SAMPLE / CROISSANT_FILE).read_text(encoding="utf-8"))
    del broken["recordSet"][0]["field"][0]["dataType"]
    (tmp_path / CROISSANT_FILE).write_text(json.dumps(broken), encoding="utf-8")
    with pytest.raises(mlcroissant.ValidationError):
        mlcroissant.Dataset(jsonld=tmp_path / CROISSANT_FILE)
