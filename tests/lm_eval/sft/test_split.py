"""Scenes held out for validation, and equal draws."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_drivehierarchy.sft.errors import SftError
from lm_eval_drivehierarchy.sft.samples import Sample
from lm_eval_drivehierarchy.sft.split import draw, held_out_scenes

SCENES = st.sets(st.tuples(st.sampled_from(["sim", "nuscenes"]), st.text(max_size=5)), min_size=2, max_size=60)


@given(scenes=SCENES, share=st.floats(0.01, 0.99), seed=st.integers(0, 5))
def test_a_share_of_the_scenes_is_held_out(scenes: set[tuple[str, str]], share: float, seed: int) -> None:
    held = held_out_scenes(scenes, share, seed)
    assert held < scenes
    assert len(held) == min(math.ceil(share * len(scenes)), len(scenes) - 1)
    assert held == held_out_scenes(sorted(scenes, reverse=True), share, seed)
    assert held <= held_out_scenes(scenes, min(share * 2, 0.995), seed)


def test_another_seed_holds_out_other_scenes() -> None:
    scenes = {("sim", f"train-{i}") for i in range(50)}
    assert len({held_out_scenes(scenes, 0.1, seed) for seed in range(5)}) == 5


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, math.nan])
def test_a_share_that_leaves_nothing_is_refused(share: float) -> None:
    with pytest.raises(SftError, match="between 0 and 1"):
        held_out_scenes({("sim", "a"), ("sim", "b")}, share, 0)


def test_one_scene_cannot_be_divided() -> None:
    with pytest.raises(SftError, match="1 scene cannot be divided"):
        held_out_scenes({("sim", "a")}, 0.05, 0)


def samples(**counts: int) -> list[Sample]:
    return [
        Sample(f"{task}-{i}", task, ("sim", str(i)), "", (), "", ())
        for task, number in counts.items()
        for i in range(number)
    ]


def test_draws_are_equal_and_reproducible() -> None:
    pool = samples(r1_1_a=20, r1_3=9, r2_1=12)
    chosen = draw(pool, 20, 0)
    assert Counter(sample.task for sample in chosen) == {"r1_1_a": 7, "r1_3": 7, "r2_1": 6}
    assert len({sample.item for sample in chosen}) == 20
    assert chosen == draw(pool, 20, 0) != draw(pool, 20, 1)
    assert sorted(s.item for s in draw(pool, None, 0)) == sorted(s.item for s in pool)


@pytest.mark.parametrize(("count", "message"), [(30, "r1_3 has 9 of 10"), (2, "3 tasks need at least as many")])
def test_a_draw_that_cannot_be_equal_is_refused(count: int, message: str) -> None:
    with pytest.raises(SftError, match=message):
        draw(samples(r1_1_a=20, r1_3=9, r2_1=12), count, 0)
