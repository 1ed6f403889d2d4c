"""The slugs of the eleven criteria, and the verdict words of their questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from callscore.core.case import Case
from callscore.suites.calls.items import CANNOT_TELL
from callscore.suites.calls.spec import load_spec

FAITHFULNESS, HALLUCINATION = "bench.faithfulness", "bench.hallucination_rate"
RELEVANCY, CORRECTNESS = "bench.answer_relevancy", "bench.answer_correctness"
PRECISION, RECALL = "bench.contextual_precision", "bench.contextual_recall"
CONTEXTUAL = "bench.contextual_relevancy"
ARGUMENT, INSTRUCTIONS = "bench.argument_correctness", "bench.instruction_following"
EXACT_MATCH = "bench.exact_match"

SUPPORT = (
    "supported_by_transcript",
    "supported_by_reference",
    "contradicted",
    "not_found",
    CANNOT_TELL,
)
OFFERED: Mapping[str, tuple[str, ...]] = {
    FAITHFULNESS: SUPPORT,
    HALLUCINATION: SUPPORT,
    RELEVANCY: (),
    CORRECTNESS: ("match", "conflict", "none", CANNOT_TELL),
    PRECISION: ("used", "not", CANNOT_TELL),
    RECALL: ("needed", "not", CANNOT_TELL),
    ARGUMENT: ("yes", "no", CANNOT_TELL),
    INSTRUCTIONS: ("followed", "not_followed", CANNOT_TELL),
}
"""The questions: for each claim whether it is supported; for each fact whether the other side has
it; for each turn whether the reply relies on it, and whether the reference needs it; for each
reason whether its ground is right; for each free-text instruction whether it was followed."""
VALUES: Mapping[str, tuple[float, ...]] = {ARGUMENT: (0.0, 0.5, 1.0)}
COSINES = frozenset({RELEVANCY, CORRECTNESS})
"""The criteria decided by a similarity of texts, alone or together with verdicts."""

OUTPUT = "output"
"""The item of a similarity: the whole reply."""

_OF_REASONS = frozenset({FAITHFULNESS, HALLUCINATION, PRECISION, RECALL, CONTEXTUAL, ARGUMENT})
_OF_SUMMARY = frozenset({FAITHFULNESS, HALLUCINATION, CORRECTNESS, PRECISION, RECALL, CONTEXTUAL})


def criteria_of(task: str) -> Sequence[str]:
    """The criteria that apply to a task        C-90"""
    return [slug for slug, entry in load_spec().benchmarks.criteria.items() if task in entry.tasks]


def absent_criteria(case: Case) -> frozenset[str]:
    """The criteria that do not apply to a case without these parts        C-127"""
    gone: set[str] = set()
    if case.task == "qa" and case.is_absent("reason"):
        gone |= _OF_REASONS
    if case.task == "text":
        if case.is_absent("summary"):
            gone |= _OF_SUMMARY
        if case.is_absent("sentiment") and case.is_absent("emotion"):
            gone.add(EXACT_MATCH)
    if case.task == "entity" and _are_absent(case, "detected_keywords", "detected_topics"):
        gone |= {CORRECTNESS, EXACT_MATCH}
    if case.task == "translation":
        if case.is_absent("sentence_translations") or case.is_absent("translated_text"):
            gone |= {FAITHFULNESS, HALLUCINATION, CORRECTNESS}
        if case.is_absent("domain_terms_handled") or case.is_absent("handled_as"):
            gone.add(EXACT_MATCH)
    return frozenset(gone)


def _are_absent(case: Case, *parts: str) -> bool:
    return all(map(case.is_absent, parts))
