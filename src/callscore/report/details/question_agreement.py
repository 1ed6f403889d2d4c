"""Agreement by QA question: how often each model gives the mark of the human, and its errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.report.details.decoded_case import (
    DecodedCase,
    as_mapping,
    as_number,
    as_objects,
    has_reply,
)
from callscore.report.details.form_marks import (
    FormReader,
    QuestionText,
    marks_agree,
    question_texts,
    score_margin,
)


class AgreementCounts(msgspec.Struct):
    """The agreement of one model on one question, over all calls with the question."""

    asked: int = 0
    agreed: int = 0
    false_pass: int = 0
    """Full marks where the human gave zero (C-35)."""
    false_fail: int = 0
    """Zero where the human gave full marks."""
    not_applicable: int = 0
    """Only the model or only the human says that the question does not apply."""
    unanswered: int = 0

    @property
    def agreement(self) -> float | None:
        """agreed / asked"""
        return self.agreed / self.asked if self.asked else None

    @property
    def in_words(self) -> str:
        """The agreement in a few words, with the passes that the human did not give."""
        if not self.asked:
            return "not asked"
        words = "1 false pass" if self.false_pass == 1 else f"{self.false_pass} false passes"
        return f"{self.agreed} of {self.asked}" + (f", {words}" if self.false_pass else "")


class QuestionAgreement(msgspec.Struct):
    """A question of a form, identified by id and text, with the counts of each model."""

    id: str
    shown: QuestionText
    models: dict[str, AgreementCounts]

    @property
    def agreement(self) -> float:
        """agreed / asked, over all models"""
        asked = sum(count.asked for count in self.models.values())
        return sum(count.agreed for count in self.models.values()) / asked if asked else 1.0


NOT_ASKED = AgreementCounts()


class QuestionCounter:
    """Counts every question of every case with questions."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._forms = FormReader()
        self._questions: dict[tuple[str, str], QuestionAgreement] = {}

    def add(self, case: DecodedCase) -> None:
        """Count the marks of one case; nothing if it has no questions."""
        config = case.view.case.config
        texts = question_texts(config, self._forms.form(config))
        margin = score_margin(self._settings, case.view.case.task)
        for expected in as_objects(case.expected.get("questions")):
            number = str(expected.get("question_id"))
            shown = texts.get(number, QuestionText(""))
            key = (number, shown.text)
            question = self._questions.get(key)
            if question is None:
                question = self._questions[key] = QuestionAgreement(number, shown, {})
            for decoded in case.answers:
                if not has_reply(decoded):
                    continue
                count = question.models.setdefault(decoded.answer.model, AgreementCounts())
                _count(count, expected, _mark_of(decoded.given, number), margin)

    def worst_first(self) -> Sequence[QuestionAgreement]:
        """Return every question, the one with the lowest agreement first."""
        return sorted(self._questions.values(), key=lambda found: (found.agreement, found.id))


def _mark_of(given: Mapping[str, Any] | None, number: str) -> Mapping[str, Any] | None:
    for mark in as_objects(as_mapping(given).get("questions")):
        if str(mark.get("question_id")) == number:
            return mark
    return None


def _count(
    count: AgreementCounts,
    expected: Mapping[str, Any],
    mark: Mapping[str, Any] | None,
    margin: float,
) -> None:
    count.asked += 1
    if mark is None:
        count.unanswered += 1
        return
    count.agreed += marks_agree(expected, mark.get("score"), margin)
    wanted, given = as_number(expected.get("score")), as_number(mark.get("score"))
    if wanted is None or given is None:
        count.not_applicable += wanted is not given
        return
    full = as_number(expected.get("max_score")) or 0.0
    count.false_pass += wanted == 0 and given >= full > 0
    count.false_fail += given == 0 and wanted >= full > 0
