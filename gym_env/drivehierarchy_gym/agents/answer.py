"""What an agent returned, taken out of its hands: a plain text or plain numbers that no longer run foreign code."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from drivehierarchy_gym.surrogates import without_surrogates

MOST_NUMBERS = 16
"""No action has more; an array beyond it is not copied."""

Action = str | NDArray[np.float64] | None


def plain_action(returned: Any) -> Action:
    """Text (without lone surrogates) or a copy of the numbers; None for anything that cannot be an action.

    Runs the object's own conversion, which may raise or hang: to be called where that is provided for.
    """
    if isinstance(returned, str):
        return without_surrogates(str.__str__(returned))
    if returned is None or isinstance(returned, bytes):
        return None
    try:
        numbers = np.array(returned, dtype=np.float64)
    except Exception:  # foreign objects may raise what they like when asked for numbers
        return None
    return numbers if 0 < numbers.size <= MOST_NUMBERS else None
