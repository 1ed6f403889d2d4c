"""Replaces personal data in records by stable placeholders, and counts the replacements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.privacy.finder import DataKind, Finder

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


class Placeholders:
    """The placeholders of one call; a value has the same placeholder in all its records."""

    def __init__(self) -> None:
        self._by_value: dict[tuple[DataKind, str], str] = {}
        self._counts: dict[DataKind, int] = {}

    def get(self, kind: DataKind, value: str) -> str:
        """The placeholder of a value: `[PHONE_1]` for the first phone number of the call."""
        known = self._by_value.get((kind, value))
        if known is None:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            known = self._by_value[kind, value] = f"[{kind.upper()}_{self._counts[kind]}]"
        return known


class Redactor:
    """Replaces personal data in texts and records."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self.report = RedactionReport()

    def redact_text(self, text: str, placeholders: Placeholders) -> str:
        """The text with a placeholder instead of every span of personal data."""
        spans = self._finder.find(text)
        if not spans:
            return text
        parts: list[str] = []
        at = 0
        for span in spans:
            parts += [text[at : span.start], placeholders.get(span.kind, span.value)]
            at = span.end
            counts = self.report.replaced
            counts[span.kind] = counts.get(span.kind, 0) + 1
        return "".join([*parts, text[at:]])

    def redact_record(
        self, record: Mapping[str, Any], placeholders: Placeholders | None = None
    ) -> dict[str, Any]:
        """The record with every text redacted; keys and ids are unchanged."""
        placeholders = placeholders if placeholders is not None else Placeholders()
        before = sum(self.report.replaced.values())
        ordered = [*(key for key in REDACTED_FIRST if key in record), *record]
        redacted = {
            key: record[key] if key in UNCHANGED_KEYS else self._redact(record[key], placeholders)
            for key in dict.fromkeys(ordered)
        }
        self.report.records += 1
        self.report.changed += sum(self.report.replaced.values()) > before
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
