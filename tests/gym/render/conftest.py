"""A small world of its own: one straight road with a signal, a side road that yields, one house, one tree."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drivehierarchy_gym.render.scene import SceneRenderer
from drivehierarchy_gym.road.network import RoadNetwork, load_network
from drivehierarchy_gym.road.surroundings import Building, Surroundings
from drivehierarchy_gym.scenarios.schema import Weather

NET = """<net version="1.20">
  <location netOffset="0,0" convBoundary="0,-60,200,0" origBoundary="0,0,0,0" projParameter="!"/>
  <edge id="a" from="W" to="C" priority="3" type="highway.secondary">
    <lane id="a_0" index="0" speed="13.9" length="96" shape="0,-4.8 96,-4.8"/>
    <lane id="a_1" index="1" speed="13.9" length="96" shape="0,-1.6 96,-1.6"/>
  </edge>
  <edge id="b" from="C" to="E" priority="3" type="highway.secondary">
    <lane id="b_0" index="0" speed="13.9" length="96" shape="104,-4.8 200,-4.8"/>
    <lane id="b_1" index="1" speed="13.9" length="96" shape="104,-1.6 200,-1.6"/>
  </edge>
  <edge id="s" from="S" to="C" priority="1" type="highway.residential">
    <lane id="s_0" index="0" speed="8.3" length="50" shape="100,-60 100,-10"/>
  </edge>
  <junction id="W" type="dead_end" x="0" y="0" shape="0,0 0,-6.4"/>
  <junction id="E" type="dead_end" x="200" y="0" shape="200,-6.4 200,0"/>
  <junction id="S" type="dead_end" x="100" y="-60" shape="98.4,-60 101.6,-60"/>
  <junction id="C" type="traffic_light" x="100" y="0" shape="96,-6.4 98.4,-10 101.6,-10 104,-6.4 104,0 96,0"/>
  <connection from="a" to="b" fromLane="0" toLane="0" tl="T" linkIndex="0" dir="s" state="o"/>
  <connection from="a" to="b" fromLane="1" toLane="1" tl="T" linkIndex="1" dir="s" state="o"/>
  <connection from="s" to="b" fromLane="0" toLane="0" dir="r" state="m"/>
</net>
"""


@pytest.fixture(scope="session")
def network(tmp_path_factory: pytest.TempPathFactory) -> RoadNetwork:
    path = Path(tmp_path_factory.mktemp("render")) / "straight.net.xml"
    path.write_text(NET)
    return load_network(path)


@pytest.fixture(scope="session")
def bare() -> Surroundings:
    """Nothing beside the road."""
    return Surroundings((), np.empty((0, 3)), ())


@pytest.fixture(scope="session")
def garden() -> Surroundings:
    """One house and one tree to the left of the road."""
    outline = np.array([[40.0, 12.0], [52.0, 12.0], [52.0, 20.0], [40.0, 20.0]])
    roof = np.array([outline[[0, 1, 2]], outline[[0, 2, 3]]])
    return Surroundings((Building(outline, roof, 6.0),), np.array([[36.0, 9.0, 8.0]]), ())


@pytest.fixture(scope="session")
def renderer(network: RoadNetwork, bare: Surroundings) -> SceneRenderer:
    return SceneRenderer(network, bare, Weather())
