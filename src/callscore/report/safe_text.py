"""Makes untrusted text safe to print: no control characters, no direction marks, one line."""

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
"""DEL, C1 controls, line separators and direction marks, in UTF-8."""


def plain(text: str, max_length: int = 200) -> str:
    """Return one line without escape sequences or direction marks, truncated to `max_length`."""
    if text.isascii() and text.isprintable() and len(text) <= max_length:
        return text
    line = " ".join(text.split())
    return sanitize(line) if len(line) <= max_length else sanitize(line[: max_length - 1]) + "…"


def sanitize(text: str) -> str:
    """Replace escape sequences, direction marks and line ends; the length is not limited."""
    if text.isprintable():  # so none of them occurs
        return text
    return "".join(map(_sanitize_char, text))


def _sanitize_char(char: str) -> str:
    if char in _LINE_ENDS:
        return " "
    return "\ufffd" if char in _BIDI or unicodedata.category(char) in ("Cc", "Cs") else char


_FORMULA_START = re.compile(r"(?:^|(?<=[,;|\t\n\r\"])) *(?=[=+\-@\t\r\n\0'＝＋－＠])")
"""Where a spreadsheet may start a formula: at the start of a cell, or after a character that ends a
cell in another locale.

A leading apostrophe is marked too, as it would look like our own mark.
"""


def safe_cell_text(text: str) -> str:
    """Return a text for a cell of a table: no formula, escape sequence or direction mark (S-04).

    Text that a spreadsheet might execute gets an apostrophe in front. Line ends stay.
    """
    return _FORMULA_START.sub(_mark_as_text, sanitize_lines(text))


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would execute the text if it were typed in."""
    return _FORMULA_START.match(text) is not None


def sanitize_lines(text: str) -> str:
    """Replace escape sequences and direction marks; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(char if char in "\n\t" else _sanitize_char(char) for char in text)


def _mark_as_text(match: re.Match[str]) -> str:
    return f"{match[0]}'"


def escape_json(raw: bytes | bytearray) -> bytes:
    """Escape everything in JSON that may control a terminal; it decodes to the same strings.

    JSON escapes control characters below U+0020 itself. Other control characters occur only in
    strings, where an escape is allowed.
    """
    if raw.isascii() and b"\x7f" not in raw:
        return bytes(raw)
    return _TERMINAL_CONTROLS.sub(_escape_character, raw)


def _escape_character(match: re.Match[bytes]) -> bytes:
    return b"\\u%04x" % ord(match[0].decode())
