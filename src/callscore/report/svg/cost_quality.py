"""Cost against quality: intervals on both axes, the Pareto front, blocked models marked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from callscore.core.measure import Interval
from callscore.core.scorecard import FINAL, ModelScore, Scorecard
from callscore.report.markup import Html, join, tag
from callscore.report.numbers import show, show_count, show_money
from callscore.report.safe_text import plain
from callscore.report.svg.picture import (
    Scale,
    coordinate,
    cost_scale,
    frame,
    label,
    line,
    linear_scale,
    short_names,
)

WIDTH, HEIGHT = 480.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 48.0, 18.0, 16.0, 46.0
MAX_NAME_LENGTH = 22
CHAR_WIDTH, LABEL_HEIGHT = 6.6, 15.0
"""The approximate size of a label, to keep labels from overlapping."""


class Point(NamedTuple):
    """A model in the picture; for a blocked one, `quality` counts blocked calls as 0."""

    model: str
    cost: float
    quality: float
    cost_ci: Interval | None = None
    quality_ci: Interval | None = None
    pareto: bool = False
    blocked: bool = False
    estimate: bool = False


def cost_quality_points(card: Scorecard) -> list[Point]:
    """Return every model with a cost and a score; of an invalid one, with blocked calls as 0.

    A model whose Final Score is incomplete is not drawn: nothing blocks it.
    """
    ranking = {entry.model: entry for entry in card.ranking}
    points = []
    for model in card.models:
        entry = ranking[model.model]
        cost, quality = model.cost.per_1000_calls, entry.final_score
        blocked = model.final.status == "invalid"
        if blocked:
            quality = model.final.zeroed_final
        if cost is None or quality is None:
            continue
        points.append(
            Point(
                model.model,
                cost,
                quality,
                model.cost.ci95,
                model.final.zeroed_ci95 if blocked else model.final.ci95,
                entry.pareto,
                blocked,
                entry.estimate,
            )
        )
    return points


def models_not_drawn(card: Scorecard) -> list[tuple[str, str]]:
    """Return the models that cannot be drawn, with the reason."""
    drawn = {point.model for point in cost_quality_points(card)}
    return [(model.model, _why_not(model)) for model in card.models if model.model not in drawn]


def _why_not(model: ModelScore) -> str:
    if model.cost.per_1000_calls is None:
        return "cost unknown"
    is_open = model.final.status == "incomplete"
    return "Final Score incomplete" if is_open else "no Final Score"


def draw_cost_quality(points: Sequence[Point], heading: str = FINAL, unit: str = "call") -> Html:
    """Draw all points, with the heading of the Final Score; empty if there are none."""
    if not points:
        return frame(
            (WIDTH, 40), "Cost and quality", "No model has both a price and a Final Score."
        )
    costs = [*(p.cost for p in points), *(end for p in points for end in p.cost_ci or ())]
    scores = [*(p.quality for p in points), *(end for p in points for end in p.quality_ci or ())]
    across = cost_scale(costs, LEFT, WIDTH - RIGHT)
    up = linear_scale(scores, HEIGHT - BOTTOM, TOP)
    return frame(
        (WIDTH, HEIGHT),
        "Cost and quality of each model",
        _describe(points, unit),
        _axes(across, up, heading, unit),
        _front(points, across, up),
        [_mark(point, across, up) for point in points],
        _names(points, across, up, heading),
    )


def _describe(points: Sequence[Point], unit: str) -> str:
    sentences = [
        f"{plain(p.model, 40)}: {show(p.quality)} at {show_money(p.cost)} per 1000 {unit}s"
        + (", blocked" if p.blocked else ", on the Pareto front" if p.pareto else "")
        for p in sorted(points, key=lambda p: -p.quality)
    ]
    text = "; ".join(sentences[:8])
    return text + (
        f"; and {show_count(len(sentences) - 8, 'more model')}." if len(sentences) > 8 else "."
    )


def _axes(across: Scale, up: Scale, heading: str, unit: str) -> Html:
    bottom, left = HEIGHT - BOTTOM, LEFT
    parts: list[Html] = []
    for tick in up.ticks():
        y = up(tick)
        parts.append(line((left, y), (WIDTH - RIGHT, y), "grid"))
        parts.append(label(left - 7, y + 4, f"{tick:.4g}", "soft small", "end"))
    for tick in across.ticks(4):
        x = across(tick)
        parts.append(line((x, bottom), (x, bottom + 4), "axis"))
        parts.append(label(x, bottom + 17, f"${tick:.3g}", "soft small", "middle"))
    parts.append(line((left, bottom), (WIDTH - RIGHT, bottom), "axis"))
    kind = " (logarithmic)" if across.is_log else ""
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(label(middle, HEIGHT - 8, f"Cost per 1000 {unit}s{kind}", "soft small", "middle"))
    parts.append(label(left, 11, heading, "soft small", "start"))
    return join(parts)


def _front(points: Sequence[Point], across: Scale, up: Scale) -> Html | None:
    """Draw steps along the models that no other beats in both cost and quality."""
    front = sorted((p.cost, p.quality) for p in points if p.pareto and not p.blocked)
    if len(front) < 2:
        return None
    path = f"M{coordinate(across(front[0][0]))} {coordinate(up(front[0][1]))}"
    for cost, quality in front[1:]:
        path += f"H{coordinate(across(cost))}V{coordinate(up(quality))}"
    return tag("path", d=path, class_="front")


def _mark(point: Point, across: Scale, up: Scale) -> Html:
    x, y = across(point.cost), up(point.quality)
    parts: list[Html] = []
    if point.quality_ci:
        low, high = (up(end) for end in point.quality_ci)
        parts.append(line((x, low), (x, high), "bar"))
    if point.cost_ci:
        low, high = (across(end) for end in point.cost_ci)
        parts.append(line((low, y), (high, y), "bar"))
    if point.blocked:
        path = f"M{coordinate(x - 5)} {coordinate(y - 5)}l10 10m0 -10l-10 10"
        parts.append(tag("path", d=path, class_="cross"))
    else:
        full = "dot full" if point.pareto else "dot"
        parts.append(tag("circle", cx=coordinate(x), cy=coordinate(y), r=5, class_=full))
    return tag("g", *parts)


def _names(points: Sequence[Point], across: Scale, up: Scale, heading: str) -> Iterator[Html]:
    """Yield names next to their points; without room, a name is only in the table below."""
    taken = [(across(p.cost) - 6, up(p.quality) - 6, 12.0, 12.0) for p in points]
    names = short_names([point.model for point in points], MAX_NAME_LENGTH)
    taken.append((LEFT, 0.0, CHAR_WIDTH * len(heading), LABEL_HEIGHT))
    for point in sorted(points, key=lambda p: (not p.pareto, -p.quality, p.model)):
        text = names[point.model]
        width = CHAR_WIDTH * len(text)
        x, y = across(point.cost), up(point.quality)
        for left, top, anchor in _places(x, y, width, point.pareto):
            box = (left, top, width, LABEL_HEIGHT)
            inside = (
                left >= LEFT
                and left + width <= WIDTH
                and 0 <= top <= HEIGHT - BOTTOM - LABEL_HEIGHT
            )
            if inside and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                at = {"start": left, "end": left + width, "middle": left + width / 2}[anchor]
                style = (
                    "small soft" if point.blocked else "small strong" if point.pareto else "small"
                )
                yield label(at, top + 11.5, text, style, anchor)
                break


def _places(x: float, y: float, width: float, is_front: bool) -> list[tuple[float, float, str]]:
    """Return the positions for a name, best first; left of a point on the front, away from its
    line.
    """
    right, left = (
        (x + 9, y - LABEL_HEIGHT / 2, "start"),
        (x - 9 - width, y - LABEL_HEIGHT / 2, "end"),
    )
    above, below = (x - width / 2, y - LABEL_HEIGHT - 7, "middle"), (x - width / 2, y + 8, "middle")
    lower, upper = (x + 7, y + 4, "start"), (x - 7 - width, y - LABEL_HEIGHT - 4, "end")
    if is_front:
        return [left, upper, above, lower, below, right]
    return [right, left, above, below, lower, upper]


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> bool:
    return (
        one[0] < other[0] + other[2]
        and other[0] < one[0] + one[2]
        and one[1] < other[1] + other[3]
        and other[1] < one[1] + one[3]
    )
