"""Two models on the same calls: tests of a difference, paired by call.

The scores of a card are functions of sums over calls. `first` and `second` hold what each call
contributes to those sums, one column per call, for the two models; exchanging the two within a call
is what must not matter if the models are equal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

FLIPS = 10_000
MOST_EXACT = 14
"""With this many discordant calls, all 2ⁿ exchanges are counted."""
CELLS = 4_000_000
"""Signs held at a time."""
CLOSE = 1e-12
"""Statistics that differ by less are equal: the same sum, added in another order."""
CLOSE_AS_SINGLES = 1e-6
"""The same, as a share, for sums of single precision."""

Key = TypeVar("Key", bound=Hashable)
Score = Callable[["Floats"], Mapping[Key, "Floats"]]
"""From sums (one column per weighting of calls) to scores with one entry each, NaN if undefined."""


def discordant(gap: Floats) -> npt.NDArray[np.bool_]:
    """Which calls contribute differently to the two models, from second − first"""
    import numpy as np

    found: npt.NDArray[np.bool_] = np.any(np.abs(gap) > CLOSE, axis=0)
    return found


def sign_flip_p(
    first: Floats,
    second: Floats,
    score: Score[Key],
    lines: Mapping[Key, Sequence[int]],
    seed: int,
) -> dict[Key, float | None]:
    """Share of exchanges within calls with |difference| ≥ the one observed        STATS §3

    `lines` says which sums a score is made of. All exchanges are counted where at most 14 calls
    are discordant in these; otherwise it is (1 + hits) / (1 + flips) over 10,000 random ones.
    None if the score is undefined.
    """
    total, gap = first.sum(axis=1) + second.sum(axis=1), second - first
    observed = {key: abs(float(d[0])) for key, d in _differences(score, total, gap.sum(1)).items()}
    exact: dict[bytes, list[Key]] = {}
    rest: list[Key] = []
    for key, own in lines.items():
        differing = discordant(gap[list(own)])
        if differing.sum() <= MOST_EXACT:
            exact.setdefault(differing.tobytes(), []).append(key)
        else:
            rest.append(key)
    found: dict[Key, float | None] = {}
    for keys in exact.values():
        moving = gap[:, discordant(gap[list(lines[keys[0]])])]
        still = gap.sum(axis=1) - moving.sum(axis=1)
        drawn = _differences(score, total, still[:, None] + moving @ _all_signs(moving.shape[1]))
        found |= {key: _share(drawn[key], observed[key], CLOSE, 0) for key in keys}
    found |= _sampled_p(gap, total, score, {key: observed[key] for key in rest}, seed)
    return {key: found[key] for key in lines}


def _differences(score: Score[Key], total: Floats, gap: Floats) -> dict[Key, Floats]:
    """score(second) − score(first), from the sum of both and their difference"""
    gap = gap.reshape(len(gap), -1)
    second, first = score((total[:, None] + gap) / 2), score((total[:, None] - gap) / 2)
    return {key: second[key] - first[key] for key in second}


def _share(drawn: Floats, observed: float, margin: float, more: int) -> float | None:
    """(hits + more) / (defined + more)"""
    import numpy as np

    if np.isnan(observed):
        return None
    known = np.abs(drawn[~np.isnan(drawn)])
    return float((np.count_nonzero(known >= observed - margin) + more) / (len(known) + more))


def _all_signs(calls: int) -> Floats:
    """Calls × 2^calls, every combination of ±1"""
    import numpy as np

    bits = (np.arange(2**calls) >> np.arange(calls)[:, None]) & 1
    return 1.0 - 2.0 * bits.astype(np.float64)


def _sampled_p(
    gap: Floats, total: Floats, score: Score[Key], observed: Mapping[Key, float], seed: int
) -> dict[Key, float | None]:
    import numpy as np

    if not observed:
        return {}
    random = np.random.default_rng(seed)
    lines = np.flatnonzero(np.any(np.abs(gap) > CLOSE, axis=1))
    moving = gap[:, discordant(gap)][lines].astype(np.float32)
    drawn: dict[Key, list[Floats]] = {key: [] for key in observed}
    step = max(1, CELLS // moving.shape[1])
    for begin in range(0, FLIPS, step):
        bits = _bits(random, moving.shape[1], min(step, FLIPS - begin))
        sums = np.zeros((len(gap), bits.shape[1]))
        sums[lines] = 2.0 * (moving @ bits) - moving.sum(axis=1, dtype=np.float64)[:, None]
        found = _differences(score, total, sums)
        for key in observed:
            drawn[key].append(found[key])
    return {
        key: _share(np.concatenate(drawn[key]), seen, CLOSE_AS_SINGLES * seen, 1)
        for key, seen in observed.items()
    }


def _bits(random: np.random.Generator, lines: int, columns: int) -> npt.NDArray[np.float32]:
    """0 or 1, at random: a sign is twice that, less 1"""
    import numpy as np

    width = -(-columns // 8)
    drawn = np.frombuffer(random.bytes(lines * width), np.uint8).reshape(lines, width)
    return np.unpackbits(drawn, axis=1, count=columns).astype(np.float32)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """min(1, 2 · P(X ≤ min(b, c))), X ~ Binomial(b + c, 1/2)        McNemar 1947, exact; STATS §3

    b calls only the first model got right, c only the second.
    """
    n = only_first + only_second
    if not n:
        return 1.0
    as_few = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, float(2 * as_few / 2**n))


def holm(values: Sequence[float | None]) -> list[float | None]:
    """max over i ≤ j of min(1, (m − i + 1) · p₍ᵢ₎)        Holm 1979; STATS §3

    What has no p is not counted and stays without.
    """
    known = sorted((p, at) for at, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    highest = 0.0
    for place, (p, at) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - place) * p))
        adjusted[at] = highest
    return adjusted
