"""How SUMO is started for an episode."""

from __future__ import annotations

from pathlib import Path

from drivehierarchy_gym.backends.protocol import TICK_SECONDS
from drivehierarchy_gym.plan import EpisodePlan

CLASSES_FILE = Path(__file__).with_name("vehicle_classes.add.xml")
SUBLANE_RESOLUTION = 0.25
"""m; SUMO's sublane model with the release's resolution (facts §3.10): traffic sees where in its lane somebody is, and
lane changes take time. A step costs four times that of the plain model."""


def sumo_options(plan: EpisodePlan) -> list[str]:
    """Command line of SUMO, without the name of the program."""
    return [
        "--net-file", str(plan.network_file),
        "--additional-files", str(CLASSES_FILE),
        "--step-length", str(TICK_SECONDS),
        "--seed", str(plan.seed % 2**31),
        "--lateral-resolution", str(SUBLANE_RESOLUTION),
        "--insertion-checks", "none",  # scripted actors stand where the scenario says, gap or no gap
        "--collision.action", "none",  # nobody vanishes; contacts with the ego are judged from the poses
        "--time-to-teleport", "-1",
        "--no-step-log", "true",
        "--no-warnings", "true",
    ]  # fmt: skip
