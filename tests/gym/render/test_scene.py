"""Whole pictures: instance ids against ray casting, the same bytes everywhere, lights, weather, both kinds of view."""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from drivehierarchy_gym.catalog import ACTOR_MODELS, EGO_HEIGHT, EGO_LENGTH, EGO_WIDTH
from drivehierarchy_gym.errors import UnknownNameError
from drivehierarchy_gym.render.actor_meshes import EGO, actor_meshes, phase_of
from drivehierarchy_gym.render.camera import (
    BEV,
    FRONT,
    NEAR,
    NUSCENES_CAMERAS,
    CameraSpec,
    box_vertices,
    image_box,
    project,
    view_of,
)
from drivehierarchy_gym.render.scene import BACKGROUND, EGO_ID, SceneRenderer, is_plan, sees_ego
from drivehierarchy_gym.road.network import RoadNetwork
from drivehierarchy_gym.road.surroundings import Surroundings
from drivehierarchy_gym.scenarios.schema import Weather
from drivehierarchy_gym.state import ActorState, EgoState, Snapshot

EGO_STATE = EgoState(20.0, -4.8, 0.0, 8.0)
SMALL = CameraSpec("small", 96, 54, 100.0, 1.5, 0.0, 2.4, pitch_deg=-5.0)
BACK = next(camera for camera in NUSCENES_CAMERAS if camera.name == "CAM_BACK")


def actor(model: str, forward: float, left: float, yaw: float = 0.0, **changes: object) -> ActorState:
    """An actor at its nominal size, placed relative to `EGO_STATE`."""
    body = ACTOR_MODELS[model]
    x, y, size = EGO_STATE.x + forward, EGO_STATE.y + left, (body.length, body.width, body.height)
    state = ActorState(model, model, x, y, yaw, 1.0, *size, body.colours[0])
    return replace(state, **changes)  # type: ignore[arg-type]


def snapshot(*actors: ActorState, time: float = 0.0, signals: dict[str, str] | None = None) -> Snapshot:
    return Snapshot(time, EGO_STATE, actors, signals or {})


def digest(*pictures: NDArray) -> str:
    return hashlib.sha256(b"".join(picture.tobytes() for picture in pictures)).hexdigest()


SCENE = snapshot(
    actor("car", 14, 0.4, braking=True),
    actor("bus", 26, 3.4, math.pi),
    actor("pedestrian", 9, -3.5, 1.2),
    actor("bicycle", 11, 2.0, 0.1, indicator="left"),
    actor("cone", 6, -1.5),
    time=1.25,
    signals={"T": "rG"},
)


# --- determinism -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("camera", [FRONT, BEV, BACK], ids=lambda camera: camera.name)
def test_same_bytes_again_and_after_another_scene(renderer: SceneRenderer, camera: CameraSpec) -> None:
    first = renderer.render(camera, SCENE)
    away = Snapshot(7.0, EgoState(170.0, 40.0, 2.1, 3.0), (actor("truck", 160, 44), actor("suv", 150, 40)), {"T": "Gr"})
    other = renderer.render(camera, away)
    renderer.ids(camera, away)
    assert digest(renderer.render(camera, SCENE)) == digest(first) != digest(other)


def test_same_bytes_in_another_process(network: RoadNetwork, garden: Surroundings, tmp_path: Path) -> None:
    """Another process, another hash seed, pictures in another order."""
    weather = Weather(sky="rain", sun_altitude_deg=6.0)
    renderer = SceneRenderer(network, garden, weather)
    expected = digest(renderer.render(FRONT, SCENE), renderer.render(BEV, SCENE))
    script = tmp_path / "again.py"
    script.write_text(
        "import pickle, sys\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from pathlib import Path\n"
        "from drivehierarchy_gym.render.camera import BEV, FRONT\n"
        "from drivehierarchy_gym.render.scene import SceneRenderer\n"
        "from drivehierarchy_gym.road.network import load_network\n"
        "import hashlib\n"
        "path, garden, weather, scene = pickle.loads(Path(sys.argv[1]).read_bytes())\n"
        "renderer = SceneRenderer(load_network(path), garden, weather)\n"
        "bev, front = renderer.render(BEV, scene), renderer.render(FRONT, scene)\n"
        "print(hashlib.sha256(front.tobytes() + bev.tobytes()).hexdigest())\n"
    )
    arguments = tmp_path / "arguments.pickle"
    arguments.write_bytes(pickle.dumps((network.path, garden, weather, SCENE)))
    done = subprocess.run(
        [sys.executable, str(script), str(arguments), str(Path(__file__).parent)],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": "7"},
    )  # fmt: skip
    assert done.stdout.strip() == expected


