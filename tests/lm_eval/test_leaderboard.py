import hashlib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lm_eval_drivehierarchy.cli import app
from lm_eval_drivehierarchy.comparability import item_differences, warnings
from lm_eval_drivehierarchy.leaderboard import check_submission, leaderboard, page
from lm_eval_drivehierarchy.report.document import Note, Table
from lm_eval_drivehierarchy.results import (
    MIXED,
    ClosedLoopResult,
    FileRecord,
    ItemScore,
    ModelResult,
    ResultsError,
    TaskResult,
)

from .made_results import closed_loop, model, stored, task_result


def copied(submission: ModelResult, name: str, **changes: object) -> ModelResult:
    """The same scores, measured again: from files of its own."""
    files = [FileRecord(path=f"runs/{name}.json", sha256=hashlib.sha256(name.encode()).hexdigest())]
    return submission.model_copy(update={"model": name, "files": tuple(files)} | changes)


STRONG, MIDDLE, WEAK = model("strong", 5, level=75), model("middle", 5, level=45), model("weak", 5, level=20)


def without_versions(submission: ModelResult, *tasks: str) -> ModelResult:
    bare = {task: submission.tasks[task].model_copy(update={"version": None}) for task in tasks}
    return submission.model_copy(update={"tasks": submission.tasks | bare})


def driven(submission: ModelResult = STRONG, **changes: object) -> ModelResult:
    run = submission.closed_loop.model_dump() | changes
    return submission.model_copy(update={"closed_loop": ClosedLoopResult.model_validate(run)})


def drives(*scenarios: str, repeats: int = 1) -> list[dict[str, object]]:
    first = STRONG.closed_loop.episodes[0].model_dump()
    return [first | {"scenario": name, "repeat": repeat} for name in scenarios for repeat in range(repeats)]


def test_a_complete_submission_lacks_nothing() -> None:
    assert check_submission(STRONG) == []


@pytest.mark.parametrize(
    ("submission", "reason"),
    [
        (model("m", 1, without=["r1_4"]), "no score for r1_4 (no judge was given)"),
        (model("m", 1, lost=1), "r1_1_a is partial: 49 of 50 items"),
        (model("m", 1, driving=None), "no R4 result"),
        (STRONG.model_copy(update={"closed_loop": closed_loop(50, 1, missing=2)}), "R4 is partial: 38 of 40 runs"),
        (STRONG.model_copy(update={"edition_hash": None}), "the hash of the edition is not known"),
        (
            STRONG.model_copy(update={"edition": None, "edition_hash": None}),
            "the edition of the data and the hash of the edition are not known",
        ),
        (without_versions(STRONG, *STRONG.tasks), "the version of the scores is not known for any task"),
        (without_versions(STRONG, "r1_4", "r3_1"), "the version of the scores is not known for r1_4, r3_1"),
        (driven(suite_hash=None), "the hash of the R4 suite is not known"),
        (driven(suite=None), "the R4 suite is not known"),
        (driven(suite_scenarios=None), "the R4 run does not record which scenarios its suite has"),
        (driven(repeats=None), "the R4 run does not record which scenarios its suite has"),
        (
            driven(suite_scenarios=tuple(f"s{n}" for n in range(5)), episodes=drives("s1"), planned=1),
            "R4 covers 1 of 5 scenarios of suite open (s1); s0, s2, s3 and 1 more are missing",
        ),
        (
            driven(suite_scenarios=("s0", "s1"), episodes=drives("s0"), planned=1),
            "R4 covers 1 of 2 scenarios of suite open (s0); s1 is missing",
        ),
        (
            STRONG.model_copy(update={"protocol": {"generation": MIXED, "limit": None}}),
            "setting generation differs between tasks",
        ),
        (STRONG.model_copy(update={"kind": "published"}), "its scores are taken from a publication"),
    ],
)
def test_what_a_submission_lacks_is_said(submission: ModelResult, reason: str) -> None:
    assert any(found.startswith(reason) for found in check_submission(submission))


