"""Which calls to label: at random, from every stratum, or where models disagree most."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from callscore.core.case import spoken_text
from callscore.core.errors import UsageError

LENGTHS = ((200, "short"), (800, "medium"))
"""Words up to which a call is called so; a longer one is long."""


def length_of(transcript: Any) -> str:
    """`short`, `medium` or `long`, by the number of words."""
    words = len(spoken_text(transcript).split())
    return next((name for most, name in LENGTHS if words <= most), "long")


def stratum_of(record: Mapping[str, Any], transcript: Any, keys: Sequence[str]) -> tuple[str, ...]:
    """What a call is like, by the keys that the user names."""
    return tuple(
        length_of(transcript) if key == "length" else _value(record.get(key)) for key in keys
    )


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def draw_random(calls: Sequence[str], number: int, seed: int) -> list[str]:
    """Calls drawn at random, each at most once, in the order in which they came."""
    chosen = set(random.Random(seed).sample(list(calls), min(number, len(calls))))
    return [call for call in calls if call in chosen]


def draw_stratified(strata: Mapping[str, tuple[str, ...]], number: int, seed: int) -> list[str]:
    """Calls of every stratum in proportion to its size, at least one of each where it fits."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for call, stratum in strata.items():
        groups.setdefault(stratum, []).append(call)
    wanted = min(number, len(strata))
    shares = _shares({key: len(calls) for key, calls in groups.items()}, wanted)
    drawn = random.Random(seed)
    chosen = {
        call for key in sorted(groups) for call in drawn.sample(groups[key], shares.get(key, 0))
    }
    return [call for call in strata if call in chosen]


def _shares(sizes: Mapping[tuple[str, ...], int], number: int) -> dict[tuple[str, ...], int]:
    """Seats for the strata: one each while they last, the others by largest remainder."""
    by_size = sorted(sizes, key=lambda key: (-sizes[key], key))
    shares = {key: 1 for key in by_size[:number]}
    total = sum(sizes.values())
    while sum(shares.values()) < number:
        best = max(
            (key for key in shares if shares[key] < sizes[key]),
            key=lambda key: (sizes[key] / total * number - shares[key], key),
        )
        shares[best] += 1
    return shares


def disagreement(results: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """By case: the spread of the models' scores; a model that is blocked counts 0."""
    scores: dict[str, list[float]] = {}
    for result in results:
        score = result.get("score")
        if result.get("status") in ("valid", "invalid"):
            value = float(score) if isinstance(score, int | float) else 0.0
            scores.setdefault(str(result.get("case_id")), []).append(value)
    return {case: statistics.pstdev(found) for case, found in scores.items() if len(found) > 1}


def draw_disputed(
    call_of: Mapping[str, str], spread: Mapping[str, float], number: int
) -> list[str]:
    """The calls on whose cases models differ most, the most disputed first."""
    by_call: dict[str, float] = {}
    for case, value in spread.items():
        call = call_of.get(case)
        if call is not None:
            by_call[call] = max(by_call.get(call, 0.0), value)
    if not by_call:
        raise UsageError("no case of these files has results of two models; expected --results")
    return sorted(by_call, key=lambda call: (-by_call[call], call))[:number]
