"""Where the quotes behind verdicts and reasons are in a transcript."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from callscore.core.case import Turn
from callscore.core.lazy_regex import lazy_regex

_QUOTED = lazy_regex(r"[\"“„«]([^\"“”„«»]{4,300})[\"”»]")
SHORTEST = 4
EXPECTED = "expected"


class Quote(NamedTuple):
    """Words that are cited: who, about what, and which turn is meant, if one is named."""

    text: str
    who: str
    about: str
    turn: str = ""


class Span(NamedTuple):
    """A part of a turn's text, with everyone who points to some of it."""

    start: int
    end: int
    quotes: tuple[Quote, ...]


def find_quotations(reason: str) -> Iterator[str]:
    """The quotations in a reason."""
    yield from _QUOTED.findall(reason)


def turn_name(turn: Turn, place: int) -> str:
    """How a verdict's `source` names a turn: `t7`."""
    return f"t{turn.id if turn.id is not None else place + 1}"


def locate_quotes(
    turns: Sequence[Turn], quotes: Sequence[Quote]
) -> tuple[list[list[Span]], list[Quote]]:
    """For each turn what to highlight, and the quotes that no turn contains."""
    hits: list[list[tuple[int, int, Quote]]] = [[] for _ in turns]
    names = [turn_name(turn, place) for place, turn in enumerate(turns)]
    lowered = [turn.text.lower() for turn in turns]
    lost = []
    for quote in quotes:
        wanted = quote.text.strip().lower()
        if len(wanted) < SHORTEST:
            continue
        order = sorted(range(len(turns)), key=lambda place: names[place] != quote.turn)
        for place in order:
            start = lowered[place].find(wanted)
            if start >= 0 and len(lowered[place]) == len(turns[place].text):
                hits[place].append((start, start + len(wanted), quote))
                break
        else:
            lost.append(quote)
    return [_split_spans(found) for found in hits], lost


def _split_spans(hits: Sequence[tuple[int, int, Quote]]) -> list[Span]:
    """Spans that do not overlap: cut wherever a quote begins or ends."""
    edges = sorted({edge for start, end, _ in hits for edge in (start, end)})
    found = []
    for start, end in zip(edges, edges[1:], strict=False):
        over = tuple(quote for low, high, quote in hits if low <= start and end <= high)
        if over:
            found.append(Span(start, end, over))
    return found
