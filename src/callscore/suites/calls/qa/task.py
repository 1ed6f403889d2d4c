"""The QA task: prompt · read · ask · measure (003 Task 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from callscore.core.case import Case, JsonObject, Malformed, Prompt, Reply
from callscore.core.judging import Question, Verdicts
from callscore.core.measure import ABSENT, MALFORMED, Measure
from callscore.core.spec import TOLERANCE
from callscore.core.task import FloorTally, Measured, Needs
from callscore.suites.calls.call_task import CallTask
from callscore.suites.calls.items import match_items, number
from callscore.suites.calls.prompt import OMITTED, asked_questions, build_prompt, reply_form
from callscore.suites.calls.qa import measures as formulas
from callscore.suites.calls.qa.measures import EVIDENCE, OFFERED, Mark
from callscore.suites.calls.qa.reference import (
    SAMPLE_ITEMS,
    ExpectedQuestion,
    QAReference,
    read_reference,
)
from callscore.suites.calls.reply_parser import StructureSources, parse_reply, structure_of
from callscore.suites.calls.spec import Settings
from callscore.suites.calls.structure import COMPLIES, DIFFERS

if TYPE_CHECKING:
    from callscore.core.scorecard import ModelScore
    from callscore.scorecard.tally import TaskTally


PASS_FAIL, SCORE = "PASS_FAIL", "SCORE"


def bind_to_form(schema: JsonObject, questions: Sequence[JsonObject]) -> JsonObject:
    """The schema with one alternative per question of the form, and as many entries."""
    properties = schema["properties"]
    array = properties.get("questions")
    if array is None or not questions:
        return schema
    bound = [_bind_entry(array["items"], question) for question in questions]
    items = bound[0] if len(bound) == 1 else {"anyOf": bound}
    number = len(questions)
    array = {**array, "items": items, "minItems": number, "maxItems": number}
    return {**schema, "properties": {**properties, "questions": array}}


def _bind_entry(entry: JsonObject, question: JsonObject) -> JsonObject:
    """The schema of one entry: id, scale and type as in the form, and the marks they allow."""
    fixed = {name: {"enum": [question[name]]} for name in ("max_score", "type") if name in question}
    named = {"question_id": {"enum": [str(question["question_id"])]}}
    bounds = {**named, **fixed, **_mark_bounds(question)}
    members: Mapping[str, Any] = entry["properties"]
    return {
        **entry,
        "properties": {
            name: {**_without_enum(inner), **bounds.get(name, {})}
            for name, inner in members.items()
        },
    }


def _mark_bounds(question: JsonObject) -> JsonObject:
    """PASS_FAIL: nothing or everything; SCORE: between; null where the question does not apply."""
    highest = question.get("max_score")
    if isinstance(highest, bool) or not isinstance(highest, (int, float)):
        return {}
    if question.get("type") == PASS_FAIL:
        return {"score": {"enum": [0, highest, None]}}
    return {"score": {"minimum": 0, "maximum": highest}} if question.get("type") == SCORE else {}


def _without_enum(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key != "enum"}


__all__ = ["OFFERED", "QAOutput", "QATask", "mark_of"]


class QAOutput(msgspec.Struct, frozen=True, gc=False):
    """The model's form, matched to the human's by question id."""

    by_id: Mapping[str, Mapping[str, Any]]
    flags: Sequence[str]


class QATask(CallTask[QAReference, QAOutput]):
    """Scores a QA form with reasons."""

    name = "qa"

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._sources = StructureSources(
            SAMPLE_ITEMS, "question_id", settings.open_maps, form=reply_form("qa")
        )

    def reference(self, case: Case) -> QAReference:
        """The expected form, checked (C-20)."""
        return read_reference(case, self.settings, self._sources)

    def prompt(self, case: Case) -> Prompt:
        """The form and the transcript."""
        structure, questions = structure_of(case, self._sources), asked_questions(case)
        asked: dict[str, Any] = {"questions": questions}
        form = case.config.get("form")
        if isinstance(form, dict) and "sections" in form:  # `questions` were taken from it (C-139)
            asked["form"] = OMITTED
        prompt = build_prompt(case, asked, structure)
        if self.settings.schema != "form" or prompt.schema is None:
            return prompt
        return msgspec.structs.replace(prompt, schema=bind_to_form(prompt.schema, questions))

    def read(self, reference: QAReference, reply: Reply) -> QAOutput | Malformed:
        """The model's form, or why it cannot be scored."""
        parsed = parse_reply(reply, reference.structure, self.settings.parse)
        if isinstance(parsed, Malformed):
            return parsed
        matched = match_items(parsed.value.get("questions", ()), "question_id", reference.questions)
        return QAOutput(matched.by_id, parsed.flags + matched.flags)

    def ask(self, reference: QAReference, output: QAOutput) -> Sequence[Question]:
        """One question for every reason that code cannot decide."""
        if reference.reasons_absent:
            return []
        return [
            Question(EVIDENCE, question.id, reason, question.reason, OFFERED[EVIDENCE])
            for question in reference.questions.values()
            if question.score is not None
            and (reason := formulas.reason_of(output.by_id.get(question.id))) is not None
            and formulas.points_by_code(reason, question.reason) is None
        ]

    def needs(self, reference: QAReference, of_case: Verdicts) -> Needs:
        """A judge for the reasons."""
        return Needs(judged=() if reference.reasons_absent else (EVIDENCE,))

    def floor(self) -> FloorTally:
        """Scores of trivial answers        C-135"""
        from callscore.suites.calls.qa.floors import QAFloor

        return QAFloor()

    def notes(
        self, models: Sequence[ModelScore], tallies: Mapping[str, TaskTally]
    ) -> Sequence[str]:
        """Notes if the data cannot show a false pass        C-135"""
        from callscore.suites.calls.qa.floors import undemonstrated_notes

        return undemonstrated_notes(models, tallies)

    def measure(
        self, reference: QAReference, output: QAOutput | Malformed, verdicts: Verdicts
    ) -> Measured:
        """All QA measures of one reply."""
        reasons_absent = reference.reasons_absent
        if isinstance(output, Malformed):
            return _malformed_measures(reasons_absent, output)
        flags = set(output.flags)
        marks: list[Mark] = []
        points: list[int | None] = []
        for key, question in reference.questions.items():
            item = output.by_id.get(key)
            if question.score is not None:
                marks.append(mark_of(question, item, flags))
                if not reasons_absent:
                    reason = formulas.reason_of(item)
                    points.append(formulas.evidence_points(reason, question, verdicts, flags))
            elif item is not None and item.get("score") is not None:
                flags.add("na_scored")
        if formulas.has_equal_marks(marks):
            flags.add("equal_marks")
        return Measured(
            {
                "qa.question_score_accuracy": formulas.question_score_accuracy(
                    marks, self.settings.score_margin_fraction
                ),
                "qa.score_gap_accuracy": formulas.score_gap_accuracy(marks),
                EVIDENCE: (
                    ABSENT if reasons_absent else formulas.evidence_backed_reasoning(points)
                ),
                "qa.false_pass_rate": formulas.false_pass_rate(marks),
                "qa.structure": COMPLIES,
            },
            sorted(flags) if flags else [],
            {
                "qa.false_pass_rate/false_pass_rate_of_failures": (
                    formulas.false_pass_rate_of_failures(marks)
                ),
                "qa.false_pass_rate/score_type_false_passes": (
                    formulas.score_type_false_passes(marks)
                ),
            },
        )


