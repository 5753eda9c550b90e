"""The sizes in which the sim edition is built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from .items import Split

SizeName = Literal["sample", "mini", "full"]


@dataclass(frozen=True, slots=True)
class Size:
    """Items of every task by split, width of the images, and how many drives a split begins with and adds at a time."""

    items: Mapping[Split, int]
    width: int
    drives: Mapping[Split, int]
    more: int


SIZES: Final[Mapping[SizeName, Size]] = MappingProxyType(
    {
        "sample": Size({"test": 2}, 800, {"test": 8}, 2),
        "mini": Size({"test": 20}, 1600, {"test": 12}, 2),
        "full": Size(
            {"test": 1000, "train": 200, "validation": 50}, 1600, {"test": 320, "train": 68, "validation": 18}, 4
        ),
    }
)
"""The sizes of the sim edition. The sample is the one that the sources contain."""
