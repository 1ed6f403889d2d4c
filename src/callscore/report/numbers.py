"""Numbers as text: three decimals, percentages two, ties rounded away from zero (C-09)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from callscore.core.spec import Band
from callscore.metrics.rounding import half_up

MAX_DECIMALS = 12
"""Further digits of a price are float noise."""


def show(value: float, unit: str = "fraction") -> str:
    """Return a value with its unit: 0.803, 2.08 %, 3."""
    if unit == "count":
        return f"{value:g}"
    if unit == "percent":
        return f"{half_up(value, 2)} %"
    return half_up(value, 3)


def show_near_limits(value: float, unit: str, bands: Sequence[Band]) -> str:
    """Return the value, with `<` or `>` where rounding makes a missed limit look met        C-09"""
    shown = show(value, unit)
    rounded = float(shown.removesuffix(" %"))
    for band in bands:
        if band.holds(rounded) and not band.holds(value):
            return ("<" if value < rounded else ">") + shown
    return shown


def show_money(value: float) -> str:
    """Return dollars, with more decimals for small prices: $12.50, $0.086, $0.000042, $0."""
    if not value:
        return "$0"
    places = 2 if value >= 10 else 3 if value >= 0.01 else 1 - math.floor(math.log10(value))
    return f"${half_up(value, min(places, MAX_DECIMALS))}"


def show_cost(value: float | None) -> str:
    """Return a cost in dollars, or `unknown`."""
    return "unknown" if value is None else show_money(value)


def show_known_cost(known: float, unpriced: int) -> str:
    """Return the cost of replies, `unpriced` of which have an unknown cost."""
    if unpriced and not known:
        return show_cost(None)
    return f"{show_money(known)} + {unpriced} unpriced" if unpriced else show_money(known)


def show_interval(
    limits: tuple[float, float], unit: str = "fraction", *, few: bool = False, equal: bool = False
) -> str:
    """Return an interval: [0.832–0.875]; ≈ means few calls, = means that all calls agree."""
    shown = [show_money(end) if unit == "money" else _limit(end, unit) for end in limits]
    return f"{'≈' if few else ''}{'=' if equal else ''}[{shown[0]}–{shown[1]}]"


def _limit(end: float, unit: str) -> str:
    return f"{end:.3g}" if unit == "count" else show(end, unit).removesuffix(" %")


def show_count(number: float, noun: str) -> str:
    """Return a number with its noun: 1 call, 2 calls, 2 replies."""
    if number == 1:
        return f"1 {noun}"
    ends_in_y = noun[-1] == "y" and noun[-2] not in "aeiou"
    return f"{number} {noun[:-1]}ies" if ends_in_y else f"{number} {noun}s"
