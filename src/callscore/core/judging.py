"""Questions to a judge and its verdicts. The judge classifies items; code counts (C-100)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec


class Item(NamedTuple):
    """What a verdict is about: a metric, and the thing within the answer or the reference."""

    metric: str
    item: str


class Question(msgspec.Struct, frozen=True):
    """One item that code could not decide, with the words that may answer it.

    `offered` is empty where the answer is a number (a cosine), not a word.
    """

    metric: str
    item: str
    text: str
    reference: str = ""
    offered: Sequence[str] = ()


class Verdict(msgspec.Struct, frozen=True):
    """One answered item: a word of those offered, or a value (cosines only)."""

    metric: str
    item: str
    verdict: str | None = None
    value: float | None = None
    text: str = ""
    quote: str = ""
    source: str = ""
    by: str = ""


Verdicts = Mapping[Item, Sequence[Verdict]]
"""All verdicts on one answer. An item may carry several words (`specific`, then `as_described`)."""

NO_VERDICTS: Verdicts = {}
