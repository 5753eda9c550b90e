"""Small road networks and plans to try the SUMO backend on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from drivehierarchy_gym.backends.sumo.backend import SumoBackend
from drivehierarchy_gym.geometry import Polyline, Pose
from drivehierarchy_gym.plan import ActorPlan, EpisodePlan
from drivehierarchy_gym.road.default_map import sumo_home
from drivehierarchy_gym.scenarios.schema import Weather
from tests.gym.backends.actors import LANE_1

ARMS = {"W": (-300, 0), "E": (300, 0), "S": (0, -300), "N": (0, 300)}


def _build(folder: Path, junction: str) -> Path:
    """Crossing of two roads with two lanes and a sidewalk each way; the road from W to E has priority."""
    nodes = "".join(f'<node id="{n}" x="{x}" y="{y}" type="priority"/>' for n, (x, y) in ARMS.items())
    (folder / "n.nod.xml").write_text(f'<nodes><node id="C" x="0" y="0" type="{junction}"/>{nodes}</nodes>')
    edges = "".join(
        f'<edge id="{one}" from="{one[0]}" to="{one[1]}" numLanes="2" speed="13.89" sidewalkWidth="2" '
        f'priority="{2 if arm in "WE" else 1}"/>'
        for arm in ARMS
        for one in (f"{arm}C", f"C{arm}")
    )
    (folder / "n.edg.xml").write_text(f"<edges>{edges}</edges>")
    net = folder / f"{junction}.net.xml"
    subprocess.run(
        [
            str(sumo_home() / "bin" / "netconvert"), "-n", str(folder / "n.nod.xml"), "-e", str(folder / "n.edg.xml"),
            "-o", str(net), "--offset.disable-normalization", "--crossings.guess", "--no-turnarounds",
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return net


@pytest.fixture(scope="session")
def cross(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Net with a priority junction."""
    return _build(tmp_path_factory.mktemp("cross"), "priority")


@pytest.fixture(scope="session")
def lights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a traffic light, which starts green for W and E."""
    return _build(tmp_path_factory.mktemp("lights"), "traffic_light")


@pytest.fixture(scope="module")
def backend() -> Iterator[SumoBackend]:
    backend = SumoBackend()
    yield backend
    backend.close()


EGO_START = Pose(-100.0, LANE_1, 0.0)
MakePlan = Callable[..., EpisodePlan]


@pytest.fixture
def make_plan(cross: Path) -> MakePlan:
    """Plans on `cross`: the ego starts 100 m before the junction on WC and drives straight on to CE."""

    def make(
        *actors: ActorPlan,
        start: Pose = EGO_START,
        start_speed: float = 0.0,
        route: Sequence[tuple[float, float]] = ((-100.0, LANE_1), (290.0, LANE_1)),
        route_edges: tuple[str, ...] = ("WC", "CE"),
        net: Path = cross,
        seed: int = 5,
    ) -> EpisodePlan:
        return EpisodePlan(
            scenario_id="test",
            family="04_intersection",
            network_file=net,
            start=start,
            start_speed=start_speed,
            route=Polyline.through(route),
            lane_route=Polyline.through(route),
            route_edges=route_edges,
            route_source="route_edges",
            goal=route[-1],
            goal_radius=8.0,
            scenario_duration=60.0,
            reference_duration=30.0,
            blocked_ticks=100,
            weather=Weather(),
            seed=seed,
            actors=actors,
        )

    return make
