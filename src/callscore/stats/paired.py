"""Two models on the same calls: tests of a difference, paired by call.

A row of a scorecard is a function of sums over calls. `first` and `second` hold what each call
contributes to those sums, one line a call, for the two models; exchanging the two within a call
is what must not matter if the models are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FLIPS = 10_000
MOST_EXACT = 14
"""With so many discordant calls, all 2ⁿ exchanges are counted."""
CELLS = 4_000_000
"""Signs held at a time."""
CLOSE = 1e-12
"""Statistics that differ by less are equal: the same sum, added in another order."""


class Row(NamedTuple):
    """What a row of the scorecard is made of."""

    columns: Sequence[int]
    """Which of the contributions it needs."""
    value: Callable[[Array], Array]
    """From sums of these, one line a resample, to one value each; NaN where undefined."""


def discordant(first: Array, second: Array) -> NDArray[np.bool_]:
    """Which calls contribute differently to the two models"""
    import numpy as np

    found: NDArray[np.bool_] = np.any(np.abs(first - second) > CLOSE, axis=1)
    return found


def sign_flip_p(
    first: Array, second: Array, rows: Sequence[Row], seed: int, flips: int = FLIPS
) -> list[float | None]:
    """Share of exchanges within calls with |difference| ≥ the one observed        STATS §3

    All exchanges where at most 14 calls are discordant for a row; otherwise (1 + hits) / (1 +
    flips) over random ones. None where the row has no value.
    """
    import numpy as np

    total = first.sum(axis=0) + second.sum(axis=0)
    gap = second - first
    exact: dict[int, float | None] = {}
    for at, row in enumerate(rows):
        own = gap[:, list(row.columns)]
        differing = np.any(np.abs(own) > CLOSE, axis=1)
        if differing.sum() <= MOST_EXACT:
            exact[at] = _exact_p(own[differing], own.sum(axis=0), total[list(row.columns)], row)
    rest = [at for at in range(len(rows)) if at not in exact]
    sampled = _sampled_p(gap, total, [rows[at] for at in rest], seed, flips)
    found = {**exact, **dict(zip(rest, sampled, strict=True))}
    return [found[at] for at in range(len(rows))]


def _difference(row: Row, total: Array, gap: Array) -> Array:
    """value(second) − value(first), from the sum of both and their difference"""
    return row.value((total + gap) / 2) - row.value((total - gap) / 2)


def _exact_p(gaps: Array, observed: Array, total: Array, row: Row) -> float | None:
    import numpy as np

    here = float(_difference(row, total, observed[None, :])[0])
    if np.isnan(here):
        return None
    n = len(gaps)
    signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    there = np.abs(_difference(row, total, signs @ gaps))
    there = there[~np.isnan(there)]
    return float(np.mean(there >= abs(here) - CLOSE))


def _sampled_p(
    gap: Array, total: Array, rows: Sequence[Row], seed: int, flips: int
) -> list[float | None]:
    import numpy as np

    if not rows:
        return []
    random = np.random.default_rng(seed)
    moving = gap[discordant(gap, np.zeros_like(gap))]
    columns = [list(row.columns) for row in rows]
    observed = [
        abs(float(_difference(row, total[own], gap[:, own].sum(axis=0)[None])[0]))
        for row, own in zip(rows, columns, strict=True)
    ]
    hits, defined = np.zeros(len(rows)), np.zeros(len(rows))
    step = max(1, CELLS // max(1, len(moving)))
    for begin in range(0, flips, step):
        many = min(step, flips - begin)
        sums = _signs(random, many, len(moving)) @ moving.astype(np.float32)
        for at, row in enumerate(rows):
            own = sums[:, columns[at]].astype(np.float64)
            there = np.abs(_difference(row, total[columns[at]], own))
            defined[at] += np.count_nonzero(~np.isnan(there))
            hits[at] += np.count_nonzero(there >= observed[at] - 1e-6 * max(1e-6, observed[at]))
    return [
        None if np.isnan(seen) else float((1 + hit) / (1 + known))
        for seen, hit, known in zip(observed, hits, defined, strict=True)
    ]


def _signs(random: np.random.Generator, lines: int, columns: int) -> NDArray[np.float32]:
    """±1, from one random bit each"""
    import numpy as np

    width = -(-columns // 8)
    drawn = np.frombuffer(random.bytes(lines * width), np.uint8).reshape(lines, width)
    bits = np.unpackbits(drawn, axis=1, count=columns)
    return bits.astype(np.float32) * np.float32(2) - np.float32(1)


def mcnemar_p(only_first: int, only_second: int) -> float:
    """min(1, 2 · P(X ≤ min(b, c))), X ~ Binomial(b + c, 1/2)        McNemar 1947, exact; STATS §3

    b calls only the first model got right, c only the second.
    """
    n = only_first + only_second
    if not n:
        return 1.0
    from scipy.special import bdtr

    return min(1.0, 2 * float(bdtr(min(only_first, only_second), n, 0.5)))


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
