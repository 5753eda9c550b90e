import pytest
from pydantic import ValidationError

from lm_eval_drivehierarchy.comparability import protocol_differences, refuse, warnings
from lm_eval_drivehierarchy.results import (
    ClosedLoopResult,
    Episode,
    ItemScore,
    ModelResult,
    ResultsError,
    RuleScore,
    TaskResult,
    merge,
    paper_results,
)

from .made_results import closed_loop, model, task_result


def scored(task: str = "r1_1_a", **changes: object) -> TaskResult:
    items = tuple(ItemScore(id=f"i{n}", scene=f"s{n // 2}", scores={"official": 50.0 + n}) for n in range(4))
    fields = {"task": task, "n": 4, "expected": 4, "rules": {"official": RuleScore(score=51.5)}, "items": items}
    return TaskResult(**(fields | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task": "r9_9"}, "not one of the fourteen"),
        ({"n": 5}, "n is 5, but 4 items"),
        ({"expected": 3}, "4 items scored of 3"),
        ({"rules": {"official": RuleScore(score=40.0)}}, "is not the mean of its items"),
        ({"rules": {"official": RuleScore(score=51.5), "flexible": RuleScore(score=51.5)}}, "lacks its score"),
        ({"rules": {}}, "at least 1 item"),
    ],
)
def test_a_task_result_that_contradicts_itself_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        scored(**changes)


def test_duplicated_items_are_refused_by_name() -> None:
    twice = tuple(ItemScore(id="i0", scene=None, scores={"official": 1.0}) for _ in range(2))
    with pytest.raises(ValidationError, match="item 'i0' is there more than once"):
        scored(items=twice, n=2, rules={"official": RuleScore(score=1.0)})


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1.0, 100.5])
def test_scores_that_are_none_are_refused(bad: float) -> None:
    with pytest.raises(ValidationError):
        RuleScore(score=bad)
    with pytest.raises(ValidationError):
        ItemScore(id="i", scene=None, scores={"official": bad})


def test_an_episode_twice_is_refused() -> None:
    episode = Episode(
        family="01_pedestrian_encounter", scenario="a", repeat=0, score=1, route=1, safety=1, efficiency=1,
        termination="scenario_timeout", events=(),
    )  # fmt: skip
    with pytest.raises(ValidationError, match="'a', repeat 0, is there more than once"):
        ClosedLoopResult(suite="open", suite_hash="x", evaluator="1", planned=2, episodes=(episode, episode))


def test_estimates_with_items_cluster_scenes_and_without_use_standard_errors() -> None:
    with_items = ModelResult(model="m", tasks={"r1_1_a": scored()}).open_loop("official").tasks["r1_1_a"]
    assert (with_items.value, with_items.n, with_items.clusters) == (51.5, 4, 2)
    bare = scored(items=(), rules={"official": RuleScore(score=51.5, stderr=2.0)})
    summary = ModelResult(model="m", tasks={"r1_1_a": bare}).open_loop("official")
    assert summary.tasks["r1_1_a"].low == pytest.approx(51.5 - 1.959964 * 2)
    assert summary.open.value is None
    assert summary.open.reason.startswith("incomplete: no score for r1_1_b")


def test_summary_errors_combine_as_independent_tasks() -> None:
    tasks = {
        task: TaskResult(task=task, n=100, rules={"official": RuleScore(score=40.0, stderr=3.0)})
        for task in ("r3_1", "r3_2")
    }
    found = ModelResult(model="m", tasks=tasks).open_loop("official")
    assert found.ranks[3].stderr == pytest.approx((2 * 3.0**2) ** 0.5 / 2)
    assert found.ranks[1].value is None


def test_the_paper_models_have_scores_and_no_intervals() -> None:
    models = paper_results()
    assert len(models) == 15
    first = models[0]
    found = first.open_loop("official")
    assert found.open.value == pytest.approx(43.93, abs=0.005)
    assert found.open.low is None
    assert "printed" in found.tasks["r3_1"].reason
    assert first.r4() == 0.377
    assert first.rules() == ("official",)


def test_items_without_a_scene_stand_alone() -> None:
    items = tuple(ItemScore(id=f"i{n}", scene=None, scores={"official": 50.0 + n}) for n in range(4))
    found = ModelResult(model="m", tasks={"r1_1_a": scored(items=items)}).open_loop("official").tasks["r1_1_a"]
    assert found.clusters == 4


