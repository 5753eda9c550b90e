"""Which tasks `drivehierarchy eval` asks: those that are wanted and that the edition has."""

from __future__ import annotations

import pytest

from drivehierarchy_data.editions import DATA_FOLDER, Edition, open_edition, write_manifest
from drivehierarchy_data.release import QUESTION_FILES
from lm_eval_drivehierarchy.commands.evaluate import EvaluationError, tasks_to_run
from tests import tiny_edition


@pytest.fixture(scope="module")
def partial(tmp_path_factory: pytest.TempPathFactory) -> Edition:
    """All tasks but r1_3 and r2_2_a, as of a release whose images are not all there."""
    folder = tmp_path_factory.mktemp("partial")
    tiny_edition.build(folder, items_per_task=2)
    for task in ("r1_3", "r2_2_a"):
        for path in (folder / DATA_FOLDER / task).iterdir():
            path.unlink()
    write_manifest(folder / DATA_FOLDER, "release", {})
    return open_edition(folder)


def names(*tasks: str) -> str:
    return ",".join(f"drivehierarchy_{task}" for task in tasks)


@pytest.mark.parametrize("tasks", ["drivehierarchy", "drivehierarchy_r2", "drivehierarchy_r1_*", "drivehierarchy_r1_3"])
def test_what_a_whole_edition_has_is_asked_as_it_was_typed(
    tasks: str, edition: Edition, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tasks_to_run(tasks, edition) == tasks
    assert capsys.readouterr().err == ""


def test_of_groups_the_tasks_that_are_there_are_asked(partial: Edition, capsys: pytest.CaptureFixture[str]) -> None:
    there = [file.task for file in QUESTION_FILES if file.task not in ("r1_3", "r2_2_a")]
    assert tasks_to_run("drivehierarchy", partial) == names(*there)
    assert f"edition release in {partial.folder} has no items of r1_3, r2_2_a: these" in capsys.readouterr().err
    assert tasks_to_run("drivehierarchy_r2, drivehierarchy_r3_1", partial) == names("r2_1", "r2_2_b", "r2_3", "r3_1")
    assert "has no items of r2_2_a: this" in capsys.readouterr().err
    assert tasks_to_run("drivehierarchy_r3", partial) == "drivehierarchy_r3"


def test_an_absent_task_that_was_named_is_refused_with_those_that_are_there(partial: Edition) -> None:
    with pytest.raises(EvaluationError, match=r"--tasks drivehierarchy_r1_3: .* items of r1_3; it has: --tasks "):
        tasks_to_run("drivehierarchy_r1_1_a,drivehierarchy_r1_3", partial)


def test_unknown_names_are_refused(edition: Edition) -> None:
    with pytest.raises(EvaluationError, match="no task 'r1'; known: drivehierarchy, drivehierarchy_r1, "):
        tasks_to_run("drivehierarchy_r1,r1", edition)
