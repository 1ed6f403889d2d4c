"""A sparkline: how a number went from run to run, as a line without axes."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.report.markup import Html, tag
from callscore.report.svg.picture import Scale, coordinate, frame

WIDTH, HEIGHT, EDGE = 96.0, 22.0, 4.0


def draw_sparkline(values: Sequence[float], title: str, description: str) -> Html:
    """Return the picture of at least two values, the last one as a dot."""
    down = Scale(min(values), max(values), HEIGHT - EDGE, EDGE)
    across = Scale(0, len(values) - 1, EDGE, WIDTH - EDGE)
    points = [(across(place), down(value)) for place, value in enumerate(values)]
    drawn = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points)
    x, y = points[-1]
    return frame(
        (WIDTH, HEIGHT),
        title,
        description,
        tag("polyline", points=drawn, class_="front"),
        tag("circle", cx=coordinate(x), cy=coordinate(y), r=2.5, class_="dot full"),
    )
