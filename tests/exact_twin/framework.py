"""The numbers of document 003, copied from the document independently of `spec.toml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

from exact_twin.exact import TOLERANCE

Test = Callable[[Fraction], bool]


def _parts(**percent: int) -> dict[str, Fraction]:
    return {name: Fraction(points, 100) for name, points in percent.items()}


def _weights(task: str, **percent: int) -> dict[str, Fraction]:
    return {f"{task}.{name}": share for name, share in _parts(**percent).items()}


SUBSCORES: Mapping[str, Mapping[str, Fraction]] = {
    "sentiment": _weights("text", sentiment_accuracy=60, sentiment_macro_f1=40),
    "summary": _weights(
        "text",
        call_intent=30,
        highlight_recall=10,
        highlight_correctness=10,
        field_presence=20,
        fabrication_free=30,
    ),
    "emotion": _weights("text", dominant_emotion=100),
}
IN_TEXT = _parts(sentiment=30, summary=50, emotion=20)
WEIGHTS: Mapping[str, Mapping[str, Fraction]] = {
    "qa": _weights(
        "qa", question_score_accuracy=70, score_gap_accuracy=20, evidence_backed_reasoning=10
    ),
    "entity": _weights("entity", keyword_f1=47, topic_f1=29, config_adherence=24),
    "text": {
        slug: IN_TEXT[part] * share
        for part, weights in SUBSCORES.items()
        for slug, share in weights.items()
    },
    "translation": _weights(
        "translation",
        completeness=10,
        meaning=35,
        fluency=10,
        domain_terms=20,
        proper_nouns=10,
        critical_facts=15,
    ),
}
OPTION_B = _parts(qa=35, entity=30, text=20, translation=15)


def at_least(limit: str) -> Test:
    return lambda value: value >= Fraction(limit) - TOLERANCE


def at_most(limit: str) -> Test:
    return lambda value: value <= Fraction(limit) + TOLERANCE


def below(limit: str) -> Test:
    return lambda value: value < Fraction(limit) - TOLERANCE


def above(limit: str) -> Test:
    return lambda value: value > Fraction(limit) + TOLERANCE


class Gate(NamedTuple):
    """A `[!]` row: what breaches it, whether per call, and whether the formula box has it."""

    is_breached: Test
    is_per_call: bool
    in_formula: bool = True


GATES: Mapping[str, Gate] = {
    "qa.structure": Gate(below("1"), True),
    "qa.false_pass_rate": Gate(above("3"), False, in_formula=False),
    "entity.structure": Gate(below("1"), True),
    "entity.fabricated_count": Gate(above("2"), True),
    "entity.config_adherence": Gate(below("0.95"), False, in_formula=False),
    "text.structure": Gate(below("1"), True),
    "text.missing_labels": Gate(above("2"), True),
    "text.call_intent": Gate(at_most("0"), True),
    "text.fabrication_free": Gate(below("0.97"), False),
    "translation.structure": Gate(below("1"), True),
    "translation.domain_terms": Gate(below("0.90"), False),
    "translation.critical_facts": Gate(below("0.97"), False),
}


POOLED = frozenset(slug for slug, gate in GATES.items() if not gate.is_per_call)
"""The five metrics with a rate gate; their percent twins are pooled as well (C-06)."""


class Table(NamedTuple):
    """A rating table from the top, the rating below its bands, and the printed threshold."""

    bands: tuple[tuple[str, Test], ...]
    rest: str | None
    threshold: Test | None


def _share_table(
    good: str, acceptable: str, threshold: str | None = "", rest: str = "Fail"
) -> Table:
    bands = (("Good", at_least(good)), ("Acceptable", at_least(acceptable)))
    return Table(bands, rest, None if threshold is None else at_least(threshold or good))


_KEYWORDS, _TOPICS = _share_table("0.90", "0.85", None), _share_table("0.88", "0.80", None)
_COUNT = Table((("Good", at_most("0")), ("Warning", at_most("2"))), "Blocker", at_most("0"))
_STRUCTURE = Table((("Good", at_least("1")),), "Blocker", at_least("1"))

RATINGS: Mapping[str, Table] = {
    "qa.question_score_accuracy": _share_table("0.95", "0.90"),
    "qa.score_gap_accuracy": _share_table("0.90", "0.80"),
    "qa.evidence_backed_reasoning": _share_table("0.90", "0.80"),
    "qa.false_pass_rate": Table(
        (("Good", at_most("1")), ("Acceptable", at_most("3"))), "Blocker", at_most("1")
    ),
    "qa.structure": _STRUCTURE,
    "entity.keyword_precision": _KEYWORDS,
    "entity.keyword_recall": _KEYWORDS,
    "entity.keyword_f1": _share_table("0.90", "0.85"),
    "entity.topic_precision": _TOPICS,
    "entity.topic_recall": _TOPICS,
    "entity.topic_f1": _share_table("0.88", "0.80"),
    "entity.config_adherence": _share_table("1", "0.95", "0.95", "Blocker"),
    "entity.cross_language_match_rate": Table(
        (("Good", at_least("0.90")),), "Fail", at_least("0.90")
    ),
    "entity.fabricated_count": _COUNT,
    "entity.structure": _STRUCTURE,
    "text.sentiment_accuracy": _share_table("0.88", "0.80"),
    "text.sentiment_macro_f1": _share_table("0.85", "0.75"),
    "text.missing_labels": _COUNT,
    "text.call_intent": _share_table("1", "0.5"),
    "text.highlight_recall": _share_table("0.85", "0.75"),
    "text.highlight_correctness": _share_table("0.90", "0.80"),
    "text.field_presence": _share_table("0.90", "0.75"),
    "text.fabrication_free": Table(
        (("Good", at_least("1")), ("Acceptable", at_least("0.98")), ("Fail", at_least("0.97"))),
        "Blocker",
        at_least("0.97"),
    ),
    "text.hallucination_rate": Table(
        (("Good", at_most("0")), ("Acceptable", at_most("2")), ("Fail", at_most("3"))),
        "Blocker",
        None,
    ),
    "text.dominant_emotion": Table((("Good", at_least("1")),), None, at_least("1")),
    "text.structure": _STRUCTURE,
    "translation.completeness": _share_table("1", "0.95"),
    "translation.meaning": _share_table("0.85", "0.75"),
    "translation.fluency": _share_table("0.85", "0.70"),
    "translation.domain_terms": _share_table("0.95", "0.90", "0.95", "Blocker"),
    "translation.proper_nouns": _share_table("0.95", "0.90"),
    "translation.critical_facts": _share_table("1", "0.97", "0.97", "Blocker"),
    "translation.drift": Table(
        (("Good", at_most("0")), ("Acceptable", at_most("3"))), "Blocker", None
    ),
    "translation.structure": _STRUCTURE,
}
PERCENT_TWINS = {
    "text.hallucination_rate": "text.fabrication_free",
    "translation.drift": "translation.critical_facts",
}
COUNTS = {"entity.fabricated_count", "text.missing_labels"}


def slugs_of(task: str) -> list[str]:
    return [slug for slug in RATINGS if slug.startswith(f"{task}.")]
