"""Ties in words: who cannot be distinguished, and how many calls would do        STATS §3, §7"""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.contrast import ModelContrast
from callscore.core.scorecard import Scorecard


def describe_tie(calls: int, needed: int | None, by: str = "") -> str:
    """Cannot be distinguished with these 48 calls; about 310 would do        STATS §7"""
    these = "this one call" if calls == 1 else f"these {calls:,} calls"
    text = f"cannot be distinguished{by} with {these}"
    if needed is None or needed <= calls:
        return text
    return f"{text}; about {round_up_calls(needed)} would do"


def round_up_calls(calls: int) -> str:
    """Two digits of a number that is an estimate: 310, 2,400."""
    step = 10 ** max(0, len(str(calls)) - 2)
    return f"{-(-calls // step) * step:,}"


def show_rank(rank: int | None, band: tuple[int, int] | None) -> str:
    """A rank with its band, where the data allow others: 1, 1 (1–2); nothing without a rank."""
    if rank is None:
        return ""
    return str(rank) if band is None or band[0] == band[1] else f"{rank} ({band[0]}–{band[1]})"


def find_ties(card: Scorecard, of: str, model: str) -> Sequence[ModelContrast]:
    """The pairs of a model that are no more than chance apart."""
    return [
        pair
        for pair in card.contrasts
        if pair.of == of and model in (pair.first, pair.second) and not pair.significant
    ]


def other_model(pair: ModelContrast, model: str) -> str:
    """The model that another one is compared with."""
    return pair.second if pair.first == model else pair.first


def calls_needed(pairs: Sequence[ModelContrast]) -> int | None:
    """As many calls as tell all these pairs apart; None if one has no difference."""
    needed = [pair.calls_needed for pair in pairs]
    known = [calls for calls in needed if calls is not None]
    return max(known) if known and len(known) == len(needed) else None
