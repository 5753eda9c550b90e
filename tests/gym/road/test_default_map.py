"""The default network and its surroundings."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivehierarchy_gym.errors import InfrastructureError
from drivehierarchy_gym.road import default_map
from drivehierarchy_gym.road.default_map import default_network_path, source_file, sumo_home, surroundings
from drivehierarchy_gym.road.network import load_network


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache folder."""
    monkeypatch.setenv("DRIVEHIERARCHY_CACHE", str(tmp_path / "cache"))
    default_network_path.cache_clear()
    yield tmp_path / "cache"
    default_network_path.cache_clear()


def test_network_is_built_once_and_reads(cache: Path) -> None:
    path = default_network_path()
    assert path.parent == cache
    data = path.read_bytes()
    assert b"generated on" not in data[:2000]  # netconvert's header names the date and this machine's folders
    assert str(sumo_home()).encode() not in data
    stamp = path.stat().st_mtime_ns
    default_network_path.cache_clear()
    assert default_network_path().stat().st_mtime_ns == stamp
    network = load_network(path)
    assert len(network.crossings) == 35
    assert len(network.signals) == 2
    assert {"highway.motorway", "highway.residential", "highway.track"} <= {e.road_type for e in network.edges.values()}
    ramps = [edge for edge in network.edges.values() if edge.road_type == "highway.motorway_link"]
    assert ramps
    assert not any(lane.is_sidewalk for edge in ramps for lane in edge.lanes)


def test_damaged_network_is_built_again_to_the_same_bytes(cache: Path) -> None:
    path = default_network_path()
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], whole.replace(b"13.89", b"99.99")):
        path.write_bytes(damaged)
        default_network_path.cache_clear()
        assert hashlib.sha256(default_network_path().read_bytes()).hexdigest() == digest


def test_several_processes_may_build_at_once(cache: Path) -> None:
    code = (
        "import hashlib; from drivehierarchy_gym.road.default_map import default_network_path as p;"
        "print(hashlib.sha256(p().read_bytes()).hexdigest())"
    )
    workers = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    digests = {worker.communicate(timeout=60)[0].strip() for worker in workers}
    assert all(worker.returncode == 0 for worker in workers)
    assert digests == {hashlib.sha256(default_network_path().read_bytes()).hexdigest()}
    assert sorted(path.suffix for path in cache.iterdir()) == [".sha256", ".xml"]


def test_other_source_is_refused(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sumo/tools/game/A10KW"
    folder.mkdir(parents=True)
    monkeypatch.setattr(default_map, "sumo_home", lambda: tmp_path / "sumo")
    with pytest.raises(InfrastructureError, match=r"osm\.net\.xml: cannot be read.*pip install"):
        default_network_path()
    (folder / "osm.net.xml").write_text("<net/>")
    with pytest.raises(InfrastructureError, match=r"osm\.net\.xml: SHA-256 is [0-9a-f]{64}, expected 754c4731"):
        default_network_path()


def test_failure_of_netconvert_is_told(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "broken.net.xml"
    source.write_text("<net")
    monkeypatch.setattr(default_map, "source_file", lambda name: source)
    with pytest.raises(InfrastructureError, match=r"netconvert failed on .*broken\.net\.xml \(exit 1\)"):
        default_network_path()
    assert list(cache.iterdir()) == []


def test_cache_that_cannot_be_written_is_named(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    with pytest.raises(InfrastructureError, match="set DRIVEHIERARCHY_CACHE"):
        default_network_path()


def test_sources_are_those_of_the_pinned_package() -> None:
    for name in default_map.SOURCE_SHA256:
        assert source_file(name).is_file()


def test_surroundings_are_kept_and_come_back_the_same(cache: Path) -> None:
    path = default_network_path()
    found = []
    for _ in range(2):  # built, then read
        surroundings.cache_clear()
        found.append(surroundings(path))
    before, after = found
    assert before is not after
    assert before.trees.tolist() == after.trees.tolist()
    assert [building.height for building in before.buildings] == [building.height for building in after.buildings]
    for one, other in zip(before.buildings, after.buildings, strict=True):
        assert one.outline.tolist() == other.outline.tolist()
        assert one.roof.tolist() == other.roof.tolist()
    assert [area.kind for area in before.areas] == [area.kind for area in after.areas]
    surroundings.cache_clear()


def test_other_nets_have_no_buildings_of_the_default_map(town_path: Path) -> None:
    around = surroundings(town_path)
    assert around.buildings == ()
    assert around.areas == ()
    assert len(around.trees) > 20
