"""Text from outside, made safe to print: no control characters, no bidi tricks, one line."""

from __future__ import annotations

import re
import unicodedata

_BIDI = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    "\u206a\u206b\u206c\u206d\u206e\u206f"
)
_LINE_ENDS = "\n\r\t\x0b\x0c\x85\u2028\u2029"
_TERMINAL_CONTROLS = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xaf]"
)
"""DEL, C1 controls, separators of lines and direction marks, in UTF-8."""


def plain(text: str, longest: int = 200) -> str:
    """One line without escape sequences or invisible direction marks, cut if it is too long."""
    if text.isascii() and text.isprintable() and len(text) <= longest:
        return text
    line = " ".join(text.split())
    return sanitize(line) if len(line) <= longest else sanitize(line[: longest - 1]) + "…"


def sanitize(text: str) -> str:
    """The same without escape sequences, direction marks and ends of lines, however long."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_sanitize_char, text))


def _sanitize_char(char: str) -> str:
    if char in _LINE_ENDS:
        return " "
    return "\ufffd" if char in _BIDI or unicodedata.category(char) in ("Cc", "Cs") else char


_FORMULA_START = re.compile(r"(?:^|(?<=[,;|\t\n\r\"])) *(?=[=+\-@\t\r\n\0'＝＋－＠])")
"""Where a spreadsheet might begin to carry something out: at the start of a cell, or behind what
another locale takes for the end of one. An apostrophe there only looks as if we had marked it."""


def cell_text(text: str) -> str:
    """A text for a cell of a table: no formula, no escape sequence, no direction marks (S-04)

    What a spreadsheet might execute gets an apostrophe in front. Ends of lines stay.
    """
    return _FORMULA_START.sub(_mark_as_text, sanitize_lines(text))


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would execute a text that is typed into it"""
    return _FORMULA_START.match(text) is not None


def sanitize_lines(text: str) -> str:
    """The same without escape sequences and direction marks; ends of lines and tabs stay"""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if char in "\n\t" else _sanitize_char(char) for char in text)


def _mark_as_text(found: re.Match[str]) -> str:
    return f"{found[0]}'"


def escape_json(raw: bytes | bytearray) -> bytes:
    """JSON in which nothing speaks to a terminal: the same strings to every reader.

    Control characters below U+0020 are escaped in every JSON; whatever else a terminal might
    obey occurs in strings only, and is escaped there.
    """
    if raw.isascii() and b"\x7f" not in raw:
        return bytes(raw)
    return _TERMINAL_CONTROLS.sub(_escape_character, raw)


def _escape_character(found: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(found[0].decode())
