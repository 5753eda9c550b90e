import pytest
from pydantic import ValidationError
from scipy import stats

from lm_eval_drivehierarchy.comparability import protocol_differences, refuse, warnings
from lm_eval_drivehierarchy.results import (
    MIXED,
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
        ({"n": 5}, "n is 5, but items lists 4 items"),
        ({"expected": 3}, "4 items scored of 3"),
        ({"rules": {"official": RuleScore(score=40.0)}}, "is not the mean of its items"),
        ({"rules": {"official": RuleScore(score=51.5), "flexible": RuleScore(score=51.5)}}, "lacks its score"),
        ({"rules": {}}, "at least 1 item"),
        (
            {"rules": {"official": RuleScore(score=51.5, parse_fail=0.25)}},
            "parse_fail is 0.25, but only a share of 0 of its items scores 0",
        ),
        ({"boxes": {"pixels": 51.5}}, "task r1_1_a: boxes are given, but it asks for none"),
        (
            {
                "task": "r1_3",
                "items": (),
                "boxes": {"pixels": 99.0},
                "rules": {"flexible": RuleScore(score=51.5)},
            },
            "boxes.pixels is 99, but its score under the rule flexible, which is that in pixels, is 51.5",
        ),
    ],
)
def test_a_task_result_that_contradicts_itself_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        scored(**changes)


@pytest.mark.parametrize(("score", "failed"), [(99.0, 1.0), (0.02, 1.0), (50.02, 0.5), (100.0, 0.001)])
def test_unread_replies_bound_a_score(score: float, failed: float) -> None:
    with pytest.raises(ValidationError, match=f"score is {score:g}, but parse_fail {failed:g} leaves at most"):
        RuleScore(score=score, parse_fail=failed)
    assert RuleScore(score=100 * (1 - failed), parse_fail=failed).parse_fail == failed


def test_a_task_with_a_score_is_not_absent() -> None:
    with pytest.raises(ValidationError, match=r"absent says why r1_1_a has no score \(no judge\), but tasks holds one"):
        ModelResult(model="m", tasks={"r1_1_a": scored()}, absent={"r1_1_a": "no judge"})


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


EPISODE = {
    "family": "01_pedestrian_encounter", "scenario": "a", "repeat": 0, "score": 45.0, "route": 50.0, "safety": 1.0,
    "efficiency": 0.9, "termination": "scenario_timeout", "events": ["scenario_timeout"],
}  # fmt: skip
OTHER = EPISODE | {"scenario": "b"}
RUN = {
    "suite": "open", "suite_hash": "x", "evaluator": "1", "suite_scenarios": ["a", "b"], "repeats": 1, "planned": 2,
    "episodes": [EPISODE, OTHER],
}  # fmt: skip


def test_a_consistent_run_is_whole_and_a_part_names_the_rest() -> None:
    run = ClosedLoopResult.model_validate(RUN)
    assert (run.whole, run.uncovered, run.partial) == (True, (), False)
    part = ClosedLoopResult.model_validate(RUN | {"planned": 1, "episodes": [OTHER]})
    assert (part.whole, part.uncovered, part.partial) == (False, ("a",), False)
    unknown = ClosedLoopResult.model_validate(RUN | {"suite_scenarios": None})
    assert (unknown.whole, unknown.uncovered) == (False, None)
    lost = RUN | {"episodes": [EPISODE], "missing": ["01_pedestrian_encounter/b (repeat 0)"]}
    assert not ClosedLoopResult.model_validate(lost).whole


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"score": 50.0}, r"a \(repeat 0\): score is 50, but route 50 x safety 1 x efficiency 0.9 is 45"),
        ({"score": 45.001}, "score is 45.001, but route 50"),
        ({"safety": 0.2}, "score is 45, but route 50 x safety 0.2"),
        ({"score": float("nan")}, "finite number"),
        ({"score": -1.0}, "greater than or equal to 0"),
        ({"score": 101.0, "route": 100.0, "efficiency": 1.0}, "less than or equal to 100"),
        ({"route": float("inf")}, "finite number"),
        ({"safety": 1.5}, "less than or equal to 1"),
        ({"efficiency": -0.1}, "greater than or equal to 0"),
        ({"repeat": -1}, "greater than or equal to 0"),
        ({"decisions": -1}, "greater than or equal to 0"),
        ({"faults": -1}, "greater than or equal to 0"),
        ({"events": []}, "termination is 'scenario_timeout', but events lists none"),
        (
            {"termination": "collision_vehicle", "events": []},
            "termination is 'collision_vehicle', but events lists none",
        ),
        (
            {"termination": "destination_reached", "events": ["collision_static", "destination_reached"]},
            "termination is 'destination_reached', but the event collision_static ends a run",
        ),
        ({"termination": "system_error"}, "termination is 'system_error', a void run"),
        ({"termination": "manual_interrupt"}, "termination is 'manual_interrupt', a void run"),
    ],
)
def test_an_episode_that_contradicts_itself_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ClosedLoopResult.model_validate(RUN | {"episodes": [EPISODE | changes, OTHER]})


