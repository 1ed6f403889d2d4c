"""Strict YAML: libyaml's events, a small resolver, the line number of every value.

YAML 1.1 turns `no` into False and `1:30` into 90. Here only true, false, null and decimal numbers
are special; everything else is text. Tags and duplicate keys are refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.errors import ConfigError

IN_MEMORY = "config"
"""The name in messages of a config that has no file."""
MAX_BYTES = 10_000_000
MAX_DEPTH = 64
MAX_ALIASES = 100
MAX_VALUES = 100_000
"""After aliases are expanded: nested aliases multiply."""

_WORDS: Mapping[str, bool | None] = {
    "true": True,
    "false": False,
    "null": None,
    "~": None,
    "": None,
}
INTEGERS = range(-(2**63), 2**64)
"""Integers that JSON encoders and decoders keep exactly; others must be texts in quotes."""
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_MOST_DIGITS = 20
_FLOAT = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?")
_NO_TOKEN = "found character that cannot start any token"
_INDENTED = (
    "another indent than the lines around it; expected the keys of one level, and the entries "
    "of one list, at the same indent"
)
_EXPLANATIONS: Mapping[str, str] = {
    "mapping values are not allowed in this context": (
        "a colon that cannot be here; expected a value with a colon and a space in quotes, "
        "and the keys of one level at the same indent"
    ),
    _NO_TOKEN: "a value begins with a character that YAML reserves; expected it in quotes",
    "did not find expected ',' or ']'": "a list opened with [ is not closed; expected ]",
    "did not find expected ',' or '}'": "a mapping opened with { is not closed; expected }",
    "found unexpected end of stream": "a quotation mark is not closed",
    "did not find expected key": _INDENTED,
    "did not find expected '-' indicator": _INDENTED,
    "could not find expected ':'": "a key without a colon; expected `key: value`",
    "did not find expected node content": "a bracket or comma where a value is expected",
    "found unknown escape character": (
        "an unknown escape in double quotes; expected single quotes, or two backslashes"
    ),
}
"""libyaml's messages, in words that the author of an eval file understands."""
_CAUSED_EARLIER = frozenset(
    {
        "found unexpected end of stream",
        "did not find expected ',' or ']'",
        "did not find expected ',' or '}'",
        "could not find expected ':'",
    }
)
"""Errors whose cause may be far above the line that libyaml reports."""


class Document(msgspec.Struct, frozen=True):
    """The value of a YAML file, and the line number of each part.

    Parts are named as in errors: `models[0].price.input`.
    """

    path: Path
    value: Any
    lines: Mapping[str, int]

    def error(self, part: str, problem: str) -> ConfigError:
        """A ConfigError that names file, line and part."""
        place = f"{self.path}:{self.line_of(part)}" if self.lines else str(self.path)
        return ConfigError(f"{place}: {part or 'file'}: {problem}")

    def line_of(self, part: str) -> int:
        """The line of a part, or of the closest part around it."""
        while part and part not in self.lines:
            part = part[: max(part.rfind("."), part.rfind("["), 0)]
        return self.lines.get(part, 1)


def read_yaml(path: Path) -> Document:
    """The one document of a YAML file; raises ConfigError with file and line."""
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    if len(raw) > MAX_BYTES:
        raise ConfigError(f"{path}: larger than {MAX_BYTES} bytes")
    return parse_yaml(raw, path)


def document_from_values(
    value: Mapping[str, Any] | Sequence[Any], name: str = IN_MEMORY
) -> Document:
    """A document without line numbers, of Python values: dicts, lists, texts, numbers, paths."""
    try:
        raw = msgspec.json.encode(value, enc_hook=os.fspath)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name}: {error}; expected the values of an eval file") from None
    return Document(Path(name), msgspec.json.decode(raw), {})


def parse_yaml(raw: bytes, path: Path) -> Document:
    """The one document in `raw`; `path` is for messages only."""
    import yaml

    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: byte {error.start} is not UTF-8") from None
    composer = _Composer(path, yaml.parse(text, Loader=yaml.CSafeLoader))
    try:
        value = composer.compose()
    except yaml.YAMLError as error:
        raise _explain_error(path, text, error) from None
    return Document(path, value, composer.lines)


