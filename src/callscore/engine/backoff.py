"""How long to wait before the next attempt. Pure: the random generator is an argument."""

from __future__ import annotations

from random import Random

from callscore.core.provider import NEVER_REPEATED, AttemptFailed, FailureKind
from callscore.engine.workload import EngineOptions

SHARED: frozenset[FailureKind] = frozenset({"rate_limited", "overloaded"})
"""Failures that concern every request with the same key: all of them wait."""


def jittered(step: int, options: EngineOptions, rng: Random) -> float:
    """U(0, min(cap, first · 2^(step - 1))): full jitter"""
    # A float overflows beyond 2^1023; the cap is reached long before.
    ceiling = min(options.backoff_cap_s, options.backoff_first_s * 2.0 ** min(step - 1, 60))
    return rng.uniform(0.0, ceiling)


def requested_wait(failure: AttemptFailed, options: EngineOptions) -> float | None:
    """The wait that Retry-After demands, capped; None if there is none."""
    wait = failure.retry_after_s
    if wait is None or not wait > 0:
        return None
    return min(wait, options.retry_after_cap_s)


def retry_wait(
    failure: AttemptFailed, failures: int, options: EngineOptions, rng: Random
) -> float | None:
    """Seconds until the next attempt of this request; None if there is none.

    `failures` counts the failures of this request; rate-limit refusals are counted separately.
    """
    if failure.kind in NEVER_REPEATED:
        return None
    if failure.kind not in SHARED and failures >= options.max_attempts:
        return None
    wait = requested_wait(failure, options)
    return jittered(failures, options, rng) if wait is None else wait
