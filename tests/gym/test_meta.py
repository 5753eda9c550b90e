"""The keys on the ego's own dynamics: where the car goes and how fast."""

import math

import pytest

from drivehierarchy_gym.action_text import DIRECTION_KEYS, SPEED_KEYS
from drivehierarchy_gym.backends.sumo.dynamics import EgoDynamics
from drivehierarchy_gym.bridge import ActuationBridge
from drivehierarchy_gym.geometry import Polyline, Pose
from drivehierarchy_gym.meta import MetaDriver
from drivehierarchy_gym.state import EgoState

STRAIGHT = Polyline.through([(0, 0), (300, 0)])
ARC = [(50 + 12 * math.sin(a), 12 - 12 * math.cos(a)) for a in [i * math.pi / 20 for i in range(11)]]
LEFT_TURN = Polyline.through([(0, 0), *ARC, (62, 100)])


def drive(route: Polyline, keys, speed: float, decisions: int) -> list[EgoState]:
    """States after each decision; `keys` is a pair or a function of the state."""
    driver, bridge = MetaDriver(route), ActuationBridge()
    car = EgoDynamics(Pose(0.0, 0.0, 0.0), speed)
    states = []
    for _ in range(decisions):
        pair = keys(car.state()) if callable(keys) else keys
        control = bridge.follow(*driver.decide(*pair, car.state()), car.speed)
        for _ in range(5):
            car.tick(control, 0.05)
        states.append(car.state())
    return states


@pytest.mark.parametrize("key", ["FOLLOW_LANE", "TURN_LEFT"])
def test_the_route_is_followed_through_a_turn(key: str) -> None:
    states = drive(LEFT_TURN, lambda ego: (key if ego.y < 20 else "FOLLOW_LANE", "KEEP"), 5.0, 80)
    assert states[-1].y > 30.0
    assert max(abs(LEFT_TURN.project(s.x, s.y).offset) for s in states) < 1.0


def test_straight_on_is_driven_where_the_route_turns() -> None:
    states = drive(LEFT_TURN, ("GO_STRAIGHT", "KEEP"), 5.0, 80)
    assert states[-1].x > 85.0
    assert abs(states[-1].y) < 1.0


@pytest.mark.parametrize(("key", "side"), [("TURN_LEFT", 1), ("TURN_RIGHT", -1)])
def test_a_turn_is_driven_where_the_route_goes_straight(key: str, side: int) -> None:
    states = drive(STRAIGHT, (key, "KEEP"), 5.0, 20)
    assert side * states[-1].y > 6.0


def test_a_right_turn_is_driven_where_the_route_turns_left() -> None:
    assert drive(LEFT_TURN, ("TURN_RIGHT", "KEEP"), 5.0, 20)[-1].y < -6.0


@pytest.mark.parametrize(
    ("key", "offset"),
    [("CHANGE_LANE_LEFT", 3.5), ("CHANGE_LANE_RIGHT", -3.5), ("DEVIATE_LEFT", 0.7), ("DEVIATE_RIGHT", -0.7),
     ("GO_STRAIGHT", 0.0)],
)  # fmt: skip
def test_the_car_settles_beside_the_route_while_the_key_is_held(key: str, offset: float) -> None:
    states = drive(STRAIGHT, (key, "KEEP"), 8.0, 60)
    assert states[-1].y == pytest.approx(offset, abs=0.15)
    assert max(abs(s.y) for s in states) < abs(offset) + 0.4
    assert abs(states[-1].yaw) < 0.02


def test_following_the_lane_again_leads_back() -> None:
    states = drive(STRAIGHT, lambda ego: ("CHANGE_LANE_LEFT" if ego.x < 50 else "FOLLOW_LANE", "KEEP"), 8.0, 90)
    assert states[-1].y == pytest.approx(0.0, abs=0.15)


def test_speed_keys() -> None:
    def ego(speed: float) -> EgoState:
        return EgoState(0.0, 0.0, 0.0, speed)

    driver = MetaDriver(STRAIGHT)
    targets = [
        driver.decide("FOLLOW_LANE", key, ego(v))[1]
        for key, v in [
            ("KEEP", 6.0), ("KEEP", 5.5), ("ACCELERATE", 5.5), ("KEEP", 7.0), ("DECELERATE", 7.0),
            ("DECELERATE", 1.0), ("STOP", 7.0), ("ACCELERATE", 29.0), ("KEEP", -0.3),
        ]
    ]  # fmt: skip
    assert targets == [6.0, 6.0, 8.5, 7.0, 5.5, 0.0, 0.0, 30.0, 0.0]


def test_accelerate_from_standstill_and_stop() -> None:
    fast = drive(STRAIGHT, ("FOLLOW_LANE", "ACCELERATE"), 0.0, 20)
    assert fast[-1].speed > 8.0
    assert drive(STRAIGHT, ("FOLLOW_LANE", "STOP"), 8.0, 20)[-1].speed == 0.0


@pytest.mark.parametrize("direction", DIRECTION_KEYS)
def test_every_pair_gives_a_decision_anywhere(direction: str) -> None:
    for key in SPEED_KEYS:
        for x, y, yaw in [(0, 0, 0), (62, 100, 1.5), (62, 104, -2), (-50, 80, 3), (63.4, 98.6, 2.4)]:
            steer, target = MetaDriver(LEFT_TURN).decide(direction, key, EgoState(x, y, yaw, 3.0))
            assert -1.0 <= steer <= 1.0
            assert 0.0 <= target <= 30.0
