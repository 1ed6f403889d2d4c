"""Texts of a record with stable placeholders instead of personal data, and a count of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.privacy.kinds import Finder, Kind

KEPT_KEYS = frozenset({"id", "call_id", "case_id", "task", "model", "question_id", "lang", "type"})
"""Names of things, not texts: they must stay as they are to be found again."""
FIRST = ("transcript", "question", "config")
"""Placeholders are numbered in the order of the call's own words."""


class RedactionReport(msgspec.Struct):
    """How much was replaced, by kind."""

    records: int = 0
    changed: int = 0
    """Records in which something was replaced."""
    replaced: dict[str, int] = {}

    def lines(self) -> list[str]:
        """The report in words."""
        total = sum(self.replaced.values())
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.replaced.items()))
        found = f"redacted {total} places in {self.changed} of {self.records} records"
        return [f"{found}: {kinds}" if kinds else found]


class Placeholders:
    """The placeholders of one call: the same value always gets the same one."""

    def __init__(self) -> None:
        self._by_value: dict[tuple[Kind, str], str] = {}
        self._counts: dict[Kind, int] = {}

    def of(self, kind: Kind, value: str) -> str:
        """`[PHONE_1]` for the first telephone number, `[PHONE_2]` for the next …"""
        known = self._by_value.get((kind, value))
        if known is None:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            known = self._by_value[kind, value] = f"[{kind.upper()}_{self._counts[kind]}]"
        return known


class Redactor:
    """Replaces personal data in records, call by call."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self.report = RedactionReport()

    def redact_text(self, text: str, placeholders: Placeholders) -> str:
        """The text with a placeholder in place of every finding."""
        findings = self._finder.find(text)
        if not findings:
            return text
        parts: list[str] = []
        at = 0
        for found in findings:
            parts += [text[at : found.start], placeholders.of(found.kind, found.value)]
            at = found.end
            counts = self.report.replaced
            counts[found.kind] = counts.get(found.kind, 0) + 1
        return "".join([*parts, text[at:]])

    def redact_record(
        self, record: Mapping[str, Any], placeholders: Placeholders | None = None
    ) -> dict[str, Any]:
        """A case or an output with every text redacted; keys and ids stay."""
        held = placeholders if placeholders is not None else Placeholders()
        before = sum(self.report.replaced.values())
        ordered = [*(key for key in FIRST if key in record), *record]
        done = {
            key: record[key] if key in KEPT_KEYS else self._redact(record[key], held)
            for key in dict.fromkeys(ordered)
        }
        self.report.records += 1
        self.report.changed += sum(self.report.replaced.values()) > before
        return {key: done[key] for key in record}

    def _redact(self, value: Any, placeholders: Placeholders) -> Any:
        if isinstance(value, str):
            return self.redact_text(value, placeholders)
        if isinstance(value, list):
            return [self._redact(one, placeholders) for one in value]
        if isinstance(value, dict):
            return {
                key: one if key in KEPT_KEYS else self._redact(one, placeholders)
                for key, one in value.items()
            }
        return value
