"""mUSE, chrF and their mean beside people: by sentence, by call, model against model."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from bench.labelled import resampled, span
from bench.translations import Translated, data_sets
from callscore.core.case import Failed
from callscore.core.judging import Embedder
from callscore.embeddings.catalog import ChrfEmbedder
from callscore.embeddings.encoder import CosineEmbedder
from callscore.embeddings.muse import Muse

if TYPE_CHECKING:
    import numpy as np

    Values = np.ndarray[Any, np.dtype[np.float64]]

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)

HEADINGS = ("mUSE", "chrF", "mUSE − chrF", "mean", "mean − mUSE")


class Scored(NamedTuple):
    """One translation, or the mean of a call's: the scores of people, of mUSE and of chrF."""

    call: str
    system: str
    scores: tuple[float, float, float]


def main() -> None:
    muse, lexical = CosineEmbedder(Muse()), ChrfEmbedder()
    for name, translations in data_sets():
        by_direction = _grouped(translations, lambda one: one.direction)
        scored = {direction: _scored(muse, lexical, own) for direction, own in by_direction.items()}
        _table(f"{name}: sentences", scored)
        if any(len({one.system for one in own}) > 1 for own in scored.values()):
            _table(f"{name}: calls", {way: _calls(own) for way, own in scored.items()})
            _models(scored)


def _scored(muse: Embedder, lexical: Embedder, own: Sequence[Translated]) -> list[Scored]:
    lang = own[0].direction.partition(">")[2]
    pairs = [(one.text, one.reference) for one in own]
    found = [_values(embedder, pairs, lang) for embedder in (muse, lexical)]
    return [
        Scored(one.call, one.system, (one.human, *values))
        for one, *values in zip(own, *found, strict=True)
    ]


def _values(embedder: Embedder, pairs: Sequence[tuple[str, str]], lang: str) -> list[float]:
    found = asyncio.run(embedder.similarities(pairs, lang))
    assert not isinstance(found, Failed)
    return [similarity.value for similarity in found]


def _calls(scored: Sequence[Scored]) -> list[Scored]:
    """What a case gets: the mean over its sentences."""
    by_call = _grouped(scored, lambda one: (one.call, one.system))
    return [Scored(*key, _means(own)) for key, own in by_call.items()]


def _means(scored: Sequence[Scored]) -> tuple[float, float, float]:
    human, muse, lexical = (
        sum(column) / len(scored) for column in zip(*(one.scores for one in scored), strict=True)
    )
    return human, muse, lexical


def _table(heading: str, by_direction: Mapping[str, Sequence[Scored]]) -> None:
    """Spearman with people by direction, and the mean over the directions."""
    import numpy as np

    if not by_direction:
        return
    print(f"{heading}, Spearman with people")
    points, draws = [], []
    for direction, scored in by_direction.items():
        point, drawn = _spearman(scored)
        _row(direction, len(scored), point, drawn)
        points.append(point)
        draws.append(drawn)
    total = sum(map(len, by_direction.values()))
    _row(f"mean of {len(points)}", total, np.mean(points, axis=0), np.mean(draws, axis=0))


def _spearman(scored: Sequence[Scored]) -> tuple[Values, Values]:
    """The correlations, that of their mean, and differences, now and over resampled calls."""
    import numpy as np
    from scipy.stats import rankdata

    scores = np.array([one.scores for one in scored]).T
    columns = np.vstack([scores, scores[1:].mean(axis=0)])
    places = _grouped(range(len(scored)), lambda index: scored[index].call)

    def measure(chosen: Sequence[int]) -> Values:
        human = np.corrcoef([rankdata(column) for column in columns[:, chosen]])[0]
        _, muse, lexical, mean = human
        return np.array([muse, lexical, muse - lexical, mean, mean - muse])

    return measure(range(len(scored))), resampled(measure, list(places.values()))


def _row(label: str, n: int, point: Values, drawn: Values) -> None:
    shown = []
    for name, value, low, high in zip(HEADINGS, point, *span(drawn), strict=True):
        shown.append(f"{name} {value:+.2f} [{low:+.2f}, {high:+.2f}]")
    print(f"  {label:12} {n:6}  {'  '.join(shown)}")


def _models(by_direction: Mapping[str, Sequence[Scored]]) -> None:
    """How many pairs of models each puts in the order of people."""
    pairs, agreed = 0, [0, 0]
    for scored in by_direction.values():
        means = map(_means, _grouped(scored, lambda one: one.system).values())
        for one, other in combinations(means, 2):
            pairs += 1
            people = one[0] - other[0]
            for at in (0, 1):
                agreed[at] += (one[at + 1] - other[at + 1]) * people > 0
    print(
        f"  pairs of models in the order of people: mUSE {agreed[0]}, chrF {agreed[1]} of {pairs}"
    )


def _grouped(items: Sequence[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    groups: defaultdict[K, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return groups
