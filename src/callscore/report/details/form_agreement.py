"""QA forms: agreement by question and by mark, and totals by the form's own rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.metrics.forms.arithmetic import (
    FormTotal,
    Mark,
    MarkConfusion,
    chosen_by_points,
    confusion,
    hidden_questions,
    mark_of,
    total,
)
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
    marks_of,
    question_texts,
    score_margin,
)
from callscore.report.numbers import show_count


class FormPair(msgspec.Struct, frozen=True):
    """The totals of a person and of a model on the same call."""

    expected: FormTotal
    given: FormTotal


class ModelForms(msgspec.Struct):
    """The marks of one model on all calls."""

    pairs: list[tuple[Mark, Mark]] = []
    totals: list[FormPair] = []
    unreadable: int = 0
    hidden_answered: int = 0
    """Questions answered although their condition was not met."""

    @property
    def confusion(self) -> MarkConfusion:
        """The 3 × 3 table of all marks."""
        return confusion(self.pairs)


class FormTotals:
    """Counts the forms of every QA case."""

    def __init__(self) -> None:
        self.models: dict[str, ModelForms] = {}
        self._forms = FormReader()

    def add(self, case: DecodedCase) -> None:
        """Count the marks of one case; nothing if it has no questions."""
        questions = list(as_objects(case.expected.get("questions")))
        if not questions:
            return
        form = self._forms.form(case.view.case.config)
        expected = marks_of(case.expected)
        limits = {str(one.get("question_id")): as_number(one.get("max_score")) for one in questions}
        for decoded in case.answers:
            if not has_reply(decoded):
                continue
            forms = self.models.setdefault(decoded.answer.model, ModelForms())
            if decoded.given is None:
                forms.unreadable += 1
                continue
            given = {key: mark for key, mark in marks_of(decoded.given).items() if key in expected}
            forms.pairs += [
                (mark_of(score, limits[key] or 0.0), mark_of(given[key], limits[key] or 0.0))
                for key, score in expected.items()
                if key in given
            ]
            if form is not None:
                hidden = hidden_questions(form, chosen_by_points(form, expected))
                forms.hidden_answered += sum(given.get(key) is not None for key in hidden)
                forms.totals.append(FormPair(total(form, expected), total(form, given)))


class SectionMean(msgspec.Struct, frozen=True):
    """The mean of a section over all calls on which it applies to person and model."""

    title: str
    expected: float
    given: float
    calls: int

    @property
    def difference(self) -> float:
        """given − expected, in percentage points"""
        return self.given - self.expected


def section_means(totals: Sequence[FormPair]) -> list[SectionMean]:
    """Return the mean of every section, then of the whole form."""
    columns: dict[str, list[tuple[float, float]]] = {}
    for pair in totals:
        for one, other in zip(pair.expected.sections, pair.given.sections, strict=True):
            if one.percent is not None and other.percent is not None:
                columns.setdefault(one.section or "(no section)", []).append(
                    (one.percent, other.percent)
                )
        if pair.expected.percent is not None and pair.given.percent is not None:
            columns.setdefault(WHOLE_FORM, []).append((pair.expected.percent, pair.given.percent))
    whole = columns.pop(WHOLE_FORM, None)
    rows = [_mean(title, pairs) for title, pairs in columns.items()]
    return [*rows, _mean(WHOLE_FORM, whole)] if whole else rows


WHOLE_FORM = "whole form"


def _mean(title: str, pairs: Iterable[tuple[float, float]]) -> SectionMean:
    both = list(pairs)
    return SectionMean(
        title,
        math.fsum(one for one, _ in both) / len(both),
        math.fsum(other for _, other in both) / len(both),
        len(both),
    )


def failed_forms(totals: Sequence[FormPair]) -> tuple[int, int, int]:
    """Count forms with an automatic fail: by people, by the model, by both."""
    expected = [bool(pair.expected.failed_by) for pair in totals]
    given = [bool(pair.given.failed_by) for pair in totals]
    both = sum(one and other for one, other in zip(expected, given, strict=True))
    return sum(expected), sum(given), both


class FormCell(NamedTuple):
    """A value of one model, and what it compares with."""

    value: str
    remark: str = ""


class FormRow(NamedTuple):
    """A line about the forms of all models: a section, the whole form, or a count."""

    label: str
    cells: Sequence[FormCell]


NO_VALUE = FormCell("—")


def form_rows(totals: FormTotals, models: Sequence[str]) -> list[FormRow]:
    """Sections, whole form and automatic fails of every model; nothing if no case has a form."""
    filled = [totals.models.get(model) or ModelForms() for model in models]
    if not any(forms.totals for forms in filled):
        return []
    means = [{mean.title: mean for mean in section_means(forms.totals)} for forms in filled]
    titles = [title for found in means for title in found if title != WHOLE_FORM]
    rows = [
        FormRow(title, [_mean_cell(found.get(title)) for found in means])
        for title in [*dict.fromkeys(titles), WHOLE_FORM]
    ]
    rows.append(FormRow("automatic fails", [_fails_cell(forms) for forms in filled]))
    if any(sum(forms.confusion.counts["na"].values()) for forms in filled):
        rows.append(FormRow("N/A answered with No", [_na_cell(forms) for forms in filled]))
    for label, counts in (
        ("answered although it does not apply", [forms.hidden_answered for forms in filled]),
        ("malformed answers", [forms.unreadable for forms in filled]),
    ):
        if any(counts):
            rows.append(FormRow(label, [FormCell(str(count)) for count in counts]))
    return rows


def _mean_cell(mean: SectionMean | None) -> FormCell:
    if mean is None:
        return NO_VALUE
    return FormCell(
        f"{mean.given:.1f} %",
        f"people {mean.expected:.1f} %, {mean.difference:+.1f}; {show_count(mean.calls, 'call')}",
    )


def _fails_cell(forms: ModelForms) -> FormCell:
    people, given, both = failed_forms(forms.totals)
    return FormCell(str(given), f"people {people}, both {both}")


def _na_cell(forms: ModelForms) -> FormCell:
    row = forms.confusion.counts["na"]
    return FormCell(f"{row['no']} of {sum(row.values())}")


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


NO_LABEL = "(none)"
MAX_LABELS = 12
OTHER = "(other)"
CALL, NO_CALL, FAILED = "call", "no call", "failed"


class ConfusionMatrix:
    """Counts pairs of an expected and a given label."""

    def __init__(self, labels: Sequence[str] = ()) -> None:
        self._labels = dict.fromkeys(labels)
        self.models: dict[str, dict[tuple[str, str], int]] = {}

    @property
    def labels(self) -> Sequence[str]:
        """The labels in the order in which they were seen."""
        return tuple(self._labels)

    def add(self, model: str, expected: str, given: str) -> None:
        """Count one pair; labels beyond the first `MAX_LABELS` are counted as `OTHER`."""
        pair = (self._known_label(expected), self._known_label(given))
        counts = self.models.setdefault(model, {})
        counts[pair] = counts.get(pair, 0) + 1

    def _known_label(self, label: str) -> str:
        if label not in self._labels:
            if len(self._labels) >= MAX_LABELS:
                label = OTHER
            self._labels[label] = None
        return label


class SentimentConfusion(ConfusionMatrix):
    """Expected and given sentiment of each sentence."""

    def add_case(self, case: DecodedCase) -> None:
        """Count the sentences of one case."""
        expected = _labels(case.expected)
        if not expected:
            return
        for decoded in case.answers:
            if not has_reply(decoded):
                continue
            given = _labels(as_mapping(decoded.given))
            for sentence, label in expected.items():
                self.add(decoded.answer.model, label, given.get(sentence, NO_LABEL))


def _labels(outcome: Mapping[str, Any]) -> Mapping[str, str]:
    return {
        str(sentence.get("sentence_id")): str(sentence.get("label") or NO_LABEL)
        for sentence in as_objects(outcome.get("sentiment"))
    }


class CallDecisionConfusion(ConfusionMatrix):
    """Whether a tool had to be called, and whether it was."""

    def __init__(self) -> None:
        super().__init__((CALL, NO_CALL))

    def add_case(self, case: DecodedCase) -> None:
        """Count one case whose expected outcome lists calls, possibly none."""
        calls = case.expected.get("calls", case.expected.get("actions"))
        if not isinstance(calls, (list, tuple)):
            return
        expected = CALL if calls else NO_CALL
        for decoded in case.answers:
            if has_reply(decoded):
                self.add(
                    decoded.answer.model,
                    expected,
                    _decision(decoded.given, decoded.answer.tool_calls),
                )


def _decision(given: Mapping[str, Any] | None, tool_calls: Sequence[Any]) -> str:
    if tool_calls:
        return CALL
    if given is None:
        return FAILED
    calls = given.get("calls", given.get("actions"))
    if not isinstance(calls, (list, tuple)):
        return FAILED
    return CALL if calls else NO_CALL
