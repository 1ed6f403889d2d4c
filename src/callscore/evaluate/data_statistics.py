"""Statistics of a data set: calls, languages, lengths, labels, duplicates, statistical power."""

from __future__ import annotations

import hashlib
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping
from sys import intern
from typing import Any, NamedTuple, Self

from callscore.core.case import Case, spoken_text
from callscore.stats.power import detectable_difference

MOST_LABELS = 8
"""A field with more distinct values is not a label."""
USUAL_DEVIATION = 0.2
"""Standard deviation per call of a difference between two models, if no run has measured it."""
SHOWN = 5
NO_LABELS = ("max_score", "type", "text")
"""Keys of an outcome that describe an item and do not label it."""


class _Call(NamedTuple):
    """What is counted of a call."""

    language: str
    words: int
    digest: bytes
    """A hash of its words."""


class DataStatistics:
    """Counts cases one at a time; keeps numbers, names and hashes, not texts."""

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}
        self._labels: dict[str, Counter[str]] = {}
        self._questions: dict[str, Counter[str]] = {}

    def add(self, case: Case) -> None:
        """Count one case; a call with several tasks is counted once."""
        self._count_labels(case)
        call = str(case.call_id if case.call_id is not None else case.id)
        if call in self._calls:
            return
        words = spoken_text(case.transcript).split()
        digest = hashlib.blake2b(" ".join(words).casefold().encode(), digest_size=12).digest()
        self._calls[call] = _Call(intern(case.lang or "not named"), len(words), digest)

    def __iadd__(self, later: DataStatistics) -> Self:
        """Add the counts of later cases."""
        for call, found in later._calls.items():
            self._calls.setdefault(call, found)
        for name, counts in later._labels.items():
            labels = self._labels.setdefault(name, Counter())
            if len(labels) <= MOST_LABELS:
                labels.update(counts)
        for name, counts in later._questions.items():
            self._questions.setdefault(name, Counter()).update(counts)
        return self

    def _count_labels(self, case: Case) -> None:
        for path, owner, value in _leaves(case.expected_outcome):
            if path.endswith(".reason"):
                continue  # words about a label
            name = f"{case.task}.{path}"
            counts = self._labels.setdefault(name, Counter())
            if len(counts) <= MOST_LABELS:
                counts[_label_text(value)] += 1
            if owner and path.endswith(".score"):
                self._questions.setdefault(f"{case.task} {owner}", Counter())[
                    _label_text(value)
                ] += 1

    def lines(self) -> Iterator[str]:
        """The statistics as lines of text."""
        if not self._calls:
            return
        spoken = Counter(call.language for call in self._calls.values())
        languages = ", ".join(f"{name} {count}" for name, count in spoken.most_common())
        words = [call.words for call in self._calls.values()]
        lengths = f"{min(words)} to {max(words)}, median {statistics.median(words):g}"
        yield f"calls {len(self._calls)}; languages: {languages}; words per call: {lengths}"
        for name, counts in sorted(self._labels.items()):
            if 1 < len(counts) <= MOST_LABELS and sum(counts.values()) > len(counts):
                shown = ", ".join(f"{label} {count}" for label, count in counts.most_common())
                yield f"labels of {name}: {shown}"
        yield from self._one_sided_questions()
        yield from self._duplicate_calls()
        yield self._power()

    def _one_sided_questions(self) -> Iterator[str]:
        single = [
            f"{name} (always {next(iter(counts))})"
            for name, counts in sorted(self._questions.items())
            if len(counts) == 1 and sum(counts.values()) > 1
        ]
        if single:
            yield (
                f"questions with one answer only: {_first_names(single)}; "
                "they hardly distinguish models"
            )

    def _duplicate_calls(self) -> Iterator[str]:
        by_words: dict[bytes, list[str]] = {}
        for name, call in self._calls.items():
            by_words.setdefault(call.digest, []).append(name)
        groups = [calls for calls in by_words.values() if len(calls) > 1]
        if groups:
            shown = [" = ".join(calls) for calls in groups]
            yield f"calls with the same words: {_first_names(shown)}"

    def _power(self) -> str:
        calls = len(self._calls)
        smallest = detectable_difference(USUAL_DEVIATION, calls)
        if smallest is None or smallest >= 1:
            shown = "one call" if calls == 1 else f"{calls} calls"
            return f"{shown} cannot show which of two models is better"
        return (
            f"{calls} calls can show a difference of about {smallest:.2f} between two models "
            f"(80 % power, if it varies by {USUAL_DEVIATION:g} from call to call)"
        )


def _leaves(value: Any, path: str = "", owner: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every short value inside lists of an outcome: its path, the id of its item, the value."""
    if isinstance(value, Mapping):
        own = next((str(value[key]) for key in value if key.endswith("_id")), owner)
        for key, inner in value.items():
            if not key.endswith("_id") and key not in NO_LABELS:
                yield from _leaves(inner, f"{path}.{key}" if path else key, own)
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, Mapping):
                yield from _leaves(inner, path, owner)
    elif path and owner and not (isinstance(value, str) and len(value) > 30):
        yield path, owner, value


def _label_text(value: Any) -> str:
    if value is None:
        return "N/A"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:g}"


def _first_names(names: list[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more} more" if more > 0 else "")
