"""Evidence by betting: e-processes that may be looked at whenever one likes (STATS §4).

A bettor bets against the claim "the mean is at most L". Where the claim is true, no way of betting
is expected to gain, so wealth that has ever reached 1/α speaks against it at level α, at any
stopping time (Ville). The engine carries many claims side by side, in arrays with one row a claim.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

GRID = np.arange(1, 17) / 16
"""The bet fractions, up to the largest legal bet: scores of calls differ by little, so that large
bets are the good ones. Squares and powers of 3/4 took 3 to 20 % more calls in simulations."""
FUZZ = 1e-12
"""Rounding of sums; what is known for certain is known by more than this."""


class Evidence(NamedTuple):
    """What was bet and seen so far, one row a claim; a value, never changed in place."""

    logs: Array
    """log of the wealth, claims × fractions."""
    total: Array
    """Σ of what was seen of a finite pool."""
    peak: Array
    """Running maximum of log E; infinite if the claim is refuted for certain."""


class Draws(NamedTuple):
    """The next draws in their order, claims × draws."""

    value: Array
    """What is bet on: expected to be what the pool has left, or the mean of future calls."""
    seen: Array
    """How much of the pool's total the draw uncovers."""
    least: Array
    """The least that `value` could have been, known before the draw."""


def no_evidence(claims: int) -> Evidence:
    """Nothing was bet yet: E = 1"""
    return Evidence(np.zeros((claims, len(GRID))), np.zeros(claims), np.zeros(claims))


def bet_pool(evidence: Evidence, draws: Draws, limit: Array) -> Evidence:
    """Π(1 + λ·c_s·(D_s − μ_s)), μ_s = L − S_{s−1}        STATS §4.3, claim: the pool's total ≤ L

    Drawn without replacement: under the claim what is left of the pool is at most L − S, and a
    draw is expected to be that. Where even the least draws would exceed it, the claim is refuted.
    """
    before = _running(evidence.total, draws.seen)
    return _bet(evidence, draws, limit[:, None] - before[:, :-1], before[:, -1])


def bet_future(evidence: Evidence, draws: Draws, limit: Array) -> Evidence:
    """Π(1 + λ·c·(D_s − L))        STATS §4.3, claim: the mean of future calls ≤ L"""
    mean = np.broadcast_to(limit[:, None], draws.value.shape)
    return _bet(evidence, draws, mean, _running(evidence.total, draws.seen)[:, -1])


def _running(start: Array, added: Array) -> Array:
    """start, start + a₁, start + a₁ + a₂ …, added one by one: parts of a series give its sums"""
    return np.cumsum(np.concatenate([start[:, None], added], axis=1), axis=1)


def _bet(evidence: Evidence, draws: Draws, mean: Array, total: Array) -> Evidence:
    """Bet λ times the largest legal stake, c = 1 / (μ − least), on every draw"""
    room = mean - draws.least
    staked = room > FUZZ
    gain = np.where(staked, (draws.value - mean) / np.where(staked, room, 1.0), 0.0)
    factors = np.maximum(1.0 + gain[:, :, None] * GRID, 0.0)
    with np.errstate(divide="ignore"):  # a bettor who staked everything may lose it
        steps = np.log(factors)
    logs = np.cumsum(np.concatenate([evidence.logs[:, None, :], steps], axis=1), axis=1)
    reached = np.maximum(evidence.peak, log_mean(logs).max(axis=1))
    refuted = (room < -FUZZ).any(axis=1)
    return Evidence(logs[:, -1, :], total, np.where(refuted, np.inf, reached))


def log_mean(logs: Array) -> Array:
    """log of the mean over the fractions, of logarithms"""
    summed: Array = np.logaddexp.reduce(logs, axis=-1)
    return summed - math.log(len(GRID))


def log_threshold(claims: int, alpha: float) -> float:
    """log(claims / α): what E must reach if this many claims share the level"""
    return math.log(claims / alpha)
