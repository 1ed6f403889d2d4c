"""Text in columns and paragraphs: measured, folded and padded, as lines of styled pieces.

The caller decides what a style looks like.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

GAP = 3


class Piece(NamedTuple):
    """Some text in one style (`bold red`; empty for plain)."""

    text: str
    style: str = ""


Line = Sequence[Piece]


class Column(NamedTuple):
    """The heading of a column, how wide it is at least and at most, and its alignment."""

    heading: str
    least: int = 0
    most: int | None = None
    is_number: bool = False


def table(columns: Sequence[Column], rows: Sequence[Line], width: int) -> Iterator[Line]:
    """The heading, a rule, and the rows; an empty row is an empty line. No line is wider."""
    widths = _widths(columns, rows, width - 1)
    aligned = list(zip(widths, [column.is_number for column in columns], strict=True))
    yield from _row([Piece(column.heading, "bold") for column in columns], aligned)
    yield [Piece(" " + "─" * (sum(widths) + GAP * (len(widths) - 1)))]
    for row in rows:
        yield from _row(row, aligned) if row else ([],)


def paragraph(pieces: Line, width: int) -> Iterator[Line]:
    """Pieces one after the other, folded between words."""
    words = [
        Piece(word, piece.style)
        for piece in pieces
        for word in piece.text.replace(" ", " \0").split("\0")
    ]
    line: list[Piece] = []
    used = 0
    for word in words:
        if line and used + columns_of(word.text.rstrip()) > width:
            yield line
            line, used = [], 0
        line.append(word)
        used += columns_of(word.text)
    yield line


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes"""
    if text.isascii():
        return len(text)
    return sum(map(_columns_of_char, text))


def _columns_of_char(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):  # as vowel signs below a letter
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _widths(columns: Sequence[Column], rows: Sequence[Line], width: int) -> list[int]:
    """As wide as the widest cell; what does not fit is taken from the widest columns."""
    widths = []
    for place, column in enumerate(columns):
        cells = [columns_of(row[place].text) for row in rows if row]
        widest = max([columns_of(column.heading), column.least, *cells])
        widths.append(widest if column.most is None else min(widest, column.most))
    least = [column.least or 1 for column in columns]
    while sum(widths) + GAP * (len(widths) - 1) > width:
        room = [wide - low for wide, low in zip(widths, least, strict=True)]
        if max(room) <= 0:
            break
        widest = max(range(len(widths)), key=lambda place: (room[place] > 0, widths[place]))
        widths[widest] -= 1
    return widths


def _row(cells: Line, aligned: Sequence[tuple[int, bool]]) -> Iterator[Line]:
    """The lines of a row: as many as its longest cell needs."""
    folded = [_folded(cell.text, width) for cell, (width, _) in zip(cells, aligned, strict=True)]
    for texts in zip_longest(*folded, fillvalue=""):
        line = [Piece(" ")]
        for text, cell, (width, is_number) in zip(texts, cells, aligned, strict=True):
            padding = " " * (width - columns_of(text))
            if len(line) > 1:
                line.append(Piece(" " * GAP))
            line += (
                [Piece(padding), Piece(text, cell.style)]
                if is_number
                else [Piece(text, cell.style), Piece(padding)]
            )
        yield line


def _folded(text: str, width: int) -> list[str]:
    """The text in lines that fit; a word that does not fit is cut."""
    if columns_of(text) <= width:
        return [text]
    lines = [""]
    for word in text.split(" "):
        joined = f"{lines[-1]} {word}" if lines[-1] else word
        if columns_of(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        for char in word:
            if columns_of(lines[-1] + char) > width:
                lines.append("")
            lines[-1] += char
    return lines
