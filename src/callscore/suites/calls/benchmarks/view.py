"""One reply as the benchmarks see it, for any task, and what they find in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Case, JsonObject
from callscore.metrics.text import item_id
from callscore.suites.calls.text.fabrication import CountedClaims
from callscore.suites.calls.text.measures import Findings

ID_KEYS = frozenset({"question_id", "sentence_id", "source_id"})


def text_of(value: Any) -> str:
    """All string values in document order, one per line, without keys and ids        C-92"""
    return "\n".join(_strings(value))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in ID_KEYS:
                yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


class ReplyView(msgspec.Struct, frozen=True, dict=True):
    """One well-formed reply: the case's reference, the output as its task parsed it, its JSON."""

    case: Case
    reference: Any
    output: Any
    value: JsonObject
    padding_factor: float
    """How many supported claims count, as a multiple of the reference's facts (C-136)."""

    @cached_property
    def text(self) -> str:
        """The whole text of the reply."""
        return text_of(self.value)

    @cached_property
    def expected_text(self) -> str:
        """The whole text of the reference."""
        return text_of(self.case.expected_outcome)


class FactFindings(NamedTuple):
    """For each fact of the reference whether the reply has it, and the other way round."""

    expected: Findings
    given: Findings


class ClosedFields(NamedTuple):
    """Closed fields that agree, of all that were expected or predicted        C-97"""

    matches: int
    fields: int


class ReplyFindings(msgspec.Struct, frozen=True):
    """What the criteria count in one reply        C-90"""

    claims: CountedClaims
    """Every claim: is it supported?"""
    facts: FactFindings
    closed: ClosedFields
    rules: Sequence[bool]
    """The instructions that code checks."""
    steps: Sequence[float | None] = ()
    """The points of each argument."""


class IdUsage(NamedTuple):
    """How a reply uses the ids of its prompt."""

    once: bool
    """Every expected id occurs exactly once."""
    unexpected: Sequence[Mapping[str, Any]]
    """Items under other ids, the first of each id."""


def id_usage(items: Sequence[Mapping[str, Any]], key: str, expected: Mapping[str, Any]) -> IdUsage:
    """Compare the ids of a reply with the expected ones."""
    seen: dict[str, int] = {}
    unexpected: list[Mapping[str, Any]] = []
    for item in items:
        given = item_id(item.get(key))
        seen[given] = seen.get(given, 0) + 1
        if given not in expected and seen[given] == 1:
            unexpected.append(item)
    return IdUsage(all(seen.get(key_) == 1 for key_ in expected), unexpected)
