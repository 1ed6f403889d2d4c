"""QA forms as a whole: Yes/No/N-A marks of models and people, totals by the form's own rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.metrics.forms.arithmetic import FormTotal, total
from callscore.metrics.forms.conditions import chosen_by_points, hidden_questions
from callscore.metrics.forms.confusion import Mark, MarkConfusion, confusion, mark_of
from callscore.metrics.forms.form import Form
from callscore.report.details.decoded_case import (
    DecodedCase,
    as_mapping,
    as_number,
    as_objects,
    has_reply,
)


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
        self.forms: dict[str, Form] = {}

    def add(self, case: DecodedCase) -> None:
        """Count the marks of one case; nothing if it has no questions."""
        questions = list(as_objects(case.expected.get("questions")))
        if not questions:
            return
        form = self._form(case)
        expected = {str(one.get("question_id")): as_number(one.get("score")) for one in questions}
        limits = {str(one.get("question_id")): as_number(one.get("max_score")) for one in questions}
        for decoded in case.answers:
            if not has_reply(decoded):
                continue
            forms = self.models.setdefault(decoded.answer.model, ModelForms())
            if decoded.given is None:
                forms.unreadable += 1
                continue
            given = {key: mark for key, mark in _marks(decoded.given).items() if key in expected}
            forms.pairs += [
                (mark_of(score, limits[key] or 0.0), mark_of(given[key], limits[key] or 0.0))
                for key, score in expected.items()
                if key in given
            ]
            if form is not None:
                hidden = hidden_questions(form, chosen_by_points(form, expected))
                forms.hidden_answered += sum(given.get(key) is not None for key in hidden)
                forms.totals.append(FormPair(total(form, expected), total(form, given)))

    def _form(self, case: DecodedCase) -> Form | None:
        """Return the form that a case was imported with, if any; each form is converted once."""
        raw = case.view.case.config.get("form")
        if not isinstance(raw, Mapping):
            return None
        key = str(raw.get("id") or raw.get("title") or "")
        if key not in self.forms:
            try:
                self.forms[key] = msgspec.convert(raw, Form)
            except msgspec.ValidationError:
                return None
        return self.forms[key]


def _marks(given: Mapping[str, Any]) -> dict[str, float | None]:
    return {
        str(one.get("question_id")): as_number(one.get("score"))
        for one in as_objects(as_mapping(given).get("questions"))
    }


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
