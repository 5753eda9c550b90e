"""The dataset card of an edition: configurations for `load_dataset`, statistics, and how every label is made."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from pathlib import Path
from statistics import median

from drivehierarchy_gym.road.cache import write_text_atomically

from .card_parts import CARD_FILE, card_head, counts_text, table, tasks_of
from .editions import Edition
from .gates import GateReport
from .items import SPLITS, Document, option_index
from .questions import TITLES
from .selection import KINDS


def write_card(edition: Edition, report: GateReport, out: Path) -> None:
    """Writes OUT/README.md."""
    write_text_atomically(out / CARD_FILE, card(edition, report))


def card(edition: Edition, report: GateReport) -> str:
    """The card in Markdown, with the metadata block that the Hub reads."""
    template = files(__package__).joinpath("card_template.md").read_text(encoding="utf-8")
    provenance = edition.manifest.provenance
    return template.format(
        metadata=card_head(edition, "apache-2.0", ["synthetic"]),
        size=provenance["size"],
        seed=provenance["seed"],
        simulator=provenance["simulator"],
        digest=edition.digest,
        statistics=_statistics(edition),
        answers=_answers(edition),
        worlds=_worlds(edition),
        gates=_gates(report),
    )


def _statistics(edition: Edition) -> str:
    rows = []
    for task in tasks_of(edition):
        views = {len(document["images"]) for document in edition.documents(task)}
        span = str(min(views)) if len(views) == 1 else f"{min(views)}-{max(views)}"
        counts = [str(edition.size(task, split)) for split in SPLITS]
        rows.append([f"`{task}`", TITLES[task], KINDS[task][1], span, *counts])
    totals = [str(sum(edition.size(task, split) for task in tasks_of(edition))) for split in SPLITS]
    rows.append(["all", "", "", "", *totals])
    return table(["task", "asks for", "answer", "images", *SPLITS], rows)


def _answers(edition: Edition) -> str:
    rows = []
    for task in tasks_of(edition):
        answers = [document["answer"] for document in edition.documents(task)]
        kind = KINDS[task][1]
        if kind == "metres":
            numbers = sorted(float(answer.removesuffix(" m")) for answer in answers)
            text = f"{numbers[0]:.1f} m to {numbers[-1]:.1f} m, median {median(numbers):.1f} m"
        elif kind == "box":
            areas = sorted(_area(answer) for answer in answers)
            text = f"boxes of {areas[0]} to {areas[-1]} pixels, median {_exact(median(areas))}"
        elif kind == "text":
            metas = [document["meta"] for document in edition.documents(task)]
            text = counts_text(Counter(f"{meta['action']}/{meta['cause']}" for meta in metas))
        elif kind == "order":
            text = counts_text(Counter(f"{len(json.loads(answer))} images" for answer in answers))
        elif kind == "choice":
            documents = edition.documents(task)
            text = counts_text(Counter(_right_text(document) for document in documents))
        else:
            text = counts_text(Counter(answers))
        rows.append([f"`{task}`", text])
    return table(["task", "answers of the test split"], rows)


def _worlds(edition: Edition) -> str:
    scenes: dict[str, tuple[str, str]] = {}
    for split in SPLITS:
        for task in edition.tasks(split):
            for document in edition.documents(task, split):
                meta = document["meta"]
                sky = f"{meta['sky']}, sun at {meta['sun_altitude_deg']:g}°"
                scenes[document["scene_id"]] = (sky, meta["scenario"].rpartition("_")[0] or meta["scenario"])
    looks = Counter(look for look, _ in scenes.values())
    families = Counter(family for _, family in scenes.values())
    return f"{len(scenes)} drives. Weather: {counts_text(looks)}. Traffic: {counts_text(families)}."


def _gates(report: GateReport) -> str:
    rows = [
        [f"`{gate.task}`", gate.name, f"{gate.value:.3g}", f"{gate.limit:.3g}"]
        for gate in report.gates
        if gate.split in ("test", "all")
    ]
    limits = table(["task", "gate", "value", "limit"], rows)
    blind = [gate for gate in report.gates if gate.split == "test" and gate.name.startswith("blind: ")]
    idle = sum(gate.limit >= 1 for gate in blind)
    if not idle:
        return limits
    return (
        f"{idle} of the {len(blind)} `blind` rows have a limit of 1 or more and so say nothing: there are too few "
        f"items. The builder's larger sizes show that no answer gives itself away.\n\n{limits}"
    )


def _right_text(document: Document) -> str:
    options = document["options"]
    return str(options[option_index(document["answer"], options)][3:])


def _area(answer: str) -> int:
    x1, y1, x2, y2 = json.loads(answer)["bbox"]
    return int((x2 - x1) * (y2 - y1))


def _exact(middle: float) -> str:
    """A median of whole numbers: whole, or halfway between two."""
    return f"{middle:.1f}".removesuffix(".0")