def test_rounding_of_the_columns_is_no_contradiction() -> None:
    route, safety, efficiency = 99.1234565, 0.9876545, 0.8765435
    score = round(round(route, 6) * round(safety * efficiency, 6), 6)
    Episode.model_validate(EPISODE | {"route": route, "safety": safety, "efficiency": efficiency, "score": score})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"episodes": [EPISODE, EPISODE]}, "'a', repeat 0, is there more than once"),
        ({"episodes": [EPISODE, EPISODE | {"family": "02_other"}]}, "'a', repeat 0, is there more than once"),
        ({"planned": 1}, "planned is 1, but episodes lists 2 runs"),
        ({"planned": 0, "episodes": []}, "greater than or equal to 1"),
        ({"planned": -3}, "greater than or equal to 1"),
        ({"planned": 3}, "planned is 3, but episodes lists 2 runs and missing 0"),
        ({"planned": 2.5}, "valid integer"),
        ({"missing": ["b"]}, "planned is 2, but episodes lists 2 runs and missing 1"),
        ({"repeats": 0}, "greater than or equal to 1"),
        ({"episodes": [EPISODE, EPISODE | {"repeat": 1}]}, r"repeats is 1, but .*a \(repeat 1\) is listed"),
        ({"suite_scenarios": ["a", "c"]}, "scenario 'b' is not among the 2 of suite_scenarios"),
        ({"suite_scenarios": ["a", "b", "a"]}, "suite_scenarios: 'a' is there more than once"),
        ({"planned": 3, "missing": ["a"]}, "planned is 3, but 2 scenarios x 1 repeats are 2 runs"),
        ({"void": {"infrastructure": -1}}, "greater than or equal to 0"),
    ],
)
def test_a_run_that_contradicts_itself_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ClosedLoopResult.model_validate(RUN | changes)


@pytest.mark.parametrize("value", [None, "", " ", "None", "null", "unknown"])
def test_a_name_that_is_none_is_unknown(value: str | None) -> None:
    assert ModelResult(model="m", edition=value, edition_hash=value).edition is None
    assert scored(version=value).version is None
    assert ClosedLoopResult.model_validate(RUN | {"suite": value, "suite_hash": value}).suite_hash is None


def test_a_name_is_one_printable_line() -> None:
    assert ModelResult(model="a\nb\t\x1b[2Jc  d").model == "a b [2Jc d"
    with pytest.raises(ValidationError, match="at least 1 character"):
        ModelResult(model="\n")


def test_published_totals_of_a_measured_model_are_refused() -> None:
    with pytest.raises(ValidationError, match="kind is 'measured', but published totals are given"):
        ModelResult(model="m", published={"open": 1.0, "families": {}, "r4": 99.0})


def test_estimates_with_items_cluster_scenes_and_without_use_standard_errors() -> None:
    with_items = ModelResult(model="m", tasks={"r1_1_a": scored()}).open_loop("official").tasks["r1_1_a"]
    assert (with_items.value, with_items.n, with_items.clusters) == (51.5, 4, 2)
    bare = scored(items=(), rules={"official": RuleScore(score=51.5, stderr=2.0)})
    summary = ModelResult(model="m", tasks={"r1_1_a": bare}).open_loop("official")
    assert summary.tasks["r1_1_a"].low == pytest.approx(51.5 - 1.959964 * 2)
    assert summary.open.value is None
    assert summary.open.reason.startswith("incomplete: no score for r1_1_b")


