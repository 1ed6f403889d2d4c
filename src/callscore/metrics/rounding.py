"""Rounding for display and for files: the only places where a value loses digits (C-09, C-114)."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

_NOISE = Decimal("1e-12")
_ROOMY = Context(prec=330)
"""Enough precision for the digits of any float."""


def half_up(value: float, places: int) -> str:
    """Ties away from zero, on the value without its last float digits        C-09

    Sums of floats miss a tie by parts of 1e-16; digits beyond 1e-12 are noise.
    """
    return _round(value, places, ROUND_HALF_UP)


def half_even(value: float, places: int) -> float:
    """Ties to the even digit, as the result format writes its numbers        C-114"""
    return float(_round(value, places, ROUND_HALF_EVEN))


def _round(value: float, places: int, mode: str) -> str:
    exact = Decimal(repr(value)).quantize(_NOISE, ROUND_HALF_EVEN, _ROOMY)
    return f"{exact.quantize(Decimal(1).scaleb(-places), mode, _ROOMY):f}"
