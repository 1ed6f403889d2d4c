"""The QA task: prompt · read · ask · measure (003 Task 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Malformed, Prompt, Reply
from callscore.core.judging import Question, Verdicts
from callscore.core.measure import ABSENT, MALFORMED, Measure, ratio
from callscore.core.rating import TOLERANCE, holds
from callscore.core.task import Measured
from callscore.suites.calls.items import match, number
from callscore.suites.calls.prompting import build_prompt
from callscore.suites.calls.qa import evidence
from callscore.suites.calls.qa import measures as formulas
from callscore.suites.calls.qa.evidence import EVIDENCE, OFFERED
from callscore.suites.calls.qa.measures import Mark
from callscore.suites.calls.qa.reference import (
    SAMPLE_ITEMS,
    FormQuestion,
    QAReference,
    read_reference,
)
from callscore.suites.calls.reading import read_shaped
from callscore.suites.calls.spec import Settings
from callscore.suites.calls.structure import Sources

__all__ = ["OFFERED", "QAOutput", "QATask", "mark_of"]


class QAOutput(msgspec.Struct, frozen=True, gc=False):
    """The model's form, matched to the human's by question id."""

    by_id: Mapping[str, Mapping[str, Any]]
    flags: Sequence[str]


class QATask:
    """Scores a QA form with reasons."""

    name = "qa"

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._sources = Sources(SAMPLE_ITEMS, "question_id", settings.open_maps)

    def reference(self, case: Case) -> QAReference:
        """The human's form, checked (C-20)."""
        return read_reference(case, self.settings, self._sources)

    def prompt(self, case: Case) -> Prompt:
        """The form and the transcript."""
        return build_prompt("qa", case)

    def read(self, reference: QAReference, reply: Reply) -> QAOutput | Malformed:
        """The model's form, or why it cannot be scored."""
        parsed = read_shaped(reply, reference.structure, self.settings.parse)
        if isinstance(parsed, Malformed):
            return parsed
        matched = match(parsed.value.get("questions", []), "question_id", reference.questions)
        return QAOutput(matched.by_id, (*parsed.flags, *matched.flags))

    def ask(self, reference: QAReference, output: QAOutput) -> Sequence[Question]:
        """Every reason that code cannot decide."""
        if reference.case.is_absent("reason"):
            return []
        return [
            Question(EVIDENCE, question.id, reason, question.reason, OFFERED[EVIDENCE])
            for question in reference.questions.values()
            if question.score is not None
            and (reason := evidence.reason_of(output.by_id, question)) is not None
            and evidence.points_by_code(reason, question.reason) is None
        ]

    def measure(
        self, reference: QAReference, output: QAOutput | Malformed, verdicts: Verdicts
    ) -> Measured:
        """All QA measures of one answer."""
        reasons_absent = reference.case.is_absent("reason")
        if isinstance(output, Malformed):
            return _malformed(reasons_absent, output)
        flags = set(output.flags)
        applicable = [q for q in reference.questions.values() if q.score is not None]
        marks = [mark_of(question, output.by_id.get(question.id), flags) for question in applicable]
        _note_not_applicable(reference, output, flags)
        backed = ABSENT
        if not reasons_absent:
            backed = formulas.evidence_backed_reasoning(
                _points(applicable, output, verdicts, flags)
            )
        return Measured(
            {
                "qa.question_score_accuracy": formulas.question_score_accuracy(
                    marks, self.settings.score_margin_fraction
                ),
                "qa.score_gap_accuracy": formulas.score_gap_accuracy(marks),
                EVIDENCE: backed,
                "qa.false_pass_rate": formulas.false_pass_rate(marks),
                "qa.structure": ratio(1, 1),
            },
            sorted(flags),
            {
                "qa.false_pass_rate/false_pass_rate_of_failures": (
                    formulas.false_pass_rate_of_failures(marks)
                ),
                "qa.false_pass_rate/score_type_false_passes": (
                    formulas.score_type_false_passes(marks)
                ),
            },
        )


def _malformed(reasons_absent: bool, output: Malformed) -> Measured:
    missing: dict[str, Measure] = {
        "qa.question_score_accuracy": MALFORMED,
        "qa.score_gap_accuracy": MALFORMED,
        EVIDENCE: ABSENT if reasons_absent else MALFORMED,
        "qa.false_pass_rate": MALFORMED,
        "qa.structure": ratio(0, 1),
    }
    return Measured(missing, (output.cause,))


def mark_of(question: FormQuestion, item: Mapping[str, Any] | None, flags: set[str]) -> Mark:
    """One question as the model marked it; what is odd about it is flagged."""
    if item is None:
        flags.add("missing_item")
        return Mark(question, None)
    given, maximum = number(item.get("score")), number(item.get("max_score"))
    same_scale = maximum is not None and abs(maximum - question.max_score) <= TOLERANCE
    if given is None:
        flags.add("bad_scalar")
        return Mark(question, None)
    if not 0 <= given <= question.max_score:
        given = _brought_to_scale(given, question.max_score)
        if not 0 <= given <= question.max_score:
            flags.add("score_out_of_range")
    full = holds(given, ">=", question.max_score)
    full = full or (maximum is not None and maximum > 0 and holds(given, ">=", maximum))
    mark = Mark(question, given, same_scale, full)
    if not same_scale:
        flags.add("max_score_differs")
    if formulas.is_partial_on_pass_fail(mark):
        flags.add("partial_on_pass_fail")
    if item.get("type") != question.type:
        flags.add("type_differs")
    return mark


def _brought_to_scale(given: float, maximum: float) -> float:
    """The end of the scale that a score misses by no more than the tolerance        C-08"""
    ends = (end for end in (0.0, maximum) if abs(given - end) <= TOLERANCE)
    return next(ends, given)


def _note_not_applicable(reference: QAReference, output: QAOutput, flags: set[str]) -> None:
    for question in reference.questions.values():
        if question.score is None:
            item = output.by_id.get(question.id)
            if item is not None and item.get("score") is not None:
                flags.add("na_scored")


def _points(
    applicable: Sequence[FormQuestion], output: QAOutput, verdicts: Verdicts, flags: set[str]
) -> list[int | None]:
    return [
        evidence.points(evidence.reason_of(output.by_id, question), question, verdicts, flags)
        for question in applicable
    ]
