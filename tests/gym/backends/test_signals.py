import math

import pytest

from drivehierarchy_gym.backends.sumo.signals import RedLightWatch, StopLine

LINE = StopLine("tl", "in", ((0, "left"), (1, "ahead")), 50.0, -3.0, 0.0, 1.6)
"""A lane to the east that ends at x = 50 and leads on to two edges."""


def _watch(state: str, route: tuple[str, ...] = ("in", "ahead")) -> RedLightWatch:
    watch = RedLightWatch([LINE], route, {"tl": state}.__getitem__)
    watch.look_around(45.0, -3.0, 10.0)
    return watch


@pytest.mark.parametrize(
    ("state", "reported"), [("rr", "tl"), ("ru", "tl"), ("rG", None), ("ry", None), ("Gr", "tl"), ("gO", None)]
)
def test_the_light_of_the_routes_way_counts(state: str, reported: str | None) -> None:
    assert _watch(state).crossed((49.9, -3.0), (50.2, -3.0), 0.0) == reported


@pytest.mark.parametrize(("state", "reported"), [("rr", "tl"), ("rG", None), ("Gr", None)])
def test_off_the_route_every_light_of_the_lane_must_be_red(state: str, reported: str | None) -> None:
    assert _watch(state, route=("elsewhere",)).crossed((49.9, -3.0), (50.2, -3.0), 0.0) == reported


@pytest.mark.parametrize(
    ("before", "now", "yaw"),
    [
        ((49.0, -3.0), (49.9, -3.0), 0.0),  # stops before it
        ((50.1, -3.0), (51.0, -3.0), 0.0),  # was beyond it
        ((49.9, 0.0), (50.2, 0.0), 0.0),  # on the neighbouring lane
        ((49.9, -3.0), (50.2, -3.0), math.radians(70)),  # across
        ((50.2, -3.0), (49.9, -3.0), math.pi),  # the other way
    ],
)
def test_what_is_no_crossing_of_the_line(before: tuple[float, float], now: tuple[float, float], yaw: float) -> None:
    assert _watch("rr").crossed(before, now, yaw) is None


def test_a_line_far_away_is_not_looked_at_until_it_comes_near() -> None:
    watch = _watch("rr")
    watch.look_around(500.0, 0.0, 10.0)
    assert watch.crossed((49.9, -3.0), (50.2, -3.0), 0.0) is None
    watch.look_around(20.0, -3.0, 10.0)
    assert watch.crossed((49.9, -3.0), (50.2, -3.0), 0.0) == "tl"
