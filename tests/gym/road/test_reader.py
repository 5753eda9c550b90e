"""What is read, and that a damaged net is always refused by name."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivehierarchy_gym.errors import ScenarioError
from drivehierarchy_gym.road.network import load_network
from drivehierarchy_gym.road.reader import NetContents, read_net

NET = """<?xml version="1.0" encoding="UTF-8"?>
<net version="1.20">
    <location netOffset="10.00,20.00" projParameter="!"/>
    <edge id=":b_0" function="internal">
        <lane id=":b_0_0" index="0" disallow="pedestrian" speed="8.00" length="4.00" shape="48.00,-1.60 52.00,-1.60"/>
    </edge>
    <edge id="ab" from="a" to="b" priority="7" type="highway.primary" name="High Street">
        <lane id="ab_1" index="1" allow="passenger bus" speed="13.89" length="60.00" width="3.00" shape="0.00,-1.60,7.5 48.00,-1.60,7.5"/>
        <lane id="ab_0" index="0" allow="pedestrian" speed="2.78" length="48.00" width="2.00" shape="0.00,-4.20 48.00,-4.20"/>
    </edge>
    <edge id="bc" from="b" to="c">
        <lane id="bc_0" index="0" speed="13.89" length="48.00" shape="52.00,-1.60 100.00,-1.60"/>
    </edge>
    <junction id="a" type="dead_end" x="0.00" y="0.00" incLanes="" intLanes="" shape="0.00,0.00 0.00,-5.00"/>
    <junction id="b" type="priority" x="50.00" y="0.00" incLanes="ab_1" intLanes=":b_0_0" shape="48.00,0.00 52.00,0.00 52.00,-5.20 48.00,-5.20 48.00,0.00"/>
    <junction id="c" type="dead_end" x="100.00" y="0.00" incLanes="bc_0" intLanes="" shape="100.00,0.00 100.00,-3.20"/>
    <junction id=":b_1_0" type="internal" x="50.00" y="0.00" incLanes="" intLanes=""/>
    <connection from="ab" to="bc" fromLane="1" toLane="0" via=":b_0_0" tl="b" linkIndex="3" dir="s" state="O"/>
    <connection from=":b_0" to="bc" fromLane="0" toLane="0" dir="s" state="M"/>