def test_a_flat_score_without_items_is_not_certain() -> None:
    def task(name: str, score: float, stderr: float = 0.0) -> TaskResult:
        return TaskResult(task=name, n=40, rules={"official": RuleScore(score=score, stderr=stderr)})

    perfect = ModelResult(model="m", tasks={t: task(t, 100.0) for t in ("r3_1", "r3_2")}).open_loop("official")
    exact = stats.binomtest(40, 40).proportion_ci(method="exact")
    assert (perfect.tasks["r3_1"].low, perfect.tasks["r3_1"].high) == (pytest.approx(100 * exact.low), 100)
    assert perfect.ranks[3].value == 100
    assert perfect.ranks[3].low is None
    assert "no task of it has any spread" in perfect.ranks[3].reason
    mixed = ModelResult(model="m", tasks={"r3_1": task("r3_1", 0.0), "r3_2": task("r3_2", 50.0, 3.0)})
    found = mixed.open_loop("official")
    assert found.tasks["r3_1"].high == pytest.approx(100 * (1 - exact.low))
    assert found.ranks[3].stderr == pytest.approx(1.5)
    flat = ModelResult(model="m", tasks={"r3_1": task("r3_1", 50.0)}).open_loop("official").tasks["r3_1"]
    assert flat.low is None
    assert flat.reason == "every item scored exactly 50"


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
        with pytest.raises(
            ResultsError, match=r"r1_1_a is in two of the inputs \(runs/m/final_score.json, runs/m/final_score.json\)"
        ):
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
        assert "R4 is partial: 36 of 40 planned runs have a result" in said
        assert "1 void R4 attempt (infrastructure)" in said

    def test_one_of_a_thing_is_said_in_the_singular(self) -> None:
        run = closed_loop(60, 1).model_copy(update={"void": {"system_error": 1, "infrastructure": 2}})
        said = "\n".join(warnings([model("a", 1).model_copy(update={"closed_loop": run})]))
        assert "a: 1 void R4 attempt (system error) left out" in said
        assert "a: 2 void R4 attempts (infrastructure) left out" in said

    def test_what_is_not_known_is_said(self) -> None:
        whole = model("a", 1)
        bare = {task: result.model_copy(update={"version": None}) for task, result in whole.tasks.items()}
        run = whole.closed_loop.model_copy(update={"suite": None, "suite_hash": None, "suite_scenarios": None})
        nameless = {"edition": None, "edition_hash": None, "tasks": bare, "closed_loop": run}
        said = "\n".join(warnings([whole.model_copy(update=nameless)]))
        assert "a: the edition of the data and the hash of the edition are not known" in said
        assert "a: the version of the scores is not known for any task" in said
        assert "a: the R4 suite and the hash of the R4 suite are not known" in said
        assert "a: the R4 run does not record which scenarios its suite has" in said
        assert "not known" not in "\n".join(warnings([whole]))

    def test_a_part_of_a_suite_and_other_items_are_said(self) -> None:
        part = ClosedLoopResult.model_validate(RUN | {"planned": 1, "episodes": [OTHER]})
        first, second = model("a", 1), model("b", 2, lost=3).model_copy(update={"closed_loop": part})
        said = "\n".join(warnings([first, second]))
        assert "b: R4 covers 1 of 2 scenarios of suite open (b); a is missing; its R4 score is not that" in said
        assert "R4 scenarios differ (a: 20, 01-0, 01-1, 02-0 and 17 more; b: 1, b), 0 in common" in said
        assert "R4 repeats differ (a: 2; b: 1)" in said
        assert (
            "a and b did not answer the same items of r1_1_a (50 and 47 of 50 items), r1_1_b (50 and 47 of 50 items), "
            "r1_1_c (50 and 47 of 50 items) and 11 more: 658 in common, 42 only of a, 0 only of b"
        ) in said
        assert "did not answer" not in "\n".join(warnings([first, model("c", 3)]))

    def test_settings_that_differ_between_tasks_are_said(self) -> None:
        mixed = model("a", 1).model_copy(update={"protocol": {"limit": MIXED}})
        assert "a: setting limit differs between tasks" in warnings([mixed])

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
