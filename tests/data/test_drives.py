"""Recipes: reproducible drives, on the roads of their split, through traffic that can be driven."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from drivehierarchy_data.items import SPLITS
from drivehierarchy_data.sources import drives
from drivehierarchy_data.sources.drives import SUN_SPREAD, WEATHERS, DriveRecipe, recipe, road_name, road_split
from drivehierarchy_data.sources.words import NOUNS, colour_word
from drivehierarchy_gym.catalog import ACTOR_MODELS
from drivehierarchy_gym.plan import EpisodePlan, PathDrive, StandDrive
from drivehierarchy_gym.road.network import load_network
from drivehierarchy_gym.scenarios.suites import load_suite


def free(number: int) -> EpisodePlan:
    return DriveRecipe(f"free-{number}", "test", f"test drive {number}", None).plan()


def test_a_recipe_gives_the_same_plan_again() -> None:
    assert recipe(3, "train", 7) == recipe(3, "train", 7)
    assert pickle.dumps(free(1)) == pickle.dumps(free(1))
    assert free(1).actors != free(2).actors


def test_seeds_splits_and_numbers_give_different_drives() -> None:
    keys = {recipe(seed, split, number).seed for seed in (0, 1) for split in SPLITS for number in range(5)}
    assert len(keys) == 30


def test_every_family_is_in_the_test_split_and_no_scenario_in_two() -> None:
    made = {split: {recipe(0, split, number).scenario for number in range(300)} - {None} for split in SPLITS}
    families = {str(name).rpartition("_")[0] for name in made["test"]}
    assert len(families) == 10
    assert not made["test"] & made["train"]
    assert not (made["test"] | made["train"]) & made["validation"]


@pytest.mark.parametrize("split", SPLITS)
def test_free_drives_start_on_the_roads_of_their_split(split: str) -> None:
    for number in range(4):
        plan = DriveRecipe("x", split, f"{split} {number}", None).plan()  # type: ignore[arg-type]
        assert road_split(road_name(plan.route_edges[0])) == split


def test_both_directions_and_all_pieces_of_a_road_share_a_split() -> None:
    assert road_name("-256366931#3") == road_name("256366931#1") == "256366931"


def test_free_routes_are_long_and_keep_away_from_the_flat_crossing() -> None:
    for number in range(8):
        plan = free(number)
        assert plan.route.length >= drives.ROUTE_LENGTH[0]
        away = np.hypot(*(plan.route.points - drives.CROSSING_IN_THE_PLANE).T)
        assert float(away.min()) > drives.KEEP_AWAY - 15


def test_standing_vehicles_are_off_the_road_and_off_each_other() -> None:
    for number in range(6):
        plan = free(number)
        network = load_network(plan.network_file)
        parked = [actor for actor in plan.actors if actor.id.startswith("parked")]
        for actor in parked:
            assert isinstance(actor.drive, StandDrive)
            assert not network.on_road(actor.pose.x, actor.pose.y)
        for i, one in enumerate(parked):
            for other in parked[i + 1 :]:
                assert math.hypot(one.pose.x - other.pose.x, one.pose.y - other.pose.y) > 3.5


def test_crossing_persons_start_and_end_beside_the_road() -> None:
    found = 0
    for number in range(8):
        plan = free(number)
        network = load_network(plan.network_file)
        for actor in plan.actors:
            if actor.id.startswith("crossing"):
                assert isinstance(actor.drive, PathDrive)
                assert actor.drive.start is not None
                ends = actor.drive.path.points[[0, -1]]
                assert not any(network.on_road(float(x), float(y)) for x, y in ends)
                found += 1
    assert found > 3


def test_weathers_are_all_drawn() -> None:
    drawn = [recipe(0, "test", number).plan().weather for number in range(30)]
    assert len({weather.sky for weather in drawn}) >= 3
    assert len({weather.sun_altitude_deg for weather in drawn}) == len(drawn)
    for weather in drawn:
        bases = [base.sun_altitude_deg for base, _ in WEATHERS if base.sky == weather.sky]
        assert any(abs(weather.sun_altitude_deg - base) <= abs(base) * SUN_SPREAD + 0.005 for base in bases)


@pytest.mark.parametrize("scenario", list(load_suite("open").entries))
def test_drives_of_one_scenario_differ_beside_the_road(scenario: str) -> None:
    written = load_suite("open").plan(scenario, 0)
    own = {actor.id for actor in written.actors if not actor.background}
    seen = []
    for number in range(3):
        plan = DriveRecipe(f"s-{number}", "test", f"scenario drive {number}", scenario).plan()
        names = [actor.id for actor in plan.actors]
        assert len(set(names)) == len(names)
        assert own <= set(names)
        beside = [actor for actor in plan.actors if actor.id.startswith("beside_")]
        seen.append({(actor.model, actor.pose) for actor in beside})
        network = load_network(plan.network_file)
        for actor in beside:
            assert not network.on_road(actor.pose.x, actor.pose.y)
            for other in written.actors:
                if not other.background:
                    apart = math.hypot(other.pose.x - actor.pose.x, other.pose.y - actor.pose.y)
                    assert apart > 0.5 or not isinstance(actor.drive, StandDrive)
    assert all(seen)
    assert seen[0] != seen[1] != seen[2]


def test_every_model_has_a_noun_and_colours_have_one_word() -> None:
    assert set(NOUNS) == set(ACTOR_MODELS)
    words = {colour: colour_word(colour) for model in ACTOR_MODELS.values() for colour in model.colours}
    assert words[(196, 30, 38)] == "red"
    assert words[(28, 66, 140)] == words[(60, 130, 180)] == "blue"
    assert words[(232, 232, 230)] == "white"
    assert words[(92, 44, 32)] == "brown"
    assert words[(206, 208, 212)] is None
