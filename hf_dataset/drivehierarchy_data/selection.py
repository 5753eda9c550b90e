"""Which drafts become items: balanced by answer, spread over scenes, options shuffled so that no letter is favoured."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from .drafts import Draft, ViewRef
from .errors import DataError
from .images import EncodedImage
from .items import Item, Split, letter_at
from .release import QUESTION_FILES

KINDS: Final = MappingProxyType({file.task: (file.rank, file.answer_kind) for file in QUESTION_FILES})
"""Task id -> rank and answer kind."""

LABEL_SHARES: Final = MappingProxyType(
    {
        "r1_1_a": 1 / 2,
        "r1_1_b": 1 / 4,
        "r1_1_c": 1 / 2,
        "r1_2_a": 1 / 4,
        "r1_2_b": 1 / 4,
        "r1_2_c": 1 / 3,
        "r1_3": 1 / 4,
        "r1_4": 1 / 5,
        "r2_1": 1 / 5,
        "r2_2_a": 1 / 5,
        "r2_2_b": 1 / 4,
        "r2_3": 1 / 4,
        "r3_1": 1 / 4,
        "r3_2": 1 / 3,
    }
)
"""Largest share that one answer class may have among the items of a group, so that a guess is no better than that.
Groups with fewer classes than that are left out."""

OPTIONS = 4
"""Options of a choice, where there are so many."""
ITEMS_PER_SCENE = 5
"""Items of one task from one drive, at most."""
FRAMES_APART = 4
"""Items of one group and drive lie at least so many frames apart."""
KEPT_PER_CLASS = 3
"""Drafts of one drive, task, group and label that are kept to choose from."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A draft with what its clip says: scene, source, facts, and the content names of its images (`images`)."""

    scene_id: str
    source: str
    draft: Draft
    meta: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[str, ...] = ()


def thin_out(drafts: Iterable[Draft], seed: str) -> list[Draft]:
    """A few drafts of every group and label, drawn at random: those of neighbouring frames are much the same."""
    classes: dict[tuple[str, str], list[Draft]] = defaultdict(list)
    for draft in drafts:
        classes[draft.group, draft.label].append(draft)
    kept = []
    # From one end of the drive on, as many as fit; the same end for all labels, or one would keep out the other later.
    backwards = random.Random(f"thin:{seed}").random() < 0.5
    for (group, label), members in sorted(classes.items()):
        rng = random.Random(f"thin:{seed}:{members[0].task}:{group}:{label}")
        order = sorted(rng.sample(members, len(members)), key=_frame, reverse=backwards)
        fitting: list[Draft] = []
        for draft in order:
            if all(_apart(draft, other) for other in fitting):
                fitting.append(draft)
        kept += rng.sample(fitting, min(KEPT_PER_CLASS, len(fitting)))
    return kept


def select(task: str, candidates: Sequence[Candidate], count: int, seed: int) -> list[Candidate]:
    """Up to `count` candidates of a task; fewer when the rules allow no more.

    Groups get equal numbers as far as they can, and so do the labels of a group; no label exceeds its share by more
    than one item. What asks the same about the same pictures, as while everybody waits at a light, is asked once. The
    order of `candidates` and `seed` decide, nothing else.
    """
    groups: dict[str, dict[str, list[Candidate]]] = defaultdict(lambda: defaultdict(list))
    asked: set[tuple[str, ...]] = set()
    for candidate in candidates:
        same = (candidate.draft.question, *candidate.images)
        if candidate.images and same in asked:
            continue
        asked.add(same)
        groups[candidate.draft.group][candidate.draft.label].append(candidate)
    rng = random.Random(f"select:{seed}:{task}")
    share = LABEL_SHARES[task]
    pools = {group: _Pool(labels, share, rng) for group, labels in sorted(groups.items())}
    per_scene: Counter[str] = Counter()
    chosen: list[Candidate] = []
    while len(chosen) < count and pools:
        group = min(pools, key=lambda name: (pools[name].total, name))
        taken = pools[group].take(per_scene)
        if taken is None:
            # What it gave stays as balanced as it is.
            chosen += pools.pop(group).chosen
            continue
        per_scene[taken.scene_id] += 1
        if sum(pool.total for pool in pools.values()) + len(chosen) >= count:
            break
    chosen += [candidate for pool in pools.values() for candidate in pool.chosen]
    return sorted(chosen[:count], key=lambda c: (c.scene_id, c.draft.group, c.draft.key))


