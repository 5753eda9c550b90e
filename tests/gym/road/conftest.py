"""Networks for the tests: the default map, the authors' one where it is present, and a small one of netconvert."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from drivehierarchy_gym.road.default_map import default_network_path, sumo_home
from drivehierarchy_gym.road.network import RoadNetwork, load_network

RELEASE = Path(os.environ.get("DRIVEHIERARCHY_RELEASE") or Path(__file__).parents[4] / "shared/data/release")

NODES = """<nodes>
    <node id="west" x="-150" y="0"/>
    <node id="signal" x="0" y="0" type="traffic_light"/>
    <node id="joint" x="75" y="0"/>
    <node id="east" x="150" y="0"/>
    <node id="south" x="0" y="-120"/>
</nodes>"""
EDGES = """<edges>
    <edge id="in" from="west" to="signal" numLanes="2" speed="13.89"/>
    <edge id="back" from="signal" to="west" numLanes="2" speed="13.89"/>
    <edge id="out" from="signal" to="joint" numLanes="2" speed="13.89"/>
    <edge id="out2" from="joint" to="east" numLanes="2" speed="13.89"/>
    <edge id="home" from="east" to="joint" numLanes="2" speed="13.89"/>
    <edge id="home2" from="joint" to="signal" numLanes="2" speed="13.89"/>
    <edge id="down" from="signal" to="south" numLanes="1" speed="8.33"/>
    <edge id="up" from="south" to="signal" numLanes="1" speed="8.33"/>
</edges>"""


@pytest.fixture(scope="session")
def town_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A T junction with a signal, sidewalks and crossings; two lanes each way on the main road, one to the south."""
    folder = tmp_path_factory.mktemp("town")
    (folder / "town.nod.xml").write_text(NODES)
    (folder / "town.edg.xml").write_text(EDGES)
    home = sumo_home()
    command = [str(home / "bin" / "netconvert"), "-n", "town.nod.xml", "-e", "town.edg.xml", "-o", "town.net.xml"]
    command += ["--sidewalks.guess", "--crossings.guess", "--no-turnarounds", "--offset.disable-normalization"]
    subprocess.run(command, cwd=folder, env={**os.environ, "SUMO_HOME": str(home)}, check=True, capture_output=True)
    return folder / "town.net.xml"


@pytest.fixture(scope="session")
def town(town_path: Path) -> RoadNetwork:
    return load_network(town_path)


@pytest.fixture(scope="session")
def city() -> RoadNetwork:
    """The default map."""
    return load_network(default_network_path())


@pytest.fixture(scope="session")
def tongji() -> RoadNetwork:
    """The road network of the authors' release."""
    path = RELEASE / "Close_Loop_Evaluation/Carla_Simulation/Co-Simulation/Sumo/tongji/tongji.net.xml"
    if not path.is_file():
        pytest.skip("the authors' release is not here")
    return load_network(path)
