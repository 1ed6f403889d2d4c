"""The marks of a QA case side by side, in the form's words; and all calls of one question."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.metrics.forms.arithmetic import FormTotal, total
from callscore.metrics.forms.form import (
    NA,
    Form,
    FormQuestion,
    consequence,
    imported_form,
    mark_in_words,
)
from callscore.report.details.decoded_case import (
    DecodedCase,
    FieldValue,
    as_mapping,
    as_number,
    as_objects,
    decode_case,
    has_reply,
    value_text,
)
from callscore.report.source import CaseView

TOLERANCE = 1e-9
SCORE_MARGIN = "score_margin_fraction"
"""The setting of a task for the margin within which two marks of a question agree (C-30)."""


class QuestionText(msgspec.Struct, frozen=True):
    """How a question is shown: its words without what is added for models, section, criticality."""

    text: str
    section: str = ""
    critical: str = ""
    """What a bad mark does; empty if the question is not critical."""


class ComparedMarks(msgspec.Struct, frozen=True):
    """A question of a case: the mark of the person, and of each answer, None if it has none."""

    id: str
    shown: QuestionText
    expected: str
    given: Sequence[FieldValue | None]


class CaseMarks(msgspec.Struct, frozen=True):
    """The questions of a QA case, and the whole form by its own rules, if there is one."""

    questions: Sequence[ComparedMarks] = ()
    whole: ComparedMarks | None = None


class FormReader:
    """Reads the imported forms of cases; equal forms are converted once."""

    def __init__(self) -> None:
        self._forms: dict[bytes, Form | None] = {}

    def form(self, config: Mapping[str, Any]) -> Form | None:
        """The form that a case was imported with; None if there is none."""
        raw = config.get("form")
        if not isinstance(raw, Mapping):
            return None
        key = msgspec.json.encode(raw)
        if key not in self._forms:
            self._forms[key] = imported_form(config)
        return self._forms[key]


class MarkReader:
    """Reads the marks of QA cases in the words of their forms."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings
        self._forms = FormReader()

    def marks(self, case: DecodedCase) -> CaseMarks:
        """The marks of a case; none if it is not a QA case."""
        record = case.view.case
        margin, form = score_margin(self._settings, record.task), self._forms.form(record.config)
        questions = list(compare_marks(case, form, margin))
        return CaseMarks(questions, None if form is None else _compare_totals(case, form))


def score_margin(settings: Mapping[str, Any], task: str) -> float:
    """The share of full marks within which two marks of a graded question agree."""
    return float(settings.get(f"{task}.{SCORE_MARGIN}", 0.0))


def question_texts(config: Mapping[str, Any], form: Form | None) -> dict[str, QuestionText]:
    """Every question of a case by its id."""
    texts = {}
    for asked in as_objects(config.get("questions")):
        own = str(asked.get("question_id"))
        texts[own] = QuestionText(str(asked.get("question", "")), str(asked.get("section") or ""))
    for section in form.sections if form is not None else ():
        for question in section.questions:
            if form is not None and question.id in texts:
                texts[question.id] = QuestionText(
                    question.title, section.title, consequence(question, form)
                )
    return texts


def compare_marks(case: DecodedCase, form: Form | None, margin: float) -> Iterator[ComparedMarks]:
    """Yield the questions of a QA case in the order of the expected outcome."""
    config = case.view.case.config
    texts = question_texts(config, form)
    given = [None if decoded.given is None else _by_id(decoded.given) for decoded in case.answers]
    for expected in as_objects(case.expected.get("questions")):
        own = str(expected.get("question_id"))
        question = form.question(own) if form is not None else None
        yield ComparedMarks(
            own,
            texts.get(own, QuestionText("")),
            _word(question, expected.get("score")),
            [
                None if answers is None else _compare(question, expected, answers.get(own), margin)
                for answers in given
            ],
        )


def marks_of(outcome: Mapping[str, Any]) -> dict[str, float | None]:
    """The points of an outcome by question id; None if the question does not apply."""
    return {name: as_number(one.get("score")) for name, one in _by_id(outcome).items()}


def _compare_totals(case: DecodedCase, form: Form) -> ComparedMarks:
    """The form as people and models filled it in; only automatic fails are right or wrong."""
    marks = marks_of(case.expected)
    expected = total(form, marks)
    given: list[FieldValue | None] = []
    for decoded in case.answers:
        if decoded.given is None:
            given.append(None)
            continue
        own = {name: mark for name, mark in marks_of(decoded.given).items() if name in marks}
        found = total(form, own)
        same: bool | None = bool(found.failed_by) == bool(expected.failed_by)
        if same and not found.failed_by:
            same = None
        given.append(FieldValue(_show_total(found), same))
    shown = QuestionText("points by the form's own rules")
    return ComparedMarks("QA form", shown, _show_total(expected), given)


def _show_total(found: FormTotal) -> str:
    """A filled-in form in a few words: its share of points, and what failed it."""
    if found.percent is None:
        return NA
    failed = f", failed by {', '.join(found.failed_by)}" if found.failed_by else ""
    return f"{found.percent:.1f} %{failed}"


def _by_id(given: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    questions = as_objects(as_mapping(given).get("questions"))
    return {str(one.get("question_id")): one for one in questions}


def _compare(
    question: FormQuestion | None,
    expected: Mapping[str, Any],
    given: Mapping[str, Any] | None,
    margin: float,
) -> FieldValue:
    if given is None or "score" not in given:
        return FieldValue("no mark", same=False)
    return FieldValue(
        _word(question, given["score"]), marks_agree(expected, given["score"], margin)
    )


def marks_agree(expected: Mapping[str, Any], given: Any, margin: float) -> bool:
    """Whether a mark is that of the person, a graded one within the margin        C-30, C-33"""
    wanted, mark = as_number(expected.get("score")), as_number(given)
    if wanted is None or mark is None:
        return wanted is None and given is None
    full = as_number(expected.get("max_score")) or 0.0
    allowed = margin * full if expected.get("type") == "SCORE" else 0.0
    return abs(wanted - mark) <= allowed + TOLERANCE


def _word(question: FormQuestion | None, score: Any) -> str:
    if score is None:
        return NA
    points = as_number(score)
    if question is None or points is None:
        return value_text(score)
    return mark_in_words(question, points)


class QuestionCall(NamedTuple):
    """The mark of a model for a question of a call, and that of people, in words."""

    place: int
    case_id: str
    text: str
    """The question: several may have one id."""
    expected: str
    given: str
    same: bool


def question_calls(
    views: Iterable[CaseView], settings: Mapping[str, Any], question: str, model: str
) -> list[QuestionCall]:
    """Every call with the question that the model answered, in the order of places."""
    marks = MarkReader(settings)
    found = []
    for place, view in enumerate(views, start=1):
        if not view.case.expected_outcome.get("questions"):
            continue
        case = decode_case(view)
        own = [one for one in case.answers if one.answer.model == model and has_reply(one)]
        for mark in marks.marks(msgspec.structs.replace(case, answers=own)).questions:
            if mark.id == question:
                found += [
                    QuestionCall(
                        place,
                        view.case.id,
                        mark.shown.text,
                        mark.expected,
                        "no mark" if given is None else given.text,
                        given is not None and given.same is True,
                    )
                    for given in mark.given
                ]
    return found
