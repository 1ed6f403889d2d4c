"""Calls labelled without reading: one label and the most frequent emotion, every field empty.

What a judge would decide (purpose, highlights, claims) is that of the model if it was judged,
otherwise it gets the most lenient verdict.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

from callscore.core.task import FloorTally, Strategy
from callscore.scorecard.floors import share
from callscore.suites.calls.spec import Settings
from callscore.suites.calls.text.measures import CLASSES
from callscore.suites.calls.text.reference import TextReference

ACCURACY, MACRO_F1 = "text.sentiment_accuracy", "text.sentiment_macro_f1"
FIELDS, EMOTION = "text.field_presence", "text.dominant_emotion"
LENIENT = (
    "text.call_intent",
    "text.highlight_recall",
    "text.highlight_correctness",
    "text.fabrication_free",
)


class TextFloor(FloorTally):
    """Counts labels, emotions and fields that people gave."""

    judged = frozenset(LENIENT)

    def __init__(self, settings: Settings) -> None:
        self._divide_by_three = settings.macro_f1 == "divide_by_3"
        self._labels: Counter[tuple[int, ...]] = Counter()
        """Calls by how many sentences of each class they have."""
        self._emotions: Counter[frozenset[str]] = Counter()
        self._fields: Counter[bool] = Counter()
        """Calls by whether a field is required."""
        self._judged: Counter[str] = Counter()

    def add(self, reference: TextReference) -> None:
        """Count one call."""
        absent = reference.absent
        if reference.sentences:
            given = [sentence.label for sentence in reference.sentences.values()]
            labels = tuple([given.count(name) for name in CLASSES])
            if any(labels):
                self._labels[labels] += 1
        if EMOTION not in absent:
            self._emotions[reference.top_emotions] += 1
        if FIELDS not in absent:
            self._fields[bool(reference.required_fields)] += 1
        for slug in LENIENT:
            self._judged[slug] += slug not in absent

    def __iadd__(self, later: TextFloor) -> Self:
        """Add the counts of later calls."""
        self._labels.update(later._labels)
        self._emotions.update(later._emotions)
        self._fields.update(later._fields)
        self._judged.update(later._judged)
        return self

    def strategies(self) -> Iterable[Strategy]:
        """Every label for all sentences, each with the most frequent emotion and empty fields."""
        rows: dict[str, float | None] = {
            slug: 1.0 if self._judged[slug] else None for slug in LENIENT
        }
        rows[FIELDS] = share(self._fields[False], self._fields.total())
        named = {name for top in self._emotions for name in top}
        usual = max((self._count_calls_with(name) for name in named), default=0)
        rows[EMOTION] = share(usual, self._emotions.total())
        for at, label in enumerate(CLASSES):
            name = f"every sentence {label}, the usual emotion, every field empty"
            yield Strategy(name, {**rows, **self._sentiment_rows(at)})

    def _count_calls_with(self, emotion: str) -> int:
        """The calls in which this emotion is the greatest, or one of the greatest."""
        return sum(count for top, count in self._emotions.items() if emotion in top)

    def _sentiment_rows(self, at: int) -> dict[str, float | None]:
        """Both rows if every sentence has the label at this place."""
        calls = self._labels.total()
        right = (count * labels[at] / sum(labels) for labels, count in self._labels.items())
        f1 = (count * self._f1(labels, at) for labels, count in self._labels.items())
        return {ACCURACY: share(math.fsum(right), calls), MACRO_F1: share(math.fsum(f1), calls)}

    def _f1(self, labels: Sequence[int], at: int) -> float:
        """(2 n / (n + N)) / classes that occur, if one label is used everywhere        C-52"""
        classes = sum(map(bool, labels)) + (not labels[at])
        divisor = len(CLASSES) if self._divide_by_three else classes
        return 2 * labels[at] / (labels[at] + sum(labels)) / divisor
