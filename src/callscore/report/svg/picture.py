"""Shared by all pictures: frame, text alternative, labels, lines, and scales with round ticks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from callscore.core.lazy import lazy_regex
from callscore.report.markup import Child, Html, tag
from callscore.report.safe_text import plain

LOG_FROM = 20.0
"""An axis of positive values is logarithmic if the largest exceeds the smallest by this factor."""
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


class Scale(NamedTuple):
    """Maps `low` to `start` and `high` to `end`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value; values outside of the axis are drawn at its end."""
        inside = min(max(value, self.low), self.high)
        low, high = self.low, self.high
        if self.is_log:
            inside, low, high = math.log(inside), math.log(low), math.log(high)
        share = (inside - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def ticks(self, about: int = 5) -> Sequence[float]:
        """Return round values on the axis."""
        return _log_ticks(self.low, self.high) if self.is_log else _ticks(self, about)


def linear_scale(
    values: Sequence[float], start: float, end: float, floor: float | None = None
) -> Scale:
    """Return a linear axis that includes all values, with round ends."""
    low = min([*values, *([] if floor is None else [floor])])
    high = max(values)
    if high <= low:
        high = low + (abs(low) or 1.0)
    step = _step(high - low, 5)
    return Scale(
        math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, end
    )


def cost_scale(values: Sequence[float], start: float, end: float) -> Scale:
    """Return an axis for costs: from 0, or logarithmic if they differ much."""
    if min(values) > 0 and max(values) / min(values) > LOG_FROM:
        low, high = math.log10(min(values)), math.log10(max(values))
        return Scale(
            10 ** (math.floor(low * 2) / 2), 10 ** (math.ceil(high * 2) / 2), start, end, True
        )
    return linear_scale(values, start, end, floor=0.0)


def _step(width: float, about: int) -> float:
    size = 10.0 ** math.floor(math.log10(width / about))
    return next(step * size for step in STEPS if step * size * about >= width - 1e-12)


def _ticks(scale: Scale, about: int) -> Sequence[float]:
    step = _step(scale.high - scale.low, about)
    first = math.ceil(scale.low / step - 1e-9)
    last = math.floor(scale.high / step + 1e-9)
    return [place * step for place in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> Sequence[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 3)]
    return [tick for tick in ticks if low * 0.999 <= tick <= high * 1.001]


_COLOUR = lazy_regex(r"--(\w+): light-dark\((#\w+), (#\w+)\);")
_USED = lazy_regex(r"var\(--(\w+)\)")


class Picture(str):
    """An SVG picture: a notebook shows it, `save` writes it to a file."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        """Return the SVG for a notebook."""
        return str(self)

    def save(self, path: str | Path) -> Path:
        """Write the picture as a standalone SVG file."""
        target = Path(path)
        target.write_text(self, encoding="utf-8")
        return target


@cache
def palette() -> Mapping[str, tuple[str, str]]:
    """Return every colour by name, for light and dark mode."""
    return {name: (light, dark) for name, light, dark in _COLOUR.findall(read_style("palette"))}


@cache
def read_style(name: str) -> str:
    """Return a style sheet of this folder."""
    return Path(__file__).with_name(f"{name}.css").read_text(encoding="utf-8")


def frame(size: tuple[float, float], title: str, description: str, *children: Child) -> Html:
    """Return an `<svg>` element with a title and a description."""
    width, height = size
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        *children,
        class_="picture",
        role="img",
        aria_label=f"{title}. {description}",
        viewBox=f"0 0 {coordinate(width)} {coordinate(height)}",
        width=coordinate(width),
        height=coordinate(height),
    )


def standalone_picture(drawn: Html) -> Picture:
    """Return the picture with its own style and colours, for a file or a notebook."""
    light, dark = (_style_with_colours(place) for place in (0, 1))
    sheet = f"<style>{light}@media (prefers-color-scheme: dark) {{{dark}}}</style>"
    head, _, rest = drawn.partition(">")
    return Picture(f'{head} xmlns="http://www.w3.org/2000/svg">{sheet}{rest}\n')


def _style_with_colours(place: int) -> str:
    return _USED.sub(lambda used: palette()[used[1]][place], read_style("picture"))


def label(x: float, y: float, text: str, class_: str = "", anchor: str | None = None) -> Html:
    """Return a text element."""
    return tag(
        "text", text, x=coordinate(x), y=coordinate(y), class_=class_ or None, text_anchor=anchor
    )


def line(start: tuple[float, float], end: tuple[float, float], class_: str) -> Html:
    """Return a straight line."""
    (x1, y1), (x2, y2) = start, end
    return tag(
        "line",
        x1=coordinate(x1),
        y1=coordinate(y1),
        x2=coordinate(x2),
        y2=coordinate(y2),
        class_=class_,
    )


def coordinate(value: float) -> str:
    """Return a coordinate with at most one decimal, the same text on every machine."""
    return f"{value:.1f}".removesuffix(".0")


def short_names(models: Sequence[str], max_length: int) -> Mapping[str, str]:
    """Names that fit; those that begin alike keep their ends, which tell them apart."""
    names = {model: plain(model, 60) for model in models}
    short = {model: truncate(name, max_length) for model, name in names.items()}
    same = Counter(short.values())
    return {
        model: text if same[text] == 1 else "…" + names[model][1 - max_length :]
        for model, text in short.items()
    }


def truncate(text: str, max_length: int) -> str:
    """Shorten a text to `max_length` characters, ending with `…`."""
    return text if len(text) <= max_length else text[: max_length - 1] + "…"
