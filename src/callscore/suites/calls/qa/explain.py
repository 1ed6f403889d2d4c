"""The questions that counted against a QA form."""

from __future__ import annotations

from callscore.core.case import JsonObject
from callscore.core.judging import Verdicts
from callscore.core.task import Faults
from callscore.metrics.forms.form import imported_question, mark_in_words
from callscore.scorecard.five_key_records import quote
from callscore.suites.calls.qa.measures import (
    EVIDENCE,
    MOST_POINTS,
    Mark,
    evidence_points,
    is_correct,
    is_false_pass,
    normalised_gap,
    reason_of,
)
from callscore.suites.calls.qa.reference import QAReference
from callscore.suites.calls.qa.task import QAOutput, mark_of


def faults(reference: QAReference, output: QAOutput, verdicts: Verdicts) -> Faults:
    """Wrongly scored questions with both scores, the widest gap first, and reasons short of points.

    A reason that awaits its verdict is not included.
    """
    applicable = [q for q in reference.questions.values() if q.score is not None]
    marks = [mark_of(question, output.by_id.get(question.id), set()) for question in applicable]
    marks.sort(key=normalised_gap, reverse=True)
    margin, config = reference.settings.score_margin_fraction, reference.case.config
    return {
        "qa.question_score_accuracy": [
            _marks_of(mark, config) for mark in marks if not is_correct(mark, margin)
        ],
        "qa.score_gap_accuracy": [
            _marks_of(mark, config) for mark in marks if normalised_gap(mark) > 0
        ],
        "qa.false_pass_rate": [
            _marks_of(mark, config)
            for mark in marks
            if mark.question.pass_fail and is_false_pass(mark)
        ],
        EVIDENCE: [
            f"{quote(question.id)} ({points} of {MOST_POINTS} points)"
            for question in applicable
            if (
                points := evidence_points(
                    reason_of(output.by_id.get(question.id)), question, verdicts, set()
                )
            )
            is not None
            and points < MOST_POINTS
        ],
    }


def _marks_of(mark: Mark, config: JsonObject) -> str:
    """Both marks of a question, in the words of its form if it was imported with one."""
    question = mark.question
    asked = imported_question(config, question.id)

    def shown(points: float | None) -> str:
        if points is None:
            return "no score"
        return f"{points:g}" if asked is None else mark_in_words(asked, points)

    scale = "" if mark.same_scale else " on another scale"
    given, expected = shown(mark.given), shown(question.score)
    return f"{quote(question.id)} (given {given}{scale}, expected {expected})"
