"""Who judged the answers behind a card, and what that took."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from callscore.core.interval import Interval


class Judging(msgspec.Struct, frozen=True):
    """Who judged and compared, and what that took; never part of a model's cost (C-83)."""

    judge: str | None
    embedder: str | None
    items: int
    requests: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    disputed: int
    rejudged: int
    flip_rate: float | None
    """Of the items that were put to the same judge twice, the share answered otherwise."""
    failed: int
    """Dossiers with an item that got no usable verdict."""
    similarities: int
    overlap: Sequence[str] = ()
    """Models that a judge of their own family has judged."""
    flags: Mapping[str, int] = {}
    """What the judge noticed, with the number of answers (`injection_suspected`)."""
    answered_by: Sequence[str] = ()
    """Under which other names than those asked for the judges answered (R-26)."""
    flip_rate_ci95: Interval | msgspec.UnsetType = msgspec.UNSET
    """The 95 % interval of `flip_rate`; absent without it, and where none was asked for."""
