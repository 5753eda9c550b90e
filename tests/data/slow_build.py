"""A build that takes its time, as a program of its own: python -m tests.data.slow_build OUT"""

from __future__ import annotations

import sys
from pathlib import Path

from drivehierarchy_data import build
from tests.data.toy_drives import slow_clip

STAMP = "code of the tests"

if __name__ == "__main__":
    build.code_stamp = lambda: STAMP
    build.build_sim(Path(sys.argv[1]), "sample", 0, 1, lambda *_: None, slow_clip)
