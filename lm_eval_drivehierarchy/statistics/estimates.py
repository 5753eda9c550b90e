"""The one record in which every statistic of the report is returned."""

from __future__ import annotations

from dataclasses import dataclass

LEVEL = 0.95
"""Level of intervals, unless told otherwise; tests are made at one minus it."""
Z = 1.959963984540054
"""Half the width of a normal interval of that level in standard errors."""
INCOMPLETE = "incomplete"
"""First word of the reason of a sum that lacks a part."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its interval, or the reason why it has none.

    `value` is None where the statistic itself is undefined; `low` and `high` are None where only the interval is.
    In both cases `reason` is a sentence. `n` counts items (R4: episodes), `clusters` the scenes (R4: scenarios) that
    were resampled.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    stderr: float | None = None
    n: int = 0
    clusters: int = 0
    level: float = LEVEL
    reason: str | None = None

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise ValueError(f"an interval has two ends: low={self.low!r}, high={self.high!r}")
        if self.low is None and self.reason is None:
            raise ValueError(f"estimate {self.value!r} has neither an interval nor a reason for lacking one")

    @property
    def excludes_zero(self) -> bool:
        """True when the interval exists and lies on one side of zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    @property
    def incomplete(self) -> bool:
        """True when there is no value because a part of a sum is missing."""
        return self.value is None and (self.reason or "").startswith(INCOMPLETE)

    def format(self, decimals: int = 1) -> str:
        """ "45.1 [43.9, 46.2]", "45.1" without an interval, "incomplete" or "undefined" without a value."""
        if self.value is None:
            return "incomplete" if self.incomplete else "undefined"
        text = f"{self.value:.{decimals}f}"
        if self.low is None or self.high is None:
            return text
        return f"{text} [{self.low:.{decimals}f}, {self.high:.{decimals}f}]"
