"""How fast the sim edition is built: frames and items per second, and how long the sizes take.

Run: python benchmarks/data.py [--drives N] [--workers N] [--build mini]
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

from drivehierarchy_data.build import build_sim
from drivehierarchy_data.builders import BUILDERS
from drivehierarchy_data.sizes import SIZES
from drivehierarchy_data.sources.drives import recipe
from drivehierarchy_data.sources.sim import Cameras, SimSource, drive
from drivehierarchy_gym.backends import make_backend


def measure_parts(drives: int) -> float:
    """Prints the parts of a drive in one process; returns seconds per drive."""
    backend = make_backend("sumo")
    plans = [recipe(0, "test", number).plan() for number in range(drives)]
    drive(backend, plans[0])
    start = time.perf_counter()
    for plan in plans:
        drive(backend, plan)
    driving = (time.perf_counter() - start) / drives
    backend.close()

    source = SimSource(Cameras.of_width(SIZES["full"].width))
    source.clip(recipe(0, "test", 0))
    start = time.perf_counter()
    clips = [source.clip(recipe(0, "test", number)) for number in range(drives)]
    whole = (time.perf_counter() - start) / drives
    source.close()
    pictures = sum(len(frame.images) for clip in clips if clip for frame in clip.frames) / drives

    start = time.perf_counter()
    drafts = sum(1 for clip in clips if clip for builder in BUILDERS.values() for _ in builder(clip)) / drives
    asking = (time.perf_counter() - start) / drives
    print(f"drive and simulate   {driving:8.2f} s per drive")
    print(f"picture and label    {whole - driving:8.2f} s per drive, {pictures / (whole - driving):6.1f} frames/s")
    print(f"ask                  {asking:8.2f} s per drive, {drafts / asking:6.0f} drafts/s")
    return whole + asking


def estimate(seconds: float, workers: int) -> None:
    """Prints what the sizes take at so many seconds per drive, as long as every worker has a core of its own."""
    for name, size in SIZES.items():
        drives = sum(size.drives.values())
        print(f"{name:<6} {drives:4d} drives, about {drives * seconds / workers / 60:6.1f} min on {workers} workers")


def measure_build(size: str, workers: int) -> None:
    """Builds a size into a temporary folder and prints items and images per second."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        result = build_sim(Path(folder), size, 0, workers, lambda *_: None)  # type: ignore[arg-type]
        spent = time.perf_counter() - start
        records = result.edition.manifest.files.values()
        items, images = sum(r.items for r in records), sum(r.images for r in records)
        megabytes = sum(r.bytes for r in records) / 1e6
        rates = f"{items / spent:.1f} items/s, {images / spent:.1f} images/s"
        print(f"build {size}: {spent:.1f} s, {rates}, {megabytes:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drives", type=int, default=4)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--build", choices=sorted(SIZES))
    arguments = parser.parse_args()
    if arguments.build:
        measure_build(arguments.build, arguments.workers)
    else:
        estimate(measure_parts(arguments.drives), arguments.workers)


if __name__ == "__main__":
    main()
