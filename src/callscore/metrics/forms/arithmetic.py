"""Which questions of a form apply, and its totals as the vendors calculate them."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Literal

import msgspec

from callscore.metrics.forms.form import (
    Condition,
    Evaluation,
    Form,
    FormAnswer,
    FormQuestion,
    Section,
)

Chosen = Mapping[str, Set[str]]
"""The ids and texts of the options that were chosen, by question id.

Empty where the question does not apply; a question that is not in it was not marked.
"""


def hidden_questions(form: Form, chosen: Chosen) -> set[str]:
    """Questions whose condition the marks do not meet, or that ask about a hidden question.

    A condition on a question that was not marked is open: it hides nothing.
    """
    conditions = {one.id: one.condition for one in form.questions if one.condition is not None}
    known = {one.id for one in form.questions}
    hidden: set[str] = set()
    while True:
        seen = {name: (set() if name in hidden else names) for name, names in chosen.items()}
        seen |= {name: set() for name in hidden}
        found = {
            name
            for name, condition in conditions.items()
            if is_met(condition, seen, known) is False
        }
        if found <= hidden:
            return hidden
        hidden |= found


def is_met(condition: Condition, chosen: Chosen, known: Set[str]) -> bool | None:
    """Whether the chosen options meet a condition; None if that is open."""
    if condition.all_of or condition.any_of:
        parts = [is_met(one, chosen, known) for one in condition.all_of or condition.any_of]
        decides = not condition.all_of
        met = decides if decides in parts else None if None in parts else not decides
    elif condition.question_id not in known:
        met = False
    else:
        names = chosen.get(condition.question_id)
        met = None if names is None else bool(names & set(condition.answers))
    return met if met is None else met is not condition.negated


def simple_conditions(condition: Condition | None) -> Iterator[Condition]:
    """The conditions on one question that a condition joins, or itself."""
    if condition is None:
        return
    if not condition.all_of and not condition.any_of:
        yield condition
    for one in (*condition.all_of, *condition.any_of):
        yield from simple_conditions(one)


def chosen_by_points(form: Form, marks: Mapping[str, float | None]) -> dict[str, set[str]]:
    """The options with the points of each mark: several, where options give the same points."""
    return {
        question.id: _options_with(question, marks[question.id])
        for question in form.questions
        if question.id in marks
    }


def chosen_by_people(form: Form, evaluation: Evaluation) -> dict[str, set[str]]:
    """The options that a person chose."""
    return {
        question.id: _options_of(question, evaluation.answers[question.id])
        for question in form.questions
        if question.id in evaluation.answers
    }


def _options_of(question: FormQuestion, answer: FormAnswer) -> set[str]:
    if not answer.option:
        return _options_with(question, answer.score)
    option = question.option(answer.option)
    return set() if option is None else {option.id, option.text}


def _options_with(question: FormQuestion, points: float | None) -> set[str]:
    return {
        name
        for option in question.options
        if points is not None and option.score == points and not option.is_na
        for name in (option.id, option.text)
    }


class SectionTotal(msgspec.Struct, frozen=True):
    """One section of one filled-in form; `percent` is None if nothing applies."""

    section: str
    percent: float | None
    earned: float
    possible: float
    failed: bool = False
    """Set to 0 by an automatic fail of this section."""


class FormTotal(msgspec.Struct, frozen=True):
    """A filled-in form added up; `percent` is None if no question with a weight applies."""

    percent: float | None
    sections: Sequence[SectionTotal]
    failed_by: Sequence[str] = ()
    """Questions whose answer fails the whole form."""


Marks = Mapping[str, float | None]
"""Points by question id; None if the question does not apply. A missing question is N/A too."""


def total(form: Form, marks: Marks) -> FormTotal:
    """Σ weight · earned / possible over the questions that apply; 0 after an automatic fail."""
    sections = [_section_total(section, form, marks) for section in form.sections]
    failed_by = [
        question.id for question in form.questions if _fails_form(question, marks.get(question.id))
    ]
    percent = 0.0 if failed_by else _form_percent(form, sections, marks)
    return FormTotal(
        percent if any(one.percent is not None for one in sections) else None,
        sections,
        failed_by,
    )


def _form_percent(form: Form, sections: Sequence[SectionTotal], marks: Marks) -> float | None:
    applying = [
        (one, section)
        for one, section in zip(sections, form.sections, strict=True)
        if one.percent is not None
    ]
    if not applying:
        return None
    if form.mode in ("section_weights", "section_points"):
        weights = [_weight(section.weight) for _, section in applying]
        percents = [one.percent or 0.0 for one, _ in applying]
        whole = math.fsum(weights)
        return math.fsum(map(operator.mul, weights, percents)) / whole if whole else None
    if form.mode == "question_weights":
        kept = [
            question
            for one, section in applying
            if not one.failed
            for question in section.questions
        ]
        lost = [
            question for one, section in applying if one.failed for question in section.questions
        ]
        return _weighted_percent(
            [*kept, *lost], {**marks, **{one.id: _zero_mark(one, marks) for one in lost}}
        )
    possible = math.fsum(one.possible for one, _ in applying)
    return 100 * math.fsum(one.earned for one, _ in applying) / possible if possible else None


def _zero_mark(question: FormQuestion, marks: Marks) -> float | None:
    return None if marks.get(question.id) is None else 0.0


def _section_total(section: Section, form: Form, marks: Marks) -> SectionTotal:
    failed = any(
        _fails_section(question, marks.get(question.id), section.id) for question in form.questions
    )
    scored = [one for one in section.questions if marks.get(one.id) is not None and one.max_score]
    possible = math.fsum(one.max_score for one in scored)
    earned = 0.0 if failed else math.fsum(marks[one.id] or 0.0 for one in scored)
    if not scored:
        return SectionTotal(section.title, None, 0.0, 0.0, failed)
    percent = 0.0 if failed else _section_percent(form, scored, marks, earned, possible)
    return SectionTotal(section.title, percent, earned, possible, failed)


def _section_percent(
    form: Form, scored: Sequence[FormQuestion], marks: Marks, earned: float, possible: float
) -> float | None:
    if form.mode in ("points", "section_points"):
        return 100 * earned / possible
    if form.mode == "section_weights":
        shares = [100 * (marks[one.id] or 0.0) / one.max_score for one in scored]
        return math.fsum(shares) / len(shares)
    return _weighted_percent(scored, marks)


def _weighted_percent(questions: Iterable[FormQuestion], marks: Marks) -> float | None:
    """100 · Σ weight · (points / most points) / Σ weight, over the questions that apply."""
    parts: list[float] = []
    weights: list[float] = []
    for question in questions:
        mark = marks.get(question.id)
        if mark is None or not question.max_score:
            continue
        weights.append(_weight(question.weight))
        parts.append(_weight(question.weight) * mark / question.max_score)
    whole = math.fsum(weights)
    return 100 * math.fsum(parts) / whole if whole else None


def _weight(weight: float | None) -> float:
    return 1.0 if weight is None else weight


def _fails_form(question: FormQuestion, mark: float | None) -> bool:
    if mark is None:
        return False
    if question.is_fatal and mark < question.max_score:
        return True
    return any(
        one.auto_fail and one.fails_section is None and one.score == mark
        for one in question.options
    )


def _fails_section(question: FormQuestion, mark: float | None, section_id: str) -> bool:
    return mark is not None and any(
        one.auto_fail and one.fails_section == section_id and one.score == mark
        for one in question.options
    )


Mark = Literal["yes", "no", "na"]
MARKS: tuple[Mark, ...] = ("yes", "no", "na")


class MarkConfusion(msgspec.Struct, frozen=True):
    """How often each mark of a person was answered with each mark of a model."""

    counts: Mapping[Mark, Mapping[Mark, int]]
    """By the person's mark, then by the model's."""

    @property
    def na_to_no_rate(self) -> float | None:
        """model said No / person said N/A; None if no person said N/A"""
        row = self.counts["na"]
        total = sum(row.values())
        return row["no"] / total if total else None

    @property
    def agreement(self) -> float | None:
        """equal marks / marks"""
        total = sum(sum(row.values()) for row in self.counts.values())
        return sum(self.counts[mark][mark] for mark in MARKS) / total if total else None


def mark_of(score: float | None, max_score: float) -> Mark:
    """N/A if there is no score, yes at full marks, else no."""
    if score is None:
        return "na"
    return "yes" if score >= max_score else "no"


def confusion(pairs: Iterable[tuple[Mark, Mark]]) -> MarkConfusion:
    """The table of (person, model) pairs."""
    counts: dict[Mark, dict[Mark, int]] = {one: dict.fromkeys(MARKS, 0) for one in MARKS}
    for expected, given in pairs:
        counts[expected][given] += 1
    return MarkConfusion(counts)
