"""The report's figures. Models differ in colour (Okabe-Ito, safe for colour-blind readers), marker, line and hatch, so
that nothing rests on colour alone and a black-and-white print stays readable."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke
from matplotlib.projections.polar import PolarAxes

from lm_eval_drivehierarchy.statistics.estimates import Estimate

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
HATCHES = ("", "///", "...", "xx", "\\\\\\", "++", "oo")
GREY = "#8c8c8c"
DPI = 150
MOST_MODELS = len(COLOURS)
"""Models one figure can tell apart; more go into further figures."""


@dataclass(frozen=True, slots=True)
class Profile:
    """One model's line: value per axis, absent where there is none."""

    name: str
    values: Mapping[str, Estimate]
    single: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Per axis, the values that the estimate is the mean of, where they are few enough to be drawn one by one: then
    they stand in for its interval, which would only say that little is known."""


@dataclass(frozen=True, slots=True)
class Band:
    """A reference drawn behind the models: per axis (lowest, median, highest)."""

    name: str
    ranges: Mapping[str, tuple[float, float, float]]


@dataclass(frozen=True, slots=True)
class Point:
    """A model in the open-against-closed plane."""

    name: str
    open: Estimate
    closed: Estimate
    reference: bool
    """Drawn in grey: a published model to compare with."""


def png(figure: Figure) -> bytes:
    """The figure as PNG, the same bytes every time (no date, no version inside)."""
    buffer = io.BytesIO()
    FigureCanvasAgg(figure)
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None}, facecolor="white")
    return buffer.getvalue()


def radar(profiles: Sequence[Profile], axes: Mapping[str, str], band: Band | None = None) -> Figure:
    """Capability profile over `axes` (name -> label), 0 at the centre, 100 at the rim; missing values leave a gap."""
    _check(profiles)
    legend_rows = -(-(len(profiles) + 2 * (band is not None)) // 3)
    width, height = 8.4, 6.0 + 0.22 * legend_rows
    figure = Figure(figsize=(width, height), dpi=DPI)
    side = 4.4
    bottom = 0.75 + 0.22 * legend_rows
    plot = figure.add_axes(((1 - side / width) / 2, bottom / height, side / width, side / height), projection="polar")
    assert isinstance(plot, PolarAxes)
    plot.set_theta_offset(np.pi / 2)
    plot.set_theta_direction(-1)
    angles = np.linspace(0, 2 * np.pi, len(axes), endpoint=False)
    closed = np.append(angles, angles[0])
    if band is not None:
        low, middle, high = (np.array([band.ranges[name][k] for name in axes]) for k in range(3))
        plot.fill_between(
            closed, np.append(low, low[0]), np.append(high, high[0]), color=GREY, alpha=0.22, lw=0, label=band.name
        )
        plot.plot(closed, np.append(middle, middle[0]), color=GREY, lw=1, ls=":", label=f"{band.name}, median")
    for index, profile in enumerate(profiles):
        values = np.array([_value(profile, name) for name in axes])
        plot.plot(
            closed,
            np.append(values, values[0]),
            color=COLOURS[index],
            ls=LINES[index],
            lw=1.8,
            marker=MARKERS[index],
            ms=5,
            label=_literal(profile.name),
            clip_on=False,
        )
    plot.set_ylim(0, 100)
    plot.set_yticks([20, 40, 60, 80, 100])
    plot.set_yticklabels([])
    between = np.pi / len(axes)
    for ring in (20, 40, 60, 80, 100):
        text = plot.text(between, ring, str(ring), fontsize=8, color="#333333", ha="center", va="center", zorder=5)
        text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
    plot.set_xticks(angles)
    wrapped = [
        "\n".join(part for line in label.splitlines() for part in textwrap.wrap(line, 24)) for label in axes.values()
    ]
    plot.set_xticklabels(wrapped, fontsize=9)
    plot.tick_params(axis="x", pad=9)
    plot.grid(color="#cccccc", lw=0.7)
    plot.spines["polar"].set_color("#999999")
    for label, angle in zip(plot.get_xticklabels(), angles, strict=True):
        side = np.sin(angle)
        label.set_horizontalalignment("center" if abs(side) < 0.15 else "left" if side > 0 else "right")
    figure.legend(loc="lower center", ncols=3, fontsize=9, frameon=False)
    return figure


def bars(profiles: Sequence[Profile], axes: Mapping[str, str], band: Band | None = None, unit: str = "score") -> Figure:
    """Horizontal bars with intervals or single values, one group an axis; `band` as a grey range with its median."""
    _check(profiles)
    height = 0.8 / max(len(profiles), 1)
    figure = Figure(figsize=(7.6, 0.9 + len(axes) * (0.24 + 0.15 * len(profiles))), dpi=DPI, layout="constrained")
    plot = figure.add_subplot()
    names = list(axes)
    for row, name in enumerate(names):
        if band is not None:
            low, middle, high = band.ranges[name]
            plot.barh(row, high - low, left=low, height=0.94, color=GREY, alpha=0.22, lw=0)
            plot.plot([middle, middle], [row - 0.47, row + 0.47], color=GREY, lw=1, ls=":")
        for index, profile in enumerate(profiles):
            estimate = profile.values.get(name)
            y = row + (index - (len(profiles) - 1) / 2) * height
            if estimate is None or estimate.value is None:
                plot.text(0.6, y, "no score", va="center", fontsize=7, style="italic", color=COLOURS[index])
                continue
            plot.barh(
                y,
                estimate.value,
                height=height * 0.92,
                color=COLOURS[index],
                alpha=0.85,
                hatch=HATCHES[index],
                edgecolor="white",
                lw=0.5,
            )
            if estimate.value < 0.5:  # too short to be seen
                # Right of what is drawn over the bar, or, where that reaches across the plot, in a gap of its own.
                drawn = profile.single.get(name) or [estimate.high or 0.0]
                place = max([0.0, *drawn]) + (2.0 if name in profile.single else 0.6)
                text = plot.text(
                    place if place < 94 else 0.6, y, f"{estimate.value:.1f}",
                    va="center", fontsize=7, color=COLOURS[index], zorder=4,
                )  # fmt: skip
                text.set_path_effects([withStroke(linewidth=2.5, foreground="white")])
            if name in profile.single:
                plot.plot(
                    profile.single[name],
                    [y] * len(profile.single[name]),
                    marker=MARKERS[index],
                    ms=4.5,
                    ls="",
                    mfc="white",
                    mec="black",
                    mew=0.8,
                    clip_on=False,
                    zorder=3,
                )
            elif estimate.low is not None and estimate.high is not None:
                plot.plot([estimate.low, estimate.high], [y, y], color="black", lw=1)
                for end in (estimate.low, estimate.high):
                    plot.plot([end, end], [y - height * 0.22, y + height * 0.22], color="black", lw=1)
    plot.set_yticks(range(len(names)))
    plot.set_yticklabels(list(axes.values()), fontsize=9)
    plot.set_ylim(len(names) - 0.45, -0.55)
    plot.set_xlim(0, 100)
    plot.set_xlabel(unit)
    _quiet(plot, "x")
    if len(profiles) > 1 or band is not None:
        swatches = [
            Patch(facecolor=COLOURS[i], hatch=HATCHES[i], edgecolor="white", label=_literal(p.name))
            for i, p in enumerate(profiles)
        ]
        if band is not None:
            swatches.append(Patch(facecolor=GREY, alpha=0.3, label=band.name))
        figure.legend(handles=swatches, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    return figure


def heat_map(correlations: Mapping[tuple[str, str], Estimate], labels: Mapping[str, str], title: str) -> Figure:
    """Lower triangle of Spearman correlations with their values; a cell without one is hatched."""
    names = list(labels)
    small = len(names) > 6
    side = (len(names) - 1) * (0.52 if small else 1.15) + (2.4 if small else 0.9)
    figure = Figure(figsize=(side + 0.9, side), dpi=DPI, layout="constrained")
    plot = figure.add_subplot()
    grid = np.full((len(names), len(names)), np.nan)
    for i, first in enumerate(names):
        for j, second in enumerate(names[:i]):
            estimate = correlations[first, second]
            if estimate.value is None:
                plot.text(j, i, "–", ha="center", va="center", fontsize=9)
                continue
            grid[i, j] = estimate.value
            colour = "white" if abs(estimate.value) > 0.65 else "black"
            text = f"{estimate.value:.2f}".replace("-", "−")
            if not small and estimate.low is not None and estimate.high is not None:
                text += f"\n[{estimate.low:.2f}, {estimate.high:.2f}]".replace("-", "−")
            plot.text(j, i, text, ha="center", va="center", fontsize=7.5 if small else 9, color=colour)
    image = plot.imshow(grid, cmap="PuOr_r", vmin=-1, vmax=1)
    plot.set_xticks(range(len(names) - 1))
    short = max(len(label) for label in labels.values()) <= 4
    turn, side_of_tick = (0, "center") if short else (60, "right")
    plot.set_xticklabels([labels[name] for name in names[:-1]], rotation=turn, ha=side_of_tick, fontsize=8.5)
    plot.set_yticks(range(1, len(names)))
    plot.set_yticklabels([labels[name] for name in names[1:]], fontsize=8.5)
    plot.set_xlim(-0.5, len(names) - 1.5)
    plot.set_ylim(len(names) - 0.5, 0.5)
    for spine in plot.spines.values():
        spine.set_visible(False)
    plot.tick_params(length=0)
    plot.set_title(textwrap.fill(title, 60), fontsize=10, loc="left")
    bar = figure.colorbar(image, ax=plot, shrink=0.6, aspect=18)
    bar.set_label("Spearman's ρ", fontsize=9)
    bar.outline.set_visible(False)
    return figure


def scatter(points: Sequence[Point]) -> Figure:
    """Open-loop score (x) against R4 (y, linear up to 1 and logarithmic above), published models in grey."""
    figure = Figure(figsize=(7.6, 5.4), dpi=DPI, layout="constrained")
    plot = figure.add_subplot()
    plot.set_yscale("symlog", linthresh=1, linscale=0.6)
    shown = 0
    whiskers: list[tuple[list[float], list[float]]] = []
    for point in points:
        if point.open.value is None or point.closed.value is None:
            continue
        style = shown % MOST_MODELS
        colour, marker, size = (GREY, "o", 4.5) if point.reference else (COLOURS[style], MARKERS[style], 8)
        for estimate, horizontal in ((point.open, True), (point.closed, False)):
            if estimate.low is not None and estimate.high is not None:
                ends = [estimate.low, estimate.high]
                fixed = [point.closed.value] * 2 if horizontal else [point.open.value] * 2
                xs, ys = (ends, fixed) if horizontal else (fixed, ends)
                plot.plot(xs, ys, color=colour, lw=1.2)
                whiskers.append((xs, ys))
        plot.plot([point.open.value], [point.closed.value], marker=marker, ms=size, color=colour, ls="")
        shown += not point.reference
    top = max([p.closed.high or p.closed.value or 0 for p in points], default=1)
    plot.set_ylim(-0.08, max(30.0, top * 1.5 if top < 60 else 110))
    ticks = [tick for tick in (0, 0.5, 1, 2, 5, 10, 20, 50, 100) if tick <= plot.get_ylim()[1]]
    plot.set_yticks(ticks)
    plot.set_yticklabels([f"{tick:g}" for tick in ticks])
    plot.set_yticks([], minor=True)
    plot.set_xlabel("S_open (0–100)")
    plot.set_ylabel("R4 (0–100, logarithmic above 1)")
    _quiet(plot, "both")
    figure.draw_without_rendering()
    _label(plot, [p for p in points if p.open.value is not None and p.closed.value is not None], whiskers)
    return figure


def _label(plot: Axes, points: Sequence[Point], whiskers: Sequence[tuple[Sequence[float], Sequence[float]]]) -> None:
    """Names beside the points, each at the first of eight places that hits no other name, mark, whisker or edge."""
    figure = plot.get_figure()
    assert figure is not None
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[arg-type]
    frame = plot.get_window_extent(renderer)
    marks = [plot.transData.transform((p.open.value or 0, p.closed.value or 0)) for p in points]
    taken: list[tuple[float, float, float, float]] = [(x - 6, y - 6, x + 6, y + 6) for x, y in marks]
    for xs, ys in whiskers:
        (left, bottom), (right, top) = plot.transData.transform(list(zip(xs, ys, strict=True)))
        taken.append((left - 2, bottom - 2, right + 2, top + 2))
    for point, (x, y) in sorted(zip(points, marks, strict=True), key=lambda entry: entry[0].reference):
        text = plot.annotate(
            _literal(point.name),
            (point.open.value or 0, point.closed.value or 0),
            fontsize=7.5 if point.reference else 9,
            color="#555555" if point.reference else "black",
            fontweight="normal" if point.reference else "bold",
            textcoords="offset pixels",
            xytext=(0, 0),
        )
        box = text.get_window_extent(renderer)
        width, height, gap = box.width, box.height, 11.0
        places = [
            (gap, -height / 2), (-gap - width, -height / 2), (-width / 2, gap), (-width / 2, -gap - height),
            (gap, gap / 2), (-gap - width, gap / 2), (gap, -gap / 2 - height), (-gap - width, -gap / 2 - height),
        ]  # fmt: skip
        best = min(places, key=lambda place: _clashes(x + place[0], y + place[1], width, height, taken, frame))
        text.set_position(best)
        taken.append((x + best[0], y + best[1], x + best[0] + width, y + best[1] + height))


def _clashes(
    x: float, y: float, width: float, height: float, taken: Sequence[tuple[float, float, float, float]], frame: object
) -> float:
    """Overlapped area with what is already there, and a large penalty for leaving the axes."""
    overlap = 0.0
    for left, bottom, right, top in taken:
        overlap += max(0.0, min(x + width, right) - max(x, left)) * max(0.0, min(y + height, top) - max(y, bottom))
    outside = x < frame.x0 or x + width > frame.x1 or y < frame.y0 or y + height > frame.y1  # type: ignore[attr-defined]
    return overlap + (1e6 if outside else 0.0)


def _quiet(plot: Axes, grid: str) -> None:
    plot.grid(axis=grid, color="#dddddd", lw=0.7)  # type: ignore[arg-type]
    plot.set_axisbelow(True)
    for side in ("top", "right"):
        plot.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        plot.spines[side].set_color("#999999")
    plot.tick_params(color="#999999", labelsize=9)


def _literal(name: str) -> str:
    """A name as a label: no formula between dollar signs, and not left out of the legend for an underscore in front."""
    return (" " if name.startswith("_") else "") + name.replace("$", r"\$")


def _value(profile: Profile, name: str) -> float:
    estimate = profile.values.get(name)
    return np.nan if estimate is None or estimate.value is None else estimate.value


def _check(profiles: Sequence[Profile]) -> None:
    if len(profiles) > MOST_MODELS:
        raise ValueError(f"{len(profiles)} models in one figure cannot be told apart; at most {MOST_MODELS}")
