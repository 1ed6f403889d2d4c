"""QA forms as a whole: Yes/No/N-A marks of models and people, totals by the form's own rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from callscore.metrics.forms.arithmetic import (
    FormTotal,
    Mark,
    MarkConfusion,
    confusion,
    mark_of,
    total,
)
from callscore.metrics.forms.conditions import chosen_by_points, hidden_questions
from callscore.report.details.decoded_case import (
    DecodedCase,
    as_number,
    as_objects,
    has_reply,
)
from callscore.report.details.form_marks import FormReader, marks_of
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
