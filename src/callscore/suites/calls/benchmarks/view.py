"""One reply as the benchmarks see it, for any task: its texts and its instructions (C-92, C-96)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Case, JsonObject
from callscore.core.judging import Item, Question, Verdicts
from callscore.metrics.text import item_id, n1
from callscore.suites.calls.benchmarks.words import (
    CORRECTNESS,
    INSTRUCTIONS,
    OFFERED,
    OUTPUT,
    RELEVANCY,
)
from callscore.suites.calls.items import is_confirmed, is_empty
from callscore.suites.calls.text.measures import Findings
from callscore.suites.calls.text.summary import CountedClaims

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


def similarity_questions(view: ReplyView) -> list[Question]:
    """Questions to the embedder: the reply and the question of the case, if any; the reference."""
    case = view.case
    metrics = (RELEVANCY, CORRECTNESS) if case.question else (RELEVANCY,)
    return [
        Question(metric, OUTPUT, view.text, _target(view, metric))
        for metric in metrics
        if _cosine_by_code(view, metric) is None
    ]


def similarity_of(view: ReplyView, metric: str, verdicts: Verdicts) -> float | None:
    """1 if the texts are equal, 0 if one is empty, else the lowest similarity        C-92"""
    by_code = _cosine_by_code(view, metric)
    if by_code is not None:
        return by_code
    # without a question both criteria compare the same two texts
    metrics = (metric,) if view.case.question else (RELEVANCY, CORRECTNESS)
    values = [v.value for name in metrics for v in verdicts.get(Item(name, OUTPUT), ())]
    return min((value for value in values if value is not None), default=None)


def _cosine_by_code(view: ReplyView, metric: str) -> float | None:
    """1 or 0 if that needs no embedder, else None."""
    target = _target(view, metric)
    if view.text == target or n1(view.text) == n1(target):
        return 1.0
    return None if view.text.strip() and target.strip() else 0.0


def _target(view: ReplyView, metric: str) -> str:
    """The text that the reply is compared with."""
    if metric == RELEVANCY and view.case.question:
        return view.case.question
    return view.expected_text


KEPT_BY_SHAPE = (True, True)
"""Valid JSON, and exactly the requested keys: a parsed reply has followed both."""


def instructions_of(case: Case) -> Sequence[str]:
    """`config.instructions`, one text or several; other values are shown as JSON."""
    given = case.config.get("instructions")
    entries = given if isinstance(given, list) else [given]
    return [
        entry if isinstance(entry, str) else json.dumps(entry, ensure_ascii=False)
        for entry in entries
        if not is_empty(entry)
    ]


def instruction_questions(view: ReplyView) -> list[Question]:
    """For every free-text instruction: was it followed?"""
    return [
        Question(
            INSTRUCTIONS,
            _item_id(number),
            instruction,
            view.text,
            OFFERED[INSTRUCTIONS],
            "model_output",
        )
        for number, instruction in enumerate(instructions_of(view.case), start=1)
    ]


def instruction_findings(
    view: ReplyView, rules: Sequence[bool], verdicts: Verdicts, flags: set[str]
) -> Findings:
    """For every instruction, those of the task first: was it followed?"""
    free = [
        is_confirmed(verdicts, Item(INSTRUCTIONS, _item_id(number)), "followed", flags)
        for number, _ in enumerate(instructions_of(view.case), start=1)
    ]
    return [*KEPT_BY_SHAPE, *rules, *free]


def _item_id(number: int) -> str:
    return f"instruction:{number}"
