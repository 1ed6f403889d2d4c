"""The sections of a comparison: its conclusion, its rows, and two outputs as a diff."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from callscore.core.comparison import Comparison, RowDifference
from callscore.report import comparison_text as cells
from callscore.report.html.first_screen import statement_list
from callscore.report.html.parts import chip, row, table
from callscore.report.markup import Html, join, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain

HEADINGS = ("", "first", "second", "change", "95 % interval", "")


def conclusion_section(comparison: Comparison) -> Html:
    """What separates the two, which of them to take, and on how many calls that rests."""
    return join(
        tag("p", plain(comparison.conclusion, 500), class_="conclusion"),
        statement_list(cells.state_comparison(comparison)),
        tag("p", cells.describe_pairing(comparison), class_="note") if comparison.calls else None,
        tag("p", noise, class_="note") if (noise := noise_floor(comparison)) else None,
    )


def noise_floor(comparison: Comparison) -> str:
    """The smallest difference of the Final Score that this many calls show; empty if unknown."""
    final = next((each for each in comparison.rows if each.kind == "final"), None)
    if final is None or final.detectable is None:
        return ""
    calls = show_count(final.calls, comparison.unit)
    return (
        f"Noise floor: with {calls}, differences of the Final Score below {final.detectable:.3f} "
        "are likely to be missed."
    )


def rows_table(comparison: Comparison) -> Html:
    """The rows that are shown, with their intervals."""
    shown = [each for each in comparison.rows if cells.is_shown(each, all_rows=False)]
    return table(HEADINGS, [_row(each) for each in shown], "Differences")


def _row(each: RowDifference) -> Html:
    word = cells.direction_word(each)
    return row(
        each.label,
        [
            cells.show_value(each.first, each.unit),
            cells.show_value(each.second, each.unit),
            cells.show_difference(each.difference, each.unit),
            cells.show_row_interval(each),
            chip(word, cells.row_tone(each)) if word else "",
        ],
    )


def notes_list(comparison: Comparison) -> list[Html]:
    """What makes the two not comparable, and remarks."""
    notes = [*comparison.not_comparable, *comparison.notes]
    return [tag("p", plain(note, 400), class_="note") for note in notes]


def diff_section(first: str, second: str) -> Html:
    """Two texts as one: struck out what only the first has, marked what only the second has."""
    kinds = {"first": "del", "second": "ins"}
    parts = [
        tag(kinds[part.kind], part.text) if part.kind in kinds else part.text
        for part in diff_texts(first, second)
    ]
    return tag("div", parts, class_="diff", dir="auto", tabindex=0, role="group")


MOST_COMPARED = 4_000
"""Longer texts are compared by lines."""
_WORDS = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff]|"  # Japanese and Chinese are written without spaces
    r"\s+|[^\W_](?:[\w\u0300-\u036f\u0900-\u0dff]|(?<=\d)[.,](?=\d))*|[^\s]",
)


class DiffPart(NamedTuple):
    """A part of both texts, or of one of them."""

    kind: Literal["same", "first", "second"]
    text: str


def diff_texts(first: str, second: str) -> list[DiffPart]:
    """The parts of two texts in their order; what was replaced comes before what replaces it."""
    one, other = _tokens(first, second)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return list(_joined(_parts(matcher, one, other)))


def _tokens(first: str, second: str) -> tuple[Sequence[str], Sequence[str]]:
    one, other = _WORDS.findall(first), _WORDS.findall(second)
    if max(len(one), len(other)) > MOST_COMPARED:
        return first.splitlines(keepends=True), second.splitlines(keepends=True)
    return one, other


def _parts(
    matcher: SequenceMatcher[str], one: Sequence[str], other: Sequence[str]
) -> Iterator[DiffPart]:
    for kind, low, high, other_low, other_high in matcher.get_opcodes():
        if kind == "equal":
            yield DiffPart("same", "".join(one[low:high]))
            continue
        yield DiffPart("first", "".join(one[low:high]))
        yield DiffPart("second", "".join(other[other_low:other_high]))


def _joined(parts: Iterator[DiffPart]) -> Iterator[DiffPart]:
    """The parts that have text; a space between two changes belongs to both."""
    kept = [part for part in parts if part.text]
    removed = added = ""
    for at, part in enumerate(kept):
        between = 0 < at < len(kept) - 1 and (removed or added)
        if part.kind == "same" and part.text.isspace() and between:
            removed, added = removed + part.text, added + part.text
        elif part.kind == "same":
            yield from _changes(removed, added)
            removed = added = ""
            yield part
        elif part.kind == "first":
            removed += part.text
        else:
            added += part.text
    yield from _changes(removed, added)


def _changes(removed: str, added: str) -> Iterator[DiffPart]:
    if removed:
        yield DiffPart("first", removed)
    if added:
        yield DiffPart("second", added)
