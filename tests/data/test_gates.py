"""Gates find what is wrong, and the blind check finds what gives itself away."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from drivehierarchy_data import build as build_module
from drivehierarchy_data.blind import blind_scores
from drivehierarchy_data.editions import Edition, write_manifest
from drivehierarchy_data.errors import DataError
from drivehierarchy_data.gates import Gate, check_edition, check_task
from drivehierarchy_data.shards import write_shard
from tests.data.toy_drives import toy_clip

Document = dict[str, Any]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    """An edition that passes."""
    out = tmp_path_factory.mktemp("gates")
    return build_module.build_sim(out, "sample", 0, 1, lambda *_: None, toy_clip).edition


def failed(gates: list[Gate]) -> set[str]:
    return {gate.name for gate in gates if not gate.passed}


def test_a_good_edition_passes(good: Edition) -> None:
    report = check_edition(good)
    assert report.passed
    assert report.failures() == []
    assert {gate.task for gate in report.gates} == {*good.tasks(), "all"}


def test_an_edition_of_other_data_is_refused(good: Edition) -> None:
    other = Edition(good.folder, replace(good.manifest, edition="release"))
    with pytest.raises(DataError, match="the gates judge sim editions; edition 'release' does not record"):
        check_edition(other)


def change_count(document: Document) -> None:
    document["answer"] = str(int(document["answer"]) + 1)


def flip(document: Document) -> None:
    document["answer"] = "No" if document["answer"] == "Yes" else "Yes"


def stretch_box(document: Document) -> None:
    document["answer"] = json.dumps({"bbox": [5, 5, 1601, 50], "format": "xyxy"})


def change_letter(document: Document) -> None:
    document["answer"] = "A" if document["answer"] != "A" else "B"


def setter(key: str, value: Any) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        document["meta"][key] = value

    return change


def drop_view(document: Document) -> None:
    document["views"] = document["views"][:-1]


def skip_frame(document: Document) -> None:
    frames = document["meta"]["frames"]
    document["meta"]["frames"] = [*frames[:-1], "toy/999"]


@pytest.mark.parametrize(
    ("task", "change", "gate"),
    [
        ("r1_1_a", flip, "wrong answers"),
        ("r1_1_a", setter("category", "Tram"), "unknown categories"),
        ("r1_1_b", change_count, "wrong counts"),
        ("r1_2_a", setter("true_distance_m", 3.0), "bad distances"),
        ("r1_2_a", setter("true_distance_m", float("nan")), "bad distances"),
        ("r1_2_b", setter("pixel_coords", [1600, 3]), "pixels outside"),
        ("r1_2_c", setter("distances_m", [700.0]), "outside the range"),
        ("r1_3", stretch_box, "boxes outside"),
        ("r1_4", setter("references", []), "fewer than two references"),
        ("r2_1", drop_view, "wrong views"),
        ("r2_1", setter("camera_breakdown", {"CAM_FRONT": 1}), "without overlap"),
        ("r2_2_a", skip_frame, "gaps in clips"),
        ("r2_2_a", change_count, "wrong counts"),
        ("r2_2_b", skip_frame, "gaps in clips"),
        ("r2_3", change_letter, "wrong relations"),
        ("r2_3", setter("subject_pixel", [-1, 3]), "pixels outside"),
        ("r3_2", setter("speeds_mps", [5.0, 0.1, 5.0]), "standing ego"),
        ("r3_2", setter("n_images", 9), "wrong lengths"),
    ],
)
def test_a_broken_item_is_found(good: Edition, task: str, change: Callable[[Document], None], gate: str) -> None:
    documents = good.documents(task)
    assert gate not in failed(list(check_task(task, "test", documents)))
    change(documents[0])
    assert gate in failed(list(check_task(task, "test", documents)))


def test_duplicates_and_crowded_scenes_are_found(good: Edition) -> None:
    documents = good.documents("r1_3")
    assert "duplicate items" in failed(list(check_task("r1_3", "test", [*documents, documents[0]])))
    assert "items of one scene" in failed(list(check_task("r1_3", "test", [documents[0]] * 6)))


def test_an_image_in_two_scenes_is_found(good: Edition, tmp_path: Path) -> None:
    first, second = list(good.items("r1_3"))[:2]
    for scene, shared in ((first.scene_id, 0), ("another", 1)):
        items = [first, replace(second, scene_id=scene, images=first.images)]
        write_shard(tmp_path / "r1_3" / "test-00000.parquet", items, "")
        report = check_edition(Edition(tmp_path, write_manifest(tmp_path, "sim", {})))
        assert [gate.value for gate in report.gates if gate.name == "images in two scenes"] == [shared]


def test_a_scene_in_two_splits_is_found(good: Edition) -> None:
    files = dict(good.manifest.files)
    folder = good.folder
    source = folder / "r1_3" / "test-00000.parquet"
    (folder / "r1_3" / "train-00000.parquet").write_bytes(source.read_bytes())
    try:
        files["r1_3/train-00000.parquet"] = files["r1_3/test-00000.parquet"]
        manifest = type(good.manifest)(good.manifest.edition, files, good.manifest.provenance)
        report = check_edition(Edition(folder, manifest))
        assert not report.passed
        assert any("scenes in two splits" in line for line in report.failures())
        assert not any("images in two scenes" in line for line in report.failures())
    finally:
        (folder / "r1_3" / "train-00000.parquet").unlink()


# --- blind rules -----------------------------------------------------------------------------------------------------


def choices(count: int, pick: Callable[[random.Random, list[str]], int]) -> list[Document]:
    rng = random.Random(0)
    texts = ["Go.", "Turn to the left.", "Stop.", "Wait a little."]
    made = []
    for _ in range(count):
        shown = rng.sample(texts, 4)
        options = [f"{'ABCD'[i]}. {text}" for i, text in enumerate(shown)]
        made.append({"answer_kind": "choice", "options": options, "answer": "ABCD"[pick(rng, shown)], "meta": {}})
    return made


def scores(documents: list[Document], share: float = 0.25) -> dict[str, tuple[float, float]]:
    return {name: (score, chance) for name, score, chance in blind_scores(documents, share)}


def test_blind_rules_are_at_chance_where_answers_are_random() -> None:
    for score, chance in scores(choices(400, lambda rng, _: rng.randrange(4))).values():
        assert chance == 0.25
        assert score == pytest.approx(0.25, abs=0.07)


@pytest.mark.parametrize(
    ("rule", "pick"),
    [
        ("option B", lambda _rng, _texts: 1),
        ("longest option", lambda _rng, texts: max(range(4), key=lambda i: len(texts[i]))),
        ("shortest option", lambda _rng, texts: min(range(4), key=lambda i: len(texts[i]))),
        ("likeliest text", lambda _rng, texts: texts.index("Wait a little.")),
    ],
)
def test_each_giveaway_is_found_by_its_rule(rule: str, pick: Callable[[random.Random, list[str]], int]) -> None:
    assert scores(choices(100, pick))[rule][0] > 0.95


def test_a_set_of_options_that_tells_its_answer_is_found() -> None:
    rng = random.Random(0)
    documents = []
    for number in range(200):
        texts = sorted(rng.sample("abcdefg", 4))
        answer = texts[sum(map(ord, texts)) % 4]
        shown = rng.sample(texts, 4)
        options = [f"{'ABCD'[i]}. {text}" for i, text in enumerate(shown)]
        letter = "ABCD"[shown.index(answer)]
        documents.append({"answer_kind": "choice", "options": options, "answer": letter, "meta": {"n": number}})
    found = scores(documents)
    assert found["likeliest of its set"][0] > 0.8
    assert found["option A"][0] < 0.4


def test_a_usual_count_and_distance_are_found() -> None:
    counts = [{"answer_kind": "count", "answer": "3", "meta": {"category": "Vehicle"}} for _ in range(30)]
    assert scores(counts)["usual answer"][0] == 1.0
    metres = [{"answer_kind": "metres", "answer": f"{20 + i % 3}.00 m", "meta": {}} for i in range(30)]
    assert scores(metres)["usual distance"][0] == 1.0
    spread = [{"answer_kind": "metres", "answer": f"{5 * 1.1**i:.2f} m", "meta": {}} for i in range(30)]
    assert scores(spread)["usual distance"][0] < 0.2


def test_a_rule_does_not_know_the_item_itself() -> None:
    single = [{"answer_kind": "count", "answer": "3", "meta": {"category": str(i)}} for i in range(10)]
    assert scores(single)["usual answer"][0] == 0.0


def test_a_usual_box_is_found() -> None:
    box = json.dumps({"bbox": [100, 100, 200, 220], "format": "xyxy"})
    boxes = [{"answer_kind": "box", "answer": box, "image_size": [1600, 900], "meta": {}} for _ in range(5)]
    assert scores(boxes)["usual box"][0] == 1.0


def test_orders_that_stay_as_shown_are_found() -> None:
    orders = [{"answer_kind": "order", "options": ["A", "B", "C"], "answer": '["A", "B", "C"]'} for _ in range(5)]
    found = scores(orders)
    assert found["as shown"] == (1.0, pytest.approx(1 / 6))
    assert found["reversed"][0] == 0.0


def test_a_failing_report_names_task_gate_and_limit(good: Edition) -> None:
    gate = Gate("r1_3", "test", "boxes outside", 2, 0)
    assert not gate.passed
    assert not Gate("r1_3", "test", "boxes outside", float("nan"), 0).passed
    assert isinstance(good.folder, Path)
