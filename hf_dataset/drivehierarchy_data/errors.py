"""Errors of the data package; all descend from the project's one base class."""

from __future__ import annotations

from drivehierarchy_gym.errors import DriveHierarchyError


class DataError(DriveHierarchyError, ValueError):
    """A record, a file or an edition that does not hold what its schema promises."""


class ImageError(DataError):
    """An image that cannot be read or decoded, or is not the image it was recorded as."""


class EditionNotFoundError(DriveHierarchyError, FileNotFoundError):
    """No edition of the data where one was looked for; the message says which command makes it."""


def one_line(error: Exception) -> str:
    """What an error of another library says, as a part of our own sentence."""
    return " ".join(str(error).split())
