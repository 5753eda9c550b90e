"""What stands still: tiles, buildings, signals and signs, shadows, sky and noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivehierarchy_gym.geometry import Pose
from drivehierarchy_gym.render.buildings import build
from drivehierarchy_gym.render.camera import FRONT, CameraSpec, view_of
from drivehierarchy_gym.render.noise import LEVELS, TEXTURE_SIZE, ground_texture, hash_unit
from drivehierarchy_gym.render.rasterizer import lens_of
from drivehierarchy_gym.render.roadside import aspect, signal_posts, signs
from drivehierarchy_gym.render.shadows import box_shadows
from drivehierarchy_gym.render.tiles import TILE, in_view, tiled
from drivehierarchy_gym.render.weather import SKY_COLUMNS, SKY_ROWS, look_of, sky_panorama
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.road.surroundings import Building, Surroundings
from drivehierarchy_gym.scenarios.schema import Weather

# --- tiles -----------------------------------------------------------------------------------------------------------

metres = st.floats(-200, 200)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(metres, metres, st.floats(-2, 20), st.floats(0.1, 30)), min_size=1, max_size=12),
    st.floats(-math.pi, math.pi),
    st.floats(-80, 40),
    st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1)),
)
def test_no_ball_in_view_is_dropped(balls: list, yaw: float, pitch: float, inside: tuple) -> None:
    """If any point of a ball projects into the image, the ball is listed; and nearer ones come first."""
    camera = CameraSpec("any", 160, 90, 80.0, 0, 0, 2.0, pitch_deg=pitch)
    view = view_of(camera, Pose(3.0, -4.0, yaw))
    lens = lens_of(camera, view)
    table = np.array(balls)
    listed = in_view(lens, table[:, :3], table[:, 3], 1000.0).tolist()
    for n, (x, y, z, radius) in enumerate(balls):
        point = np.array([x, y, z]) + np.array(inside) * radius / math.sqrt(3)
        right, down, ahead = view.to_camera(point)
        if ahead > 0.1 and abs(right) < lens.half_x * ahead and abs(down) < lens.half_y * ahead:
            assert n in listed
    distances = [float(np.linalg.norm(table[n, :3] - lens.position)) for n in listed]
    assert distances == sorted(distances)


def test_in_view_respects_its_limit() -> None:
    lens = lens_of(FRONT, view_of(FRONT, Pose(0, 0, 0)))
    centre = np.array([[50.0, 0, 0], [150.0, 0, 0]])
    assert in_view(lens, centre, np.ones(2), 100.0).tolist() == [0]


@given(st.lists(st.tuples(*[st.floats(-150, 150)] * 6), max_size=20))
def test_tiles_hold_every_triangle_once_within_their_bounds(rows: list) -> None:
    corners = np.array(rows, dtype=np.float64).reshape(-1, 3, 2)
    order, tiles = tiled(corners)
    assert sorted(order.tolist()) == list(range(len(corners)))
    for i, (first, last) in enumerate(zip(tiles.starts, tiles.starts[1:], strict=False)):
        members = corners[order[first:last]]
        middles = np.floor(members.mean(axis=1) / TILE)
        assert (middles == middles[0]).all()
        away = np.linalg.norm(members - tiles.centre[i, :2], axis=2)
        assert away.max() <= tiles.reach[i] + 1e-9


# --- buildings and shadows -------------------------------------------------------------------------------------------


def test_walls_look_outwards_and_reach_the_roof(garden: Surroundings) -> None:
    built = build(garden.buildings)
    walls = built.corners[built.wall >= 0]
    middle = garden.buildings[0].outline.mean(axis=0)
    for triangle in walls:
        normal = np.cross(triangle[1] - triangle[0], triangle[2] - triangle[0])
        assert normal[:2] @ (triangle.mean(axis=0)[:2] - middle) > 0
    assert walls[..., 2].max() == 6.0
    assert built.corners[..., 2].max() > 6.0, "a small rectangle has a gable roof"
    assert built.frames[:, 4].sum() == pytest.approx(2 * (12 + 8))


def test_other_outlines_have_flat_roofs() -> None:
    outline = np.array([[0.0, 0], [12, 0], [12, 6], [6, 6], [6, 12], [0, 12]])
    roof = np.array([outline[[0, 1, 2]], outline[[0, 2, 3]], outline[[0, 3, 4]], outline[[0, 4, 5]]])
    built = build([Building(outline, roof, 9.0)])
    assert built.corners[..., 2].max() == 9.0
    assert (built.wall < 0).sum() == 4


@pytest.mark.parametrize("slope", [(0.0, 0.0), (0.8, -0.5)])
def test_box_shadow_covers_what_the_sun_does_not_reach(slope: tuple[float, float]) -> None:
    """Points of the box, moved along the light to the ground, lie in its shadow; points beyond do not."""
    x, y, yaw, half_length, half_width, height = 5.0, -2.0, 0.7, 2.0, 1.0, 1.5
    triangles = box_shadows(np.array([[x, y, math.cos(yaw), math.sin(yaw), half_length, half_width, height]]), *slope)

    def dark(px: float, py: float) -> bool:
        for ax, ay, bx, by, cx, cy in triangles:
            sides = [(qx - mx) * (py - my) - (qy - my) * (px - mx) for mx, my, qx, qy in
                     ((ax, ay, bx, by), (bx, by, cx, cy), (cx, cy, ax, ay))]  # fmt: skip
            if min(sides) >= -1e-9:
                return True
        return False

    rng = np.random.default_rng(0)
    pose = Pose(x, y, yaw)
    for along, across, up in rng.uniform(-1, 1, (200, 3)):
        z = (up + 1) / 2 * height if slope != (0.0, 0.0) else 0.0
        px, py = pose.to_world(along * half_length, across * half_width)
        assert dark(px + slope[0] * z, py + slope[1] * z)
    assert not dark(*pose.to_world(-half_length - 0.1 - 3 * abs(slope[0]), half_width + 3))


# --- signals and signs -----------------------------------------------------------------------------------------------


def test_every_controlled_lane_has_a_head(network: RoadNetwork) -> None:
    (post,) = signal_posts(network)
    assert [(head.signal, head.link) for head in post.heads] == [("T", 0), ("T", 1)]
    low, high = post.heads
    assert low.height < high.height
    assert high.pose.y == pytest.approx(-1.6), "over the left lane"
    assert low.pose.y < -6.4, "beside the road"
    assert all(head.pose.x > 96 for head in post.heads), "behind the stop line"
    assert not network.on_road(post.pole.x, post.pole.y)


def test_the_minor_road_has_a_yield_sign(network: RoadNetwork) -> None:
    (sign,) = signs(network)
    assert sign.kind == "yield"
    assert sign.pose.yaw == pytest.approx(math.pi / 2)
    assert sign.pose.x > 101.6, "on the right of a road that leads north"
    assert not network.on_road(sign.pose.x, sign.pose.y)


@pytest.mark.parametrize(
    ("state", "link", "expected"),
    [
        ("rG", 0, "red"),
        ("rG", 1, "green"),
        ("rg", 1, "green"),
        ("ry", 1, "amber"),
        ("ru", 1, "red_amber"),
        ("rO", 1, "off"),
        ("r", 1, "off"),
    ],
)
def test_aspects(state: str, link: int, expected: str) -> None:
    assert aspect({"T": state}, "T", link) == expected


def test_an_unknown_signal_is_off() -> None:
    assert aspect({}, "T", 0) == "off"


# --- sky and noise ---------------------------------------------------------------------------------------------------


def test_sky_is_lightest_at_the_horizon_and_dark_at_night() -> None:
    day, night = sky_panorama(Weather()), sky_panorama(Weather(sun_altitude_deg=-15))
    assert day.shape == (SKY_ROWS, SKY_COLUMNS, 3)
    assert day[2].mean() > day[-40:].mean()
    assert night.mean() < 0.25 * day.mean()


@pytest.mark.parametrize("sky", ["clear", "overcast", "rain", "fog"])
@given(altitude=st.floats(-20, 90))
def test_looks_are_within_their_ranges(sky: str, altitude: float) -> None:
    look = look_of(Weather(sky=sky, sun_altitude_deg=altitude))  # type: ignore[arg-type]
    assert np.linalg.norm(look.to_sun) == pytest.approx(1)
    assert look.to_sun[2] > 0.3
    for colour in (look.zenith, look.horizon, look.cloud_colour):
        assert all(0 <= value <= 255 for value in colour)
    assert 0 < look.shadow <= 1
    assert 0 <= look.beams <= 1
    assert look.lamps or altitude >= 8


def test_texture_levels_keep_their_mean() -> None:
    texture, starts, _, _ = ground_texture()
    sizes = [(TEXTURE_SIZE >> k) ** 2 for k in range(LEVELS)]
    assert len(texture) == sum(sizes)
    levels = [texture[start : start + size].astype(float) for start, size in zip(starts, sizes, strict=True)]
    for level in levels:
        assert level.mean() == pytest.approx(levels[0].mean(), abs=1.5)
    spreads = [level.std() for level in levels]
    assert spreads == sorted(spreads, reverse=True)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=4))
def test_hashes_are_unit_numbers_and_depend_on_every_key(keys: list[int]) -> None:
    value = hash_unit(*keys)
    assert 0 <= value < 1
    assert value == hash_unit(*keys)
    assert value != hash_unit(*keys[:-1], keys[-1] + 1)
