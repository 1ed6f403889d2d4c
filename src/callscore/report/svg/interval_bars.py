"""One metric of all models: a dot at the value, a bar for the interval, a line at the limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from callscore.core.measure import Interval
from callscore.report.cells import Tone
from callscore.report.markup import Html, join, tag
from callscore.report.numbers import show, show_count, show_interval
from callscore.report.safe_text import plain
from callscore.report.svg.picture import (
    Scale,
    coordinate,
    frame,
    label,
    line,
    linear_scale,
    short_names,
)

WIDTH, ROW_HEIGHT, TOP, BOTTOM = 340.0, 21.0, 6.0, 24.0
NAMES, VALUES = 112.0, 54.0
MAX_NAME_LENGTH = 17


class IntervalBar(NamedTuple):
    """The value of one model, or `why` there is none."""

    model: str
    value: float | None
    interval: Interval | None = None
    tone: Tone = "plain"
    why: str = ""


def draw_interval_bars(
    title: str, bars: Sequence[IntervalBar], unit: str = "fraction", limits: Sequence[float] = ()
) -> Html:
    """Draw one metric, all models on one axis."""
    height = TOP + ROW_HEIGHT * len(bars) + BOTTOM
    scale = _scale(bars, unit, limits)
    bottom = TOP + ROW_HEIGHT * len(bars)
    names = short_names([bar.model for bar in bars], MAX_NAME_LENGTH)
    return frame(
        (WIDTH, height),
        title,
        _describe(bars, unit),
        [_tick(scale, tick, bottom, unit) for tick in scale.ticks(3)],
        [line((scale(x), TOP), (scale(x), bottom), "limit") for x in limits if _inside(scale, x)],
        [
            _draw_bar(bar, names[bar.model], scale, TOP + ROW_HEIGHT * (place + 0.5), unit)
            for place, bar in enumerate(bars)
        ],
    )


def _inside(scale: Scale, value: float) -> bool:
    return scale.low <= value <= scale.high


def _scale(bars: Sequence[IntervalBar], unit: str, limits: Sequence[float]) -> Scale:
    known = [bar.value for bar in bars if bar.value is not None]
    ends = [end for bar in bars for end in bar.interval or ()]
    values = [*known, *ends, *limits] or [0.0, 1.0]
    start, end = NAMES, WIDTH - VALUES
    if unit != "fraction":
        return linear_scale([*values, 1.0], start, end, floor=0.0)
    lowest = max(0.0, min(values))
    return Scale(0.0 if lowest < 0.5 else 0.5 if lowest < 0.8 else 0.8, 1.0, start, end)


def _tick(scale: Scale, tick: float, bottom: float, unit: str) -> Html:
    x = scale(tick)
    text = f"{tick:.3g}" + ("%" if unit == "percent" else "")
    return join(
        line((x, TOP), (x, bottom), "grid"), label(x, bottom + 15, text, "soft small", "middle")
    )


def _draw_bar(bar: IntervalBar, shown: str, scale: Scale, y: float, unit: str) -> Html:
    name = label(NAMES - 10, y + 4, shown, "small", "end")
    if bar.value is None:
        return tag("g", name, label(WIDTH - VALUES + 8, y + 4, "n/a", "soft small"))
    parts = [name]
    if bar.interval is not None:
        low, high = (scale(end) for end in bar.interval)
        parts.append(line((low, y), (high, y), "bar"))
    shape = tag("circle", cx=coordinate(scale(bar.value)), cy=coordinate(y), r=4.2, class_=bar.tone)
    text = show(bar.value, unit).replace(" %", "%")
    parts += [shape, label(WIDTH - VALUES + 8, y + 4, text, "small")]
    return tag("g", *parts)


def _describe(bars: Sequence[IntervalBar], unit: str) -> str:
    sentences = []
    for bar in bars[:8]:
        if bar.value is None:
            sentences.append(f"{plain(bar.model, 40)}: no value")
            continue
        interval = "no interval" if bar.interval is None else show_interval(bar.interval, unit)
        sentences.append(f"{plain(bar.model, 40)}: {show(bar.value, unit)} {interval}")
    more = len(bars) - len(sentences)
    return "; ".join(sentences) + (f"; and {show_count(more, 'more model')}." if more > 0 else ".")
