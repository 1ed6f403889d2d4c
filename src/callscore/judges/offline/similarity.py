"""Similarity of two short statements: by embedder, if there is one, and by words."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.case import Failed
from callscore.core.ports import Embedder
from callscore.judges.offline.wording import Wording
from callscore.metrics.facts.fact import Index, unmatched_facts

SAME = 0.80
NEAR = 0.45
ALIKE = 0.6


def word_f1(one: Wording, other: Wording) -> float:
    """2 · shared content words / content words of both, without numbers

    Numbers are compared by `agree`; they count only if there is nothing else.
    """
    left, right = one.spoken or one.content, other.spoken or other.content
    both = len(left) + len(right)
    return 2 * len(left & right) / both if both else 0.0


def agree(one: Wording, other: Wording) -> bool:
    """Whether both state the same numbers, in digits or words, and both negate or neither does"""
    return (
        _states_numbers_of(one, other)
        and _states_numbers_of(other, one)
        and one.denies == other.denies
    )


def _states_numbers_of(one: Wording, other: Wording) -> bool:
    """Whether one states all numbers of the other; "two" is 2"""
    left = unmatched_facts(other.facts, Index(one.facts))
    digits = {number for fact in one.facts for number in fact.numbers}
    return all(fact.key[:2] == ("number", "") and fact.numbers <= one.counts for fact in left) and (
        other.counts <= one.counts | digits
    )


async def pair_similarities(
    pairs: Sequence[tuple[Wording, Wording]], embedder: Embedder | None, lang: str | None
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


def value_word(passed: Wording, expected: Wording) -> str:
    """different if numbers or a negation differ, same from 0.80; between, cannot_tell"""
    if not agree(passed, expected):
        return "different"
    return "same" if word_f1(passed, expected) >= SAME else "cannot_tell"


def stated_words(
    expected: Sequence[Wording], given: Sequence[Wording], likeness: Sequence[Sequence[float]]
) -> Sequence[str]:
    """One-to-one: stated if similar (≥ 0.6) with the same numbers and negation        C-55

    Similar without that is `contradicted`. One highlight that states two facts is not recognised.
    """
    if not given:
        return ["not_stated"] * len(expected)
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    alike = np.asarray(likeness) >= ALIKE
    agreeing = np.array([[agree(one, other) for other in given] for one in expected])
    worth = np.where(alike & agreeing, np.asarray(likeness), 0.0)
    rows, columns = linear_sum_assignment(worth, maximize=True)
    stated = {int(row) for row, column in zip(rows, columns, strict=True) if worth[row, column]}
    return [
        _stated_word(row in stated, bool((alike[row] & ~agreeing[row]).any()))
        for row in range(len(expected))
    ]


def match_word(fact: Wording, others: Sequence[Wording]) -> str:
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
