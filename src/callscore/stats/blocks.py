"""The order in which a race draws calls: the same for all models, given by a seed (STATS §4.1)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

About = Literal["pool", "future"]
Kind = tuple[str, ...]
"""The tasks that a call has, in alphabetical order; one appears twice if the call has two cases
of it.
"""


class Block(NamedTuple):
    """Calls that are drawn together, and what is known before about the values they can have."""

    calls: Sequence[str]
    stakes: Sequence[float]
    """How many calls of the pool each of them represents."""
    drawn: Mapping[str, float]
    """By task, how many calls all of them represent."""
    reach: float
    """The most that the block's score can be, each call counted by its stake."""
    left: float
    """The share of the Final that later blocks hold."""


class Schedule(NamedTuple):
    """All blocks in the seeded order."""

    blocks: Sequence[Block]
    weights: Mapping[str, float]
    """By task, what one call adds to the Final."""
    about: About
    sizes: Mapping[str, int]
    """By task, the number of cases of the data set."""


def schedule(
    calls: Mapping[str, Kind], weights: Mapping[str, float], seed: int, about: About
) -> Schedule:
    """Blocks of one call with all its tasks, or of one call of each kind        STATS §4.1

    Where all calls have the same tasks there is one kind, and a block is a call. If tasks have
    calls of their own, a block takes one of each kind while every kind has some left; single calls
    follow, which say something about this pool but not about future calls.
    """
    sizes: dict[str, int] = {}
    kinds: dict[Kind, list[str]] = {}
    for call, kind in calls.items():
        kinds.setdefault(kind, []).append(call)
        for task in kind:
            sizes[task] = sizes.get(task, 0) + 1
    whole = math.fsum(weights.get(task, 0.0) for task in sizes)
    shares = {task: weights.get(task, 0.0) / whole for task in sorted(sizes)}
    shuffled = {kind: _shuffled(kinds[kind], seed, "blocks") for kind in sorted(kinds)}
    if about == "future":
        return Schedule(_of_future(_partition(shuffled)), shares, about, sizes)
    each = {task: share / sizes[task] for task, share in shares.items()}
    return Schedule(_of_pool(shuffled, each, seed), each, about, sizes)


def _shuffled(calls: Sequence[str], seed: int, purpose: str) -> list[str]:
    """By a hash of seed and id: no order of files, and no other call, moves a call"""

    def key(call: str) -> tuple[bytes, str]:
        text = f"{seed}/{purpose}/{call}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=16).digest(), call

    return sorted(calls, key=key)


def _partition(kinds: Mapping[Kind, Sequence[str]]) -> dict[Kind, Sequence[str]]:
    """The most frequent kinds that have no task in common: every task once in a block

    The mean of such a block is the Final of future calls, whatever the mixture of the data is.
    """
    chosen: dict[Kind, Sequence[str]] = {}
    for kind in sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind)):
        if not any(set(kind) & set(other) for other in chosen):
            chosen[kind] = kinds[kind]
    covered = {task for kind in chosen for task in kind}
    return chosen if covered == {task for kind in kinds for task in kind} else {}


def _of_future(kinds: Mapping[Kind, Sequence[str]]) -> list[Block]:
    count = min(map(len, kinds.values()), default=0)
    drawn = {task: 1.0 for kind in kinds for task in kind}
    return [
        Block(
            [calls[at] for calls in kinds.values()],
            [1.0] * len(kinds),
            drawn,
            reach=1.0,
            left=(count - at - 1) / count,
        )
        for at in range(count)
    ]


def _of_pool(
    kinds: Mapping[Kind, Sequence[str]], each: Mapping[str, float], seed: int
) -> list[Block]:
    worth = {kind: math.fsum(each[task] for task in kind) for kind in kinds}
    together = min(map(len, kinds.values()), default=0)
    blocks = []
    for at in range(together):
        stakes = [float(len(calls) - at) for calls in kinds.values()]
        drawn: dict[str, float] = {}
        for kind, stake in zip(kinds, stakes, strict=True):
            for task in kind:
                drawn[task] = drawn.get(task, 0.0) + stake
        reach = math.fsum(stake * worth[kind] for kind, stake in zip(kinds, stakes, strict=True))
        left = math.fsum(
            (stake - 1) * worth[kind] for kind, stake in zip(kinds, stakes, strict=True)
        )
        blocks.append(Block([calls[at] for calls in kinds.values()], stakes, drawn, reach, left))
    rest = {call: kind for kind, calls in kinds.items() for call in calls[together:]}
    return blocks + _singles(rest, worth, seed)


def _singles(rest: Mapping[str, Kind], worth: Mapping[Kind, float], seed: int) -> list[Block]:
    """What is left where tasks have calls of their own and one has more than another"""
    order = _shuffled(list(rest), seed, "singles")
    left_of: dict[Kind, int] = {}
    for kind in rest.values():
        left_of[kind] = left_of.get(kind, 0) + 1
    blocks = []
    for at, call in enumerate(order):
        stake = float(len(order) - at)
        there = [kind for kind, count in left_of.items() if count]
        drawn = {task: stake for kind in there for task in kind}
        reach = stake * max(worth[kind] for kind in there)
        left_of[rest[call]] -= 1
        left = math.fsum(count * worth[kind] for kind, count in left_of.items())
        blocks.append(Block([call], [stake], drawn, reach, left))
    return blocks
