"""Questions to a judge and its verdicts. The judge classifies items; code counts (C-100)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import JsonObject, Turn


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
    compared_with: str = ""
    """Where `reference` stands, if it is a whole part (`model_output.summary.highlights`)."""


class Verdict(msgspec.Struct, frozen=True):
    """One answered item: a word of those offered, or a value (cosines only).

    `approximate` marks the word of a built-in substitute: an estimate, never official (C-125).
    """

    metric: str
    item: str
    verdict: str | None = None
    value: float | None = None
    text: str = ""
    quote: str = ""
    source: str = ""
    by: str = ""
    note: str = ""
    approximate: bool = False
    expected_outcome_field: str = ""
    """The path of the field of the reference that it rests on, where it names one."""
    model_output_field: str = ""
    """The same of the answer."""


Verdicts = Mapping[Item, Sequence[Verdict]]
"""All verdicts on one answer. An item may carry several words (`specific`, then `as_described`)."""

NO_VERDICTS: Verdicts = {}


class JudgeRequest(msgspec.Struct, frozen=True):
    """All that a judge may see of an answer: not who wrote it, nor its cost, nor others (C-103)."""

    task: str
    turns: Sequence[Turn]
    config: JsonObject
    expected_outcome: JsonObject
    questions: Sequence[Question]
    lang: str | None = None
    repeat: int = 0
    """Above 0 where the same dossier is put once more, to see whether the verdicts stay."""
    model_output: Any = None
    """The answer as JSON; None where there is none yet, or none to show."""


class Unjudged(NamedTuple):
    """An item without a usable verdict, and why: its metric has failed on this answer (C-102)."""

    item: Item
    why: str


class Judged(msgspec.Struct, frozen=True):
    """Verdicts on the questions of a dossier that a word can answer, and what they took.

    `void` are the questions that got no usable verdict, though others did. `disputed` are the
    items on which judges found no majority: the stricter word stands, and people should look.
    `rejudged` and `flipped` count the items that were put a second time to the same judge, and
    those that it then answered otherwise.
    """

    verdicts: Sequence[Verdict]
    flags: Sequence[str] = ()
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    void: Sequence[Unjudged] = ()
    disputed: Sequence[Item] = ()
    rejudged: int = 0
    flipped: int = 0


class Similarity(msgspec.Struct, frozen=True):
    """How alike two texts are, and by which embedder; approximate where none could read them."""

    value: float
    by: str
    approximate: bool = False
    caveat: str = ""
    """What whoever reads a score made of such values ought to know."""