def test_without_r4_only_the_open_loop_must_be_complete() -> None:
    assert check_submission(model("m", 1, driving=None), closed_loop=False) == []
    board = leaderboard([model("m", 1, driving=None)], closed_loop=False)
    assert board.entries[0].r4_place is None


def test_places_order_the_clearly_different() -> None:
    board = leaderboard([WEAK, STRONG, MIDDLE])
    assert [(entry.result.model, entry.place) for entry in board.entries] == [("strong", 1), ("middle", 2), ("weak", 3)]
    assert board.refused == ()


def test_models_that_no_test_tells_apart_share_a_place() -> None:
    twin = copied(STRONG, "twin")
    board = leaderboard([STRONG, twin, WEAK])
    assert [(entry.result.model, entry.place) for entry in board.entries] == [("strong", 1), ("twin", 1), ("weak", 3)]
    assert [entry.r4_place for entry in board.entries][:2] == [1, 1]


def renamed(result: TaskResult, pattern: str) -> TaskResult:
    items = [item.model_copy(update={"id": pattern.format(item.id)}) for item in result.items]
    return result.model_copy(update={"items": tuple(items)})


def bare(result: TaskResult, *, stderr: float | None = 1.0, **changes: int) -> TaskResult:
    """The same task without its items."""
    rules = {rule: score.model_copy(update={"stderr": stderr}) for rule, score in result.rules.items()}
    return result.model_copy(update={"items": (), "rules": rules} | changes)


def moved(task: str, count: int) -> tuple[ItemScore, ...]:
    """The items of MIDDLE, the first `count` of them in another scene."""
    items = MIDDLE.tasks[task].items
    return tuple(item.model_copy(update={"scene": "elsewhere"}) for item in items[:count]) + items[count:]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"edition_hash": "zz"}, "content of the edition differs"),
        ({"protocol": {"temperature": 1.0, "system prompt": "1"}}, "setting 'temperature' differs"),
        (
            {"closed_loop": STRONG.closed_loop.model_copy(update={"suite_hash": "zz"})},
            "content of the R4 suite differs",
        ),
        (
            {"closed_loop": STRONG.closed_loop.model_copy(update={"settings": {"backend": "carla", "seed": 0}})},
            "R4 setting 'backend' differs",
        ),
        (
            {"closed_loop": STRONG.closed_loop.model_copy(update={"settings": {"backend": "sumo", "seed": 1}})},
            "R4 setting 'seed' differs (strong: 0; middle: 1)",
        ),
        (
            {"closed_loop": closed_loop(70, 1, repeats=1)},
            "R4 repeats differ (strong: 2; middle: 1)",
        ),
        (
            {
                "closed_loop": driven(
                    suite_scenarios=["s0", "s1"], episodes=drives("s0", "s1", repeats=2), planned=4
                ).closed_loop
            },
            "R4 scenarios differ (strong: 20, 01-0, 01-1, 02-0 and 17 more; middle: 2, s0, s1), 0 in common",
        ),
        (
            {"tasks": {task: renamed(result, "x-{}") for task, result in MIDDLE.tasks.items()}},
            "strong and middle did not answer the same items of r1_1_a (50 and 50 items), r1_1_b (50 and 50 items), "
            "r1_1_c (50 and 50 items) and 11 more: 0 in common, 700 only of strong, 700 only of middle",
        ),
        (
            {"tasks": MIDDLE.tasks | {"r3_1": task_result("r3_1", 40, 5, expected=40, lost=10)}},
            "did not answer the same items of r3_1 (50 and 40 items): 40 in common, 10 only of strong, 0 only",
        ),
        (
            {"tasks": MIDDLE.tasks | {"r3_1": MIDDLE.tasks["r3_1"].model_copy(update={"items": moved("r3_1", 1)})}},
            "strong and middle place an item in different scenes: r3_1, item r3_1-0-0 (scene-0 and elsewhere)",
        ),
        (
            {
                "tasks": {
                    task: result.model_copy(update={"items": moved(task, 9)}) for task, result in MIDDLE.tasks.items()
                }
            },
            "strong and middle place 126 items in different scenes: r1_1_a, item r1_1_a-0-0 (scene-0 and elsewhere), ",
        ),
    ],
)
def test_of_two_unlike_submissions_the_first_is_ranked(change: dict[str, object], reason: str) -> None:
    board = leaderboard([STRONG, MIDDLE.model_copy(update=change)])
    assert [entry.result.model for entry in board.entries] == ["strong"]
    assert reason in board.refused[0].reasons[0]
    why = "given first, and no more submissions agree with each other"
    assert all(found.startswith(f"not as strong ({why}): ") for found in board.refused[0].reasons)


