"""The importer of the authors' scenarios, on a folder made for the test and on the real one where it is present."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.geometry import boxes_overlap
from drivehierarchy_gym.plan import PathDrive, TrafficDrive
from drivehierarchy_gym.scenarios import release
from drivehierarchy_gym.scenarios.suites import load_suite
from tests.gym.scenarios.release_folder import drive, make_release, participant, point, write_entity

REAL = Path(os.environ.get("DRIVEHIERARCHY_RELEASE") or Path(__file__).parents[4] / "shared/data/release")


@pytest.fixture(scope="module")
def entity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_release(tmp_path_factory.mktemp("release"))


def root_of(entity: Path) -> Path:
    return entity.parents[4]


def test_scenario_is_converted_by_the_rules_of_the_release(entity: Path) -> None:
    suite = load_suite("release", root_of(entity))
    assert suite.ids == ("SC0",)
    assert suite.entry("SC0").group == "03_right_turn"
    scenario = suite.scenario("SC0")
    assert scenario.family == "03_turning"
    # 90 m at a mean of 10 km/h, then 115 m at 20 km/h
    assert scenario.reference_duration == pytest.approx(90 / (10 / 3.6) + 115 / (20 / 3.6), rel=1e-3)
    # the pedestrian's first leg has a mean speed of 0: the release's fallback of 20 km/h holds
    assert scenario.duration == pytest.approx(scenario.reference_duration)
    walk = scenario.actors[-1].motion
    assert walk.speed == pytest.approx((1.2, 5 / 3.6))  # type: ignore[union-attr]
    assert {a.model for a in scenario.actors[:-1]} <= {"charger", "van", "ambulance"}
    assert scenario.weather == release.WEATHER


def test_plan_places_everybody_apart(entity: Path) -> None:
    plan = load_suite("release", root_of(entity)).plan("SC0", seed=0)
    assert math.dist(plan.start[:2], (20, 117)) < 2.0
    assert plan.route.length == pytest.approx(205, abs=3)
    assert plan.route_source == "route_edges"
    boxes = [(*plan.start, EGO_LENGTH, EGO_WIDTH)]
    for actor in plan.actors:
        model = ACTOR_MODELS[actor.model]
        box = (*actor.pose, model.length, model.width)
        assert not any(boxes_overlap(*box, *other) for other in boxes), actor.id
        boxes.append(box)
    kinds = [type(actor.drive) for actor in plan.actors]
    assert kinds == [TrafficDrive, TrafficDrive, PathDrive]
    assert plan.actors[0].drive.at_route_end == "stop"  # type: ignore[union-attr]
    assert [actor.seen_by_traffic for actor in plan.actors] == [True, True, False]


def test_blueprints_follow_the_release_s_seeded_choice(entity: Path) -> None:
    import random

    expected = random.Random("7:100").choices(["charger", "van", "ambulance"], weights=[0.6, 0.2, 0.2])[0]
    scenario = load_suite("release", root_of(entity)).scenario("SC0")
    assert scenario.actors[0].model == expected


def test_recorded_conversion_is_taken_where_it_is_present(entity: Path) -> None:
    scenario = load_suite("release", root_of(entity)).scenario("SC0")
    edges = list(scenario.ego.edges)
    sumo_file = entity.with_name("entity_sumo.json")
    hero = {
        "actor_id": "1",
        "role": "main",
        "sumo_type_id": "vehicle.lincoln.mkz_2020",
        "route_edges": edges,
        "depart": {"lane_index": 1, "lane_pos": 33.0},
        "estimated_duration_seconds": 12.5,
    }
    other = {**hero, "actor_id": "100", "role": "slave", "sumo_type_id": "vehicle.ford.ambulance"}
    other["depart"] = {"lane_index": 0, "lane_pos": 70.0}
    try:
        sumo_file.write_text(json.dumps({"hero": hero, "background_vehicles": [other]}), encoding="utf-8")
        suite = load_suite("release", root_of(entity))
        taken = suite.scenario("SC0")
        assert taken.reference_duration == 12.5
        assert taken.actors[0].model == "ambulance"
        assert taken.actors[0].motion.start.pos == 70.0  # type: ignore[union-attr]
        assert suite.plan("SC0", 0).start.x == pytest.approx(10.4 + 33, abs=0.5)  # the lane begins at x = 10.4

        hero["route_edges"] = ["nowhere"]
        sumo_file.write_text(json.dumps({"hero": hero, "background_vehicles": []}), encoding="utf-8")
        with pytest.raises(ScenarioError, match=r"(?s)entity_sumo\.json.*nowhere.*delete the file"):
            load_suite("release", root_of(entity)).scenario("SC0")
    finally:
        sumo_file.unlink()


FAULTS = [
    (lambda rows: rows[1:], "needs one participant of type 'main', found 0"),
    (lambda rows: [rows[0], *rows], "needs one participant of type 'main', found 2"),
    (lambda rows: [rows[0], participant("100", "slave", point(20, 117, 0))], "'100': trajectory: .*1 points"),
    (lambda rows: [rows[0], participant("7", "slave", point(20, 117, math.nan), point(80, 117, 3))], "'7': .*nan"),
    (lambda rows: [rows[0], participant("7", "slave", point(20, 117, -4), point(80, 117, 3))], "'7': .*speed -4"),
    (lambda rows: [rows[0], {"id": "8", "type": "slave"}], "'8': trajectory: KeyError"),
    (lambda rows: [rows[0], participant("9", "slave", point(5000, 0, 1), point(5100, 0, 1))], "'9': no lane"),
    (lambda rows: [rows[0], participant("9", "pedestrian", point(5000, 0, 1), point(5100, 0, 1))], "'9': no lane"),
    (lambda rows: None, "participantTrajectories"),
]


@pytest.mark.parametrize(("change", "message"), FAULTS)
def test_fault_names_the_file_and_the_participant(tmp_path: Path, change, message: str) -> None:
    entity = make_release(tmp_path / "r")
    write_entity(entity, change(drive()))
    with pytest.raises(ScenarioError, match=message) as error:
        load_suite("release", tmp_path / "r").scenario("SC0")
    assert str(entity) in str(error.value)


def test_somebody_who_stays_where_they_are(tmp_path: Path) -> None:
    entity = make_release(tmp_path / "r")
    still = [point(60, 112, 0)] * 3
    write_entity(entity, [drive()[0], participant("200", "pedestrian", point(60, 116.4, 0), *still)])
    scenario = load_suite("release", tmp_path / "r").scenario("SC0")
    assert scenario.actors[0].motion.type in ("stand", "path")


def test_one_id_in_two_families(tmp_path: Path) -> None:
    entity = make_release(tmp_path / "r")
    twin = entity.parents[2] / "04_intersection" / "SC0" / "entity.json"
    twin.parent.mkdir(parents=True)
    twin.write_bytes(entity.read_bytes())
    with pytest.raises(ScenarioError, match="'SC0' is there a second time"):
        load_suite("release", tmp_path / "r")


def test_broken_json_names_the_file(tmp_path: Path) -> None:
    entity = make_release(tmp_path / "r")
    entity.write_text('{"trajectoryInfo": "{', encoding="utf-8")
    with pytest.raises(ScenarioError, match="download the release again") as error:
        load_suite("release", tmp_path / "r").scenario("SC0")
    assert str(entity) in str(error.value)


@pytest.mark.release
@pytest.mark.skipif(not REAL.is_dir(), reason="no folder of the authors' release")
def test_every_scenario_of_the_real_release_resolves() -> None:
    suite = load_suite("release", REAL)
    for scenario_id in suite:
        plan = suite.plan(scenario_id, seed=0)
        assert plan.route.length > 20
        assert plan.scenario_duration >= plan.reference_duration > 0
    plan = suite.plan("SC20260319210937GHNL", seed=0)
    assert math.dist(plan.start[:2], (41.4725, 287.0512)) < 0.5
    assert plan.route_edges == ("-68", "-70")
