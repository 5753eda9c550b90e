"""How kernels are compiled: strict IEEE arithmetic, one thread, kept on disk where there is a place to keep them.

The compiler notices changes of the file that holds a kernel, but not of files that it takes functions or constants
from. So a kernel uses nothing that is imported from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Decorator for a kernel.

    Division by zero gives infinity as in numpy. Neither `fastmath` nor `parallel`: with both, pictures and drives
    would depend on the machine.
    """
    try:
        return njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither the package nor the user has a folder that can be written
        return njit(error_model="numpy")(function)
