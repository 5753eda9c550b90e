"""A folder in the layout of the authors' release, made from nothing of theirs: a small grid and two drives on it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import sumo
from pyproj import Proj

from drivehierarchy_gym.scenarios.release import NETWORK_FILE, SCENARIO_FOLDER

PROJECTION = "+proj=tmerc +lon_0=10 +lat_0=50 +ellps=WGS84 +units=m +no_defs"
OFFSET = (500.0, 300.0)


def make_network(path: Path) -> None:
    """A 3 x 3 grid of two-lane streets, 120 m apart, with a projection of its own."""
    path.parent.mkdir(parents=True)
    netgenerate = Path(sumo.SUMO_HOME) / "bin" / ("netgenerate.exe" if os.name == "nt" else "netgenerate")
    subprocess.run(
        [netgenerate, "--grid", "--grid.number=3", "--grid.length=120", "-L", "2", "-o", path],
        check=True,
        capture_output=True,
    )
    text = path.read_text(encoding="utf-8")
    text = text.replace('netOffset="0.00,0.00"', f'netOffset="{OFFSET[0]},{OFFSET[1]}"')
    text = text.replace('projParameter="!"', f'projParameter="{PROJECTION}"')
    path.write_text(text, encoding="utf-8")


def point(x: float, y: float, kmh: float, **extra: Any) -> dict[str, Any]:
    """A trajectory point as the release writes it, from net coordinates (m) and a speed in km/h."""
    lon, lat = Proj(PROJECTION)(x - OFFSET[0], y - OFFSET[1], inverse=True)
    return {"longitude": str(lon), "latitude": str(lat), "speed": kmh, "type": "pathway", "pass": True, **extra}


def participant(identity: str, role: str, *points: dict[str, Any]) -> dict[str, Any]:
    return {"id": identity, "type": role, "name": identity, "trajectory": list(points)}


def drive() -> list[dict[str, Any]]:
    """Hero eastwards along the middle street, a car that starts inside it, a car ahead, and somebody who crosses."""
    return [
        participant("1", "main", point(20, 117, 0), point(110, 117, 20), point(225, 117, 20)),
        participant("100", "slave", point(21, 117, 0), point(220, 117, 30)),
        participant("101", "slave", point(80, 117, 10), point(220, 117, 30)),
        participant("200", "pedestrian", point(60, 112, 0), point(60, 130, 0), point(66, 130, 5)),
    ]


def make_release(root: Path, participants: list[dict[str, Any]] | None = None) -> Path:
    """The release folder `root` with one scenario; returns its entity.json."""
    make_network(root / NETWORK_FILE)
    entity = root / SCENARIO_FOLDER / "03_right_turn" / "SC0" / "entity.json"
    entity.parent.mkdir(parents=True)
    write_entity(entity, drive() if participants is None else participants)
    return entity


def write_entity(entity: Path, participants: Any) -> None:
    """`trajectoryInfo` is a JSON text inside the JSON, as in the release."""
    info = json.dumps({"duration": "00:00", "participantTrajectories": participants}, ensure_ascii=False)
    entity.write_text(json.dumps({"number": "SC0", "trajectoryInfo": info}), encoding="utf-8")
