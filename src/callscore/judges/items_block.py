"""The items as a judge sees them: one JSON object each, with everything needed to answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from callscore.judges.case_block import json_lines
from callscore.judges.delimiters import escape_text
from callscore.judges.evidence import PLACES
from callscore.judges.items import JudgeItem
from callscore.judges.rubric import Rubric


def item_lines(items_by_id: Mapping[str, JudgeItem], *, has_answer: bool) -> Sequence[str]:
    """The items as a JSON list, each object on a few lines."""
    lines = ["["]
    for key, asked in items_by_id.items():
        opening, allowed = _rubric_lines(asked.rubric)
        lines += (
            "  {",
            f'    "id": "{key}",',
            *opening,
            f'    "claim": {escape_text(asked.text)},',
            f'    "compare_with": {escape_text(comparison_text(asked, has_answer))},',
            *allowed,
            "  },",
        )
    lines[-1] = "  }"
    return [*lines, "]"]


def _rubric_lines(rubric: Rubric) -> tuple[Sequence[str], Sequence[str]]:
    """The lines that all items of a rubric share, before and after their texts."""
    kept = _LINES.get(rubric.name)
    if kept is None or kept[0] is not rubric:
        allowed = [_allowed_verdict(rubric, word) for word in rubric.words]
        first, *rest = json_lines(allowed)
        opening = [
            f'    "metric": {escape_text(rubric.metric)},',
            f'    "question": {escape_text(rubric.question)},',
        ]
        closing = [f'    "allowed_verdicts": {first}', *(f"    {line}" for line in rest)]
        kept = _LINES[rubric.name] = rubric, (opening, closing)
    return kept[1]


_LINES: dict[str, tuple[Rubric, tuple[Sequence[str], Sequence[str]]]] = {}


def comparison_text(asked: JudgeItem, has_answer: bool) -> str:
    """The place, if the text is shown anyway; else the text."""
    is_shown = has_answer or not asked.place.startswith("model_output")
    return asked.rubric.comparison(asked.place if asked.place and is_shown else asked.against)


def _allowed_verdict(rubric: Rubric, word: str) -> Mapping[str, str]:
    allowed = {"verdict": word, "means": rubric.definition(word)}
    if places := rubric.evidence.get(word):
        allowed["needs_quote_from"] = " or ".join(PLACES[place] for place in places)
    return allowed
