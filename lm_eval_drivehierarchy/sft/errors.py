"""The error of training sets."""

from __future__ import annotations

from drivehierarchy_gym.errors import DriveHierarchyError


class SftError(DriveHierarchyError, ValueError):
    """A training set that cannot be made, or would teach something wrong."""
