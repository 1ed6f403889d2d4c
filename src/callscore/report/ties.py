"""Ties between models: who cannot be distinguished, how many calls would do        STATS §3, §8"""

from __future__ import annotations

import math
from collections.abc import Sequence

from callscore.core.contrast import ModelContrast
from callscore.core.scorecard import Scorecard
from callscore.report.numbers import show_count
from callscore.stats.claims import unseen_share


def describe_tie(calls: int, needed: int | None, by: str = "", unit: str = "call") -> str:
    """Return `cannot be distinguished with these 48 calls; about 310 would do`        STATS §8"""
    these = f"this one {unit}" if calls == 1 else f"these {calls:,} {unit}s"
    text = f"cannot be distinguished{by} with {these}"
    if needed is None or needed <= calls:
        return text
    return f"{text}; about {round_up_calls(needed)} would do"


def describe_unseen(calls: int, unit: str = "call") -> str:
    """Return `13 calls: up to 21 % of calls could fail unseen`, with 95 % confidence    STATS §2"""
    share = 100 * unseen_share(calls)
    places = max(0, 1 - math.floor(math.log10(share)))
    shown = f"{math.ceil(share * 10**places) / 10**places:.{places}f}"
    return f"{show_count(calls, unit)}: up to {shown} % of {unit}s could fail unseen"


def sampled_unit(card: Scorecard) -> str:
    """Return what the intervals of a card are about, in the singular: `call`, `scenario`."""
    about = "future calls" if card.intervals is None else card.intervals.about
    return about.removeprefix("future ").removesuffix("s")


def round_up_calls(calls: int) -> str:
    """Round an estimated number of calls up to two digits: 310, 2,400."""
    step = 10 ** max(0, len(str(calls)) - 2)
    return f"{-(-calls // step) * step:,}"


def show_rank(rank: int | None, band: tuple[int, int] | None) -> str:
    """Return a rank with its band: 1, 1 (1–2); empty without a rank."""
    if rank is None:
        return ""
    return str(rank) if band is None or band[0] == band[1] else f"{rank} ({show_band(band)})"


def show_band(band: tuple[int, int]) -> str:
    """Return a band of ranks: 2, 1–3."""
    best, worst = band
    return str(best) if best == worst else f"{best}–{worst}"


def find_ties(card: Scorecard, of: str, model: str) -> Sequence[ModelContrast]:
    """Return the pairs of a model whose difference is not significant."""
    return [
        pair
        for pair in card.contrasts
        if pair.of == of and model in (pair.first, pair.second) and not pair.significant
    ]


def other_model(pair: ModelContrast, model: str) -> str:
    """Return the other model of a pair."""
    return pair.second if pair.first == model else pair.first


def calls_needed(pairs: Sequence[ModelContrast]) -> int | None:
    """Return the calls needed to distinguish all pairs; None if one pair has no estimate."""
    needed = [pair.calls_needed for pair in pairs]
    known = [calls for calls in needed if calls is not None]
    return max(known) if known and len(known) == len(needed) else None
