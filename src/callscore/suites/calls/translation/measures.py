"""Translation measures (003 Task 4). Formulas only; weights, bands and gates live in spec.toml."""

from __future__ import annotations

import math
from collections.abc import Sequence

from callscore.core.measure import Measure, not_run, ratio, vacuous

_NOTHING_EXPECTED = vacuous(1.0)


def completeness(translated: int, total: int) -> Measure:
    """translated_sentence_count / total_source_sentences        003 Translation Metric 1, C-65"""
    return ratio(translated, total)


def meaning(similarities: Sequence[float | None]) -> Measure:
    """mean(clamp(cosine(model, expected), 0, 1))        003 Translation Metric 2, C-67

    One similarity for every expected sentence, None where nobody has compared it.
    """
    waiting = similarities.count(None)
    if waiting:
        return not_run(f"{waiting} of {len(similarities)} sentences await a similarity")
    return ratio(math.fsum(min(1.0, max(0.0, s)) for s in similarities if s), len(similarities))


def fluency(ratings: Sequence[float | None], total: int) -> Measure:
    """mean(anchor of each translated sentence)        003 Translation Metric 3, C-69

    `ratings` leaves untranslated sentences out; None stands where nobody has judged. An answer
    that translates none of its `total` sentences has no fluency at all: 0.
    """
    if not ratings:
        return ratio(0, total)
    waiting = ratings.count(None)
    if waiting:
        return not_run(f"{waiting} of {len(ratings)} translated sentences await a verdict")
    return ratio(math.fsum(rating for rating in ratings if rating), len(ratings))


def preservation(correct: int, total: int) -> Measure:
    """correctly handled / expected terms, or nouns      003 Translation Metrics 4 and 5, C-70, C-72

    Nothing expected is 1, vacuous (C-73).
    """
    return ratio(correct, total) if total else _NOTHING_EXPECTED


def critical_facts(drifted: int, total: int, *, approximate: bool = False) -> Measure:
    """max(0, 1 − drifted / max(1, total))        003 Translation Metric 6, C-75"""
    kept, most = max(0, total - drifted), max(1, total)
    if not (drifted or total):
        return Measure(1.0, vacuous=True, approximate=approximate)
    return Measure(kept / most, kept, most, approximate=approximate)


def drift(drifted: int, total: int, *, approximate: bool = False) -> Measure:
    """100 × (lost + added facts) / max(1, total)        003 Translation Metric 6, C-14, C-75"""
    most = max(1, total)
    if not (drifted or total):
        return Measure(0.0, vacuous=True, approximate=approximate)
    return Measure(100 * drifted / most, drifted, most, approximate=approximate)
