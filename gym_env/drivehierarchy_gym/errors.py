"""Errors of the closed-loop part, and the one place that words "did you mean"."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DriveHierarchyError(Exception):
    """Base of every error that this project raises on purpose."""


class UnknownNameError(DriveHierarchyError, ValueError):
    """A name (scenario, suite, agent, option …) that does not exist."""


class ScenarioError(DriveHierarchyError, ValueError):
    """A scenario that cannot be read, resolved on its road network, or placed in the simulation."""


class ReleaseNotFoundError(DriveHierarchyError, FileNotFoundError):
    """The authors' release is needed and is not where it was said to be."""


class InfrastructureError(DriveHierarchyError, RuntimeError):
    """The simulator failed, not the agent: the run is void, never scored."""


def unknown_name(kind: str, found: str, known: Iterable[str]) -> UnknownNameError:
    """Error for an unknown `kind` of name, with the nearest known ones.

    Example: ``raise unknown_name("agent", "exprt", AGENTS)`` reads
    "unknown agent 'exprt'; did you mean 'expert'?".
    """
    names = sorted(known)
    near = difflib.get_close_matches(found, names, n=3, cutoff=0.5)
    if near:
        hint = "did you mean " + " or ".join(repr(name) for name in near) + "?"
    elif len(names) <= 20:
        hint = "known: " + ", ".join(names)
    else:
        hint = f"{len(names)} are known, for example {', '.join(names[:3])}"
    return UnknownNameError(f"unknown {kind} {found!r}; {hint}")