class TestMerge:
    def test_open_loop_and_r4_of_one_model_are_joined(self) -> None:
        whole = model("m", 1)
        parts = [
            whole.model_copy(update={"closed_loop": None}),
            ModelResult(model="m", closed_loop=whole.closed_loop, versions={"sumo": "1.28.0"}),
        ]
        (joined,) = merge(parts)
        assert joined.tasks == whole.tasks
        assert joined.closed_loop == whole.closed_loop
        assert joined.edition == "sim"
        assert joined.versions == {"lm-eval": "0.4.13", "sumo": "1.28.0"}
        assert merge(reversed(parts))[0].edition == "sim"

    def test_tasks_in_two_parts_are_joined_and_no_longer_absent(self) -> None:
        first = model("m", 1, without=["r1_4"], driving=None)
        second = ModelResult(model="m", edition="sim", edition_hash="ab12", tasks={"r1_4": task_result("r1_4", 40, 1)})
        (joined,) = merge([first, second])
        assert len(joined.tasks) == 14
        assert joined.absent == {}

    def test_the_same_task_or_r4_twice_is_refused(self) -> None:
        with pytest.raises(ResultsError, match="r1_1_a is in two of the inputs"):
            merge([model("m", 1), model("m", 2)])
        run = ModelResult(model="m", closed_loop=closed_loop(50, 1))
        with pytest.raises(ResultsError, match="two inputs hold R4"):
            merge([run, run])

    def test_other_editions_are_not_joined(self) -> None:
        first = model("m", 1, without=["r1_4"], driving=None)
        second = model("m", 1, edition="release", driving=None)
        other = second.model_copy(update={"tasks": {"r1_4": second.tasks["r1_4"]}})
        with pytest.raises(ResultsError, match=r"differ in edition \(sim and release\)"):
            merge([first, other])


class TestComparability:
    def test_like_results_pass(self) -> None:
        refuse([model("a", 1), model("b", 2)])

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"edition": "release"}, r"edition differs \(a: sim; b: release\)"),
            ({"edition_hash": "cd34"}, "content of the edition differs"),
        ],
    )
    def test_other_questions_are_refused(self, change: dict[str, str], message: str) -> None:
        with pytest.raises(ResultsError, match=message):
            refuse([model("a", 1), model("b", 2).model_copy(update=change)])

    def test_another_scorer_is_refused(self) -> None:
        second = model("b", 2)
        tasks = {task: result.model_copy(update={"version": "2"}) for task, result in second.tasks.items()}
        with pytest.raises(ResultsError, match="version of task r1_1_a differs"):
            refuse([model("a", 1), second.model_copy(update={"tasks": tasks})])

    @pytest.mark.parametrize("field", ["suite", "suite_hash", "evaluator"])
    def test_another_r4_is_refused(self, field: str) -> None:
        second = model("b", 2)
        run = second.closed_loop.model_copy(update={field: "other"})
        with pytest.raises(ResultsError, match="R4"):
            refuse([model("a", 1), second.model_copy(update={"closed_loop": run})])

    def test_two_models_of_one_name_are_refused(self) -> None:
        with pytest.raises(ResultsError, match="two models are called 'a'"):
            refuse([model("a", 1), model("a", 2)])

    def test_what_is_missing_is_said(self) -> None:
        short = model("a", 1, without=["r1_4"], lost=3)
        driven = short.model_copy(update={"closed_loop": closed_loop(60, 1, missing=4)})
        said = "\n".join(warnings([driven]))
        assert "r1_1_a (47 of 50 items)" in said
        assert "r1_4 has no score: no judge was given" in said
        assert "R4 is partial, 36 of 40 runs" in said
        assert "1 void R4 attempts (infrastructure)" in said

    def test_summaries_and_sceneless_items_are_marked(self) -> None:
        bare = scored(items=(), rules={"official": RuleScore(score=51.5, stderr=2.0)})
        assert any("--log_samples" in line for line in warnings([ModelResult(model="a", tasks={"r1_1_a": bare})]))
        items = tuple(ItemScore(id=f"i{n}", scene=None, scores={"official": 50.0 + n}) for n in range(4))
        loose = ModelResult(model="a", tasks={"r1_1_a": scored(items=items)})
        assert any("name no scene" in line for line in warnings([loose]))

    def test_settings_that_matter_are_compared_and_those_of_the_model_are_not(self) -> None:
        warm = model("b", 2).model_copy(update={"protocol": {"temperature": 0.7, "system prompt": "1"}})
        assert "setting 'temperature' differs (a: 0.0; b: 0.7)" in protocol_differences([model("a", 1), warm])
        api = model("b", 2).model_copy(update={"protocol": {**model("b", 2).protocol, "model_class": "hf"}})
        assert protocol_differences([model("a", 1), api]) == []