class _Pool:
    """What is left of a group, by label."""

    def __init__(self, labels: Mapping[str, list[Candidate]], share: float, rng: random.Random) -> None:
        self._share = share
        self._left: dict[str, list[Candidate]] = {}
        for label, members in sorted(labels.items()):
            self._left[label] = rng.sample(members, len(members))
        self._counts = Counter(dict.fromkeys(self._left, 0))
        self.chosen: list[Candidate] = []
        self._by_scene: dict[str, list[Draft]] = defaultdict(list)
        # Fewer labels than the share needs can never be balanced.
        self._balanced = len(self._left) * share > 1 - 1e-9

    @property
    def total(self) -> int:
        return len(self.chosen)

    def take(self, per_scene: Counter[str]) -> Candidate | None:
        """The next candidate: of the rarest label, from the scene that gave least; None when the group is used up."""
        if not self._balanced:
            return None
        for label in sorted(self._left, key=lambda name: (self._counts[name], name)):
            if self._counts[label] + 1 > self._share * (self.total + 1) + 1:
                return None
            candidate = self._next_of(label, per_scene)
            if candidate is not None:
                self._counts[label] += 1
                self.chosen.append(candidate)
                self._by_scene[candidate.scene_id].append(candidate.draft)
                return candidate
        return None

    def _next_of(self, label: str, per_scene: Counter[str]) -> Candidate | None:
        left = [c for c in self._left[label] if per_scene[c.scene_id] < ITEMS_PER_SCENE]
        left = [c for c in left if all(_apart(c.draft, other) for other in self._by_scene[c.scene_id])]
        self._left[label] = left
        if not left:
            return None
        best = min(range(len(left)), key=lambda i: (per_scene[left[i].scene_id], i))
        return left.pop(best)


def _apart(one: Draft, other: Draft) -> bool:
    return abs(_frame(one) - _frame(other)) >= FRAMES_APART


def _frame(draft: Draft) -> int:
    """Index of the first frame that a draft shows."""
    return draft.views[0][0]


# --- items -----------------------------------------------------------------------------------------------------------

ImageOf = Callable[[str, ViewRef], EncodedImage]
"""Image of a scene's frame and camera."""


@dataclass(frozen=True, slots=True)
class Plan:
    """An item before its images are read."""

    id: str
    candidate: Candidate
    views: tuple[ViewRef, ...]
    view_names: tuple[str, ...]
    options: tuple[str, ...]
    answer: str

    def item(self, image_of: ImageOf) -> Item:
        """The item, its images read."""
        draft = self.candidate.draft
        rank, kind = KINDS[draft.task]
        return Item(
            id=self.id,
            task=draft.task,
            rank=rank,
            source=self.candidate.source,
            scene_id=self.candidate.scene_id,
            question=draft.question,
            answer=self.answer,
            answer_kind=kind,
            images=tuple(image_of(self.candidate.scene_id, view) for view in self.views),
            views=self.view_names,
            options=self.options,
            meta={**self.candidate.meta, **draft.meta},
        )


def compose(task: str, split: Split, chosen: Sequence[Candidate], seed: int) -> list[Plan]:
    """Items of a task in random order, with their options: every letter is right equally often, and a wrong text is
    shown in proportion to how often it is right elsewhere, so that texts do not give themselves away either."""
    rng = random.Random(f"compose:{seed}:{split}:{task}")
    order = rng.sample(list(chosen), len(chosen))
    kind = KINDS[task][1]
    distractors = _distractors(order, rng) if kind == "choice" else [() for _ in order]
    turns: Counter[int] = Counter()
    plans = []
    for number, (candidate, wrong) in enumerate(zip(order, distractors, strict=True)):
        draft = candidate.draft
        views, names = draft.views, _view_names(draft)
        options: tuple[str, ...] = ()
        answer = draft.truth
        if kind == "choice":
            size = len(wrong) + 1
            place = turns[size] % size
            turns[size] += 1
            texts = rng.sample(wrong, len(wrong))
            texts.insert(place, draft.truth)
            options = tuple(f"{letter_at(i)}. {text}" for i, text in enumerate(texts))
            # Written as in the release: the letter, or in these tasks the whole option.
            answer = options[place] if task in ("r2_2_b", "r3_1") else letter_at(place)
        elif kind == "order":
            shown = rng.sample(range(len(views)), len(views))
            views = tuple(views[i] for i in shown)
            names = options = tuple(letter_at(i) for i in range(len(views)))
            answer = json.dumps([letter_at(shown.index(i)) for i in range(len(views))])
        plans.append(Plan(f"{task}-{split}-{number:04d}", candidate, views, names, options, answer))
    return plans


def _view_names(draft: Draft) -> tuple[str, ...]:
    """The camera, where all views are of one instant; else t0, t1, …"""
    if len({index for index, _ in draft.views}) == 1:
        return tuple(camera for _, camera in draft.views)
    return tuple(f"t{i}" for i in range(len(draft.views)))


def _distractors(order: Sequence[Candidate], rng: random.Random) -> list[tuple[str, ...]]:
    """Wrong options of every item.

    Within a group of items a text that is right f times is wanted (k - 1) f times as a wrong option, k being the
    number of options. Items with the least choice come first; each takes the texts that are most in arrears.
    """
    wanted: dict[str, Counter[str]] = defaultdict(Counter)
    for candidate in order:
        wanted[candidate.draft.group][candidate.draft.truth] += OPTIONS - 1
    picks: dict[int, tuple[str, ...]] = {}
    for number in sorted(range(len(order)), key=lambda n: len(order[n].draft.wrong)):
        draft = order[number].draft
        arrears = wanted[draft.group]
        # A text that is never right would give itself away, unless too few others are left.
        possible = rng.sample(draft.wrong, len(draft.wrong))
        possible.sort(key=lambda text: -arrears[text])
        picks[number] = tuple(possible[: OPTIONS - 1])
        arrears.subtract(picks[number])
        if not picks[number]:
            raise DataError(f"{draft.task}, {draft.key}: a choice needs at least one wrong option")
    return [picks[number] for number in range(len(order))]
