"""The free-text instructions of a config, beside those that code checks (C-96)."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.core.judging import Item, Question, Verdicts
from callscore.suites.calls.benchmarks.answers import text_of
from callscore.suites.calls.benchmarks.measures import Findings
from callscore.suites.calls.benchmarks.view import Subject, finding
from callscore.suites.calls.benchmarks.words import INSTRUCTIONS, OFFERED

KEPT_BY_SHAPE = (True, True)
"""Valid JSON, and exactly the wanted keys: an answer that was read has kept both."""


def instructions_of(case: Case) -> Sequence[str]:
    """`config.instructions`; raises DataError where it is neither text nor a list of texts."""
    given = case.config.get("instructions")
    entries = [given] if isinstance(given, str) else given or []
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise DataError("expected text, or an array of texts", field="config.instructions")
    return [entry for entry in entries if entry.strip()]


def questions(subject: Subject) -> list[Question]:
    """Of every free instruction: was it followed?"""
    return [
        Question(INSTRUCTIONS, _item(number), text_of(subject.value), wanted, OFFERED[INSTRUCTIONS])
        for number, wanted in enumerate(instructions_of(subject.case), start=1)
    ]


def followed(
    subject: Subject, rules: Sequence[bool], verdicts: Verdicts, flags: set[str]
) -> Findings:
    """Every instruction, those of the task first: was it followed?"""
    free = [
        finding(verdicts, Item(INSTRUCTIONS, _item(number)), "followed", flags)
        for number, _ in enumerate(instructions_of(subject.case), start=1)
    ]
    return [*KEPT_BY_SHAPE, *rules, *free]


def _item(number: int) -> str:
    return f"instruction:{number}"
