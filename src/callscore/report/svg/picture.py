"""Shared by all pictures: the frame with its text alternative, labels, lines, coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from callscore.core.lazy import lazy_regex
from callscore.report.markup import Child, Html, tag

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


def truncate(text: str, max_length: int) -> str:
    """Shorten a text to `max_length` characters, ending with `…`."""
    return text if len(text) <= max_length else text[: max_length - 1] + "…"