def _malformed_measures(reasons_absent: bool, output: Malformed) -> Measured:
    measures: dict[str, Measure] = {
        "qa.question_score_accuracy": MALFORMED,
        "qa.score_gap_accuracy": MALFORMED,
        EVIDENCE: ABSENT if reasons_absent else MALFORMED,
        "qa.false_pass_rate": MALFORMED,
        "qa.structure": DIFFERS,
    }
    return Measured(measures, (output.cause,))


def mark_of(question: ExpectedQuestion, item: Mapping[str, Any] | None, flags: set[str]) -> Mark:
    """One question as the model marked it; adds a flag for each anomaly."""
    if item is None:
        flags.add("missing_item")
        return Mark(question, None)
    score, maximum, highest = number(item.get("score")), item.get("max_score"), question.max_score
    if score is None:
        flags.update(("bad_scalar", "null_marks") if item.get("score") is None else ("bad_scalar",))
        return Mark(question, None)
    if not 0 <= score <= highest:
        score = _snap_to_scale(score, highest)
        if not 0 <= score <= highest:
            flags.add("score_out_of_range")
    same_scale, full = True, score - highest >= -TOLERANCE
    if maximum != highest or maximum is True:  # true equals 1 in Python, not in JSON
        maximum = number(maximum)
        same_scale = maximum is not None and abs(maximum - highest) <= TOLERANCE
        full = full or (maximum is not None and maximum > 0 and score - maximum >= -TOLERANCE)
    if not same_scale:
        flags.add("max_score_differs")
    if question.pass_fail and formulas.is_partial(score, highest):
        flags.add("partial_on_pass_fail")
    if item.get("type") != question.type:
        flags.add("type_differs")
    return Mark(question, score, same_scale, full)


def _snap_to_scale(score: float, maximum: float) -> float:
    """The end of the scale if the score is within the tolerance of it, else the score      C-08"""
    ends = (end for end in (0.0, maximum) if abs(score - end) <= TOLERANCE)
    return next(ends, score)
