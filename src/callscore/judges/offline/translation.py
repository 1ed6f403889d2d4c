"""Estimates for translations: fluency by similarity to the human's sentence, facts by their words.

Neither recognises a good paraphrase; both are approximate and decide no gate.
"""

from __future__ import annotations

from collections import Counter

from callscore.judges.offline.stems import words
from callscore.judges.offline.wording import Wording
from callscore.metrics.chrf import chrf
from callscore.metrics.facts.fact import Index, unmatched_facts

FLUENT = ((0.60, "native"), (0.40, "minor"), (0.25, "noticeable"), (0.10, "significant"))
"""The fluency for a similarity to the human's sentence."""
KEPT = 0.5
"""The share of a fact's words that a translation must have."""
MOST_WORDS = 500
"""Words of a sentence whose order is compared."""


def fluency_word(sentence: str, human: str) -> str:
    """native from chrF · order 0.60, minor from 0.40, … else incomprehensible"""
    likeness = chrf(sentence, human) * order(sentence, human)
    return next((word for least, word in FLUENT if likeness >= least), "incomprehensible")


def order(sentence: str, human: str) -> float:
    """shared words in the same order / shared words; 1 if none is shared"""
    from rapidfuzz.distance import LCSseq

    given, wanted = (
        [word.casefold() for word in words(text)[:MOST_WORDS]] for text in (sentence, human)
    )
    shared = (Counter(given) & Counter(wanted)).total()
    return LCSseq.similarity(given, wanted) / shared if shared else 1.0


def fact_word(fact: Wording, translation: Wording) -> str:
    """preserved: half of the fact's words, all its numbers and its negation occur; else omitted"""
    if not fact.content:
        return "cannot_tell"
    is_kept = (
        not unmatched_facts(fact.facts, Index(translation.said.facts))
        and _share(fact.matter, translation.content) >= KEPT
        and _keeps_denials(fact, translation)
    )
    return "preserved" if is_kept else "omitted"


def _keeps_denials(fact: Wording, translation: Wording) -> bool:
    """Whether the negations of the fact are kept, and none is added"""
    own, given = fact.denied, translation.denied
    if not own:
        return not any(fact.matter <= said.around for said in given)
    return all(any(_share(scope.around, said.around) >= KEPT for said in given) for scope in own)


def _share(some: frozenset[str], others: frozenset[str]) -> float:
    return len(some & others) / len(some) if some else 1.0
