"""Question builders: each a pure function from a clip to the drafts of one task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import MappingProxyType
from typing import Final

from ..drafts import Draft
from ..scene import Clip
from .description import description_drafts
from .distance import bucket_drafts, nearest_drafts, pixel_drafts
from .grounding import grounding_drafts
from .memory import state_change_drafts, surround_count_drafts, temporal_count_drafts
from .ordering import ordering_drafts
from .outcome import outcome_drafts
from .recognition import counting_drafts, existence_drafts, state_drafts
from .relations import relation_drafts

Builder = Callable[[Clip], Iterator[Draft]]

BUILDERS: Final = MappingProxyType[str, Builder](
    {
        "r1_1_a": existence_drafts,
        "r1_1_b": counting_drafts,
        "r1_1_c": state_drafts,
        "r1_2_a": nearest_drafts,
        "r1_2_b": pixel_drafts,
        "r1_2_c": bucket_drafts,
        "r1_3": grounding_drafts,
        "r1_4": description_drafts,
        "r2_1": surround_count_drafts,
        "r2_2_a": temporal_count_drafts,
        "r2_2_b": state_change_drafts,
        "r2_3": relation_drafts,
        "r3_1": outcome_drafts,
        "r3_2": ordering_drafts,
    }
)
"""Task id -> builder, in the order of the task table."""

BUILDER_VERSION = 1
"""Kept in every item's `meta`; raised when a later release of this project makes other items of the same recipe. Builds
by other code of one version are told apart by the code stamp in their manifests."""
