"""The slugs of the eleven criteria, and the words that may answer their questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from callscore.core.case import Case
from callscore.suites.calls.spec import load

FAITHFULNESS, HALLUCINATION = "bench.faithfulness", "bench.hallucination_rate"
RELEVANCY, CORRECTNESS = "bench.answer_relevancy", "bench.answer_correctness"
PRECISION, RECALL = "bench.contextual_precision", "bench.contextual_recall"
CONTEXTUAL = "bench.contextual_relevancy"
ARGUMENT, INSTRUCTIONS = "bench.argument_correctness", "bench.instruction_following"
EXACT_MATCH = "bench.exact_match"

CANNOT_TELL = "cannot_tell"
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
"""What is asked: of each claim whether it is supported; of each fact whether the other side has
it; of each turn whether the answer relies on it, and whether the reference needs it; of each
reason whether its ground is right; of each free instruction whether it was followed."""
VALUES: Mapping[str, tuple[float, ...]] = {ARGUMENT: (0.0, 0.5, 1.0)}
COSINES = frozenset({RELEVANCY, CORRECTNESS})
"""The criteria that a similarity of texts answers, alone or together with words."""

OUTPUT = "output"
"""The item of a similarity: the whole answer."""

_OF_REASONS = frozenset({FAITHFULNESS, HALLUCINATION, PRECISION, RECALL, CONTEXTUAL, ARGUMENT})
_OF_SUMMARY = frozenset({FAITHFULNESS, HALLUCINATION, CORRECTNESS, PRECISION, RECALL, CONTEXTUAL})


def criteria_of(task: str) -> Sequence[str]:
    """The criteria that look at the answers of a task        C-90"""
    return [slug for slug, entry in load().benchmarks.criteria.items() if task in entry.tasks]


def absent_criteria(case: Case) -> frozenset[str]:
    """The criteria that a case without these parts does not take part in        C-127"""
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
