"""The default road network: Königs Wusterhausen, out of the installed eclipse-sumo package.

The source (an OpenStreetMap extract, © OpenStreetMap contributors, ODbL) stays in that package; netconvert adds
sidewalks and crossings to it once, and the result is kept in the cache folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from drivehierarchy_gym.errors import InfrastructureError
from drivehierarchy_gym.road import shapes, surfaces
from drivehierarchy_gym.road import surroundings as road_surroundings
from drivehierarchy_gym.road.cache import CACHE_VARIABLE, cache_folder, cached_arrays, code_digest, write_atomically
from drivehierarchy_gym.road.network import load_network
from drivehierarchy_gym.road.surroundings import Surroundings, build_surroundings, from_arrays, to_arrays

NETWORK_NAME = "a10kw"
BUILDER_VERSION = 2
"""Raise it when the netconvert call changes, so that networks of older versions are not reused."""

SOURCE_SHA256 = {
    "osm.net.xml": "754c47310df312754c8f00046779e2068dad57c018d731fd173e4b5b5884ea01",
    "osm.poly.xml": "bb1191a6b3b90e3b8cf739153c74606d3240ee54b9c6c6ec49a96fd712efa507",
}
"""Digests of the files in sumo/tools/game/A10KW of eclipse-sumo 1.28.0."""

NETCONVERT_OPTIONS = (
    "--sidewalks.guess",
    "--sidewalks.guess.exclude", "151495018,151495034",
    "--crossings.guess",
    "--junctions.internal-link-detail", "9",
    "--tls.rebuild",
    "--tls.cycle.time", "60",
)  # fmt: skip
"""Sidewalks (though not on the two slow motorway ramps) and crossings for pedestrians; nine points on a turn instead of
five, so that routes bend smoothly; signal programs of a minute, since those of the source wait hours for a player."""


def sumo_home() -> Path:
    """Folder of the installed `sumo` package.

    The package is located, not imported: importing it points PROJ at its own data files for the whole process.

    Raises:
        InfrastructureError: eclipse-sumo is not installed.
    """
    spec = find_spec("sumo")
    if spec is None or not spec.submodule_search_locations:
        raise InfrastructureError("the package eclipse-sumo is not installed; run: pip install eclipse-sumo==1.28.0")
    return Path(next(iter(spec.submodule_search_locations)))


def source_file(name: str) -> Path:
    """One of the source files in the installed package, its digest checked.

    Raises:
        InfrastructureError: the file is missing or differs from the one this project was made with.
    """
    path = sumo_home() / "tools" / "game" / "A10KW" / name
    advice = "reinstall the version this project uses: pip install --force-reinstall eclipse-sumo==1.28.0"
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InfrastructureError(f"{path}: cannot be read ({error.strerror}); {advice}") from None
    if found != SOURCE_SHA256[name]:
        raise InfrastructureError(
            f"{path}: SHA-256 is {found}, expected {SOURCE_SHA256[name]} (installed: {_sumo_version()}); {advice}"
        )
    return path


@lru_cache(maxsize=1)
def default_network_path() -> Path:
    """The default net, built on first use (half a second) and kept in the cache folder.

    The same bytes wherever the same netconvert runs; safe when several processes build at once.

    Raises:
        InfrastructureError: eclipse-sumo is missing or differs, or netconvert failed.
    """
    recipe = " ".join((SOURCE_SHA256["osm.net.xml"], _sumo_version(), str(BUILDER_VERSION), *NETCONVERT_OPTIONS))
    key = hashlib.sha256(recipe.encode()).hexdigest()[:16]
    path = cache_folder() / f"{NETWORK_NAME}-{key}.net.xml"
    if not _is_whole(path):
        source = source_file("osm.net.xml")
        try:
            write_atomically(path, lambda partial: _convert(source, partial))
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            write_atomically(_digest_file(path), lambda partial: partial.write_text(digest, encoding="ascii"))
        except OSError as error:
            raise InfrastructureError(
                f"{path}: the default road network cannot be kept ({error.strerror}); make the folder writable or set "
                f"{CACHE_VARIABLE} to one that is"
            ) from None
    return path


@lru_cache(maxsize=8)
def surroundings(network_path: Path) -> Surroundings:
    """Buildings, trees and ground beside the roads of a net: those of the map for the default net, for any other net
    only trees along its streets. Kept in the cache folder.

    Raises:
        ScenarioError: the net cannot be read.
        InfrastructureError: the polygon file of the installed package is missing or differs.
    """
    network = load_network(network_path)
    mapped = network_path.resolve() == default_network_path().resolve()
    polygons = source_file("osm.poly.xml").read_bytes() if mapped else None
    digest = code_digest(road_surroundings, surfaces, shapes)
    name = f"surroundings-{'mapped-' if mapped else ''}{network.sha256[:16]}-{digest}"
    return from_arrays(cached_arrays(name, lambda: to_arrays(build_surroundings(network, polygons))))


def _digest_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _is_whole(path: Path) -> bool:
    """Whether the net and its digest, which is written last, agree."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest() == _digest_file(path).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return False


def _convert(source: Path, target: Path) -> None:
    home = sumo_home()
    program = home / "bin" / ("netconvert.exe" if os.name == "nt" else "netconvert")
    command = [str(program), "--sumo-net-file", str(source), "--output-file", str(target), *NETCONVERT_OPTIONS]
    environment = {**os.environ, "SUMO_HOME": str(home), "PROJ_DATA": str(home / "data" / "proj")}
    environment["PROJ_LIB"] = environment["PROJ_DATA"]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InfrastructureError(f"{program} did not run ({error}); reinstall eclipse-sumo==1.28.0") from None
    if done.returncode != 0 or not target.exists():
        last = done.stderr.strip().splitlines()[-3:]
        raise InfrastructureError(f"{program} failed on {source} (exit {done.returncode}): {' '.join(last)}")
    text = target.read_text(encoding="utf-8")
    # The header names the date and the paths of this machine.
    target.write_text(re.sub(r"<!-- generated on .*?-->\s*", "", text, count=1, flags=re.DOTALL), encoding="utf-8")


def _sumo_version() -> str:
    try:
        return f"eclipse-sumo {version('eclipse-sumo')}"
    except PackageNotFoundError:
        return "eclipse-sumo of unknown version"
