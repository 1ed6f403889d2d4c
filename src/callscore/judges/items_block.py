"""The items as a judge reads them: one JSON object each, with everything needed to answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from callscore.judges.case_block import json_lines
from callscore.judges.evidence import PLACES
from callscore.judges.rubric import Rubric
from callscore.judges.sheet import Asked


def item_lines(sheet: Mapping[str, Asked], *, has_answer: bool) -> Sequence[str]:
    """The items as a JSON list, each object laid out over a few lines."""
    return json_lines([item_object(key, asked, has_answer) for key, asked in sheet.items()])


def item_object(key: str, asked: Asked, has_answer: bool) -> Mapping[str, Any]:
    """Id, metric, question, claim, what to compare it with, and the words to choose from."""
    rubric = asked.rubric
    return {
        "id": key,
        "metric": rubric.metric,
        "question": rubric.question,
        "claim": asked.text,
        "compare_with": compared_with(asked, has_answer),
        "allowed_verdicts": [_allowed(rubric, word) for word in rubric.words],
    }


def compared_with(asked: Asked, has_answer: bool) -> str:
    """The place, where it is a part of what is shown anyway; else the text."""
    is_shown = has_answer or not asked.place.startswith("model_output")
    return asked.rubric.compared(asked.place if asked.place and is_shown else asked.against)


def _allowed(rubric: Rubric, word: str) -> Mapping[str, str]:
    allowed = {"verdict": word, "means": rubric.anchor(word)}
    if places := rubric.evidence.get(word):
        allowed["needs_quote_from"] = " or ".join(PLACES[place] for place in places)
    return allowed
