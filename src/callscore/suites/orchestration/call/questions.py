"""What is asked about an argument value that code cannot decide, and who may answer."""

from __future__ import annotations

from typing import Protocol

from callscore.core.judging import Item, Question, Verdict
from callscore.core.ports import VerdictSource

METRIC = "orchestration.argument_value"
SAME = "same"
DIFFERENT = "different"


class Answers(Protocol):
    """Something that may know whether two argument values mean the same."""

    def answer(self, case_id: str, run: int, question: Question) -> Verdict | None:
        """The verdict on this question, or None where nobody gave one."""
        ...


class Unanswered:
    """Nobody is asked."""

    def answer(self, case_id: str, run: int, question: Question) -> Verdict | None:
        """Always None."""
        return None


class Recorded:
    """Verdicts that stand in a file or a stored run, for one model."""

    def __init__(self, source: VerdictSource, model: str) -> None:
        self._source = source
        self._model = model

    def answer(self, case_id: str, run: int, question: Question) -> Verdict | None:
        """The last verdict recorded for this item."""
        verdicts = self._source.verdicts_on(case_id, self._model, run)
        found = verdicts.get(Item(question.metric, question.item), ())
        return found[-1] if found else None


def same_meaning(item: str, predicted: str, expected: str) -> Question:
    """Do these two values of one argument mean the same?"""
    return Question(METRIC, item, text=predicted, reference=expected, offered=(SAME, DIFFERENT))
