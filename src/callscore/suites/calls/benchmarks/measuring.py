"""ask · measure for the benchmarks: from the replies and verdicts of any task (C-88, C-90)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from callscore.core.case import Case
from callscore.core.judging import Item, Question, Verdicts
from callscore.core.measure import ABSENT, Measure, not_run, percent, ratio
from callscore.scorecard.criteria import CONSISTENCY, Benchmarked
from callscore.suites.calls.benchmarks import (
    answers,
    context,
    entity,
    instructions,
    qa,
    text,
    translation,
)
from callscore.suites.calls.benchmarks import measures as formulas
from callscore.suites.calls.benchmarks.view import Subject, View
from callscore.suites.calls.benchmarks.words import (
    ARGUMENT,
    CORRECTNESS,
    EXACT_MATCH,
    FAITHFULNESS,
    HALLUCINATION,
    INSTRUCTIONS,
    OUTPUT,
    PRECISION,
    RELEVANCY,
    absent_criteria,
    criteria_of,
)
from callscore.suites.calls.spec import load
from callscore.suites.calls.verdict_rules import RULES

_VIEWS: Mapping[str, Callable[[Subject, Verdicts, set[str]], View]] = {
    "qa": qa.view,
    "entity": entity.view,
    "text": text.view,
    "translation": translation.view,
}
_QUESTIONS: Mapping[str, Callable[[Subject], list[Question]]] = {
    "qa": qa.questions,
    "text": text.questions,
}
_SAID: Mapping[str, Callable[[Subject], Sequence[str]]] = {"qa": qa.said, "text": text.said}

ONLY_LEXICAL = not_run("no embedder reads this language; the limit means nothing for chrF")


def ask_of_case(case: Case) -> Sequence[Question]:
    """Questions about the case itself, independent of the replies        C-94"""
    return context.needed_questions(case) if _applies(case, PRECISION) else []


def ask(subject: Subject) -> Sequence[Question]:
    """Questions about one reply, besides those of its task."""
    case, absent = subject.case, absent_criteria(subject.case)
    found = [*answers.similarity_questions(subject), *instructions.questions(subject)]
    if case.task in _QUESTIONS:
        asked = _QUESTIONS[case.task](subject)
        found += [question for question in asked if question.metric not in absent]
    if _applies(case, PRECISION):
        found += context.used_questions(case, _SAID[case.task](subject))
    return found


def measure(subject: Subject, verdicts: Verdicts) -> Benchmarked:
    """Every criterion of one reply except consistency        C-90"""
    case, flags = subject.case, set[str]()
    view = _VIEWS[case.task](subject, verdicts, flags)
    cosine = answers.cosine(subject, CORRECTNESS, verdicts)
    found = {
        FAITHFULNESS: formulas.faithfulness(view.supported),
        HALLUCINATION: formulas.hallucination_rate(view.supported),
        RELEVANCY: _relevancy(subject, verdicts),
        CORRECTNESS: formulas.answer_correctness(formulas.fact_f1(*view.facts), cosine),
        ARGUMENT: formulas.argument_correctness(view.steps),
        INSTRUCTIONS: formulas.instruction_following(
            instructions.followed(subject, view.rules, verdicts, flags)
        ),
        EXACT_MATCH: formulas.exact_match(view.closed.matches, view.closed.fields),
    }
    if _applies(case, PRECISION):
        found |= context.measure(case, _SAID[case.task](subject), verdicts, flags)
    return _of_task(case, RULES.mark_approximate(found, verdicts))


def malformed(case: Case) -> Benchmarked:
    """A malformed reply scores 0 in every criterion        C-90"""
    criteria = load().benchmarks.criteria
    worst = {
        slug: ratio(0, 1) if entry.unit == "fraction" else percent(1, 1)
        for slug, entry in criteria.items()
    }
    return _of_task(case, worst)


def _of_task(case: Case, found: Mapping[str, Measure]) -> Benchmarked:
    absent = absent_criteria(case)
    return {
        slug: ABSENT if slug in absent else found[slug]
        for slug in criteria_of(case.task)
        if slug != CONSISTENCY
    }


def _applies(case: Case, slug: str) -> bool:
    return slug in criteria_of(case.task) and slug not in absent_criteria(case)


def _relevancy(subject: Subject, verdicts: Verdicts) -> Measure:
    metrics = (RELEVANCY,) if subject.case.question else (RELEVANCY, CORRECTNESS)
    given = [v for name in metrics for v in verdicts.get(Item(name, OUTPUT), ())]
    cosine = answers.cosine(subject, RELEVANCY, verdicts)
    if given and all(verdict.approximate for verdict in given):
        return ONLY_LEXICAL
    return formulas.answer_relevancy(cosine)
