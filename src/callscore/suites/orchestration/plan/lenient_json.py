"""Parses JSON with the deviations that models write, and names each deviation; think blocks.

Accepted besides JSON: a comma before a closing bracket, Python's quotes and literals, keys and
words without quotes, line breaks inside a string, comments (C-128). Text after the value is
ignored. Anything else is refused, so that nothing is guessed.
"""

from __future__ import annotations

import re
from typing import Any

from callscore.suites.orchestration.spec import spec

TRAILING_COMMA = "trailing_comma"
PYTHON_QUOTES = "python_quotes"
PYTHON_LITERAL = "python_literal"
UNQUOTED_KEY = "unquoted_key"
UNQUOTED_WORD = "unquoted_word"
RAW_NEWLINE = "raw_newline"
COMMENT = "comment"
KINDS = (
    TRAILING_COMMA,
    PYTHON_QUOTES,
    PYTHON_LITERAL,
    UNQUOTED_KEY,
    UNQUOTED_WORD,
    RAW_NEWLINE,
    COMMENT,
)

_SPACE = re.compile(r"\s*+")
_COMMENT = re.compile(r"(?://|#)[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"|\'(?:[^\'\\]|\\.)*+\'', re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][\w-]*+")
_NUMBER = re.compile(
    r"-?(?:0|[1-9]\d{0,300})(?:\.\d{1,300})?(?:[eE][-+]?\d{1,4})?(?![\w.])", re.ASCII
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(.))", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f]")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
_LITERALS = {"true": True, "false": False, "null": None}
_PYTHON_LITERALS = {"True": True, "False": False, "None": None}


class LenientJsonError(ValueError):
    """The text cannot be parsed, and why."""


def read_lenient_json(text: str) -> tuple[Any, tuple[str, ...]]:
    """The value at the start of `text`, and its kinds of deviations; raises LenientJsonError."""
    parser = _LenientParser(text)
    value = parser.value(0)
    return value, tuple(kind for kind in KINDS if kind in parser.deviations)


class _LenientParser:
    """A recursive-descent parser."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self.deviations: set[str] = set()

    def value(self, depth: int) -> Any:
        """Parse one value, after any space and comments."""
        if depth > spec().limits.nesting:
            raise LenientJsonError(f"nested deeper than {spec().limits.nesting} levels")
        first = self._next()
        if first == "{":
            return self._mapping(depth)
        if first == "[":
            return self._list(depth)
        if first in "\"'":
            return self._string()
        return self._scalar()

    def _next(self) -> str:
        """The next character that is neither space nor comment."""
        while True:
            space = _SPACE.match(self._text, self._at)
            self._at = space.end() if space is not None else self._at
            comment = _COMMENT.match(self._text, self._at)
            if comment is None:
                break
            self._at = comment.end()
            self.deviations.add(COMMENT)
        if self._at == len(self._text):
            raise LenientJsonError("the text ends too early")
        return self._text[self._at]

    def _mapping(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self._at += 1
        while not self._closes("}"):
            key = self._key()
            self._expect(":")
            found[key] = self.value(depth + 1)
            if not self._has_next("}"):
                break
        return found

    def _list(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self._at += 1
        while not self._closes("]"):
            found.append(self.value(depth + 1))
            if not self._has_next("]"):
                break
        return found

    def _closes(self, bracket: str) -> bool:
        if self._next() != bracket:
            return False
        self._at += 1
        return True

    def _has_next(self, bracket: str) -> bool:
        """Whether another item follows; a comma before the bracket is ignored."""
        if self._closes(bracket):
            return False
        self._expect(",")
        if self._next() != bracket:
            return True
        self.deviations.add(TRAILING_COMMA)
        self._at += 1
        return False

    def _expect(self, character: str) -> None:
        if self._next() != character:
            raise LenientJsonError(f"expected {character} at {self._at}")
        self._at += 1

    def _key(self) -> str:
        if self._next() in "\"'":
            return self._string()
        word = self._match(_WORD)
        if word is None:
            raise LenientJsonError(f"expected a key at {self._at}")
        self.deviations.add(UNQUOTED_KEY)
        return word

    def _string(self) -> str:
        quoted = self._match(_STRING)
        if quoted is None:
            raise LenientJsonError("a string is never closed")
        if quoted[0] == "'":
            self.deviations.add(PYTHON_QUOTES)
        if _CONTROL.search(quoted):
            self.deviations.add(RAW_NEWLINE)
        return _unescape(quoted[1:-1])

    def _scalar(self) -> Any:
        number = self._match(_NUMBER)
        if number is not None:
            return float(number) if set(number) & set(".eE") else int(number)
        word = self._match(_WORD)
        if word is None:
            raise LenientJsonError(f"expected a value at {self._at}")
        if word in _LITERALS:
            return _LITERALS[word]
        if word in _PYTHON_LITERALS:
            self.deviations.add(PYTHON_LITERAL)
            return _PYTHON_LITERALS[word]
        self.deviations.add(UNQUOTED_WORD)
        return word

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        return found.group()


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_character, text)
    # A surrogate pair is one character; a lone surrogate stays.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _character(escape: re.Match[str]) -> str:
    code = escape.group(1) or escape.group(2)
    return chr(int(code, 16)) if code else _ESCAPED.get(escape.group(3), escape.group(3))


def strip_think_block(text: str) -> str:
    """The text after the last `</think>`, without a block that is never closed        C-105"""
    if "think>" not in text:
        return text
    answer = text.rsplit("</think>", 1)[-1]
    return answer.split("<think>", 1)[0]
