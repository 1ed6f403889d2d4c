"""The mean score of slices of the data: by language, tag and length of the call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from callscore.core.case import turns
from callscore.report.details.decoded_case import DecodedCase

LENGTHS = ((10, "up to 10 turns"), (30, "11–30 turns"), (100, "31–100 turns"))
LONGEST_CALLS = "more than 100 turns"
MAX_SLICES = 40
"""Further values of a kind are not counted; the report says so."""


class MeanScore(msgspec.Struct):
    """The mean score of one model in one slice; an invalid answer counts as 0."""

    total: float = 0.0
    n: int = 0

    @property
    def mean(self) -> float | None:
        """Σ scores / n"""
        return self.total / self.n if self.n else None


class Slices:
    """Sums up scores by kind of slice (language, tag, length) and its value."""

    def __init__(self) -> None:
        self.kinds: dict[str, dict[str, dict[str, MeanScore]]] = {}
        self.left_out: set[str] = set()

    def add(self, case: DecodedCase) -> None:
        """Add one case to each slice that it belongs to."""
        for kind, part in _slices_of(case):
            parts = self.kinds.setdefault(kind, {})
            if part not in parts and len(parts) >= MAX_SLICES:
                self.left_out.add(kind)
                continue
            models = parts.setdefault(part, {})
            for decoded in case.answers:
                value = score_or_zero(decoded.answer.result.status, decoded.answer.result.score)
                if value is not None:
                    mean = models.setdefault(decoded.answer.model, MeanScore())
                    mean.total += value
                    mean.n += 1

    def comparable_kinds(self) -> Iterator[tuple[str, Mapping[str, Mapping[str, MeanScore]]]]:
        """Yield the kinds with more than one value; a single slice compares nothing."""
        for kind, parts in self.kinds.items():
            if len(parts) > 1:
                yield kind, dict(sorted(parts.items(), key=lambda part: _order(kind, part[0])))


def score_or_zero(status: str, score: float | None) -> float | None:
    """Return the score of an answer, 0 if it is invalid, None if it has no score."""
    if score is not None:
        return score
    return 0.0 if status == "invalid" else None


def _slices_of(case: DecodedCase) -> Iterator[tuple[str, str]]:
    record = case.view.case
    if record.lang:
        yield "Language", record.lang
    for name in dict.fromkeys(case.tags):
        yield "Tag", name
    yield "Length", call_length(len(turns(record.transcript)))


def call_length(number: int) -> str:
    """Return the length class of a call with this many turns."""
    return next((name for most, name in LENGTHS if number <= most), LONGEST_CALLS)


def _order(kind: str, part: str) -> tuple[int, str]:
    names = [name for _, name in LENGTHS] + [LONGEST_CALLS]
    return (names.index(part), "") if kind == "Length" else (0, part)
