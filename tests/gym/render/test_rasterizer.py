"""The rasteriser against slow references: exact rational coverage, and rays cast at triangles."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.render.camera import NEAR, CameraSpec, view_of
from drivehierarchy_gym.render.rasterizer import (
    CENTRE,
    FOUR,
    NOTHING,
    SHADOW,
    SHADOW_LAYER,
    SOLID,
    Lens,
    Samples,
    clear,
    fill,
    lens_of,
    new_queue,
    new_samples,
    queue_ground,
    queue_triangle,
)

WIDTH, HEIGHT = 24, 14
CAMERA = CameraSpec("small", WIDTH, HEIGHT, 90.0, 0.0, 0.0, 1.5, pitch_deg=-7.0)


def steps(pixels: int) -> st.SearchStrategy[int]:
    """Subpixel steps in and around an image; often such that edges run through the places of samples."""
    low, high = -3 * 256, (pixels + 3) * 256
    return st.integers(low, high) | st.integers(low // 32, high // 32).map(lambda n: 32 * n)


corner = st.tuples(steps(WIDTH), steps(HEIGHT))


def lens_at(camera: CameraSpec, ego: Pose) -> Lens:
    return lens_of(camera, view_of(camera, ego))


Corners = list[tuple[int, int]]


def draw_corners(
    samples: Samples, corners: Corners, number: int = 0, how: int = SOLID, w: tuple[float, ...] = (1.0, 1.0, 1.0)
) -> None:
    """Draw a triangle given on the screen, clockwise, in subpixel steps."""
    queue = new_queue(1)
    queue[0] = [*(value for point in corners for value in point), *w, how, number, 1.0, 0.0]
    fill(samples, queue, 1)


def covered(samples: Samples) -> np.ndarray:
    return samples.triangle.reshape(HEIGHT, -1, WIDTH) != NOTHING


def belongs(point: tuple[int, int], corners: list[tuple[int, int]]) -> bool:
    """Top-left rule in whole numbers; corners clockwise on the screen."""
    for (ax, ay), (bx, by) in zip(corners, [*corners[1:], corners[0]], strict=True):
        side = (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax)
        top_or_left = by < ay or (by == ay and bx > ax)
        if side < 0 or (side == 0 and not top_or_left):
            return False
    return True


def area(corners: list[tuple[int, int]]) -> int:
    (x0, y0), (x1, y1), (x2, y2) = corners
    return (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)


@settings(max_examples=300, deadline=None)
@given(st.tuples(corner, corner, corner), st.sampled_from([CENTRE, FOUR]))
def test_coverage_is_exact(corners: tuple, offsets: tuple) -> None:
    samples = new_samples(WIDTH, HEIGHT, offsets)
    draw_corners(samples, list(corners))
    expected = np.zeros((HEIGHT, len(offsets), WIDTH), bool)
    if area(list(corners)) > 0:
        for row, s, column in np.ndindex(expected.shape):
            point = (column * 256 + offsets[s][0], row * 256 + offsets[s][1])
            expected[row, s, column] = belongs(point, list(corners))
    assert (covered(samples) == expected).all()


@settings(max_examples=60, deadline=None)
@given(st.lists(corner, min_size=3, max_size=9, unique=True), corner)
def test_triangles_that_share_edges_share_no_sample_and_leave_no_gap(ring: list, hub: tuple) -> None:
    """A fan around an inner point: every sample inside belongs to exactly one triangle."""
    ring.sort(key=lambda p: np.arctan2(p[1] - hub[1], p[0] - hub[0]))
    fans = [[hub, a, b] for a, b in zip(ring, [*ring[1:], ring[0]], strict=True) if area([hub, a, b]) > 0]
    together = new_samples(WIDTH, HEIGHT, FOUR)
    alone = 0
    for number, triangle in enumerate(fans):
        draw_corners(together, triangle, number)
        single = new_samples(WIDTH, HEIGHT, FOUR)
        draw_corners(single, triangle)
        alone += int(covered(single).sum())
    assert alone == covered(together).sum()


@settings(max_examples=60, deadline=None)
@given(st.tuples(corner, corner, corner), st.tuples(*[st.floats(0.01, 2)] * 3))
def test_depth_is_interpolated_linearly_on_the_screen(corners: tuple, w: tuple) -> None:
    samples = new_samples(WIDTH, HEIGHT, CENTRE)
    draw_corners(samples, list(corners), 5, w=w)
    for row, column in zip(*np.nonzero(covered(samples)[:, 0]), strict=True):
        x, y = int(column) * 256 + 128, int(row) * 256 + 128
        weights = [Fraction(area([(x, y), b, c]), area(list(corners))) for b, c in
                   ((corners[1], corners[2]), (corners[2], corners[0]), (corners[0], corners[1]))]  # fmt: skip
        expected = sum(float(weight) * value for weight, value in zip(weights, w, strict=True))
        assert samples.depth[row * WIDTH + column] == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("columns", [3, 20], ids=["narrow", "wide"])
def test_a_rectangle_with_corners_on_pixel_centres_owns_its_top_and_left(columns: int) -> None:
    samples = new_samples(WIDTH, HEIGHT, CENTRE)
    left, top, right, bottom = 128 + 256, 128 + 2 * 256, 128 + (1 + columns) * 256, 128 + 7 * 256
    draw_corners(samples, [(left, top), (right, top), (right, bottom)])
    draw_corners(samples, [(left, top), (right, bottom), (left, bottom)])
    expected = np.zeros((HEIGHT, WIDTH), bool)
    expected[2:7, 1 : 1 + columns] = True
    assert np.array_equal(covered(samples)[:, 0], expected)


@pytest.mark.parametrize("reach", [3, 20], ids=["narrow", "wide"])
def test_of_equally_near_surfaces_the_first_stays(reach: int) -> None:
    samples = new_samples(WIDTH, HEIGHT, FOUR)
    for number in (7, 4):
        draw_corners(samples, [(0, 0), (reach * 256, 0), (0, reach * 256)], number)
    assert set(np.unique(samples.triangle)) == {NOTHING, 7}


def test_clear_forgets_everything() -> None:
    samples = new_samples(WIDTH, HEIGHT, FOUR)
    draw_corners(samples, [(0, 0), (WIDTH * 256, 0), (0, HEIGHT * 256)])
    draw_corners(samples, [(900, 800), (2000, 900), (800, 2000)], how=SHADOW)
    clear(samples)
    fresh = new_samples(WIDTH, HEIGHT, FOUR)
    for found, expected in zip(samples, fresh, strict=True):
        assert np.array_equal(found, expected)


# --- in space --------------------------------------------------------------------------------------------------------

place = st.tuples(st.floats(-8, 30), st.floats(-12, 12), st.floats(0, 5))


def cast(lens: Lens, corners: np.ndarray, shift: tuple[float, float]) -> np.ndarray:
    """Depths (H, W) at which rays through the shifted pixel centres meet a triangle's front, inf where they do not."""
    u = (np.arange(WIDTH) + 0.5 + shift[0] - lens.centre_x) / lens.focal
    v = (np.arange(HEIGHT) + 0.5 + shift[1] - lens.centre_y) / lens.focal
    rays = np.stack([*np.meshgrid(u, v), np.ones((HEIGHT, WIDTH))], axis=-1) @ lens.rotation
    a, b, c = corners
    normal = np.cross(b - a, c - a)
    facing = rays @ normal
    with np.errstate(divide="ignore", invalid="ignore"):
        depth = normal @ (a - lens.position) / facing
        points = lens.position + depth[..., None] * rays
        inside = (facing < 0) & (depth >= NEAR)
        for p, q in ((a, b), (b, c), (c, a)):
            inside &= np.cross(q - p, points - p) @ normal >= 0
    return np.where(inside, depth, np.inf)


