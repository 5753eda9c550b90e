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
from drivehierarchy_data.selection import thin_out
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
    labelling = (time.perf_counter() - start) / drives - driving

    start = time.perf_counter()
    drafts, shown = 0, []
    for number, clip in enumerate(clips):
        kept = [d for task, ask in BUILDERS.items() if clip for d in thin_out(ask(clip), f"{number}:{task}")]
        views = sorted({view for draft in kept for view in draft.views})
        shown += [clip.frames[index].images[camera] for index, camera in views if clip]
        drafts += len(kept)
    asking = (time.perf_counter() - start) / drives

    start = time.perf_counter()
    for image in shown:
        image.encoded()
    picturing = (time.perf_counter() - start) / drives
    source.close()
    print(f"drive and simulate   {driving:8.2f} s per drive")
    print(f"label                {labelling:8.2f} s per drive")
    print(f"ask                  {asking:8.2f} s per drive, {drafts / drives:.0f} drafts kept")
    print(f"picture              {picturing:8.2f} s per drive, {len(shown) / drives / picturing:6.1f} frames/s")
    return driving + labelling + asking + picturing


def estimate(seconds: float, workers: int) -> None:
    """Prints what the sizes take at so many seconds per drive, as long as every worker has a core of its own.

    Two workers on two threads of one core are slower than that; `--build` measures a whole size.
    """
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