def test_another_driver_and_its_sources_are_no_other_protocol() -> None:
    own = {"agent": "mine:Driver", "agent_options": {"model": "m"}, "agent_sources": "77", "agent_timeout": 9.0}
    run = MIDDLE.closed_loop.model_copy(update={"settings": MIDDLE.closed_loop.settings | own})
    board = leaderboard([STRONG, MIDDLE.model_copy(update={"closed_loop": run})])
    assert [entry.result.model for entry in board.entries] == ["strong", "middle"]


def test_without_r4_its_differences_do_not_count() -> None:
    other = driven(MIDDLE, suite=None, suite_hash=None, suite_scenarios=None, repeats=None)
    assert len(leaderboard([STRONG, other], closed_loop=False).entries) == 2


ITEMLESS = "so nothing shows that the items are those of other results; score the replies with `drivehierarchy score`"


@pytest.mark.parametrize(("tasks", "which"), [(list(STRONG.tasks), "any task"), (["r1_4", "r3_1"], "r1_4, r3_1")])
@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("stderr", [0.01, None])
def test_scores_without_items_are_neither_ranked_nor_a_measure(
    tasks: list[str], which: str, place: int, stderr: float | None
) -> None:
    stripped = {task: bare(STRONG.tasks[task], stderr=stderr, n=1000, expected=1000) for task in tasks}
    submissions = [MIDDLE, WEAK]
    submissions.insert(place, copied(STRONG, "cheat", tasks=STRONG.tasks | stripped))
    board = leaderboard(submissions)
    assert [entry.result.model for entry in board.entries] == ["middle", "weak"]
    (refusal,) = board.refused
    assert refusal.model == "cheat"
    (reason,) = refusal.reasons
    assert reason.startswith(f"per-item scores are missing for {which}, {ITEMLESS}")


def test_what_most_submissions_share_is_the_measure_whatever_comes_first() -> None:
    other = {task: renamed(result, "x-{}") for task, result in STRONG.tasks.items()}
    first = copied(STRONG, "first", tasks=other)
    warm = copied(STRONG, "warm", protocol=STRONG.protocol | {"temperature": 1.0})
    board = leaderboard([first, warm, MIDDLE, WEAK])
    assert [entry.result.model for entry in board.entries] == ["middle", "weak"]
    measure = "not as middle, weak (2 of 4 complete submissions, the most that agree with each other): "
    reasons = {refusal.model: refusal.reasons for refusal in board.refused}
    assert reasons["warm"] == (f"{measure}setting 'temperature' differs (middle: 0.0; warm: 1.0)",)
    assert reasons["first"][0].startswith(f"{measure}middle and first did not answer the same items of r1_1_a")


def test_another_number_of_items_is_named_without_contradiction() -> None:
    more = MIDDLE.tasks["r3_1"].model_copy(update={"expected": None})
    (reason,) = item_differences([STRONG, copied(MIDDLE, "more", tasks=MIDDLE.tasks | {"r3_1": more})])
    assert reason == (
        "strong and more answered the same items, but differ in how many there are of r3_1 (50 and unknown): score "
        "both against the same edition"
    )