def draw(samples: Samples, lens: Lens, corners: np.ndarray, number: int) -> None:
    """Draw a triangle (3, 3) of the world."""
    local = [lens.rotation @ (point - lens.position) for point in corners]
    queue = new_queue(8)
    fill(samples, queue, queue_triangle(queue, 0, lens, SOLID, number, 0.0, 0.0, *np.concatenate(local)))


def draw_flat(samples: Samples, lens: Lens, corners: np.ndarray, layers: list[int]) -> None:
    """Draw triangles (T, 6) on the ground."""
    queue = new_queue(64)
    tiles = np.array([0, len(corners)]), np.array([0])
    fill(samples, queue, queue_ground(queue, 0, lens, corners, np.array(layers, np.uint8), 0, *tiles))


JITTER = [(0.0, 0.0), (0.03, 0.03), (-0.03, 0.03), (0.03, -0.03), (-0.03, -0.03)]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(place, place, place), min_size=1, max_size=4), st.floats(-3, 3))
def test_nearest_triangle_is_seen_wherever_rays_say_so(triangles: list, yaw: float) -> None:
    """Visibility, depth and near-plane clipping against ray casting; the order of drawing does not matter."""
    lens = lens_at(CAMERA, Pose(1.0, -2.0, yaw))
    shapes = [np.array(triangle, dtype=np.float64) for triangle in triangles]
    first, second = new_samples(WIDTH, HEIGHT, CENTRE), new_samples(WIDTH, HEIGHT, CENTRE)
    for number, shape in enumerate(shapes):
        draw(first, lens, shape, number)
    for number, shape in reversed(list(enumerate(shapes))):
        draw(second, lens, shape, number)
    hits = np.array([[cast(lens, shape, shift) for shape in shapes] for shift in JITTER])  # (shifts, shapes, H, W)
    nearest = hits.min(axis=1)
    seen = np.where(np.isfinite(nearest), hits.argmin(axis=1), NOTHING)
    ordered = np.sort(hits[0], axis=0)
    with np.errstate(invalid="ignore"):
        tied = ordered[1] - ordered[0] < 1e-3 * ordered[0] if len(shapes) > 1 else np.zeros((HEIGHT, WIDTH), bool)
    # Elsewhere an edge passes within a thirtieth of a pixel, or two surfaces cross.
    certain = (seen == seen[0]).all(axis=0) & ~tied
    found = first.triangle.reshape(HEIGHT, WIDTH)
    assert (found == seen[0])[certain].all()
    assert (second.triangle.reshape(HEIGHT, WIDTH) == seen[0])[certain].all()
    drawn = certain & (found != NOTHING)
    spread = np.ptp(nearest[:, drawn], axis=0)
    error = np.abs(1 / first.depth.reshape(HEIGHT, WIDTH)[drawn] - nearest[0][drawn])
    assert (error <= spread + 2e-3 * nearest[0][drawn]).all()


