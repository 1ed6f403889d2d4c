"""Locates the quotes of verdicts and reasons in a transcript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from callscore.core.case import Turn
from callscore.core.lazy import lazy_regex

_QUOTED = lazy_regex(r"[\"“„«]([^\"“”„«»]{4,300})[\"”»]")
MIN_LENGTH = 4
EXPECTED = "expected"


class Quote(NamedTuple):
    """A quote: its text, its author, the item it is about, and the turn it names, if any."""

    text: str
    author: str
    item: str
    turn: str = ""


class Span(NamedTuple):
    """A part of the text of a turn, with the quotes that contain it."""

    start: int
    end: int
    quotes: tuple[Quote, ...]


def find_quotations(reason: str) -> Iterator[str]:
    """Yield the quotations in a reason."""
    yield from _QUOTED.findall(reason)


def turn_name(turn: Turn, place: int) -> str:
    """Return the name of a turn in the `source` of a verdict: `t7`."""
    return f"t{turn.id if turn.id is not None else place + 1}"


def locate_quotes(
    turns: Sequence[Turn], quotes: Sequence[Quote]
) -> tuple[list[list[Span]], list[Quote]]:
    """Return the spans to highlight in each turn, and the quotes that no turn contains."""
    hits: list[list[tuple[int, int, Quote]]] = [[] for _ in turns]
    names = [turn_name(turn, place) for place, turn in enumerate(turns)]
    lowered = [turn.text.lower() for turn in turns]
    lost = []
    for quote in quotes:
        wanted = quote.text.strip().lower()
        if len(wanted) < MIN_LENGTH:
            continue
        order = sorted(range(len(turns)), key=lambda place: names[place] != quote.turn)
        for place in order:
            start = lowered[place].find(wanted)
            if start >= 0 and len(lowered[place]) == len(turns[place].text):
                hits[place].append((start, start + len(wanted), quote))
                break
        else:
            lost.append(quote)
    return [_split_spans(turn_hits) for turn_hits in hits], lost


def _split_spans(hits: Sequence[tuple[int, int, Quote]]) -> list[Span]:
    """Return spans that do not overlap, split where a quote begins or ends."""
    edges = sorted({edge for start, end, _ in hits for edge in (start, end)})
    spans = []
    for start, end in zip(edges, edges[1:], strict=False):
        over = tuple(quote for low, high, quote in hits if low <= start and end <= high)
        if over:
            spans.append(Span(start, end, over))
    return spans
