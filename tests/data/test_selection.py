"""Selection and composition: balanced answers, spread scenes, options that give nothing away."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivehierarchy_data.drafts import Draft
from drivehierarchy_data.selection import (
    FRAMES_APART,
    ITEMS_PER_SCENE,
    KEPT_PER_CLASS,
    LABEL_SHARES,
    Candidate,
    compose,
    select,
    thin_out,
)


def draft(task: str, group: str, label: str, index: int, wrong: tuple[str, ...] = (), key: str = "") -> Draft:
    return Draft(task, key or f"{index}:{label}", "?", label, ((index, "CAM_FRONT"),), group, label, wrong)


def candidates(task: str, labels: dict[str, dict[str, int]], scenes: int = 40, seed: int = 0) -> list[Candidate]:
    """So many candidates of every group and label, spread over scenes and frames."""
    rng = random.Random(seed)
    made = []
    for group, counts in labels.items():
        for label, count in counts.items():
            wrong = tuple(other for other in counts if other != label)
            for number in range(count):
                entry = draft(task, group, label, rng.randrange(40), wrong, f"{group}:{label}:{number}")
                made.append(Candidate(f"scene-{rng.randrange(scenes):03d}", "toy", entry))
    return made


def test_thinning_keeps_a_few_of_every_class_that_lie_apart() -> None:
    drafts = [draft("r1_1_b", "Vehicle", label, index) for index in range(40) for label in ("1", "2")]
    kept = thin_out(drafts, "seed")
    assert Counter(d.label for d in kept) == {"1": KEPT_PER_CLASS, "2": KEPT_PER_CLASS}
    places = sorted(d.views[0][0] for d in kept if d.label == "1")
    assert all(b - a >= FRAMES_APART for a, b in pairwise(places))
    assert thin_out(drafts, "seed") == kept
    assert thin_out(drafts, "other") != kept


@pytest.mark.parametrize("beside", [(), ("follow",)])
@pytest.mark.parametrize("seed", range(12))
def test_what_is_rare_is_kept_as_often_as_it_fits(seed: int, beside: tuple[str, ...]) -> None:
    """Nine frames in a row have room for three drafts, and three are kept, with other labels beside them or not."""
    begin = random.Random(seed).randrange(30)
    drafts = [draft("r1_4", "driver", "stand", begin + index) for index in range(2 * FRAMES_APART + 1)]
    others = [draft("r1_4", "driver", label, index) for label in beside for index in range(40)]
    kept = [d for d in thin_out(drafts + others, str(seed)) if d.label == "stand"]
    assert sorted(d.views[0][0] - begin for d in kept) == [0, FRAMES_APART, 2 * FRAMES_APART]


def test_yes_and_no_are_equally_frequent_in_every_category() -> None:
    made = candidates("r1_1_a", {"Vehicle": {"Yes": 200, "No": 12}, "Bicycle": {"Yes": 15, "No": 200}})
    chosen = select("r1_1_a", made, 40, 0)
    assert len(chosen) == 40
    counts = Counter((c.draft.group, c.draft.label) for c in chosen)
    for group in ("Vehicle", "Bicycle"):
        assert abs(counts[group, "Yes"] - counts[group, "No"]) <= 2


def test_a_group_that_cannot_be_balanced_is_left_out() -> None:
    made = candidates("r1_1_b", {"Vehicle": dict.fromkeys("12345", 50), "Bicycle": {"1": 500, "2": 500}})
    assert {c.draft.group for c in select("r1_1_b", made, 30, 0)} == {"Vehicle"}


def test_the_same_question_about_the_same_pictures_is_asked_once() -> None:
    made = candidates("r1_1_b", {"Vehicle": dict.fromkeys("12345", 40)})
    standing = [Candidate(c.scene_id, c.source, c.draft, images=(f"{n // 4}.jpg",)) for n, c in enumerate(made)]
    chosen = select("r1_1_b", standing, 60, 0)
    assert len(chosen) == len({c.images for c in chosen}) > 40


@settings(deadline=None, max_examples=40)
@given(
    counts=st.dictionaries(st.sampled_from("abcdefg"), st.integers(1, 60), min_size=4),
    wanted=st.integers(1, 80),
    seed=st.integers(0, 5),
)
def test_limits_hold_whatever_there_is_to_choose_from(counts: dict[str, int], wanted: int, seed: int) -> None:
    made = candidates("r3_1", {"Vehicle": counts, "Pedestrian": counts}, scenes=15, seed=seed)
    chosen = select("r3_1", made, wanted, seed)
    assert len(chosen) <= wanted
    assert len({(c.scene_id, c.draft.key) for c in chosen}) == len(chosen)
    assert max(Counter(c.scene_id for c in chosen).values(), default=0) <= ITEMS_PER_SCENE
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    frames: dict[tuple[str, str], list[int]] = defaultdict(list)
    for entry in chosen:
        groups[entry.draft.group][entry.draft.label] += 1
        frames[entry.scene_id, entry.draft.group].append(entry.draft.views[0][0])
    for labels in groups.values():
        assert max(labels.values()) <= LABEL_SHARES["r3_1"] * labels.total() + 1 + 1e-9
    for places in frames.values():
        places.sort()
        assert all(b - a >= FRAMES_APART for a, b in pairwise(places))
    assert select("r3_1", made, wanted, seed) == chosen


def test_letters_are_balanced_and_the_answer_is_the_truth() -> None:
    made = candidates("r3_1", {"Vehicle": dict.fromkeys("abcdef", 60)})
    chosen = select("r3_1", made, 50, 0)
    plans = compose("r3_1", "test", chosen, 0)
    assert [plan.id for plan in plans] == [f"r3_1-test-{i:04d}" for i in range(50)]
    letters = Counter(plan.answer[0] for plan in plans)
    assert set(letters) == set("ABCD")
    assert max(letters.values()) - min(letters.values()) <= 1
    for plan in plans:
        assert plan.answer in plan.options
        assert plan.answer[3:] == plan.candidate.draft.truth
        assert [option[:3] for option in plan.options] == ["A. ", "B. ", "C. ", "D. "]
        assert len(set(plan.options)) == 4


def test_a_text_is_wrong_in_proportion_to_how_often_it_is_right() -> None:
    made = candidates("r3_1", {"Vehicle": {"a": 400, "b": 400, "c": 400, "d": 400, "rare": 12}})
    plans = compose("r3_1", "test", select("r3_1", made, 200, 0), 0)
    shown, right = Counter[str](), Counter[str]()
    for plan in plans:
        shown.update(option[3:] for option in plan.options)
        right[plan.candidate.draft.truth] += 1
    for text in shown:
        assert right[text] / shown[text] == pytest.approx(0.25, abs=0.04)


def test_only_texts_that_are_certainly_wrong_are_shown() -> None:
    made = [Candidate(f"s{i}", "toy", draft("r3_1", "Vehicle", "a", 0, ("b", "c"), str(i))) for i in range(8)]
    for plan in compose("r3_1", "test", made, 0):
        assert sorted(option[3:] for option in plan.options) == ["a", "b", "c"]


def test_frames_are_shuffled_and_their_order_is_the_answer() -> None:
    views = tuple((index, "CAM_FRONT") for index in (3, 5, 7, 9))
    made = [Candidate(f"s{i}", "toy", Draft("r3_2", str(i), "?", "", views, "frames", "4")) for i in range(60)]
    plans = compose("r3_2", "test", made, 0)
    for plan in plans:
        order = json.loads(plan.answer)
        assert [plan.views[plan.options.index(label)] for label in order] == list(views)
        assert plan.options == plan.view_names == ("A", "B", "C", "D")
    assert len({plan.answer for plan in plans}) > 15


def test_clips_are_named_by_time_and_single_instants_by_camera() -> None:
    clip = Draft("r2_2_a", "0", "?", "1", ((0, "CAM_FRONT"), (1, "CAM_FRONT")), "Vehicle", "1")
    six = Draft("r2_1", "0", "?", "1", ((0, "CAM_FRONT"), (0, "CAM_BACK")), "Vehicle", "1")
    assert compose("r2_2_a", "test", [Candidate("s", "toy", clip)], 0)[0].view_names == ("t0", "t1")
    assert compose("r2_1", "test", [Candidate("s", "toy", six)], 0)[0].view_names == ("CAM_FRONT", "CAM_BACK")
