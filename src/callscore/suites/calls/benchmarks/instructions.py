"""The free-text instructions of a config, besides those that code checks (C-96)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from callscore.core.case import Case
from callscore.core.judging import Item, Question, Verdicts
from callscore.suites.calls.benchmarks.view import ReplyView
from callscore.suites.calls.benchmarks.words import INSTRUCTIONS, OFFERED
from callscore.suites.calls.items import is_confirmed, is_empty
from callscore.suites.calls.text.measures import Findings

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


def questions(view: ReplyView) -> list[Question]:
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
