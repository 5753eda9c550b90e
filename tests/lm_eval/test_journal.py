"""The answer journal: nothing that was answered is lost, nothing half-written counts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from lm_eval_drivehierarchy.journal import AnswerJournal, JournalError


def test_what_was_added_is_there_next_time(tmp_path: Path) -> None:
    path = tmp_path / "run" / "answers.jsonl"
    journal = AnswerJournal(path)
    journal.add("a", "yes", {"id": "r1_1_a-0"})
    journal.add("b", "", {"id": "r1_1_a-1"})
    journal.close()
    again = AnswerJournal(path)
    assert (again.get("a"), again.get("b"), again.get("c")) == ("yes", "", None)
    assert len(again) == 2
    assert again.problems == []


def test_the_last_answer_of_a_key_counts(tmp_path: Path) -> None:
    journal = AnswerJournal(tmp_path / "answers.jsonl")
    journal.add("a", "yes", {})
    journal.add("a", "no", {})
    journal.close()
    assert AnswerJournal(tmp_path / "answers.jsonl").get("a") == "no"


@pytest.mark.parametrize("whole_lines", [0, 2])
def test_half_a_line_is_cut_off_and_named(tmp_path: Path, whole_lines: int) -> None:
    path = tmp_path / "answers.jsonl"
    whole = "".join(json.dumps({"key": str(i), "text": "x"}) + "\n" for i in range(whole_lines))
    path.write_text(whole + '{"key": "h", "te')
    journal = AnswerJournal(path)
    assert journal.problems == [
        f"{path}:{whole_lines + 1}: half a line, from a run that was killed; asked again",
    ]
    assert path.read_text() == whole
    journal.add("h", "y", {})
    journal.close()
    assert AnswerJournal(path).get("h") == "y"


def test_lines_that_are_no_answers_are_named(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    good, bad = '{"key": "a", "text": "x"}', ('{"key": "b"}', '{"key": 1, "text": "x"}', "[]", "[" * 100_000)
    lines = ("nonsense", "", good, *bad)
    path.write_text("".join(line + "\n" for line in lines))
    journal = AnswerJournal(path)
    assert len(journal) == 1
    numbers = [problem.removeprefix(f"{path}:").partition(":")[0] for problem in journal.problems]
    assert numbers == ["1", "4", "5", "6", "7"]


def test_two_runs_do_not_write_to_one_journal(tmp_path: Path) -> None:
    """The second is refused and changes nothing, not even the line that the first has only half written."""
    path = tmp_path / "answers.jsonl"
    first = AnswerJournal(path)
    with path.open("a") as stream:
        stream.write('{"key": "a", "te')
    with pytest.raises(
        JournalError, match=r"answers.jsonl: another run is writing to it; .* another folder with --out"
    ):
        AnswerJournal(path)
    assert path.read_text() == '{"key": "a", "te'
    first.close()
    assert len(AnswerJournal(path).problems) == 1


def test_a_folder_is_no_journal(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="cannot be used as a journal"):
        AnswerJournal(tmp_path)


def test_answers_survive_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    program = textwrap.dedent(
        f"""
        from pathlib import Path
        from lm_eval_drivehierarchy.journal import AnswerJournal
        journal = AnswerJournal(Path({str(path)!r}))
        for index in range(1_000_000):
            journal.add(str(index), "answer " * 50, {{}})
            print(index, flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        if int(line) == 20:
            break
    os.kill(process.pid, signal.SIGKILL)
    told = 20 + len(process.stdout.readlines())
    process.wait()
    journal = AnswerJournal(path)
    assert all(journal.get(str(index)) == "answer " * 50 for index in range(told + 1))
