"""Makes result trees to read back."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EVALUATOR = {"version": "0.1.0", "hash": "0123456789abcdef", "sumo": "1.28.0"}


@pytest.fixture
def record() -> Callable[..., dict[str, Any]]:
    """Maker of consistent `scene_score.json` contents of this project's evaluator.

    A part of the route ran out of time where no reason is given; timeouts cost 0.3 of the safety given.
    """

    def make(
        route: float = 100.0,
        safety: float = 1.0,
        efficiency: float = 1.0,
        reason: str = "",
        **extra: Any,
    ) -> dict[str, Any]:
        reason = reason or ("destination_reached" if route == 100.0 else "scenario_timeout")
        if reason in ("scenario_timeout", "blocked_timeout"):
            safety *= 0.7
        penalty = round(safety * efficiency, 6)
        event: dict[str, Any] = {"type": reason, "time": 9.0}
        if safety != 1.0:
            event["penalty_multiplier"] = safety
        return {
            "scene_id": "s",
            "status": "Completed" if reason == "destination_reached" else "Failed",
            "termination_reason": reason,
            "score_route": route,
            "score_safety": safety,
            "score_efficiency": efficiency,
            "score_penalty": penalty,
            "score_composed": round(route * penalty, 6),
            "events": [event],
            "meta": {
                "route_length_m": 100.0,
                "completed_distance_m": route,
                "lane_keep_penalty": 1.0,
                "distance_efficiency": efficiency,
                "time_efficiency": efficiency,
            },
            "extra": {"void": False, "evaluator": EVALUATOR, **extra},
        }

    return make


@pytest.fixture
def put() -> Callable[[Path, Any], Path]:
    """Writer of `scene_score.json` into a folder; a text is written as it is, a record gets the folder's scenario."""

    def write(folder: Path, content: Any) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        if isinstance(content, dict) and content.get("scene_id") == "s":
            content = {**content, "scene_id": (folder.parent if folder.name.startswith("repeat_") else folder).name}
        path = folder / "scene_score.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    return write


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """`module:Class` of an agent that misbehaves as its options say, from the third decision on."""
    (tmp_path / "misbehaving.py").write_text(DRIVER)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("misbehaving", None)
    return "misbehaving:Driver"


DRIVER = """
import time

import numpy

from drivehierarchy_gym.errors import InfrastructureError


class Odd(Exception):
    def __init__(self, seconds=0):
        self.seconds = seconds

    def __repr__(self):
        raise ValueError("no repr")

    __str__ = __repr__

    def __array__(self, *args, **kwargs):
        time.sleep(self.seconds)
        raise ValueError("no numbers")


class Driver:
    observation, privileged = "state", False

    def __init__(self, how="well", action_mode="target_speed", good=2, reset="well", telemetry="well", close="well"):
        self.action_mode, self.how, self.good, self.on_reset, self.count = action_mode, how, good, reset, 0
        self.on_telemetry, self.on_close = telemetry, close

    def reset(self, context, info):
        self.count = 0
        if self.on_reset == "raise":
            raise RuntimeError("no weights")

    def act(self, observation, info):
        self.count += 1
        if self.count <= self.good or self.how == "well":
            return "steer: 0.0\\ntarget_speed_mps: 8.0" if self.action_mode == "text" else [0.0, 8.0]
        if self.how == "sleep":
            time.sleep(30)
        if self.how == "raise":
            raise ValueError("boom")
        if self.how == "infrastructure":
            raise InfrastructureError("the simulator is gone")
        if self.how == "silent error":
            raise Odd()
        if self.how == "surrogate error":
            raise ValueError("a \\udc80 b")
        if self.how in ("repr", "array sleeps"):
            return Odd(5 if self.how == "array sleeps" else 0)
        if self.how == "deep":
            found = []
            for _ in range(100_000):
                found = [found]
            return found
        odd = {"surrogate": "a \\udc80 b", "text": "steer: x", "bytes": b"steer: 0", "none": None}
        odd |= {"nan": [float("nan"), 1.0], "large": [0.0] * 10_000}
        return odd[self.how]

    def telemetry(self):
        if self.on_telemetry == "sleep":
            time.sleep(30)
        if self.on_telemetry == "raise":
            raise ValueError("no notes \\udc80")
        notes = {"nan": {"loss": float("nan")}, "numpy": {"loss": numpy.float32(0.5)}}
        return notes.get(self.on_telemetry, {"calls": self.count})

    def close(self):
        if self.on_close == "sleep":
            time.sleep(30)
        if self.on_close == "raise":
            raise ValueError("cannot close \\udc80")
"""