def test_one_file_under_two_names_is_ranked_once_and_makes_no_majority() -> None:
    warm = copied(STRONG, "warm", protocol=STRONG.protocol | {"temperature": 1.0})
    again = [warm.model_copy(update={"model": f"warm{number}"}) for number in (2, 3)]
    board = leaderboard([warm, *again, MIDDLE, WEAK])
    assert [entry.result.model for entry in board.entries] == ["middle", "weak"]
    reasons = {refusal.model: refusal.reasons for refusal in board.refused}
    for name in ("warm2", "warm3"):
        assert reasons[name] == ("it was read from the same files as warm: one result under two names; leave one out",)
    said = "warm and warm2 were read from the same files: one result under two names"
    assert said in warnings([warm, *again])
    assert said not in warnings([warm, copied(warm, "warm2")])


def test_files_that_give_no_r4_result_are_refused_by_name() -> None:
    sentence = "left out, damaged: a/b/scene_score.json: score_composed is 99.0"
    run = closed_loop(50, 1, missing=2).model_copy(update={"left_out": (sentence,)})
    assert sentence in check_submission(STRONG.model_copy(update={"closed_loop": run}))


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(ResultsError, match="two models are called 'strong'"):
        leaderboard([STRONG, STRONG])


def test_the_page_ranks_and_lists_the_refused() -> None:
    document = page(leaderboard([STRONG, WEAK, model("short", 1, without=["r1_4"])]))
    tables = {b.name: b for section in document.sections for b in section.blocks if isinstance(b, Table)}
    assert [row[0].text for row in tables["ranking"].rows] == ["strong", "weak"]
    assert tables["ranking"].rows[0][2].sort == pytest.approx(STRONG.open_loop("official").open.value)
    first = tables["ranking"].rows[0]
    assert first[2].text.endswith("] n=25")
    assert first[-2].text.endswith("] n=20")
    notes = [block.text for block in document.sections[0].blocks if isinstance(block, Note)]
    assert sum(note.startswith("n= beside") for note in notes) == 1
    assert tables["refused"].rows[0][1].text == "no score for r1_4 (no judge was given)"
    assert {row[0].text: row[1].text for row in tables["protocol"].rows}["R4 suite hash"] == "5f0c"
    assert tables["tasks"].columns[-1] == "r3_2"
    empty = page(leaderboard([model("short", 1, without=["r1_4"])]))
    assert empty.sections[0].blocks[0].text == "No submission could be ranked."


def test_the_protocol_lists_only_what_all_share() -> None:
    own = {"agent": "mine:Driver", "agent_timeout": 9.0}
    run = WEAK.closed_loop.model_copy(update={"settings": WEAK.closed_loop.settings | own})
    other = WEAK.model_copy(update={"closed_loop": run, "protocol": WEAK.protocol | {"model_class": "hf"}})
    board = leaderboard([STRONG.model_copy(update={"protocol": STRONG.protocol | {"model_class": "vllm"}}), other])
    assert len(board.entries) == 2
    (table,) = (
        b for section in page(board).sections for b in section.blocks if isinstance(b, Table) and b.name == "protocol"
    )
    shared = {row[0].text: row[1].text for row in table.rows}
    assert shared["R4 suite hash"] == "5f0c"
    assert shared["R4 setting backend"] == "sumo"
    assert not {"setting model_class", "R4 setting agent", "R4 setting agent_timeout"} & shared.keys()


def test_command_writes_the_page_and_fails_on_a_refusal(tmp_path: Path) -> None:
    paths = stored(tmp_path, STRONG, WEAK, model("short", 1, without=["r1_4"]))
    out = tmp_path / "board.html"
    good = CliRunner().invoke(app, ["leaderboard", *paths[:2], "--out", str(out)], env={"COLUMNS": "150"})
    assert good.exit_code == 0, good.output
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert "strong" in text
    refused = CliRunner().invoke(app, ["leaderboard", *paths, "--out", str(out)], env={"COLUMNS": "150"})
    assert refused.exit_code == 1
    assert "not ranked short: no score for r1_4" in refused.output
