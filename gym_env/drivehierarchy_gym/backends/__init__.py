"""Simulators behind the environment: `make_backend(name)`."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from drivehierarchy_gym.errors import InfrastructureError, unknown_name

if TYPE_CHECKING:
    from drivehierarchy_gym.backends.protocol import Backend

BACKENDS = ("sumo", "carla")


def make_backend(name: str, **options: Any) -> Backend:
    """Backend by name, with the options of its constructor.

    Raises:
        UnknownNameError: no such backend, or an option that it does not have.
        InfrastructureError: the backend is not part of this version.
    """
    if name == "sumo":
        from drivehierarchy_gym.backends.sumo.backend import SumoBackend

        known = inspect.signature(SumoBackend).parameters
        for option in options:
            if option not in known:
                raise unknown_name("option of backend 'sumo'", option, known)
        return SumoBackend(**options)
    if name == "carla":
        raise InfrastructureError(
            "the backend 'carla' is not part of this version; use backend='sumo', which runs the same scenarios "
            "without a simulator to install (docs/backends.md maps every call of the protocol to CARLA's)"
        )
    raise unknown_name("backend", name, BACKENDS)
