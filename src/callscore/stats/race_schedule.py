"""The seeded order in which a race draws calls, the same for all models (STATS §4.1)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

Population = Literal["pool", "future"]
TaskSet = tuple[str, ...]
"""The tasks of a call in alphabetical order; a task is repeated if the call has two cases of it."""


class CallBlock(NamedTuple):
    """Calls that are drawn together, and the bounds of their score that are known before."""

    calls: Sequence[str]
    sampling_weights: Sequence[float]
    """How many calls of the pool each call represents."""
    represented: Mapping[str, float]
    """By task, how many calls the block represents."""
    max_score: float
    """The largest possible score of the block, with its calls weighted."""
    remaining: float
    """The share of the Final Score in later blocks."""


class Schedule(NamedTuple):
    """All blocks in the seeded order."""

    blocks: Sequence[CallBlock]
    weights: Mapping[str, float]
    """By task, the weight of one call in the Final Score."""
    about: Population
    sizes: Mapping[str, int]
    """By task, the number of cases in the data set."""
    others: Sequence[str] = ()
    """Calls that are in no block: they compare no models, but belong to the official score."""


def make_schedule(
    calls: Mapping[str, TaskSet], weights: Mapping[str, float], seed: int, about: Population
) -> Schedule:
    """Blocks of one call with all its tasks, or of one call of each kind        STATS §4.1

    A kind is a set of tasks. If all calls have the same tasks, a block is one call. Otherwise a
    block has one call of each kind, as long as every kind has calls left; the other calls follow
    one by one, and are used for the pool but not for future calls.
    """
    sizes: dict[str, int] = {}
    kinds: dict[TaskSet, list[str]] = {}
    for call, kind in calls.items():
        kinds.setdefault(kind, []).append(call)
        for task in kind:
            sizes[task] = sizes.get(task, 0) + 1
    whole = math.fsum(weights.get(task, 0.0) for task in sizes)
    shares = {task: weights.get(task, 0.0) / whole for task in sorted(sizes)}
    shuffled = {kind: _shuffle(kinds[kind], seed, "blocks") for kind in sorted(kinds)}
    if about == "future":
        blocks = _future_blocks(_disjoint_task_sets(shuffled))
        drawn = {call for block in blocks for call in block.calls}
        others = [call for calls in shuffled.values() for call in calls if call not in drawn]
        return Schedule(blocks, shares, about, sizes, others)
    call_weights = {task: share / sizes[task] for task, share in shares.items()}
    return Schedule(_pool_blocks(shuffled, call_weights, seed), call_weights, about, sizes)


def _shuffle(calls: Sequence[str], seed: int, purpose: str) -> list[str]:
    """Sort by a hash of seed and id, independent of the order of files and of other calls"""

    def key(call: str) -> tuple[bytes, str]:
        text = f"{seed}/{purpose}/{call}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).digest(), call

    return sorted(calls, key=key)


def _disjoint_task_sets(kinds: Mapping[TaskSet, Sequence[str]]) -> dict[TaskSet, Sequence[str]]:
    """The most frequent kinds without common tasks, so that a block has every task once

    The expected score of such a block is the Final Score of future calls, for any mixture of
    kinds in the data. Empty if such kinds do not cover all tasks.
    """
    chosen: dict[TaskSet, Sequence[str]] = {}
    for kind in sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind)):
        if not any(set(kind) & set(other) for other in chosen):
            chosen[kind] = kinds[kind]
    covered = {task for kind in chosen for task in kind}
    return chosen if covered == {task for kind in kinds for task in kind} else {}


def _future_blocks(kinds: Mapping[TaskSet, Sequence[str]]) -> list[CallBlock]:
    count = min(map(len, kinds.values()), default=0)
    represented = {task: 1.0 for kind in kinds for task in kind}
    return [
        CallBlock(
            [calls[at] for calls in kinds.values()],
            [1.0] * len(kinds),
            represented,
            max_score=1.0,
            remaining=(count - at - 1) / count,
        )
        for at in range(count)
    ]


def _pool_blocks(
    kinds: Mapping[TaskSet, Sequence[str]], call_weights: Mapping[str, float], seed: int
) -> list[CallBlock]:
    kind_weight = {kind: math.fsum(call_weights[task] for task in kind) for kind in kinds}
    complete = min(map(len, kinds.values()), default=0)
    blocks = []
    for at in range(complete):
        sampling_weights = [float(len(calls) - at) for calls in kinds.values()]
        represented: dict[str, float] = {}
        for kind, weight in zip(kinds, sampling_weights, strict=True):
            for task in kind:
                represented[task] = represented.get(task, 0.0) + weight
        max_score = math.fsum(
            weight * kind_weight[kind] for kind, weight in zip(kinds, sampling_weights, strict=True)
        )
        remaining = math.fsum(
            (weight - 1) * kind_weight[kind]
            for kind, weight in zip(kinds, sampling_weights, strict=True)
        )
        blocks.append(
            CallBlock(
                [calls[at] for calls in kinds.values()],
                sampling_weights,
                represented,
                max_score,
                remaining,
            )
        )
    rest = {call: kind for kind, calls in kinds.items() for call in calls[complete:]}
    return blocks + _single_blocks(rest, kind_weight, seed)


def _single_blocks(
    rest: Mapping[str, TaskSet], kind_weight: Mapping[TaskSet, float], seed: int
) -> list[CallBlock]:
    """Blocks of single calls, for the kinds with more calls than others"""
    order = _shuffle(list(rest), seed, "singles")
    remaining_calls: dict[TaskSet, int] = {}
    for kind in rest.values():
        remaining_calls[kind] = remaining_calls.get(kind, 0) + 1
    blocks = []
    for at, call in enumerate(order):
        weight = float(len(order) - at)
        kinds_left = [kind for kind, count in remaining_calls.items() if count]
        represented = {task: weight for kind in kinds_left for task in kind}
        max_score = weight * max(kind_weight[kind] for kind in kinds_left)
        remaining_calls[rest[call]] -= 1
        remaining = math.fsum(count * kind_weight[kind] for kind, count in remaining_calls.items())
        blocks.append(CallBlock([call], [weight], represented, max_score, remaining))
    return blocks
