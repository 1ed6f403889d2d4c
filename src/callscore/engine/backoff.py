"""How long to wait before the next attempt; pure, the random numbers are an argument."""

from __future__ import annotations

from random import Random

from callscore.core.provider import NEVER_REPEATED, AttemptFailed, FailureKind
from callscore.engine.plan import EngineOptions

SHARED: frozenset[FailureKind] = frozenset({"rate_limited", "overloaded"})
"""Failures that concern every call with the same key: all of them wait."""


def jittered(step: int, options: EngineOptions, rng: Random) -> float:
    """U(0, min(cap, first · 2^(step - 1))): full jitter"""
    # A float overflows beyond 2^1023; the cap is reached long before.
    ceiling = min(options.backoff_cap_s, options.backoff_first_s * 2.0 ** min(step - 1, 60))
    return rng.uniform(0.0, ceiling)


def told_to_wait(failure: AttemptFailed, options: EngineOptions) -> float | None:
    """What Retry-After asks for, capped; None where it says nothing that can be done."""
    told = failure.retry_after_s
    if told is None or not told > 0:
        return None
    return min(told, options.retry_after_cap_s)


def wait_after(
    failure: AttemptFailed, failures: int, options: EngineOptions, rng: Random
) -> float | None:
    """Seconds until the next attempt of this call; None where there is to be none.

    `failures` counts those of this call, refusals for the sake of limits apart from others.
    """
    if failure.kind in NEVER_REPEATED:
        return None
    if failure.kind not in SHARED and failures >= options.max_attempts:
        return None
    told = told_to_wait(failure, options)
    return jittered(failures, options, rng) if told is None else told
