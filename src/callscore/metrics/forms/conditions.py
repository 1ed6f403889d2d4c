"""Questions that do not apply: whether the marks of a form meet the conditions of its questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from callscore.metrics.forms.form import Condition, Evaluation, Form, FormAnswer, FormQuestion

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
