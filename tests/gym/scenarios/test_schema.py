"""A scenario file with a fault is refused with the file, the field and the value."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.scenarios.schema import LanePlace, RoutePlace, Scenario, WorldPlace
from drivehierarchy_gym.scenarios.suites import load_suite, read_scenario

GOOD = {
    "id": "try_1",
    "family": "07_sudden_braking",
    "description": "The leading car brakes.",
    "ego": {"start": {"edge": "360414561", "lane": 0, "pos": 30}, "edges": ["360414561"]},
    "actors": [
        {
            "id": "lead",
            "model": "car",
            "motion": {"type": "traffic", "start": {"edge": "360414561", "lane": 0, "pos": 60}, "speed": 8},
            "reactions": [{"when": {"type": "ego_passes", "route_m": 40}, "do": {"type": "brake_hard"}}],
        }
    ],
}


def write(folder: Path, content: object) -> Path:
    path = folder / "try_1.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return path


def changed(path: str, value: object) -> dict:
    """GOOD with one field, named by a dotted path, set to `value`."""
    copy = yaml.safe_load(yaml.safe_dump(GOOD))
    *parents, last = path.split(".")
    at: object = copy
    for part in parents:
        at = at[int(part)] if isinstance(at, list) else at[part]  # type: ignore[index]
    at[last] = value  # type: ignore[index]
    return copy


def test_good_file_is_read(tmp_path: Path) -> None:
    scenario = read_scenario(write(tmp_path, GOOD))
    assert scenario.id == "try_1"
    assert scenario.blocked_ticks == 100
    assert isinstance(scenario.ego.start, LanePlace)


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ({"edge": "e", "pos": 3}, LanePlace),
        ({"x": 1.0, "y": 2.0}, WorldPlace),
        ({"route_m": 12.0, "left_m": -3}, RoutePlace),
    ],
)
def test_three_ways_to_write_a_place(place: dict, kind: type) -> None:
    scenario = Scenario.model_validate(changed("actors", [stand(place)]))
    assert isinstance(scenario.actors[0].motion.place, kind)  # type: ignore[union-attr]


def stand(place: dict) -> dict:
    return {"id": "cone", "model": "cone", "motion": {"type": "stand", "place": place}}


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("ego.start", {"edge": "e", "lan": 3}, ["ego.start.on lane.lan", "found 3"]),
        ("ego.start", {"edge": "e", "pos": "far"}, ["ego.start.on lane.pos", "found 'far'"]),
        ("ego.start", {"x": 1.0}, ["ego.start.coordinates.y", "required"]),
        ("ego.start_speed", -1, ["ego.start_speed", "found -1"]),
        ("ego.start_speed", float("nan"), ["ego.start_speed", "found nan"]),
        ("family", "11_parking", ["family", "found '11_parking'"]),
        ("blocked_ticks", 0, ["blocked_ticks", "found 0"]),
        ("id", "a b", ["id", "found 'a b'"]),
        ("id", "..", ["id", "found '..'"]),
        ("ego.start", {"x": 1e300, "y": 0}, ["ego.start.coordinates.x", "found 1e+300"]),
        ("traffic", {"radius_m": 1e300}, ["traffic.radius_m", "found 1e+300"]),
        ("actors.0.colour", [999, -5, 0], ["actors.0.colour.0", "found 999", "found -5"]),
        ("actors.0.id", "traffic_000", ["'traffic_000'", "begin background ids"]),
        ("actors.0.motion", {"type": "path", "points": [{"x": 0, "y": 0}, {"x": 1, "y": 0}], "speed": 250}, ["speed"]),
        ("wether", {}, ["wether", "Extra inputs"]),
        ("actors.0.motion.type", "flies", ["actors.0.motion", "flies"]),
        ("actors.0.reactions.0.when.type", "whenever", ["actors.0.reactions.0.when", "whenever"]),
        ("actors.0.reactions.0.do", {"type": "brake_hard", "decel": 40}, ["decel", "found 40"]),
        ("actors", [GOOD["actors"][0], GOOD["actors"][0]], ["'lead' is used twice"]),
        ("actors", [{**stand({"x": 0, "y": 0}), "reactions": GOOD["actors"][0]["reactions"]}], ["need motion type"]),
    ],
)
def test_fault_names_file_field_and_value(tmp_path: Path, path: str, value: object, expected: list[str]) -> None:
    file = write(tmp_path, changed(path, value))
    with pytest.raises(ScenarioError) as error:
        read_scenario(file)
    for part in (str(file), *expected):
        assert part in str(error.value)


@pytest.mark.parametrize("text", ["a: [1", "- 1\n- 2\n", "", "\x00"])
def test_file_that_is_no_scenario(tmp_path: Path, text: str) -> None:
    file = write(tmp_path, text)
    with pytest.raises(ScenarioError, match=r"YAML|mapping"):
        read_scenario(file)


def test_a_key_given_twice(tmp_path: Path) -> None:
    file = write(tmp_path, yaml.safe_dump(GOOD) + "blocked_ticks: 3\nblocked_ticks: 4\n")
    with pytest.raises(ScenarioError, match="'blocked_ticks' is given twice"):
        read_scenario(file)


@pytest.mark.parametrize("name", ["", "opne"])
def test_a_suite_is_never_the_working_directory(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, GOOD)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="unknown suite"):
        load_suite(name)
    assert load_suite(tmp_path).ids == ("try_1",)


def test_unknown_suite_suggests_the_nearest() -> None:
    with pytest.raises(ValueError, match="did you mean 'release'"):
        load_suite("relase")


def test_two_files_with_one_id(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(GOOD), encoding="utf-8")
    with pytest.raises(ScenarioError, match="'try_1' is also the id of"):
        load_suite(str(tmp_path))


def test_folder_without_scenarios(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"no \.yaml file"):
        load_suite(str(tmp_path))


def test_release_missing_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRIVEHIERARCHY_RELEASE", raising=False)
    with pytest.raises(FileNotFoundError, match=r"(?s)Download.*--release DIR"):
        load_suite("release")
    with pytest.raises(FileNotFoundError, match="has no Close_Loop_Evaluation"):
        load_suite("release", tmp_path)
