"""Answers of a model on disk, one line each, written as they arrive: what a killed run had, the next one keeps."""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drivehierarchy_gym.errors import DriveHierarchyError


class JournalError(DriveHierarchyError, OSError):
    """A journal that cannot be read or written."""


class AnswerJournal:
    """Append-only JSONL of answers by key. The last entry of a key counts.

    A half-written last line, left by a killed process, is cut off and reported; other lines that are no entries are
    reported and ignored. `problems` holds one sentence for each. Raises JournalError where the file cannot be read or
    written, or while another run writes to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self._lock = threading.Lock()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream = path.open("a", encoding="utf-8")
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until it is closed or its process ends
            self._answers = self._load()
        except BlockingIOError as error:
            raise JournalError(
                f"{path}: another run is writing to it; wait until it has ended, or give another folder with --out"
            ) from error
        except OSError as error:
            raise JournalError(f"{path}: cannot be used as a journal ({error.strerror or error})") from error

    def _load(self) -> dict[str, str]:
        content = self.path.read_bytes()
        whole, newline, rest = content.rpartition(b"\n")
        if rest:
            number = whole.count(b"\n") + (2 if newline else 1)
            self.problems.append(f"{self.path}:{number}: half a line, from a run that was killed; asked again")
            os.truncate(self.path, len(whole) + len(newline))
        answers = {}
        for number, line in enumerate(whole.split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
                key, text = entry["key"], entry["text"]
                if not isinstance(key, str) or not isinstance(text, str):
                    raise TypeError("key and text must be strings")
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                self.problems.append(f"{self.path}:{number}: not an answer ({error}); asked again")
                continue
            answers[key] = text
        return answers

    def get(self, key: str) -> str | None:
        """The recorded answer, which may be empty, or None."""
        return self._answers.get(key)

    def add(self, key: str, text: str, details: Mapping[str, Any]) -> None:
        """Records an answer; on disk when this returns."""
        line = json.dumps({"key": key, "text": text, **details}, ensure_ascii=False)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._answers[key] = text

    def __len__(self) -> int:
        return len(self._answers)

    def close(self) -> None:
        """Closes the file."""
        self._stream.close()
