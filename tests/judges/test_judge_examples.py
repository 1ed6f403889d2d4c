"""Worked examples of the judged metrics, from the answer through a judge to the value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from callscore.core.case import Case
from callscore.core.judging import JudgeResult
from callscore.judges.fakes import (
    FakeVerdict,
    LiteralModel,
    ParsedPrompt,
    PromptItem,
    ScriptedJudge,
)
from callscore.judges.llm import LLMJudge
from callscore.judges.rubric import built_in_library
from judge_cases import judge, judge_request_of
from judge_examples import EXAMPLES, TASKS, measures_of


class Telling(LiteralModel):
    """Gives the words of a script, with a quote that holds; other items are read literally."""

    def __init__(self, script: Mapping[str, str]) -> None:
        super().__init__("telling")
        self._script = script

    def entry(self, item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
        word = self._script.get(item.text) or self._script.get(item.against)
        rubric = built_in_library().rubrics[item.rubric]
        if word is None or word not in rubric.words:
            return super().entry(item, seen)
        places = rubric.evidence.get(word, ())
        if "turn" in places:
            name, text = next(iter(seen.turns.items()))
            return FakeVerdict(text, name, word)
        if "answer" in places:
            own = item.against if rubric.against_from == "answer" else item.text
            return FakeVerdict(own.split("\n")[0], "model_output", word)
        return FakeVerdict("", "none", word)


@pytest.mark.parametrize(("example", "script", "metric", "value"), EXAMPLES)
def test_a_scripted_model_behind_the_llm_judge(
    example: tuple[Case, dict[str, Any]], script: Mapping[str, str], metric: str, value: float
) -> None:
    case, answer = example
    task = TASKS[case.task]
    judged = judge(judge_request_of(task, case, answer), LLMJudge(Telling(script)))
    assert isinstance(judged, JudgeResult), judged
    assert (judged.requests, list(judged.void)) == (1, [])
    assert measured(case, answer, judged)[metric] == pytest.approx(value)


@pytest.mark.parametrize(("example", "script", "metric", "value"), EXAMPLES)
def test_a_scripted_judge(
    example: tuple[Case, dict[str, Any]], script: Mapping[str, str], metric: str, value: float
) -> None:
    case, answer = example
    given = judge_request_of(TASKS[case.task], case, answer)
    scripted = ScriptedJudge(
        lambda q: next(
            (
                word
                for word in (script.get(q.text), script.get(q.reference), *q.offered)
                if word in q.offered
            ),
            None,
        )
    )
    judged = judge(given, scripted)
    assert isinstance(judged, JudgeResult), judged
    assert measured(case, answer, judged)[metric] == pytest.approx(value)


def measured(case: Case, answer: object, judged: JudgeResult) -> dict[str, float | None]:
    """The values of an answer with a judge's verdicts."""
    found = measures_of(case, answer, judged)
    return {slug: measure.value for slug, measure in found.items()}
