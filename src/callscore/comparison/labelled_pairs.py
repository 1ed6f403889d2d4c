"""Two models as people would judge them, if people have labelled answers of both    STATS §5"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from callscore.evaluate.bands import add_people
from callscore.evaluate.corrections import ModelCorrection
from callscore.stats.claims import ClaimInput
from callscore.stats.contributions import Contributions, ModelShape
from callscore.stats.intervals import Interval
from callscore.stats.label_corrections import LabelCorrection, label_matrix
from callscore.stats.matrix import CallMatrix, group_calls
from callscore.stats.resampling import ModelValues
from callscore.stats.weighted_scores import ScoreKey

if TYPE_CHECKING:
    from callscore.stats.matrix import Floats


class LabelledPair(NamedTuple):
    """How the values of both models are corrected."""

    first: ModelCorrection
    second: ModelCorrection

    @property
    def matrices(self) -> Sequence[CallMatrix]:
        """What is resampled together with the calls of both."""
        return [group_calls(side.labels.matrix) for side in self]

    def corrected(self, sums: Sequence[Floats]) -> Sequence[ModelValues]:
        """All values of both models from their sums, then those of their labels."""
        return [
            side.corrected(own, of_labels)
            for side, own, of_labels in zip(self, sums[:2], sums[2:], strict=True)
        ]

    def concerns(self, key: ScoreKey) -> bool:
        """Whether a label changes a value: of a row, or of a score that a row counts in."""
        blocks = {block for side in self for block in side.labels.rows}
        if key[0] == "row":
            return any(slug == key[1] for _, slug in blocks)
        if key[0] in ("task", "part"):
            return any(task == key[1] for task, _ in blocks)
        return key[0] != "cost"

    def claim(self, judged: Interval | None, key: ScoreKey, alpha: float) -> Interval | None:
        """The limits of second − first, from those of the judge at α/2."""
        first, second = (side.difference(key, alpha / 4) for side in self)
        return add_people(judged, first, second)


def labelled_pair(
    contributions: Collection[Contributions],
    matrices: Sequence[CallMatrix],
    shape: ModelShape,
) -> LabelledPair | None:
    """The labels of both models on the calls that they share; None if one has too few."""
    found = []
    for at, (of_model, matrix) in enumerate(zip(contributions, matrices, strict=True)):
        labels = label_matrix(of_model, shape, matrix.units, matrix)
        if labels is None:
            return None
        given = ClaimInput(shape, matrix, matrix.sums.max(axis=1, initial=0.0))
        correction = LabelCorrection(labels, matrix.place, shape)
        found.append(ModelCorrection(at, given, labels, correction))
    return LabelledPair(*found)
