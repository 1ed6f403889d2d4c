"""The eleven criteria (003 Standard Benchmarks). Formulas only; limits live in spec.toml."""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from callscore.core.measure import Measure, not_run, percent, ratio, undefined, vacuous
from callscore.suites.calls.text.measures import Findings, share_of_findings

NO_SIMILARITY = not_run("1 of 1 answers awaits a similarity")


def faithfulness(supported: Findings) -> Measure:
    """claims_supported / total_claims; 1 without claims        003 Faithfulness, C-91"""
    return share_of_findings(supported, "claims") if supported else vacuous(1.0)


def hallucination_rate(supported: Findings) -> Measure:
    """100 × (1 − Faithfulness)        003 Hallucination Rate, C-91"""
    if not supported:
        return vacuous(0.0)
    if None in supported:
        return share_of_findings(supported, "claims")
    return percent(supported.count(False), len(supported))


def answer_relevancy(cosine: float | None) -> Measure:
    """clamp(cosine(output, question or expected_outcome), 0, 1)    003 Answer Relevancy, C-92"""
    return NO_SIMILARITY if cosine is None else ratio(_clamp(cosine), 1)


def answer_correctness(f1: Measure, cosine: float | None) -> Measure:
    """F1 × 0.50 + semantic_similarity × 0.50        003 Answer Correctness, C-93"""
    if f1.value is None:
        return f1
    if cosine is None:
        return NO_SIMILARITY
    return ratio((f1.value + _clamp(cosine)) / 2, 1)


def fact_f1(expected: Findings, given: Findings) -> Measure:
    """2 P R / (P + R) over matched facts        003 Answer Correctness, C-93, C-13

    P is the share of the model's facts that the reference has, R the share of the reference's
    that the model has: two facts in one sentence are both matched by it.
    """
    waiting = sum(finding is None for finding in (*expected, *given))
    if waiting:
        return not_run(f"{waiting} of {len(expected) + len(given)} facts await a verdict")
    if not expected and not given:
        return vacuous(1.0)
    if not expected or not given:
        return ratio(0, 1)
    precision, recall = sum(map(bool, given)) / len(given), sum(map(bool, expected)) / len(expected)
    if precision + recall == 0:
        return ratio(0, 1)
    return ratio(2 * precision * recall / (precision + recall), 1)


def contextual_precision(needed: AbstractSet[int], used: AbstractSet[int]) -> Measure:
    """relevant_pieces_used / total_pieces_referenced        003 Contextual Precision, C-94, C-13

    0 if the reply relies on nothing though something is needed.
    """
    if not needed and not used:
        return vacuous(1.0)
    return ratio(len(needed & used), len(used)) if used else ratio(0, 1)


def contextual_recall(needed: AbstractSet[int], used: AbstractSet[int]) -> Measure:
    """relevant_pieces_used / total_relevant_in_input        003 Contextual Recall, C-94, C-13"""
    if not needed and not used:
        return vacuous(1.0)
    return ratio(len(needed & used), len(needed)) if needed else undefined("no turn is needed")


def contextual_relevancy(precision: Measure, recall: Measure) -> Measure:
    """(Precision + Recall) / 2; 0 if either is undefined   003 Contextual Relevancy, C-94"""
    if precision.value is None or recall.value is None:
        return ratio(0, 1)
    return ratio((precision.value + recall.value) / 2, 1)


def argument_correctness(steps: Sequence[float | None]) -> Measure:
    """mean(1 sound, 0.5 partial, 0 wrong or missing)        003 Argument Correctness, C-95"""
    if not steps:
        return undefined("no question of the form applies")
    waiting = steps.count(None)
    if waiting:
        return not_run(f"{waiting} of {len(steps)} reasons await a verdict")
    return ratio(math.fsum(step for step in steps if step), len(steps))


def instruction_following(followed: Findings) -> Measure:
    """instructions_followed / total_instructions        003 Instruction Following, C-96"""
    return share_of_findings(followed, "instructions")


def exact_match(matches: int, fields: int) -> Measure:
    """exact_matches / |expected ∪ predicted closed fields|        003 Exact Match, C-97"""
    return ratio(matches, fields) if fields else vacuous(1.0)


def _clamp(cosine: float) -> float:
    return min(1.0, max(0.0, cosine))
