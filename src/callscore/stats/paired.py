"""Tests of the difference of two models, paired by call.

Scores are functions of sums over calls. `first` and `second` have the contributions of each call to
these sums, one column per call. If the models are equal, exchanging them within a call does not
change the distribution of the difference.
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
MAX_EXACT = 14
"""Up to this many discordant calls, all 2ⁿ sign flips are evaluated."""
BATCH_CELLS = 4_000_000
"""Signs in memory at a time."""
EPSILON = 1e-12
"""Statistics that differ by less are equal up to rounding."""
SINGLE_EPSILON = 1e-6
"""The same, relative, in single precision."""

Key = TypeVar("Key", bound=Hashable)
Score = Callable[["Floats"], Mapping[Key, "Floats"]]
"""Computes scores, NaN if undefined, from sums with one column per weighting of calls."""


def discordant_calls(gap: Floats) -> npt.NDArray[np.bool_]:
    """Whether the two models differ, by call, from second − first"""
    import numpy as np

    result: npt.NDArray[np.bool_] = np.any(np.abs(gap) > EPSILON, axis=0)
    return result


def sign_flip_p(
    first: Floats,
    second: Floats,
    score: Score[Key],
    lines: Mapping[Key, Sequence[int]],
    seed: int,
) -> dict[Key, float | None]:
    """Share of sign flips with |difference| ≥ the observed one        STATS §3

    `lines` has the indices of the sums that a score depends on. All flips are evaluated if at most
    14 calls are discordant in these sums; otherwise p is (1 + hits) / (1 + flips) over 10,000
    random flips. None if the score is undefined.
    """
    total, gap = first.sum(axis=1) + second.sum(axis=1), second - first
    observed = {key: abs(float(d[0])) for key, d in _differences(score, total, gap.sum(1)).items()}
    exact: dict[bytes, list[Key]] = {}
    sampled: list[Key] = []
    for key, indices in lines.items():
        is_discordant = discordant_calls(gap[list(indices)])
        if is_discordant.sum() <= MAX_EXACT:
            exact.setdefault(is_discordant.tobytes(), []).append(key)
        else:
            sampled.append(key)
    result: dict[Key, float | None] = {}
    for keys in exact.values():
        flipped = gap[:, discordant_calls(gap[list(lines[keys[0]])])]
        fixed = gap.sum(axis=1) - flipped.sum(axis=1)
        differences = _differences(
            score, total, fixed[:, None] + flipped @ _all_signs(flipped.shape[1])
        )
        result |= {key: _p_value(differences[key], observed[key], EPSILON, 0) for key in keys}
    result |= _sampled_p(gap, total, score, {key: observed[key] for key in sampled}, seed)
    return {key: result[key] for key in lines}


def _differences(score: Score[Key], total: Floats, gap: Floats) -> dict[Key, Floats]:
    """score(second) − score(first), from the sum of both and their difference"""
    gap = gap.reshape(len(gap), -1)
    second, first = score((total[:, None] + gap) / 2), score((total[:, None] - gap) / 2)
    return {key: second[key] - first[key] for key in second}


def _p_value(differences: Floats, observed: float, margin: float, more: int) -> float | None:
    """(hits + more) / (defined + more)"""
    import numpy as np

    if np.isnan(observed):
        return None
    defined = np.abs(differences[~np.isnan(differences)])
    return float((np.count_nonzero(defined >= observed - margin) + more) / (len(defined) + more))


def _all_signs(calls: int) -> Floats:
    """All combinations of ±1: calls × 2^calls"""
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
    lines = np.flatnonzero(np.any(np.abs(gap) > EPSILON, axis=1))
    flipped = gap[:, discordant_calls(gap)][lines].astype(np.float32)
    differences: dict[Key, list[Floats]] = {key: [] for key in observed}
    step = max(1, BATCH_CELLS // flipped.shape[1])
    for begin in range(0, FLIPS, step):
        bits = _random_bits(random, flipped.shape[1], min(step, FLIPS - begin))
        sums = np.zeros((len(gap), bits.shape[1]))
        sums[lines] = 2.0 * (flipped @ bits) - flipped.sum(axis=1, dtype=np.float64)[:, None]
        result = _differences(score, total, sums)
        for key in observed:
            differences[key].append(result[key])
    return {
        key: _p_value(np.concatenate(differences[key]), difference, SINGLE_EPSILON * difference, 1)
        for key, difference in observed.items()
    }


def _random_bits(random: np.random.Generator, lines: int, columns: int) -> npt.NDArray[np.float32]:
    """Random zeros and ones; the sign is 2 · bit − 1"""
    import numpy as np

    width = -(-columns // 8)
    raw = np.frombuffer(random.bytes(lines * width), np.uint8).reshape(lines, width)
    return np.unpackbits(raw, axis=1, count=columns).astype(np.float32)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """min(1, 2 · P(X ≤ min(b, c))), X ~ Binomial(b + c, 1/2)        McNemar 1947, exact; STATS §3

    b: calls that only the first model got right; c: only the second.
    """
    n = only_first + only_second
    if not n:
        return 1.0
    tail = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, float(2 * tail / 2**n))


def holm_adjust(values: Sequence[float | None]) -> list[float | None]:
    """max over i ≤ j of min(1, (m − i + 1) · p₍ᵢ₎)        Holm 1979; STATS §3

    Missing p values are not counted and stay None.
    """
    defined = sorted((p, at) for at, p in enumerate(values) if p is not None)
    adjusted: list[float | None] = [None] * len(values)
    highest = 0.0
    for place, (p, at) in enumerate(defined):
        highest = max(highest, min(1.0, (len(defined) - place) * p))
        adjusted[at] = highest
    return adjusted
