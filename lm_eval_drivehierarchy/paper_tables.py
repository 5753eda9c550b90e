"""The paper's Tables 1-4 and 7, as printed, with the statements of the text that can be recomputed from them."""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Score = Annotated[float, Field(ge=0, le=100)]


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Provenance(_Record):
    paper: str
    source: str
    url: str
    note: str


class PaperModel(_Record):
    """One row of Tables 1, 2 and 7. Scores 0-100, none with an interval: the paper ran everything once."""

    model: str
    provider: str
    checkpoint: str
    group: str
    open: Score
    tasks: dict[str, Score]
    families: dict[str, Score]
    r4: Score
    r4_rank: int


class ScoreRow(_Record):
    """An average and its 14 tasks: scores, relative deficits or differences, as the place says."""

    open: float
    tasks: dict[str, float]


class TransferRow(ScoreRow):
    """Row of Table 3: differences from its baseline after training on `supervised`."""

    run: str
    supervised: tuple[str, ...]


class Table3(_Record):
    model: str
    deficit: ScoreRow
    baseline: ScoreRow
    runs: tuple[TransferRow, ...]


class ClosedLoopRow(_Record):
    """Row of Table 4, absolute scores."""

    run: str
    supervised: tuple[str, ...]
    families: dict[str, Score]
    average: Score


class Table4(_Record):
    model: str
    runs: tuple[ClosedLoopRow, ...]


class TaskCorrelation(_Record):
    tasks: tuple[str, str]
    rho: float


class RankCorrelation(_Record):
    ranks: tuple[int, int]
    rho: float


class TransferStatement(_Record):
    """Section 4.5 on one run: how many of the tasks outside its supervision increased, and the largest decrease."""

    run: str
    non_target_tasks: int
    increased: int
    largest_decrease: float


class Statements(_Record):
    """Numbers of the running text (Sections 4.3-4.5)."""

    task_correlations: tuple[TaskCorrelation, ...]
    rank_correlations: tuple[RankCorrelation, ...]
    r4_gains: dict[str, float]
    transfer: TransferStatement


class PaperTables(_Record):
    provenance: Provenance
    items: int
    """Question-answer pairs of the refined set that all of Table 1 was measured on."""
    models: tuple[PaperModel, ...]
    table3: Table3
    table4: Table4
    stated: Statements

    def open_scores(self) -> dict[str, dict[str, float]]:
        """Table 1 as model -> task -> score."""
        return {row.model: dict(row.tasks) for row in self.models}


@functools.lru_cache(maxsize=1)
def paper_tables() -> PaperTables:
    """The shipped tables, validated."""
    text = files("lm_eval_drivehierarchy").joinpath("data/paper_tables.json").read_text(encoding="utf-8")
    return PaperTables.model_validate_json(text)
