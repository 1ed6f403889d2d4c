"""Estimates for translations: fluency by likeness to the human's sentence, facts by their words.

Both are blind to a good paraphrase; what they say is approximate and decides no gate.
"""

from __future__ import annotations

from callscore.judges.offline.wording import Wording
from callscore.metrics.chrf import chrf

FLUENT = ((0.60, "native"), (0.40, "minor"), (0.25, "noticeable"), (0.10, "significant"))
"""From which chrF to the human's sentence a sentence is taken for how fluent."""
KEPT = 0.6
"""The share of a fact's words that a translation must have."""


def fluency_word(sentence: str, human: str) -> str:
    """native from chrF 0.60 to the human's sentence, minor from 0.40, … else incomprehensible"""
    likeness = chrf(sentence, human)
    return next((word for least, word in FLUENT if likeness >= least), "incomprehensible")


def fact_word(fact: Wording, translation: Wording) -> str:
    """preserved where the translation has 0.6 of the fact's content words, else omitted"""
    words = fact.content
    if not words:
        return "cannot_tell"
    share = len(words & translation.content) / len(words)
    return "preserved" if share >= KEPT else "omitted"
