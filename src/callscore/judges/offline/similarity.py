"""Similarity of two short statements: by embedder, if there is one, and by words."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.case import Failed
from callscore.core.judging import Embedder
from callscore.judges.offline.text_analysis import TextAnalysis
from callscore.metrics.facts.fact import Index, unmatched_facts
from callscore.metrics.graphs.bounds import best_pairing

SAME = 0.80
NEAR = 0.45
"""Below it the two may be unrelated: `cannot_tell`, as a wrong word for the intent is a blocker."""
ALIKE = 0.6
"""Lower than SAME: here numbers and negation must agree as well."""
STEPS = 1 << 52
"""Steps from 0 to 1 when a similarity becomes an integer: those of a double."""


def word_f1(one: TextAnalysis, other: TextAnalysis) -> float:
    """2 · shared content words / content words of both, without numbers

    Numbers are compared by `agree`; they count only if there is nothing else.
    """
    left, right = one.non_numeric or one.content, other.non_numeric or other.content
    both = len(left) + len(right)
    return 2 * len(left & right) / both if both else 0.0


def agree(one: TextAnalysis, other: TextAnalysis) -> bool:
    """Whether both state the same numbers, in digits or words, and both negate or neither does"""
    return (
        _states_numbers_of(one, other)
        and _states_numbers_of(other, one)
        and one.has_negation == other.has_negation
    )


def _states_numbers_of(one: TextAnalysis, other: TextAnalysis) -> bool:
    """Whether one states all numbers of the other; "two" is 2"""
    left = unmatched_facts(other.facts, Index(one.facts))
    digits = {number for fact in one.facts for number in fact.numbers}
    return all(fact.key[:2] == ("number", "") and fact.numbers <= one.counts for fact in left) and (
        other.counts <= one.counts | digits
    )


async def pair_similarities(
    pairs: Sequence[tuple[TextAnalysis, TextAnalysis]], embedder: Embedder | None, lang: str | None
) -> Sequence[float] | Failed:
    """The mean of cosine and content-word F1, or F1 alone without an embedder"""
    by_words = [word_f1(one, other) for one, other in pairs]
    if embedder is None or not pairs:
        return by_words
    found = await embedder.similarities([(one.text, other.text) for one, other in pairs], lang)
    if isinstance(found, Failed):
        return found
    return [(near.value + f1) / 2 for near, f1 in zip(found, by_words, strict=True)]


def goal_word(likeness: float) -> str:
    """same from 0.80, same_domain_incomplete from 0.45; below, cannot_tell: never a blocker"""
    if likeness >= SAME:
        return "same"
    return "same_domain_incomplete" if likeness >= NEAR else "cannot_tell"


def value_word(passed: TextAnalysis, expected: TextAnalysis) -> str:
    """different if numbers or a negation differ, same from 0.80; between, cannot_tell"""
    if not agree(passed, expected):
        return "different"
    return "same" if word_f1(passed, expected) >= SAME else "cannot_tell"


def stated_words(
    expected: Sequence[TextAnalysis],
    given: Sequence[TextAnalysis],
    likeness: Sequence[Sequence[float]],
) -> Sequence[str]:
    """One-to-one: stated if similar (≥ 0.6) with the same numbers and negation        C-55

    Similar without that is `contradicted`. One highlight that states two facts is not recognised.
    """
    if not given:
        return ["not_stated"] * len(expected)
    agreeing = [[agree(one, other) for other in given] for one in expected]
    worth = [
        [
            round(like * STEPS) if like >= ALIKE and agrees else 0
            for like, agrees in zip(*row, strict=True)
        ]
        for row in zip(likeness, agreeing, strict=True)
    ]
    _, pairs = best_pairing(worth, range(len(expected)), range(len(given)))
    stated = {row for row, _ in pairs}
    return [
        _stated_word(
            row in stated,
            any(
                like >= ALIKE and not agrees
                for like, agrees in zip(likeness[row], agreeing[row], strict=True)
            ),
        )
        for row in range(len(expected))
    ]


def match_word(fact: TextAnalysis, others: Sequence[TextAnalysis]) -> str:
    """match: similar words (≥ 0.6) with the same numbers; conflict: similar only; else none
    C-93
    """
    near = [other for other in others if word_f1(fact, other) >= ALIKE]
    if any(agree(fact, other) for other in near):
        return "match"
    return "conflict" if near else "none"


def _stated_word(is_stated: bool, is_contradicted: bool) -> str:
    if is_stated:
        return "stated"
    return "contradicted" if is_contradicted else "not_stated"
