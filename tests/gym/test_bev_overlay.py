"""The route on the bird's-eye view: where, in which colours, and nothing else."""

import math

import numpy as np

from drivehierarchy_gym.bev_overlay import draw_route
from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.render.camera import BEV


def picture(pose: Pose, route: list[tuple[float, float]]) -> np.ndarray:
    return draw_route(np.zeros((800, 800, 3), np.uint8), BEV, pose, route)


def colour(image: np.ndarray, column: int, row: int) -> tuple[int, int, int]:
    return tuple(int(v) for v in image[row, column])


def test_eight_pixels_a_metre_with_forward_up() -> None:
    image = picture(Pose(100.0, 50.0, 0.0), [(100.0, 50.0), (130.0, 50.0), (130.0, 40.0)])
    assert colour(image, 400, 400) == (255, 230, 80)  # the ego in the middle
    assert colour(image, 400, 280) == (255, 90, 90)  # 15 m ahead, on the line
    assert colour(image, 400, 160) == (255, 255, 255)  # 30 m ahead, the vertex
    assert colour(image, 440, 160) == (255, 90, 90)  # then to the right
    assert colour(image, 480, 160) == (255, 255, 255)  # 10 m to the right
    assert colour(image, 360, 160) == (0, 0, 0)


def test_the_picture_turns_with_the_ego() -> None:
    image = picture(Pose(0.0, 0.0, math.pi / 2), [(0.0, 0.0), (0.0, 20.0)])
    assert colour(image, 400, 240) == (255, 255, 255)
    assert colour(image, 400, 300) == (255, 90, 90)


def test_the_last_dot_is_larger_and_hidden_dots_are_left_out() -> None:
    image = picture(Pose(0.0, 0.0, 0.0), [(10.0, 0.0), (20.0, 0.0), (20.5, 0.0), (30.0, 0.0)])
    white = [int((image[y - 6 : y + 7, 394:407] == 255).all(axis=2).sum()) for y in (320, 240, 236, 160)]
    assert white[3] > white[0] > 0  # radius 3 inside the outline against 2
    assert white[1] == white[0]
    assert colour(image, 400, 236) == (255, 90, 90)  # 0.5 m behind the dot at 20 m: on its rim, no dot of its own


def test_a_route_out_of_sight_is_cut_at_the_border() -> None:
    image = picture(Pose(0.0, 0.0, 0.0), [(0.0, 0.0), (500.0, 0.0)])
    assert colour(image, 400, 0) == (255, 90, 90)
    assert not (image == 255).all(axis=2).any()  # the first point lies below the ego's dot, the other out of sight


def test_only_the_route_is_painted_over() -> None:
    image = draw_route(np.full((800, 800, 3), 7, np.uint8), BEV, Pose(0, 0, 0), [(0.0, 0.0), (60.0, 0.0)])
    assert (image[:, :390] == 7).all()
    assert (image[:, 411:] == 7).all()
    assert (image[410:] == 7).all()
