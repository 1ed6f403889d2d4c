"""Replaces personal data in records by stable placeholders, and counts the replacements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from callscore.privacy.finder import (
    NUMBER,
    DataKind,
    Finder,
    PersonalDataSpan,
    digits_of,
    numbers_of,
)

UNCHANGED_KEYS = frozenset(
    {"id", "call_id", "case_id", "task", "model", "question_id", "lang", "type"}
)
"""Identifiers and names, which are not redacted: other records refer to them."""
REDACTED_FIRST = ("transcript", "question", "config")
"""Placeholders are numbered in the order of these keys, then of the others."""


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
        return [f"{summary}: {kinds}" if kinds else summary]


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
        self._counts: dict[DataKind, int] = {}

    def get(self, span: PersonalDataSpan, written: str) -> str:
        """The placeholder of a value: `[PHONE_1]` for the first phone number of the call."""
        keys = [*numbers_of(span, written)] or [f"{span.kind}:{span.value}"]
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
        parts: list[str] = []
        at = 0
        for span in self._finder.find(text, before):
            parts += [
                self._redact_known(text[at : span.start], placeholders),
                placeholders.get(span, text[span.start : span.end]),
            ]
            at = span.end
            self._count(span.kind)
        return "".join([*parts, self._redact_known(text[at:], placeholders)])

    def _count(self, kind: DataKind) -> None:
        self.report.replaced[kind] = self.report.replaced.get(kind, 0) + 1

    def _redact_known(self, text: str, placeholders: Placeholders) -> str:
        """The text without the numbers that were found elsewhere in the call."""

        def replace(match: re.Match[str]) -> str:
            known = placeholders.of_number(digits_of(match[0]))
            if known is None:
                return match[0]
            self._count(known.kind)
            return known.text

        return NUMBER.sub(replace, text)

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
                else self._redact(record[key], placeholders)
                for key in dict.fromkeys(ordered)
            }
        return {key: redacted[key] for key in record}

    def _redact(self, value: Any, placeholders: Placeholders) -> Any:
        if isinstance(value, str):
            return self.redact_text(value, placeholders)
        if isinstance(value, list):
            return [self._redact(one, placeholders) for one in value]
        if isinstance(value, dict):
            return {
                key: one if key in UNCHANGED_KEYS else self._redact(one, placeholders)
                for key, one in value.items()
            }
        return value
