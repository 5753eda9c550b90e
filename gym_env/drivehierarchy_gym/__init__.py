"""DriveHierarchy R4, closed-loop driving, as a Gymnasium environment.

Importing the package registers `DriveHierarchy-R4` and loads nothing else; `gymnasium.make` loads what it needs.
"""

from gymnasium.envs.registration import register

register(id="DriveHierarchy-R4", entry_point="drivehierarchy_gym.env:DriveHierarchyEnv")