def test_backs_are_not_drawn() -> None:
    lens = lens_at(CAMERA, Pose(0, 0, 0))
    towards_us = np.array([[10.0, 3, 0], [10, -3, 0], [10, 0, 3]])
    samples = new_samples(WIDTH, HEIGHT, CENTRE)
    draw(samples, lens, towards_us[::-1].copy(), 0)
    assert not covered(samples).any()
    draw(samples, lens, towards_us, 0)
    assert covered(samples).any()


@pytest.mark.parametrize("reach", [30.0, 3_000.0, 300_000.0])
def test_triangles_far_beyond_the_image_still_cover_it(reach: float) -> None:
    """The ground under the camera, up to corners whose pixels would overflow without clipping."""
    lens = lens_at(CameraSpec("down", WIDTH, HEIGHT, 90.0, 0, 0, 1.5, pitch_deg=-40.0), Pose(0, 0, 0.3))
    corners = np.array([[-reach, -reach, reach, -reach, reach, reach], [-reach, -reach, reach, reach, -reach, reach]])
    samples = new_samples(WIDTH, HEIGHT, FOUR)
    draw_flat(samples, lens, corners, [0, 0])
    below = HEIGHT - 1  # the last row looks at the ground in front of the camera
    assert covered(samples)[below].all()


def test_ground_layers_hide_lower_ones_in_any_order_and_nothing_that_stands_on_them() -> None:
    lens = lens_at(CAMERA, Pose(0, 0, 0))
    quad = np.array([[2.0, -9, 20, -9, 20, 9], [2.0, -9, 20, 9, 2, 9]])
    corners = np.concatenate([quad, quad])
    wall = np.array([[12.0, 1, 0], [12, -1, 0], [12, 0, 1.0]])
    pictures = []
    for layers in ([1, 1, 2, 2], [2, 2, 1, 1]):
        samples = new_samples(WIDTH, HEIGHT, FOUR)
        draw(samples, lens, wall, 9)
        draw(samples, lens, wall[::-1].copy(), 9)
        draw_flat(samples, lens, corners, layers)
        pictures.append(samples.triangle.copy())
    assert set(pictures[0]) == {NOTHING, 2, 3, 9}
    assert set(pictures[1]) == {NOTHING, 0, 1, 9}
    assert ((pictures[0] == 9) == (pictures[1] == 9)).all()


def test_shadows_change_no_triangle() -> None:
    lens = lens_at(CAMERA, Pose(0, 0, 0))
    quad = np.array([[2.0, -9, 20, -9, 20, 9], [2.0, -9, 20, 9, 2, 9]])
    samples = new_samples(WIDTH, HEIGHT, FOUR)
    draw_flat(samples, lens, quad, [SHADOW_LAYER, SHADOW_LAYER])
    assert not covered(samples).any()
    assert set(np.unique(samples.shadow)) == {0, 1}


def test_a_queue_that_is_too_short_says_so() -> None:
    lens = lens_at(CAMERA, Pose(0, 0, 0))
    corners = np.tile([2.0, -9, 20, -9, 20, 9], (10, 1))
    layers, tiles = np.zeros(10, np.uint8), (np.array([0, 10]), np.array([0]))
    assert queue_ground(new_queue(8), 0, lens, corners, layers, 0, *tiles) == -1
    assert queue_ground(new_queue(64), 0, lens, corners, layers, 0, *tiles) > 9
