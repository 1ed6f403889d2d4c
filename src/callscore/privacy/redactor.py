"""Replaces personal data in records by stable placeholders, and counts the replacements.

Of JSON inside a text, as models answer, values are redacted and the structure stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from callscore.privacy.data_labels import asked_for
from callscore.privacy.finder import DataKind, Finder, PersonalDataSpan, numbers_in, numbers_of

_START = re.compile(r"\s*(?:```(?:json)?\s*)?[\[{]")
_FIELD = re.compile(r'"[^"\\\n]{1,80}"\s*:')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.|\\\Z)*+(?:"|\Z)|(?<![\w.+-])\d{5,19}(?![\w.])', re.DOTALL)
"""A string, which the end of the text may cut off, or a long number."""
_COLON = re.compile(r"\s*:")


def is_json(text: str) -> bool:
    """Whether the text is, or begins like, a JSON object or array with fields."""
    return _START.match(text) is not None and _FIELD.search(text) is not None


def redact_json(text: str, redact: Callable[[str, Any], Any]) -> str:
    """The text with each value replaced by `redact(key, value)`; everything else to the letter.

    A text that is cut off or has faults is read as far as its strings can be read.
    """
    key = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal key
        written = match[0]
        try:
            value = json.loads(written, strict=False)
        except ValueError:  # an escape that is none, or leading zeros
            value = written.strip('"')
        if isinstance(value, str) and _COLON.match(text, match.end()):
            key = value
            return written
        redacted = redact(key, value)
        if redacted == value:
            return written
        shown = json.dumps(redacted, ensure_ascii=False)
        is_cut_off = match.end() == len(text) and not (len(written) > 1 and written[-1] == '"')
        return shown.removesuffix('"') if is_cut_off and isinstance(value, str) else shown

    return _TOKEN.sub(replace, text)


def as_words(key: str) -> str:
    """A key as a label: `cardNumber` and `card_number` are "card number:"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]+", " ", key) + ":"


UNCHANGED_KEYS = frozenset(
    {"id", "call_id", "case_id", "task", "model", "question_id", "lang", "type"}
)
"""Identifiers and names, which are not redacted: other records refer to them."""
SAID = ("text", "content", "utterance", "message")
"""The keys of what is said in a turn; a turn is read after the turns before it."""
TURNS = ("transcript:", "turns:", "messages:")
"""Lists of texts that are turns; other texts of a list have nothing to do with each other."""
SAID_AT_ONCE: frozenset[DataKind] = frozenset({"birth_date", "postcode", "address", "answer"})
"""What is said in one turn; numbers are dictated in parts."""
REDACTED_FIRST = ("transcript", "question", "config")
"""Placeholders are numbered in the order of these keys, then of the others."""


NOTHING_FOUND = "Check a sample, the kinds and the regions before you rely on it."


class Said:
    """The last words before a text, back to the last turn that is more than an interjection."""

    SHORT_TURN = 6
    """Words of a turn that leaves a question open: "sure", "go ahead", a part of a number."""
    MOST = 300

    def __init__(self, text: str) -> None:
        self.text = text

    def add(self, turn: str, *, is_answer: bool) -> None:
        """Add a turn, or a line; an answer closes the question before it."""
        is_short = not is_answer and len(turn.split(None, self.SHORT_TURN)) <= self.SHORT_TURN
        self.text = (f"{self.text} {turn}" if is_short else turn)[-self.MOST :]


class RedactionReport(msgspec.Struct):
    """The number of replacements, by kind."""

    records: int = 0
    changed: int = 0
    """Records with a replacement."""
    replaced: dict[str, int] = {}

    def lines(self) -> list[str]:
        """The report in words."""
        total = sum(self.replaced.values())
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.replaced.items()))
        summary = f"redacted {total} places in {self.changed} of {self.records} records"
        if total or not self.records:
            return [f"{summary}: {kinds}" if kinds else summary]
        return [f"warning: {summary}; calls usually have some. {NOTHING_FOUND}"]

    def add(self, other: RedactionReport) -> None:
        """Add the numbers of another report."""
        self.records += other.records
        self.changed += other.changed
        for kind, count in other.replaced.items():
            self.replaced[kind] = self.replaced.get(kind, 0) + count


class Placeholder(NamedTuple):
    """A placeholder, and the kind of what it replaces."""

    text: str
    kind: DataKind