def _explain_error(path: Path, text: str, error: Exception) -> ConfigError:
    """libyaml's error with its cause, its place and a remedy."""
    problem = str(getattr(error, "problem", None) or "")
    mark = getattr(error, "problem_mark", None)
    context_mark = getattr(error, "context_mark", None)
    if problem in _CAUSED_EARLIER and context_mark is not None:
        mark = context_mark
    number = mark.line if mark is not None else 0
    lines = text.splitlines() or [""]
    line = lines[min(number, len(lines) - 1)]
    if problem == _NO_TOKEN and line[: mark.column + 1 if mark else 0].strip() == "":
        explanation = "a tab at the beginning of a line; expected spaces"
    else:
        explanation = _EXPLANATIONS.get(problem) or f"{problem or 'cannot be read'}; expected YAML"
    # The line itself is not shown: it may contain a secret.
    return ConfigError(f"{path}:{number + 1}: {explanation}")


class _Composer:
    """Builds the value from libyaml's events; libyaml has already checked the grammar."""

    def __init__(self, path: Path, events: Iterator[Any]) -> None:
        self._path = path
        self._events = events
        self._anchors: dict[str, Any] = {}
        self._aliases = 0
        self._values = 0
        self._line = 1
        self.lines: dict[str, int] = {}

    def compose(self) -> Any:
        """The value of the only document."""
        value = None
        documents = 0
        for event in self._events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise self._error(event, "a second document; expected one")
                value = self._value(next(self._events), "", 1)
        return value

    def _value(self, event: Any, part: str, depth: int) -> Any:
        self._line = event.start_mark.line + 1
        self.lines.setdefault(part, self._line)
        kind = type(event).__name__
        if kind == "AliasEvent":
            return self._resolve_alias(event)
        if event.tag is not None and event.tag != "!":
            raise self._error(event, f"the tag {event.tag[:80]!r} is not accepted")
        if depth > MAX_DEPTH:
            raise self._error(event, f"nested deeper than {MAX_DEPTH} levels")
        self._count(1)
        if kind == "ScalarEvent":
            value = self._scalar(event, part)
        elif kind == "SequenceStartEvent":
            value = self._sequence(part, depth)
        else:
            value = self._mapping(part, depth)
        if event.anchor is not None:
            self._anchors[event.anchor] = value
        return value

    def _resolve_alias(self, event: Any) -> Any:
        self._aliases += 1
        if self._aliases > MAX_ALIASES:
            raise self._error(event, f"more than {MAX_ALIASES} aliases")
        if event.anchor not in self._anchors:
            raise self._error(event, f"the alias {event.anchor!r} occurs before its anchor ends")
        value = self._anchors[event.anchor]
        self._count(_size(value))
        return value

    def _count(self, values: int) -> None:
        self._values += values
        if self._values > MAX_VALUES:
            raise ConfigError(f"{self._path}:{self._line}: more than {MAX_VALUES} values")

    def _sequence(self, part: str, depth: int) -> list[Any]:
        items: list[Any] = []
        while type(event := next(self._events)).__name__ != "SequenceEndEvent":
            items.append(self._value(event, f"{part}[{len(items)}]", depth + 1))
        return items

    def _mapping(self, part: str, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while type(event := next(self._events)).__name__ != "MappingEndEvent":
            if type(event).__name__ != "ScalarEvent":
                raise self._error(event, "a key that is not plain text; expected a name")
            key = str(event.value)
            if key in mapping:
                raise self._error(event, f"the key {key!r} appears twice; expected it once")
            inner = f"{part}.{key}" if part else key
            self.lines[inner] = event.start_mark.line + 1
            mapping[key] = self._value(next(self._events), inner, depth + 1)
        return mapping

    def _scalar(self, event: Any, part: str) -> Any:
        text: str = event.value
        if not event.implicit[0]:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            return self._integer(event, part)
        if _FLOAT.fullmatch(text):
            number = float(text)
            if number in (float("inf"), float("-inf")):
                raise self._error(event, f"{text} is too large a number")
            return number
        return text

    def _integer(self, event: Any, part: str) -> int:
        text: str = event.value
        if len(text.lstrip("-+")) > _MOST_DIGITS or int(text) not in INTEGERS:
            raise self._error(
                event,
                f"{part or 'file'}: {text[:40]} is too large a whole number; "
                "expected one of 64 bits, or a text in quotes",
            )
        return int(text)

    def _error(self, event: Any, problem: str) -> ConfigError:
        return ConfigError(f"{self._path}:{event.start_mark.line + 1}: {problem}")


def _size(value: object) -> int:
    """The number of values in a value, including itself."""
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    if isinstance(value, list):
        return 1 + sum(map(_size, value))
    return 1
