"""The eleven benchmarks as the optional second layer of the calls suite (C-88, C-90)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from callscore.core.case import Case, Reply
from callscore.core.judging import Item, Question, Verdicts
from callscore.core.measure import ABSENT, Measure, not_run, percent, ratio
from callscore.core.strict_json import Parsed, read_object
from callscore.core.task import ItemCount
from callscore.scorecard.criteria import CONSISTENCY, CriterionMeasures
from callscore.suites.calls.benchmarks import (
    context,
    entity,
    instructions,
    qa,
    similarity,
    text,
    translation,
)
from callscore.suites.calls.benchmarks import measures as formulas
from callscore.suites.calls.benchmarks.view import ReplyFindings, ReplyView, text_of
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
from callscore.suites.calls.questions import count_benchmark_items
from callscore.suites.calls.spec import Settings, load_spec
from callscore.suites.calls.verdict_rules import RULES

_FINDINGS: Mapping[str, Callable[[ReplyView, Verdicts, set[str]], ReplyFindings]] = {
    "qa": qa.findings,
    "entity": entity.findings,
    "text": text.findings,
    "translation": translation.findings,
}
_QUESTIONS: Mapping[str, Callable[[ReplyView], list[Question]]] = {
    "qa": qa.questions,
    "text": text.questions,
}
_CITED_TEXTS: Mapping[str, Callable[[ReplyView], Sequence[str]]] = {
    "qa": qa.cited_texts,
    "text": text.cited_texts,
}

ONLY_LEXICAL = not_run("no embedder reads this language; the limit means nothing for chrF")


class CallBenchmarks:
    """Implements `core.task.BenchmarkLayer`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def ask_case(self, case: Case) -> Sequence[Question]:
        """Questions about the case itself, independent of the replies        C-94"""
        return context.needed_questions(case) if _applies(case, PRECISION) else []

    def view(self, case: Case, reference: Any, output: Any, reply: Reply) -> ReplyView:
        """The reply with its reference and its JSON."""
        parsed = read_object(reply, self._settings.parse)
        assert isinstance(parsed, Parsed)  # the task has parsed the same reply
        return ReplyView(case, reference, output, parsed.value, self._settings.padding_factor)

    def ask(self, view: ReplyView) -> Sequence[Question]:
        """Questions about one reply, besides those of its task."""
        case, absent = view.case, absent_criteria(view.case)
        found = [*similarity.similarity_questions(view), *instructions.questions(view)]
        if case.task in _QUESTIONS:
            asked = _QUESTIONS[case.task](view)
            found += [question for question in asked if question.metric not in absent]
        if _applies(case, PRECISION):
            found += context.used_questions(case, _CITED_TEXTS[case.task](view))
        return found

    def measure(self, view: ReplyView, verdicts: Verdicts) -> CriterionMeasures:
        """Every criterion of one reply except consistency        C-90"""
        case, flags = view.case, set[str]()
        seen = _FINDINGS[case.task](view, verdicts, flags)
        cosine = similarity.cosine(view, CORRECTNESS, verdicts)
        found = {
            FAITHFULNESS: seen.claims.mark(formulas.faithfulness(seen.claims.findings)),
            HALLUCINATION: seen.claims.mark(formulas.hallucination_rate(seen.claims.findings)),
            RELEVANCY: _measure_relevancy(view, verdicts),
            CORRECTNESS: formulas.answer_correctness(formulas.fact_f1(*seen.facts), cosine),
            ARGUMENT: formulas.argument_correctness(seen.steps),
            INSTRUCTIONS: formulas.instruction_following(
                instructions.instruction_findings(view, seen.rules, verdicts, flags)
            ),
            EXACT_MATCH: formulas.exact_match(seen.closed.matches, seen.closed.fields),
        }
        if _applies(case, PRECISION):
            found |= context.measure(case, _CITED_TEXTS[case.task](view), verdicts, flags)
        return _task_criteria(case, RULES.mark_approximate(found, verdicts))

    def malformed(self, case: Case) -> CriterionMeasures:
        """A malformed reply scores 0 in every criterion        C-90"""
        criteria = load_spec().benchmarks.criteria
        worst = {
            slug: ratio(0, 1) if entry.unit == "fraction" else percent(1, 1)
            for slug, entry in criteria.items()
        }
        return _task_criteria(case, worst)

    def compared(self, case: Case) -> Sequence[tuple[str, str]]:
        """The text of the reference, for Answer Correctness        C-93"""
        return [(CORRECTNESS, text_of(case.expected_outcome))]

    def count_items(self, case: Case) -> ItemCount:
        """The most items that a judge can be asked about for the criteria."""
        return count_benchmark_items(case)


def _task_criteria(case: Case, found: Mapping[str, Measure]) -> CriterionMeasures:
    absent = absent_criteria(case)
    return {
        slug: ABSENT if slug in absent else found[slug]
        for slug in criteria_of(case.task)
        if slug != CONSISTENCY
    }


def _applies(case: Case, slug: str) -> bool:
    return slug in criteria_of(case.task) and slug not in absent_criteria(case)


def _measure_relevancy(view: ReplyView, verdicts: Verdicts) -> Measure:
    metrics = (RELEVANCY,) if view.case.question else (RELEVANCY, CORRECTNESS)
    given = [v for name in metrics for v in verdicts.get(Item(name, OUTPUT), ())]
    cosine = similarity.cosine(view, RELEVANCY, verdicts)
    if given and all(verdict.approximate for verdict in given):
        return ONLY_LEXICAL
    return formulas.answer_relevancy(cosine)
