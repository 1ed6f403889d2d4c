"""Text measures (003 Task 3). Formulas only; weights, bands and gates live in spec.toml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from callscore.core.measure import Measure, count, not_run, percent, ratio, vacuous
from callscore.metrics import classification
from callscore.metrics.classification import Averaging, Pair
from callscore.suites.calls.items import number

CLASSES = ("positive", "neutral", "negative")

Findings = Sequence[bool | None]
"""For each item: True if it counts, False if it does not, None if it is not judged yet."""

_NO_FACTS = vacuous(1.0)
_NO_FACTS_PERCENT = vacuous(0.0)


def share_of_findings(findings: Findings, what: str) -> Measure:
    """items that count / items; not run while one is undecided        C-137"""
    waiting = findings.count(None)
    if waiting:
        return not_run(f"{waiting} of {len(findings)} {what} await a verdict")
    return ratio(findings.count(True), len(findings))


def sentiment_accuracy(pairs: Sequence[Pair]) -> Measure:
    """correctly_labelled_sentences / total_sentences        003 Text Metric 1, C-50"""
    return classification.accuracy(pairs)


def sentiment_macro_f1(pairs: Sequence[Pair], averaging: Averaging) -> Measure:
    """(F1_positive + F1_neutral + F1_negative) / 3        003 Text Metric 2, C-52"""
    return classification.macro_f1(pairs, CLASSES, averaging)


def missing_labels(pairs: Sequence[Pair]) -> Measure:
    """Sentences with an expected label and none from the model        003 Text, C-53"""
    missing = 0
    for _, predicted in pairs:
        missing += predicted is None
    return count(missing)


def call_intent(points: float | None) -> Measure:
    """1 same intent · 0.5 right domain, incomplete · 0 wrong intent        003 Text Metric 3, C-54

    None means undecided: an abstention must not block a call.
    """
    if points is None:
        return not_run("1 of 1 call purposes awaits a verdict")
    return Measure(points, points, 1.0)


def highlight_recall(captured: Findings) -> Measure:
    """highlights_captured / highlights_expected        003 Text Metric 4, C-55, C-57"""
    if not captured:
        return vacuous(1.0)
    return share_of_findings(captured, "expected highlights")


def highlight_correctness(accurate: Findings, *, any_expected: bool) -> Measure:
    """factually_accurate_highlights / highlights_returned        003 Text Metric 5, C-56, C-57

    Returning nothing is right only if nothing was expected.
    """
    if not accurate:
        return Measure(0.0) if any_expected else vacuous(1.0)
    return share_of_findings(accurate, "highlights")


def field_presence(filled: Sequence[bool]) -> Measure:
    """fields_present_and_non_empty / required_fields        003 Text Metric 6, C-58"""
    return ratio(sum(filled), len(filled)) if filled else vacuous(1.0)


def fabrication_free(supported: Findings) -> Measure:
    """1 − fabricated_facts / total_facts        003 Text Metric 7, C-60, C-62"""
    return share_of_findings(supported, "claims") if supported else _NO_FACTS


def hallucination_rate(supported: Findings) -> Measure:
    """100 × fabricated_facts / total_facts        003 Text Metric 7, C-14, C-62"""
    if not supported:
        return _NO_FACTS_PERCENT
    if None in supported:
        return share_of_findings(supported, "claims")
    return percent(supported.count(False), len(supported))


def top_emotions(emotion: Mapping[str, object]) -> frozenset[str]:
    """The keys with the greatest number above 0        C-63"""
    highest = 0.0
    top: list[str] = []
    for name, value in emotion.items():
        share = number(value)
        if share is None or share <= 0 or share < highest:
            continue
        if share > highest:
            highest, top = share, []
        top.append(name)
    return frozenset(top)


def dominant_emotion(expected_top: frozenset[str], given_top: frozenset[str]) -> Measure:
    """1 if ∅ ≠ given top ⊆ expected top, else 0        003 Text Metric 8, C-63"""
    return ratio(bool(given_top) and given_top <= expected_top, 1)
