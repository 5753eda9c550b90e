from __future__ import annotations

import sys

import pytest

from drivehierarchy_gym.runner import evaluator as subject


def test_identity_names_versions_and_hash():
    identity = subject.evaluator()
    assert set(identity) == {"version", "hash", "sumo"}
    assert len(identity["hash"]) == 16


@pytest.mark.parametrize(
    ("path", "decides"), [("scoring.py", True), ("backends/x.py", True), ("agents/x.py", False), ("render/x.py", False)]
)
def test_only_what_decides_a_score_changes_the_hash(tmp_path, monkeypatch, path, decides):
    monkeypatch.setattr(subject, "PACKAGE", tmp_path)
    for name in ("scoring.py", "backends/x.py", "agents/x.py", "render/x.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a = 1\n")
    before = subject.evaluator_hash.__wrapped__()
    (tmp_path / "scoring.py").write_bytes(b"a = 1\r\n")
    assert subject.evaluator_hash.__wrapped__() == before
    (tmp_path / path).write_text("a = 2\n")
    assert (subject.evaluator_hash.__wrapped__() != before) is decides


def test_another_driver_has_another_hash(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    hashes = set()
    for text in ("class Mine: pass\n", "class Mine: x = 1\n"):
        (tmp_path / "hashed_driver.py").write_text(text)
        sys.modules.pop("hashed_driver", None)
        hashes.add(subject.agent_hash("hashed_driver:Mine"))
    assert len(hashes) == 2
    assert subject.agent_hash("expert") == subject.agent_hash("follower")
