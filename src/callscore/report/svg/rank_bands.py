"""The possible ranks of each model: a bar from best to worst, a dot at the official rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from callscore.report.decision_statements import show_band
from callscore.report.markup import Html, join, tag
from callscore.report.safe_text import plain
from callscore.report.svg.picture import Scale, coordinate, frame, label, line, short_names

WIDTH, ROW_HEIGHT, TOP, BOTTOM = 480.0, 24.0, 8.0, 40.0
NAME_WIDTH, LABEL_WIDTH = 150.0, 46.0
MAX_NAME_LENGTH = 24
MAX_TICKS = 10


class RankBar(NamedTuple):
    """The bar of a model: the ranks from `best` to `worst`, which cannot be distinguished."""

    model: str
    best: int
    worst: int
    rank: int | None = None

    @property
    def label(self) -> str:
        """The band as text: 2 or 1–3."""
        return show_band((self.best, self.worst))


def draw_rank_bands(bands: Sequence[RankBar]) -> Html:
    """Draw the bands as one picture, in the given order."""
    height = TOP + ROW_HEIGHT * len(bands) + BOTTOM
    bottom = TOP + ROW_HEIGHT * len(bands)
    worst_rank = max((band.worst for band in bands), default=1)
    scale = Scale(1.0, float(max(worst_rank, 2)), NAME_WIDTH + 14, WIDTH - LABEL_WIDTH - 10)
    step = -(-worst_rank // MAX_TICKS)
    ticks = range(1, worst_rank + 1, step)
    middle = (scale.start + scale.end) / 2
    names = short_names([band.model for band in bands], MAX_NAME_LENGTH)
    sentence = "; ".join(f"{plain(band.model, 40)}: rank {band.label}" for band in bands[:12])
    return frame(
        (WIDTH, height),
        "Rank bands",
        f"{sentence}.",
        [
            join(
                line((scale(tick), TOP), (scale(tick), bottom), "grid"),
                label(scale(tick), bottom + 16, str(tick), "soft small", "middle"),
            )
            for tick in ticks
        ],
        label(middle, bottom + 33, "Rank by quality", "soft small", "middle"),
        [
            _draw_bar(band, names[band.model], scale, TOP + ROW_HEIGHT * (row + 0.5))
            for row, band in enumerate(bands)
        ],
    )


def _draw_bar(band: RankBar, shown: str, scale: Scale, y: float) -> Html:
    left, right = scale(band.best) - 7, scale(band.worst) + 7
    bar = tag(
        "rect",
        x=coordinate(left),
        y=coordinate(y - 7),
        width=coordinate(right - left),
        height=14,
        rx=7,
        class_="band",
    )
    parts = [
        label(NAME_WIDTH, y + 4, shown, "small", "end"),
        bar,
    ]
    if band.rank is not None:
        x = scale(float(band.rank))
        parts.append(tag("circle", cx=coordinate(x), cy=coordinate(y), r=4.2, class_="dot full"))
    return tag("g", *parts, label(WIDTH - LABEL_WIDTH + 8, y + 4, band.label, "small strong"))
