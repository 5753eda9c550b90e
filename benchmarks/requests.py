"""Memory and time of what happens before and after a model runs: building all requests, and scoring all answers.

    python benchmarks/requests.py [--items 1000]

Builds an edition of fourteen tasks with `--items` items each, out of distinct 1600x900 JPEG frames of realistic size,
then, in a fresh process, builds every request as lm-eval does and scores a reply to each. Prints resident memory, which
must stay below 2 GB for 14,000 items, and seconds, which must stay below 60 for scoring 14,000 answers.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

MEMORY_LIMIT_MB = 2000
SCORING_LIMIT_S = 60
WIDTH, HEIGHT = 1600, 900


def frame_template() -> bytes:
    """A 1600x900 JPEG of about 150 kB."""
    pixels = np.random.default_rng(0).integers(0, 255, (HEIGHT // 4, WIDTH // 4, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    image = Image.fromarray(pixels).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
    image.save(buffer, "JPEG", quality=60)
    return buffer.getvalue()


def frames(template: bytes) -> Iterator[bytes]:
    """Distinct files: the same picture with a comment behind its end."""
    number = 0
    while True:
        yield template + hashlib.sha256(str(number).encode()).digest()
        number += 1


def build(folder: Path, items: int) -> None:
    """The edition."""
    from dataclasses import replace

    from drivehierarchy_data.editions import DATA_FOLDER, shard_path, write_manifest
    from drivehierarchy_data.images import EncodedImage
    from drivehierarchy_data.release import QUESTION_FILES
    from drivehierarchy_data.shards import write_shard
    from tests import tiny_edition

    files = frames(frame_template())
    for file in QUESTION_FILES:
        pattern = [tiny_edition.item(file, index) for index in range(24)]
        for shard, start in enumerate(range(0, items, 100)):
            made = []
            for index in range(start, min(start + 100, items)):
                item = pattern[index % len(pattern)]
                images = tuple(EncodedImage.of(next(files), WIDTH, HEIGHT) for _ in item.images)
                made.append(replace(item, id=f"{file.task}-{index}", images=images))
            write_shard(shard_path(folder / DATA_FOLDER, file.task, "test", shard), made, "benchmark")
    write_manifest(folder / DATA_FOLDER, "sim", {})


def measure(folder: Path) -> None:
    """In a process of its own: what lm-eval does, without a model."""
    import psutil
    from lm_eval.tasks import TaskManager

    from drivehierarchy_data.editions import open_edition
    from lm_eval_drivehierarchy.baselines import baseline
    from lm_eval_drivehierarchy.harness import flexible, official
    from lm_eval_drivehierarchy.tasks import LM_EVAL_GROUP

    process = psutil.Process()
    imported = process.memory_info().rss
    manager = TaskManager(
        include_path=str(ROOT / "tasks"), include_defaults=False, metadata={"edition": str(folder), "pretrained": "x"}
    )
    begun = time.perf_counter()
    loaded = manager.load([LM_EVAL_GROUP])
    instances = []
    for task in loaded["tasks"].values():
        task.build_all_requests(apply_chat_template=True, fewshot_as_multiturn=True, chat_template=_chat)
        instances.append(task.instances)
    count = sum(map(len, instances))
    images = sum(len(instance.args[2]["visual"]) for group in instances for instance in group)
    built = process.memory_info().rss
    print(f"{count} requests with {images} images built in {time.perf_counter() - begun:.1f} s")
    print(f"resident memory: {imported / 1e6:.0f} MB after the imports, {built / 1e6:.0f} MB with all requests")

    begun = time.perf_counter()
    for group in instances:
        for instance in group:
            for picture in instance.args[2]["visual"]:
                picture.close()
            if time.perf_counter() - begun > 20:
                break
        else:
            continue
        break
    read = process.memory_info().rss
    print(f"resident memory: {read / 1e6:.0f} MB after 20 s of decoding images one after the other")

    answer = baseline("random", open_edition(folder))
    replies = [[[answer({**i.doc, "meta": {}})] for i in group] for group in instances]
    begun = time.perf_counter()
    for group, texts in zip(instances, replies, strict=True):
        for rule in (official, flexible):
            rule(texts, [instance.doc for instance in group])
    scoring = time.perf_counter() - begun
    print(f"{count} answers scored under both rules in {scoring:.1f} s")
    if max(built, read) / 1e6 > MEMORY_LIMIT_MB or scoring > SCORING_LIMIT_S:
        raise SystemExit("over the limit")


def _chat(messages: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
    return "\n".join(f"{message['role']}: {message['content']}" for message in messages)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=1000, help="items per task")
    parser.add_argument("--edition", type=Path, help="measure this edition instead of building one")
    arguments = parser.parse_args()
    if arguments.edition is not None:
        measure(arguments.edition)
        return
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), arguments.items)
        command = [sys.executable, __file__, "--edition", folder]
        raise SystemExit(subprocess.run(command, check=False).returncode)


if __name__ == "__main__":
    main()