class Placeholders:
    """The placeholders of one call; a value has the same placeholder in all its records.

    A number has one placeholder whatever it is taken for: the same digits may be a telephone
    number where they are said and an account number where they are used.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._by_value: dict[str, Placeholder] = {}
        self.has_numbers = False
        """Whether a number was found by which other texts may refer to its value."""
        self._counts: dict[DataKind, int] = {}

    def get(self, span: PersonalDataSpan, written: str) -> str:
        """The placeholder of a value: `[PHONE_1]` for the first phone number of the call."""
        numbers = [*numbers_of(span, written)]
        self.has_numbers = self.has_numbers or bool(numbers)
        keys = numbers or [f"{span.kind}:{span.value}"]
        known = next((self._by_value[key] for key in keys if key in self._by_value), None)
        if known is None:
            count = self._counts[span.kind] = self._counts.get(span.kind, 0) + 1
            known = Placeholder(f"[{self._prefix}{span.kind.upper()}_{count}]", span.kind)
        for key in keys:
            self._by_value.setdefault(key, known)
        return known.text

    def of_number(self, digits: str) -> Placeholder | None:
        """The placeholder of a number that was found before; None if it is new."""
        return self._by_value.get(digits)


class Redactor:
    """Replaces personal data in texts and records."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self.report = RedactionReport()

    def finds(self, text: str) -> bool:
        """Whether the text contains personal data; nothing is counted."""
        return bool(self._finder.find(text))

    @contextmanager
    def one_record(self) -> Iterator[None]:
        """Count what is redacted inside as one record."""
        before = sum(self.report.replaced.values())
        yield
        self.report.records += 1
        self.report.changed += sum(self.report.replaced.values()) > before

    def redact_text(self, text: str, placeholders: Placeholders, before: str = "") -> str:
        """The text with a placeholder instead of every span of personal data.

        `before` is not redacted: a key or a question that may name what the text contains.
        """
        return self._redact_text(text, placeholders, Said(before))

    def _redact_text(self, text: str, placeholders: Placeholders, said: Said) -> str:
        """In a text of several lines, each line is read after the lines before it."""
        if is_json(text):
            return redact_json(text, self._redact_value_of(placeholders))
        return "\n".join(self._redact_line(line, placeholders, said) for line in text.split("\n"))

    def _redact_line(self, text: str, placeholders: Placeholders, said: Said) -> str:
        parts: list[str] = []
        at = 0
        spans = self._finder.find(text, said.text)
        for span in spans:
            parts += [
                self._redact_known(text[at : span.start], placeholders),
                placeholders.get(span, text[span.start : span.end]),
            ]
            at = span.end
            self._count(span.kind)
        said.add(text, is_answer=any(span.kind in SAID_AT_ONCE for span in spans))
        return "".join([*parts, self._redact_known(text[at:], placeholders)])

    def _redact_value_of(self, placeholders: Placeholders) -> Callable[[str, Any], Any]:
        """Redacts a value of a JSON text: a text, or a number of its key."""
        said = Said("")

        def redact(key: str, value: Any) -> Any:
            return self._redact(value, placeholders, said if key in SAID else Said(as_words(key)))

        return redact

    def _count(self, kind: DataKind) -> None:
        self.report.replaced[kind] = self.report.replaced.get(kind, 0) + 1

    def _redact_known(self, text: str, placeholders: Placeholders) -> str:
        """The text without the numbers that were found elsewhere in the call."""
        if not placeholders.has_numbers:
            return text
        known = [
            (start, end, placeholder)
            for start, end, digits in numbers_in(text)
            if (placeholder := placeholders.of_number(digits)) is not None
        ]
        for start, end, placeholder in reversed(known):
            text = text[:start] + placeholder.text + text[end:]
            self._count(placeholder.kind)
        return text

    def redact_record(
        self, record: Mapping[str, Any], placeholders: Placeholders | None = None
    ) -> dict[str, Any]:
        """The record with every text redacted; keys and ids are unchanged."""
        placeholders = placeholders if placeholders is not None else Placeholders()
        ordered = [*(key for key in REDACTED_FIRST if key in record), *record]
        with self.one_record():
            redacted = {
                key: record[key]
                if key in UNCHANGED_KEYS
                else self._redact(record[key], placeholders, Said(as_words(key)))
                for key in dict.fromkeys(ordered)
            }
            if placeholders.has_numbers:  # some were named only after they were first said
                redacted = self._redact_again(redacted, placeholders)
        return {key: redacted[key] for key in record}

    def _redact(self, value: Any, placeholders: Placeholders, said: Said) -> Any:
        if isinstance(value, str):
            return self._redact_text(value, placeholders, said)
        if isinstance(value, int) and value > 9999 and asked_for(said.text.lower()) is not None:
            redacted = self._redact_text(str(value), placeholders, said)
            return value if redacted == str(value) else redacted
        if isinstance(value, list):
            key = said.text
            is_turns = key in TURNS or any(isinstance(one, dict) for one in value)
            return [
                self._redact(one, placeholders, said if is_turns else Said(key)) for one in value
            ]
        if isinstance(value, dict):
            return {
                key: one
                if key in UNCHANGED_KEYS
                else self._redact(one, placeholders, said if key in SAID else Said(as_words(key)))
                for key, one in value.items()
            }
        return value

    def _redact_again(self, value: Any, placeholders: Placeholders) -> Any:
        """The value without numbers that are known by now."""
        if isinstance(value, str):
            return self._redact_known(value, placeholders)
        if isinstance(value, list):
            return [self._redact_again(one, placeholders) for one in value]
        if isinstance(value, dict):
            return {
                key: one if key in UNCHANGED_KEYS else self._redact_again(one, placeholders)
                for key, one in value.items()
            }
        return value