# --- instance ids ----------------------------------------------------------------------------------------------------


def world_triangles(actors: tuple[ActorState, ...]) -> tuple[NDArray, NDArray]:
    """Triangles (T, 3, 3) of the actors' meshes in the world, and whose they are (T,)."""
    triangles, owners = [], []
    for n, a in enumerate(actors):
        c, s = math.cos(a.yaw), math.sin(a.yaw)
        model = ACTOR_MODELS[a.model]
        mesh = actor_meshes(a.model)[phase_of(a.model, a.x, a.y, c, s, a.speed)]
        local = mesh.corners * [a.length / model.length, a.width / model.width, a.height / model.height]
        x = a.x + c * local[..., 0] - s * local[..., 1]
        y = a.y + s * local[..., 0] + c * local[..., 1]
        triangles.append(np.stack([x, y, local[..., 2]], axis=-1))
        owners.append(np.full(len(mesh.slots), n + 1))
    return np.concatenate(triangles), np.concatenate(owners)


def cast_ids(camera: CameraSpec, actors: tuple[ActorState, ...], offset: tuple[float, float]) -> NDArray[np.int64]:
    """Ids by Möller-Trumbore intersection of a ray per pixel with every triangle, one pixel row at a time."""
    triangles, owners = world_triangles(actors)
    view = view_of(camera, EGO_STATE)
    a, e1, e2 = triangles[:, 0], triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    to_a = view.position - a
    q = np.cross(to_a, e1)
    ids = np.zeros((camera.height, camera.width), np.int64)
    u = (np.arange(camera.width) + 0.5 + offset[0] - camera.width / 2) / camera.focal_px
    for row in range(camera.height):
        v = (row + 0.5 + offset[1] - camera.height / 2) / camera.focal_px
        rays = np.stack([u, np.full_like(u, v), np.ones_like(u)], axis=1) @ view.rotation
        p = np.cross(rays[:, None], e2)
        determinant = np.sum(p * e1, axis=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            along = np.sum(p * to_a, axis=2) / determinant
            across = (rays @ q.T) / determinant
            depth = np.sum(q * e2, axis=1) / determinant
        hit = (determinant > 1e-12) & (along >= 0) & (across >= 0) & (along + across <= 1) & (depth >= NEAR)
        depth = np.where(hit, depth, np.inf)
        nearest = depth.argmin(axis=1)
        ids[row] = np.where(np.isfinite(depth.min(axis=1)), owners[nearest], BACKGROUND)
    return ids


bodies = st.builds(
    actor,
    st.sampled_from(list(ACTOR_MODELS)),
    st.floats(1.0, 40.0),
    st.floats(-9.0, 9.0),
    st.floats(-math.pi, math.pi),
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(bodies, min_size=1, max_size=3))
def test_ids_equal_ray_casting(renderer: SceneRenderer, actors: list[ActorState]) -> None:
    camera = replace(SMALL, width=48, height=27)
    ids = renderer.ids(camera, snapshot(*actors))
    shifts = ((0.0, 0.0), (0.02, 0.02), (-0.02, 0.02), (0.02, -0.02), (-0.02, -0.02))
    cast = np.stack([cast_ids(camera, tuple(actors), shift) for shift in shifts])
    # Pixels whose centre lies within a fiftieth of a pixel of an outline may go either way; bodies that touch are left
    # out where both are equally far.
    clear = (cast == cast[0]).all(axis=0)
    assert clear.mean() > 0.9
    assert (ids != cast[0])[clear].sum() <= 1


@pytest.mark.parametrize("camera", [SMALL, BEV], ids=lambda camera: camera.name)
def test_ids_do_not_depend_on_samples(
    network: RoadNetwork, bare: Surroundings, renderer: SceneRenderer, camera: CameraSpec
) -> None:
    single = SceneRenderer(network, bare, Weather(), samples=1)
    assert np.array_equal(single.ids(camera, SCENE), renderer.ids(camera, SCENE))


def test_the_nearer_body_is_seen(renderer: SceneRenderer) -> None:
    near, far = actor("car", 12, 0), replace(actor("bus", 24, 0), id="far")
    for actors in ((near, far), (far, near)):
        ids = renderer.ids(FRONT, snapshot(*actors))
        row, column = (int(v) for v in project(FRONT, EGO_STATE, (near.x - 2.2, near.y, 0.7))[0][::-1])
        assert actors[ids[row, column] - 1] is near
        seen = np.count_nonzero(ids == actors.index(far) + 1)
        assert 0 < seen < np.count_nonzero(renderer.ids(FRONT, snapshot(far)) == 1)


def test_an_unknown_model_is_named(renderer: SceneRenderer) -> None:
    with pytest.raises(UnknownNameError, match=r"'x'.*'caar'; did you mean 'car'"):
        renderer.render(SMALL, snapshot(replace(actor("car", 9, 0), id="x", model="caar")))


def test_a_camera_in_the_ground_is_refused(renderer: SceneRenderer) -> None:
    with pytest.raises(ValueError, match=r"'front': z is -0.1 m"):
        renderer.render(replace(FRONT, z=-0.1), snapshot())


def test_a_body_cut_by_the_near_plane_is_drawn(renderer: SceneRenderer) -> None:
    """A bus alongside, half of it behind the camera: its flank reaches the left border of the image."""
    ids = renderer.ids(FRONT, snapshot(actor("bus", 1.5, 2.6)))
    assert (ids[150:300, :40] == 1).mean() > 0.9


# --- models ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ACTOR_MODELS)
def test_every_model_is_seen_at_40_m_inside_its_box(renderer: SceneRenderer, model: str) -> None:
    body = actor(model, 41.5, 0.0, 0.6)
    scene = snapshot(body)
    image, ids = renderer.render(FRONT, scene), renderer.ids(FRONT, scene)
    box = image_box(FRONT, EGO_STATE, box_vertices(body.x, body.y, body.yaw, body.length, body.width, body.height))
    assert box is not None
    left, top, right, bottom = box
    rows, columns = np.nonzero(ids == 1)
    assert left - 0.5 <= columns.min() + 0.5
    assert columns.max() + 0.5 <= right + 0.5
    assert top - 0.5 <= rows.min() + 0.5
    assert rows.max() + 0.5 <= bottom + 0.5
    assert len(rows) > 0.25 * (right - left) * (bottom - top)
    empty = renderer.render(FRONT, snapshot())
    contrast = np.abs(image.astype(int) - empty)[ids == 1].max(axis=1)
    assert contrast.mean() > 25


def test_models_look_different_at_40_m(renderer: SceneRenderer) -> None:
    red = (190, 40, 40)
    crops = {}
    for model in ACTOR_MODELS:
        image = renderer.render(FRONT, snapshot(actor(model, 41.5, 0.0, 0.6, colour=red)))
        crops[model] = image[150:260, 330:470].astype(int)
    for a in crops:
        for b in crops:
            if a < b:
                assert (np.abs(crops[a] - crops[b]).max(axis=2) > 30).sum() > 20, (a, b)


def test_legs_step_with_the_distance_walked(renderer: SceneRenderer) -> None:
    standing = [renderer.render(SMALL, snapshot(actor("pedestrian", 5, 0, speed=0.0, x=25 + d))) for d in (0.0, 0.2)]
    assert phase_of("pedestrian", 0.0, 0, 1, 0, 0.0) == phase_of("pedestrian", 0.2, 0, 1, 0, 0.0) == 0
    walking = {phase_of("pedestrian", d / 10, 0, 1, 0, 1.3) for d in range(14)}
    assert walking == set(range(1, 9))
    moving = renderer.render(SMALL, snapshot(actor("pedestrian", 5, 0, speed=1.3, x=25.2)))
    assert not np.array_equal(moving, standing[1])


# --- lights ----------------------------------------------------------------------------------------------------------


def seen_from_behind(renderer: SceneRenderer, time: float = 0.0, **changes: object) -> NDArray[np.int64]:
    scene = snapshot(actor("car", 12, 0, **changes), time=time)
    image, ids = renderer.render(FRONT, scene), renderer.ids(FRONT, scene)
    return np.where((ids == 1)[..., None], image, 0).astype(int)


def test_brake_lamps_light_up(renderer: SceneRenderer) -> None:
    off, on = seen_from_behind(renderer), seen_from_behind(renderer, braking=True)
    changed = np.abs(on - off).max(axis=2) > 40
    assert changed.sum() > 20
    assert (on[changed][:, 0] > off[changed][:, 0] + 40).all(), "brighter red"
    columns = np.nonzero(changed)[1]
    assert columns.min() < 390
    assert columns.max() > 410, "on both sides"


@pytest.mark.parametrize(("side", "low", "high"), [("left", 300, 400), ("right", 400, 500)])
def test_indicators_blink_on_their_side(renderer: SceneRenderer, side: str, low: int, high: int) -> None:
    off = seen_from_behind(renderer, indicator="off")
    lit = seen_from_behind(renderer, indicator=side)
    columns = np.nonzero(np.abs(lit - off).max(axis=2) > 30)[1]
    assert len(columns) > 4
    assert low <= columns.min() <= columns.max() < high
    assert np.array_equal(seen_from_behind(renderer, time=0.5, indicator=side), seen_from_behind(renderer, time=0.5))


def test_signals_show_their_state(renderer: SceneRenderer) -> None:
    near = replace(EGO_STATE, x=80.0)

    def lamp(state: str) -> NDArray[np.int64]:
        return renderer.render(FRONT, Snapshot(0.0, near, (), {"T": state})).astype(int)

    dark = lamp("OO")
    red, amber, green = (lamp(letter * 2) - dark for letter in "ryG")
    assert ((red[..., 0] > 60) & (red[..., 1] < 40)).sum() > 4
    assert ((amber[..., 0] > 60) & (amber[..., 1] > 60)).sum() > 4
    assert ((green[..., 1] > 60) & (green[..., 0] < 40)).sum() > 4
    rows = [np.nonzero(np.abs(change).max(axis=2) > 60)[0].mean() for change in (red, amber, green)]
    assert rows == sorted(rows), "red above amber above green"
    one = np.nonzero(np.abs(lamp("Or") - dark).max(axis=2) > 60)[1]
    other = np.nonzero(np.abs(lamp("rO") - dark).max(axis=2) > 60)[1]
    assert one.max() < other.min(), "the left lane's head is left of the right lane's"


def test_lamps_burn_at_night_and_beams_light_the_road(network: RoadNetwork, bare: Surroundings) -> None:
    day, night = (SceneRenderer(network, bare, Weather(sun_altitude_deg=a)) for a in (45, -15))
    oncoming = snapshot(actor("car", 18, 3.2, math.pi))
    by_day, by_night = day.render(FRONT, oncoming), night.render(FRONT, oncoming)
    assert by_night.mean() < 0.45 * by_day.mean()
    ids = night.ids(FRONT, oncoming)
    assert by_night[ids == 1].max() > 240
    ahead, aside = by_night[360, 380:420].mean(), by_night[250, 20:60].mean()
    assert ahead > 1.5 * aside


# --- samples and weather ---------------------------------------------------------------------------------------------


def test_four_samples_smooth_edges_and_nothing_else(
    network: RoadNetwork, bare: Surroundings, renderer: SceneRenderer
) -> None:
    single = SceneRenderer(network, bare, Weather(), samples=1)
    sharp, smooth = (r.render(FRONT, SCENE).astype(int) for r in (single, renderer))
    different = np.abs(sharp - smooth).max(axis=2) > 8
    assert 0.002 < different.mean() < 0.12
    assert len(np.unique(smooth.reshape(-1, 3), axis=0)) > len(np.unique(sharp.reshape(-1, 3), axis=0))


@pytest.mark.parametrize("samples", [0, 2, 3, 16])
def test_other_numbers_of_samples_are_refused(network: RoadNetwork, bare: Surroundings, samples: int) -> None:
    with pytest.raises(ValueError, match=f"samples is {samples}"):
        SceneRenderer(network, bare, Weather(), samples=samples)


def test_fog_hides_what_is_far(network: RoadNetwork, bare: Surroundings) -> None:
    def contrast(sky: str, forward: float) -> float:
        renderer = SceneRenderer(network, bare, Weather(sky=sky))  # type: ignore[arg-type]
        scene = snapshot(actor("car", forward, 0))
        image, ids = renderer.render(FRONT, scene), renderer.ids(FRONT, scene)
        return float(np.abs(image.astype(int) - renderer.render(FRONT, snapshot()))[ids == 1].mean())

    assert contrast("fog", 90) < 0.35 * contrast("clear", 90)
    assert contrast("fog", 10) > 0.6 * contrast("clear", 10)


def test_rain_falls_with_time(network: RoadNetwork, bare: Surroundings) -> None:
    renderer = SceneRenderer(network, bare, Weather(sky="rain"))
    first, second = (renderer.render(FRONT, snapshot(time=time)) for time in (0.0, 0.25))
    assert not np.array_equal(first, second)
    assert np.array_equal(first, renderer.render(FRONT, snapshot(time=0.0)))


@pytest.mark.parametrize("altitude", [-20, 0, 4.9, 90])
@pytest.mark.parametrize("sky", ["clear", "overcast", "rain", "fog"])
def test_every_weather_leaves_bodies_visible_nearby(
    network: RoadNetwork, bare: Surroundings, sky: str, altitude: float
) -> None:
    renderer = SceneRenderer(network, bare, Weather(sky=sky, sun_altitude_deg=altitude))  # type: ignore[arg-type]
    white = actor("car", 10, 0, colour=(232, 232, 230))
    scene = snapshot(white)
    image, ids = renderer.render(SMALL, scene), renderer.ids(SMALL, scene)
    assert np.abs(image.astype(int) - renderer.render(SMALL, snapshot()))[ids == 1].mean() > 10


# --- the ego ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("camera", [FRONT, *NUSCENES_CAMERAS], ids=lambda camera: camera.name)
def test_only_rear_cameras_see_their_own_car(renderer: SceneRenderer, camera: CameraSpec) -> None:
    ids = renderer.ids(camera, snapshot())
    assert (ids == EGO_ID).any() == (camera.name == "CAM_BACK") == sees_ego(camera)


def test_bev_shows_the_ego_in_its_middle(renderer: SceneRenderer) -> None:
    ids = renderer.ids(BEV, snapshot())
    rows, columns = np.nonzero(ids == EGO_ID)
    grown = 50 / (50 - EGO_HEIGHT)  # the roof is nearer to the camera than the ground
    assert 8 * EGO_LENGTH - 2 <= np.ptp(rows) + 1 <= 8 * EGO_LENGTH * grown + 1
    assert 8 * EGO_WIDTH - 2 <= np.ptp(columns) + 1 <= 8 * EGO_WIDTH * grown + 1
    assert rows.mean() == pytest.approx(400, abs=4)
    assert columns.mean() == pytest.approx(400, abs=1)


def test_a_chase_camera_sees_the_ego(renderer: SceneRenderer) -> None:
    chase = CameraSpec("chase", 320, 180, 90.0, -8.0, 0.0, 3.0, pitch_deg=-10.0)
    assert (renderer.ids(chase, snapshot()) == EGO_ID).sum() > 300


# --- the plan and the perspective agree ------------------------------------------------------------------------------


def test_the_plan_agrees_with_the_perspective_on_the_ground(renderer: SceneRenderer) -> None:
    """The same ground, once cut out of the map and once drawn triangle by triangle."""
    nearly = replace(BEV, z=50.001)
    assert is_plan(BEV)
    assert not is_plan(nearly)
    for yaw in (0.0, 0.6):
        scene = Snapshot(0.0, replace(EGO_STATE, x=80.0, yaw=yaw), (), {})
        plan, perspective = (renderer.render(camera, scene).astype(int) for camera in (BEV, nearly))
        close = np.abs(plan - perspective).max(axis=2)
        assert np.median(close) < 14
        assert (close > 90).mean() < 0.01
        edges_apart = np.abs(np.diff(plan.sum(axis=2), axis=1) - np.diff(perspective.sum(axis=2), axis=1))
        assert (edges_apart > 330).mean() < 0.004


@pytest.mark.parametrize("camera", [FRONT, BEV], ids=lambda camera: camera.name)
def test_bodies_and_paint_are_where_the_projection_says(renderer: SceneRenderer, camera: CameraSpec) -> None:
    ego = EgoState(74.0, -4.8, 0.0, 0.0)
    cone = replace(actor("cone", 0, 0), x=84.0, y=-3.0)
    scene = Snapshot(0.0, ego, (cone,), {})
    image, ids = renderer.render(camera, scene), renderer.ids(camera, scene)
    (u, v), _ = project(camera, ego, (84.0, -3.0, 0.02))
    assert ids[int(v), int(u)] == 1
    # The stop line of lane a_0 lies across the road, from 0.7 to 0.2 m before its end at x = 96.
    (u, v), _ = project(camera, ego, (95.55, -4.8, 0.0))
    assert image[int(v), int(u)].min() > 180
    for x in (94.6, 97.0):
        (u, v), _ = project(camera, ego, (x, -4.8, 0.0))
        assert image[int(v), int(u)].max() < 150


def test_the_map_follows_the_ego_across_its_pieces(network: RoadNetwork, garden: Surroundings) -> None:
    """Pieces are reused in a ring; wherever the ego comes from, the picture is that of a new renderer."""
    travelled = SceneRenderer(network, garden, Weather())
    for x in range(-300, 400, 50):
        travelled.render(BEV, Snapshot(0.0, replace(EGO_STATE, x=float(x)), (), {}))
    here = Snapshot(0.0, replace(EGO_STATE, x=40.0, yaw=1.0), (), {})
    assert np.array_equal(travelled.render(BEV, here), SceneRenderer(network, garden, Weather()).render(BEV, here))


def test_crowded_scenes_outgrow_the_first_tables(
    renderer: SceneRenderer, network: RoadNetwork, bare: Surroundings
) -> None:
    """More triangles than the tables start with: they grow, and the picture is the same for who had them large."""
    crowd = tuple(replace(actor("bicycle", 8 + 1.5 * (i % 20), -30 + 3 * (i // 20)), id=str(i)) for i in range(400))
    first = renderer.render(FRONT, snapshot(*crowd))
    assert np.array_equal(renderer.render(FRONT, snapshot(*crowd)), first)
    assert np.array_equal(SceneRenderer(network, bare, Weather()).render(FRONT, snapshot(*crowd)), first)


def test_houses_and_trees_stand_beside_the_road(
    network: RoadNetwork, bare: Surroundings, garden: Surroundings, renderer: SceneRenderer
) -> None:
    planted = SceneRenderer(network, garden, Weather())
    changed = (
        np.abs(planted.render(FRONT, snapshot()).astype(int) - renderer.render(FRONT, snapshot())).max(axis=2) > 12
    )
    (u, v), _ = project(FRONT, EGO_STATE, (46.0, 12.0, 3.0))
    assert changed[int(v), int(u)], "the facade"
    (u, v), _ = project(FRONT, EGO_STATE, (36.0, 9.0, 5.0))
    assert changed[int(v), int(u)], "the crown"
    above = np.abs(planted.render(BEV, snapshot()).astype(int) - renderer.render(BEV, snapshot())).max(axis=2) > 12
    (u, v), _ = project(BEV, EGO_STATE, (46.0, 16.0, 0.0))
    assert above[int(v), int(u)], "the roof"


def test_ego_mesh_fills_its_box() -> None:
    low, high = actor_meshes(EGO)[0].bounds
    assert high - low == pytest.approx([EGO_LENGTH, EGO_WIDTH, EGO_HEIGHT])
