"""Card and Croissant metadata: what `load_dataset`, the Hub and mlcroissant read."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median

import pytest
import yaml

from drivehierarchy_data.builders import BUILDERS
from drivehierarchy_data.card import CARD_FILE, TITLES, card
from drivehierarchy_data.croissant import CROISSANT_FILE
from drivehierarchy_data.editions import DATA_FOLDER, SAMPLE, open_edition
from drivehierarchy_data.gates import Gate, GateReport
from drivehierarchy_data.items import FEATURES


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


@pytest.mark.parametrize("task", ["r1_2_a", "r1_2_b", "r1_3"])
def test_the_card_sums_up_numbers(task: str) -> None:
    """Least, greatest and median; of two numbers the median is their mean."""
    text = (SAMPLE / CARD_FILE).read_text(encoding="utf-8")
    answers = [document["answer"] for document in open_edition(SAMPLE).documents(task)]
    if task == "r1_3":
        boxes = [json.loads(answer)["bbox"] for answer in answers]
        areas = [(right - left) * (bottom - top) for left, top, right, bottom in boxes]
        assert f"| `{task}` | boxes of {min(areas)} to {max(areas)} pixels, median {median(areas):g} |" in text
    else:
        metres = [float(answer.removesuffix(" m")) for answer in answers]
        assert f"| `{task}` | {min(metres):.1f} m to {max(metres):.1f} m, median {median(metres):.1f} m |" in text


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
        assert [field["name"] for field in record["field"]] == list(FEATURES)


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
