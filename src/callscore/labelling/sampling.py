"""Samples of calls to label: random, stratified, or those on which models disagree most."""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from callscore.core.case import spoken_text
from callscore.core.errors import UsageError

LENGTHS = ((200, "short"), (800, "medium"))
"""Most words of a short and of a medium call; any other call is long."""


def length_class(transcript: Any) -> str:
    """`short`, `medium` or `long`, by the number of words."""
    words = len(spoken_text(transcript).split())
    return next((name for most, name in LENGTHS if words <= most), "long")


def stratum_of(record: Mapping[str, Any], transcript: Any, keys: Sequence[str]) -> tuple[str, ...]:
    """The stratum of a call: its values of these keys; `length` is its length class."""
    return tuple(
        length_class(transcript) if key == "length" else _value(record.get(key)) for key in keys
    )


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def draw_random(calls: Sequence[str], number: int, seed: int) -> list[str]:
    """A simple random sample without replacement, in the order of the input."""
    chosen = set(random.Random(seed).sample(list(calls), min(number, len(calls))))
    return [call for call in calls if call in chosen]


def draw_stratified(strata: Mapping[str, tuple[str, ...]], number: int, seed: int) -> list[str]:
    """A sample from every stratum in proportion to its size, with at least one call if possible."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for call, stratum in strata.items():
        groups.setdefault(stratum, []).append(call)
    size = min(number, len(strata))
    sizes = _allocate({key: len(calls) for key, calls in groups.items()}, size)
    generator = random.Random(seed)
    chosen = {
        call for key in sorted(groups) for call in generator.sample(groups[key], sizes.get(key, 0))
    }
    return [call for call in strata if call in chosen]


Answer = tuple[str, str | None, int, str]
"""A case, a model, a run and a metric: what is labelled as a whole."""


def draw_answers(sizes: Mapping[Answer, int], number: int, seed: int) -> list[Answer]:
    """Answers in random order until they have this many items, evenly over models and metrics.

    All items of an answer and a metric are drawn together, and models are drawn on the same calls.
    """
    groups: dict[tuple[str | None, str], list[Answer]] = {}
    for answer in sizes:
        groups.setdefault((answer[1], answer[3]), []).append(answer)
    for (_, metric), answers in groups.items():
        answers.sort(key=lambda answer: _place(seed, answer[0], answer[2], metric))
    chosen: list[Answer] = []
    drawn = turn = 0
    while drawn < number and any(turn < len(answers) for answers in groups.values()):
        for answers in groups.values():
            if turn < len(answers) and drawn < number:
                chosen.append(answers[turn])
                drawn += sizes[answers[turn]]
        turn += 1
    return chosen


def _place(seed: int, *parts: object) -> bytes:
    """The place of a case in the random order; the same for every model."""
    return blake2b(repr((seed, *parts)).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _allocate(sizes: Mapping[tuple[str, ...], int], number: int) -> dict[tuple[str, ...], int]:
    """Sample sizes of the strata: one each, the rest by largest remainder."""
    by_size = sorted(sizes, key=lambda key: (-sizes[key], key))
    allocated = {key: 1 for key in by_size[:number]}
    total = sum(sizes.values())
    while sum(allocated.values()) < number:
        best = max(
            (key for key in allocated if allocated[key] < sizes[key]),
            key=lambda key: (sizes[key] / total * number - allocated[key], key),
        )
        allocated[best] += 1
    return allocated


def score_spread(results: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The standard deviation of the models' scores, by case; a blocked model counts 0."""
    scores: dict[str, list[float]] = {}
    for result in results:
        score = result.get("score")
        if result.get("status") in ("valid", "invalid"):
            value = float(score) if isinstance(score, int | float) else 0.0
            scores.setdefault(str(result.get("case_id")), []).append(value)
    return {case: statistics.pstdev(values) for case, values in scores.items() if len(values) > 1}


def draw_disputed(
    call_of: Mapping[str, str], spread: Mapping[str, float], number: int
) -> list[str]:
    """The calls with the largest spread of scores in a case, the largest first."""
    by_call: dict[str, float] = {}
    for case, value in spread.items():
        call = call_of.get(case)
        if call is not None:
            by_call[call] = max(by_call.get(call, 0.0), value)
    if not by_call:
        raise UsageError("no case of these files has results of two models; expected --results")
    return sorted(by_call, key=lambda call: (-by_call[call], call))[:number]
