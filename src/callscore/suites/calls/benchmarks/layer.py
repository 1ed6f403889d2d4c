"""The eleven benchmarks as the optional second layer of the calls suite (C-88, C-90)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from callscore.core.case import Case, Reply, turns
from callscore.core.judging import Item, Question, Verdicts
from callscore.core.measure import ABSENT, Measure, not_run, percent, ratio
from callscore.core.strict_json import Parsed, read_object
from callscore.core.task import ItemCount
from callscore.scorecard.criteria import CONSISTENCY, CriterionMeasures
from callscore.suites.calls.benchmarks import measures as formulas
from callscore.suites.calls.benchmarks.task_views import (
    findings_of_entities,
    findings_of_form,
    findings_of_text,
    findings_of_translation,
    questions_on_form,
    questions_on_summary,
    texts_cited_by_form,
    texts_cited_by_summary,
)
from callscore.suites.calls.benchmarks.view import (
    ReplyFindings,
    ReplyView,
    instruction_findings,
    instruction_questions,
    similarity_of,
    similarity_questions,
    text_of,
)
from callscore.suites.calls.benchmarks.words import (
    ARGUMENT,
    CONTEXTUAL,
    CORRECTNESS,
    EXACT_MATCH,
    FAITHFULNESS,
    HALLUCINATION,
    INSTRUCTIONS,
    OFFERED,
    OUTPUT,
    PRECISION,
    RECALL,
    RELEVANCY,
    absent_criteria,
    criteria_of,
)
from callscore.suites.calls.items import is_confirmed
from callscore.suites.calls.spec import Settings, load_spec
from callscore.suites.calls.verdict_rules import RULES, count_benchmark_items

_FINDINGS: Mapping[str, Callable[[ReplyView, Verdicts, set[str]], ReplyFindings]] = {
    "qa": findings_of_form,
    "entity": findings_of_entities,
    "text": findings_of_text,
    "translation": findings_of_translation,
}
_QUESTIONS: Mapping[str, Callable[[ReplyView], list[Question]]] = {
    "qa": questions_on_form,
    "text": questions_on_summary,
}
_CITED_TEXTS: Mapping[str, Callable[[ReplyView], Sequence[str]]] = {
    "qa": texts_cited_by_form,
    "text": texts_cited_by_summary,
}

ONLY_LEXICAL = not_run("no embedder reads this language; the limit means nothing for chrF")


class CallBenchmarks:
    """Implements `core.task.BenchmarkLayer`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def ask_case(self, case: Case) -> Sequence[Question]:
        """Questions about the case itself, independent of the replies        C-94"""
        return needed_questions(case) if _applies(case, PRECISION) else []

    def view(self, case: Case, reference: Any, output: Any, reply: Reply) -> ReplyView:
        """The reply with its reference and its JSON."""
        parsed = read_object(reply, self._settings.parse)
        assert isinstance(parsed, Parsed)  # the task has parsed the same reply
        return ReplyView(case, reference, output, parsed.value, self._settings.padding_factor)

    def ask(self, view: ReplyView) -> Sequence[Question]:
        """Questions about one reply, besides those of its task."""
        case, absent = view.case, absent_criteria(view.case)
        found = [*similarity_questions(view), *instruction_questions(view)]
        if case.task in _QUESTIONS:
            asked = _QUESTIONS[case.task](view)
            found += [question for question in asked if question.metric not in absent]
        if _applies(case, PRECISION):
            found += used_questions(case, _CITED_TEXTS[case.task](view))
        return found

    def measure(self, view: ReplyView, verdicts: Verdicts) -> CriterionMeasures:
        """Every criterion of one reply except consistency        C-90"""
        case, flags = view.case, set[str]()
        seen = _FINDINGS[case.task](view, verdicts, flags)
        cosine = similarity_of(view, CORRECTNESS, verdicts)
        found = {
            FAITHFULNESS: seen.claims.mark(formulas.faithfulness(seen.claims.findings)),
            HALLUCINATION: seen.claims.mark(formulas.hallucination_rate(seen.claims.findings)),
            RELEVANCY: _measure_relevancy(view, verdicts),
            CORRECTNESS: formulas.answer_correctness(formulas.fact_f1(*seen.facts), cosine),
            ARGUMENT: formulas.argument_correctness(seen.steps),
            INSTRUCTIONS: formulas.instruction_following(
                instruction_findings(view, seen.rules, verdicts, flags)
            ),
            EXACT_MATCH: formulas.exact_match(seen.closed.matches, seen.closed.fields),
        }
        if _applies(case, PRECISION):
            found |= measure_context(case, _CITED_TEXTS[case.task](view), verdicts, flags)
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
    cosine = similarity_of(view, RELEVANCY, verdicts)
    if given and all(verdict.approximate for verdict in given):
        return ONLY_LEXICAL
    return formulas.answer_relevancy(cosine)


_CITING_PART: Mapping[str, str] = {"qa": "questions", "text": "summary"}
"""The part of a reply that is based on the call."""


class _TurnFindings(NamedTuple):
    """The turns that count, and how many await a verdict."""

    found: frozenset[int]
    waiting: int


def needed_questions(case: Case) -> list[Question]:
    """For every turn: does the expected outcome need it? Asked once per case, before any reply."""
    return [
        Question(RECALL, _item_id(number), text, "", OFFERED[RECALL])
        for number, text in _spoken_turns(case)
    ]


def used_questions(case: Case, said: Sequence[str]) -> list[Question]:
    """For every turn: does the reply rely on it?"""
    joined, place = "\n".join(said), f"model_output.{_CITING_PART[case.task]}"
    return [
        Question(PRECISION, _item_id(number), text, joined, OFFERED[PRECISION], place)
        for number, text in (_spoken_turns(case) if joined else ())
    ]


def measure_context(
    case: Case, said: Sequence[str], verdicts: Verdicts, flags: set[str]
) -> dict[str, Measure]:
    """Contextual precision, recall and relevancy of one reply."""
    numbers = [number for number, _ in _spoken_turns(case)]
    needed = _find_turns(numbers, RECALL, "needed", verdicts, flags)
    used = _find_turns(numbers if said else (), PRECISION, "used", verdicts, flags)
    waiting = needed.waiting + used.waiting
    if waiting:
        absent = not_run(f"{waiting} verdicts on turns are missing")
        return {PRECISION: absent, RECALL: absent, CONTEXTUAL: absent}
    precision = formulas.contextual_precision(needed.found, used.found)
    recall = formulas.contextual_recall(needed.found, used.found)
    return {
        PRECISION: precision,
        RECALL: recall,
        CONTEXTUAL: formulas.contextual_relevancy(precision, recall),
    }


def _find_turns(
    numbers: Iterable[int], metric: str, good: str, verdicts: Verdicts, flags: set[str]
) -> _TurnFindings:
    found = {n: is_confirmed(verdicts, Item(metric, _item_id(n)), good, flags) for n in numbers}
    return _TurnFindings(
        frozenset(number for number, counts in found.items() if counts),
        sum(counts is None for counts in found.values()),
    )


def _spoken_turns(case: Case) -> list[tuple[int, str]]:
    """Every turn with text, with its number."""
    spoken = enumerate(turns(case.transcript), start=1)
    return [(number, turn.text) for number, turn in spoken if turn.text.strip()]


def _item_id(number: int) -> str:
    return f"turn:{number}"
