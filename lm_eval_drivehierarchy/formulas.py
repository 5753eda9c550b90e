"""The scores of Appendix D: from an answer and the truth to 0-100.

All functions take values, not text. They compute in the order of operations of the released evaluator, so that scores
are equal to its own to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Final

COUNT_FLOOR: Final = 1.0
"""c of Eq. 6: smallest denominator of a relative count error."""
COUNT_TOLERANCE: Final = 0.05
COUNT_HALF_CREDIT: Final = 0.20
COUNT_SCALE: Final = (COUNT_HALF_CREDIT - COUNT_TOLERANCE) / math.log(2.0)
"""sigma of counts, Eq. 7: 0.15 / ln 2 = 0.2164, so that an error of 0.20 gets half."""
METRES_OFFSET: Final = 0.1
"""epsilon of Eq. 8 in metres."""
METRES_TOLERANCE: Final = 0.0
METRES_SCALE: Final = 1.0
"""sigma of distances: a factor of two gets half."""


def decay(error: float, tolerance: float, scale: float) -> float:
    """G(E; tau, sigma) of Eq. 9: 100 up to `tolerance`, then falling by 1/e per `scale`."""
    if error <= tolerance:
        return 100.0
    return within_scale(100.0 * math.exp(-(error - tolerance) / scale))


def exact_score(truth: object, answer: object) -> float:
    """Eq. 5: 100 for the right answer, else 0."""
    return 100.0 if truth == answer else 0.0


def count_score(truth: int, answer: int) -> float:
    """Eq. 6, 7, 9 for counts >= 0."""
    return decay(abs(answer - truth) / max(float(truth), COUNT_FLOOR), COUNT_TOLERANCE, COUNT_SCALE)


def metres_score(truth: float, answer: float) -> float:
    """Eq. 8, 9 for distances in metres >= 0; an infinite answer scores 0."""
    error = abs(math.log((answer + METRES_OFFSET) / (truth + METRES_OFFSET)))
    return decay(error, METRES_TOLERANCE, METRES_SCALE)


def intersection_over_union(truth: Sequence[float], box: Sequence[float]) -> float:
    """IoU of two boxes (x1, y1, x2, y2) with ordered corners; 0 when their union is empty."""
    width = max(0.0, min(truth[2], box[2]) - max(truth[0], box[0]))
    height = max(0.0, min(truth[3], box[3]) - max(truth[1], box[1]))
    common = width * height
    union = _area(truth) + _area(box) - common
    return 0.0 if union <= 0 else common / union


def _area(box: Sequence[float]) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def box_score(truth: Sequence[float], box: Sequence[float]) -> float:
    """Eq. 10: 100 IoU."""
    return within_scale(100.0 * intersection_over_union(truth, box))


def order_score(truth: Sequence[Hashable], order: Sequence[Hashable]) -> float:
    """Eq. 12: 100 (1 - inversions / pairs) for two orders of the same labels; one label alone scores 100."""
    place = {label: index for index, label in enumerate(order)}
    places = [place[label] for label in truth]
    pairs = len(places) * (len(places) - 1) // 2
    if pairs == 0:
        return 100.0
    inversions = sum(places[i] > places[j] for i in range(len(places)) for j in range(i + 1, len(places)))
    return within_scale(100.0 * (1.0 - inversions / pairs))


def within_scale(score: float) -> float:
    """`score` limited to 0-100."""
    return max(0.0, min(100.0, score))
