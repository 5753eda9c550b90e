"""How kernels are compiled: strict IEEE arithmetic, one thread, kept on disk where there is a place to keep them.

The compiler notices changes of the file that holds a kernel, but not of files that it takes functions or constants
from. So kernels live in two files, `rasterizer` and `shading`, and use nothing that is imported from elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit


def compiled(*, inline: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Decorator for a kernel; `inline` ones become part of the kernels that call them.

    Division by zero gives infinity as in numpy. Neither `fastmath` nor `parallel`: both would make the bytes of a
    picture depend on the machine.
    """

    def compile_later(function: Callable[..., Any]) -> Any:
        options: dict[str, Any] = {"error_model": "numpy", "inline": "always" if inline else "never"}
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # neither the package nor the user has a folder that can be written
            return njit(**options)(function)

    return compile_later
