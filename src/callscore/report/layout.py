"""Text in columns and paragraphs: measured, wrapped and padded, as lines of styled text.

The caller maps styles to colours.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from callscore.report.safe_text import plain

GAP = 3
MAX_CELL_LENGTH = 60
BREAK_AFTER = "-_/.:,"
"""Where a word that is too long for its column is split, such as the name of a model."""


class StyledText(NamedTuple):
    """Text in one style (`bold red`; empty for no style)."""

    text: str
    style: str = ""


Line = Sequence[StyledText]


class Column(NamedTuple):
    """The heading of a column, its minimum and maximum width, and its alignment."""

    heading: str
    min_width: int = 0
    max_width: int | None = None
    is_number: bool = False


def table(columns: Sequence[Column], rows: Sequence[Line], width: int) -> Iterator[Line]:
    """Yield heading, rule and rows, none wider than `width`; an empty row is an empty line."""
    widths = _widths(columns, rows, width - 1)
    aligned = list(zip(widths, [column.is_number for column in columns], strict=True))
    yield from _row([StyledText(column.heading, "bold") for column in columns], aligned)
    yield [StyledText(" " + "─" * (sum(widths) + GAP * (len(widths) - 1)))]
    for row in rows:
        yield from _row(row, aligned) if row else ([],)


def align_columns(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Align rows of text, one line each: the first column to the left, all others to the right."""
    cells = [list(headings), *([plain(cell, MAX_CELL_LENGTH) for cell in row] for row in rows)]
    widths = [max(display_width(row[place]) for row in cells) for place in range(len(headings))]
    return [
        "  ".join(
            cell + _padding(cell, width) if place == 0 else _padding(cell, width) + cell
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def _padding(text: str, width: int) -> str:
    return " " * (width - display_width(text))


def paragraph(pieces: Line, width: int) -> Iterator[Line]:
    """Yield styled text as lines, wrapped between words."""
    words = [
        StyledText(word, piece.style)
        for piece in pieces
        for word in piece.text.replace(" ", " \0").split("\0")
    ]
    line: list[StyledText] = []
    used = 0
    for word in words:
        if line and used + display_width(word.text.rstrip()) > width:
            yield line
            line, used = [], 0
        line.append(word)
        used += display_width(word.text)
    yield line


def display_width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_char_width, text))


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):  # such as combining vowel signs
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def table_width(columns: Sequence[Column], rows: Sequence[Line]) -> int:
    """Return how wide a table is if no cell is wrapped."""
    widths = _natural_widths(columns, rows)
    return sum(widths) + GAP * (len(widths) - 1) + 1


def _natural_widths(columns: Sequence[Column], rows: Sequence[Line]) -> list[int]:
    """Return the width of the widest cell per column."""
    widths = []
    for place, column in enumerate(columns):
        cells = [display_width(row[place].text) for row in rows if row]
        widest = max([display_width(column.heading), column.min_width, *cells])
        widths.append(widest if column.max_width is None else min(widest, column.max_width))
    return widths


def _widths(columns: Sequence[Column], rows: Sequence[Line], width: int) -> list[int]:
    """Return widths that fit: headings are wrapped first, then the widest cells."""
    widths = _natural_widths(columns, rows)
    narrow = [Column(_longest_word(column.heading), *column[1:]) for column in columns]
    for low in (_natural_widths(narrow, rows), [column.min_width or 1 for column in columns]):
        while sum(widths) + GAP * (len(widths) - 1) > width:
            room = [wide - least for wide, least in zip(widths, low, strict=True)]
            if max(room) <= 0:
                break
            widest = max(range(len(widths)), key=lambda place: (room[place] > 0, widths[place]))
            widths[widest] -= 1
    return widths


def _longest_word(text: str) -> str:
    return max(text.split(" "), key=display_width)


def _row(cells: Line, aligned: Sequence[tuple[int, bool]]) -> Iterator[Line]:
    """Yield the lines of a row, as many as its longest cell needs."""
    wrapped = [_wrap(cell.text, width) for cell, (width, _) in zip(cells, aligned, strict=True)]
    for texts in zip_longest(*wrapped, fillvalue=""):
        line = [StyledText(" ")]
        for text, cell, (width, is_number) in zip(texts, cells, aligned, strict=True):
            padding = _padding(text, width)
            if len(line) > 1:
                line.append(StyledText(" " * GAP))
            line += (
                [StyledText(padding), StyledText(text, cell.style)]
                if is_number
                else [StyledText(text, cell.style), StyledText(padding)]
            )
        yield line


def _wrap(text: str, width: int) -> list[str]:
    """Wrap a text to a width; a word that is longer is split, after punctuation if possible."""
    if display_width(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if display_width(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        while display_width(word) > width:
            head = _head(word, width)
            lines[-1:] = [head, ""]
            word = word[len(head) :]
        lines[-1] = word
    return lines


def _head(word: str, width: int) -> str:
    """Return the part of a long word that fits, up to punctuation if there is some."""
    fits = 1
    while display_width(word[: fits + 1]) <= width:
        fits += 1
    breaks = [
        place + 1
        for place in range(fits)
        if word[place] in BREAK_AFTER and any(map(str.isalnum, word[:place]))
    ]
    return word[: breaks[-1] if breaks else fits]