</net>
"""  # noqa: E501


def test_values_of_a_net_are_read() -> None:
    contents = read_net(NET.encode(), Path("small.net.xml"))
    assert contents.net_offset == (10.0, 20.0)
    assert contents.projection is None
    edge = contents.edges["ab"]
    assert (edge.from_node, edge.to_node, edge.priority) == ("a", "b", 7)
    assert (edge.road_type, edge.name, edge.kind) == ("highway.primary", "High Street", "normal")
    walk, drive = edge.lanes
    assert (walk.id, walk.index, walk.is_sidewalk) == ("ab_0", 0, True)
    assert drive.permissions == {"passenger", "bus"}
    assert drive.shape.points.tolist() == [[0.0, -1.6], [48.0, -1.6]]
    assert drive.arc(60.0) == pytest.approx(48.0)  # the stated length is longer than the drawn one
    assert drive.pos(24.0) == pytest.approx(30.0)
    internal = contents.edges[":b_0"]
    assert (internal.kind, internal.from_node, internal.to_node) == ("internal", "b", "b")
    assert not internal.lanes[0].allows("pedestrian")
    assert internal.lanes[0].allows("passenger")
    assert contents.edges["bc"].lanes[0].width == 3.2
    assert sorted(contents.junctions) == ["a", "b", "c"]
    assert len(contents.junctions["b"].polygon) == 4
    first = contents.connections[0]
    assert (first.from_lane, first.to_lane, first.via) == ("ab_1", "bc_0", ":b_0_0")
    assert (first.direction, first.state, first.signal, first.link_index) == ("s", "O", "b", 3)


def test_gzipped_net_reads_the_same(tmp_path: Path) -> None:
    (tmp_path / "small.net.xml").write_text(NET)
    (tmp_path / "small.net.xml.gz").write_bytes(gzip.compress(NET.encode()))
    plain, packed = (load_network(tmp_path / name) for name in ("small.net.xml", "small.net.xml.gz"))
    assert list(plain.lanes) == list(packed.lanes)
    assert plain.sha256 != packed.sha256


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ('speed="13.89" length="60.00"', 'speed="fast" length="60.00"', ("ab_1", "speed", "'fast'")),
        ('speed="13.89" length="60.00"', 'speed="nan" length="60.00"', ("ab_1", "speed", "'nan'")),
        ('speed="13.89" length="60.00"', 'speed="13.89"', ("ab_1", "length", "None")),
        ('length="60.00"', 'length="-1"', ("ab_1", "length", "'-1'")),
        ('shape="0.00,-4.20 48.00,-4.20"', 'shape="0.00 48.00"', ("ab_0", "shape")),
        ('shape="0.00,-4.20 48.00,-4.20"', 'shape=""', ("ab_0", "shape")),
        ('from="a" to="b"', 'to="b"', ("ab", "from", "None")),
        ('to="bc" fromLane="1"', 'to="bd" fromLane="1"', ("'ab'", "'bd'")),
        ('fromLane="1"', 'fromLane="5"', ("'ab'", "fromLane", "'5'")),
        ('via=":b_0_0"', 'via=":b_9_0"', ("'ab'", "via", "':b_9_0'")),
        ('x="50.00" y="0.00" incLanes="ab_1"', 'x="50.00" incLanes="ab_1"', ("<junction> b", "'y'")),
    ],
)
def test_bad_values_are_named(old: str, new: str, named: tuple[str, ...]) -> None:
    assert NET.count(old) == 1
    with pytest.raises(ScenarioError) as caught:
        read_net(NET.replace(old, new).encode(), Path("small.net.xml"))
    for word in ("small.net.xml", *named, "netconvert"):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "not readable as XML"),
        ("<net><edge", "not readable as XML"),
        ("<routes/>", "<routes>"),
        ("<net></net>", "no road"),
        ('<net><edge id=":a_0" function="internal"><lane id="x"/></edge></net>', "<lane> x: attribute 'shape' is None"),
    ],
)
def test_files_that_are_no_net_are_refused(text: str, named: str) -> None:
    with pytest.raises(ScenarioError, match=named):
        read_net(text.encode(), Path("other.xml"))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=re.escape(str(tmp_path / "gone.net.xml"))):
        load_network(tmp_path / "gone.net.xml")


def test_truncated_gzip_is_refused() -> None:
    with pytest.raises(ScenarioError, match="not readable"):
        read_net(gzip.compress(NET.encode())[:200], Path("cut.net.xml.gz"))


def readable(net: str | bytes) -> NetContents | None:
    """What a net holds, or None where it is refused as it should be; any other error fails the test."""
    try:
        return read_net(net if isinstance(net, bytes) else net.encode(), Path("damaged.net.xml"))
    except ScenarioError:
        return None


VALUES = [match.span(1) for match in re.finditer(r'="([^"]*)"', NET[NET.index("<net") :])]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(VALUES), st.text(alphabet="ab:0123456789.,- _inf", max_size=12))
def test_any_damaged_value_is_read_or_refused_as_a_scenario_error(span: tuple[int, int], value: str) -> None:
    body = NET[NET.index("<net") :]
    contents = readable(body[: span[0]] + value + body[span[1] :])
    for edge in contents.edges.values() if contents else ():
        for lane in edge.lanes:
            assert lane.length > 0
            assert lane.shape.length > 0


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(NET) - 1), st.binary(min_size=1, max_size=4))
def test_any_damaged_bytes_are_read_or_refused_as_a_scenario_error(where: int, junk: bytes) -> None:
    data = NET.encode()
    readable(data[:where] + junk + data[where + len(junk) :])


def test_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "small.net.xml"
    path.write_text(NET)
    before = load_network(path)
    assert load_network(path) is before
    path.write_text(NET.replace("High Street", "Low Street!"))
    assert load_network(path).edge("ab").name == "Low Street!"
