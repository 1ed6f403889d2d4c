"""The rows of the index of scored answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

FAST = 1
"""A level of compression that takes little of the time of scoring."""


class Scoring(NamedTuple):
    """A finished scoring of a run."""

    id: int
    run: int
    fingerprint: str
    head: bytes
    """What lists and filters need, encoded by `results`."""
    edition: int = 0
    """How often it was changed."""
    events: int = 0
    """The number of the last event that it reckons with."""


class CellRow(NamedTuple):
    """The answers of one model to a case, its repeats folded."""

    model: str
    status: str
    score: float | None
    reps: int
    same: int
    cost_usd: float | None
    reasons: str
    """A list as JSON, as are `flags`."""
    flags: str
    measured: str
    """By metric, the mean over repeats, as JSON; `score` is the score."""


class VerdictRow(NamedTuple):
    """A verdict on one item of an answer; one without a word is open."""

    place: int
    case_id: str
    task: str
    model: str
    rep: int
    metric: str
    item: str
    word: str
    author: str
    disputed: bool
    gate: bool
    breached: bool
    injection: bool


class ListedCase(NamedTuple):
    """What lists and filters know of a case."""

    case_id: str
    call_id: str
    task: str
    lang: str
    tags: str
    """A list as JSON."""
    turns: int
    gold: str
    """The expected outcome in a few words."""
    marks: int


class CaseRow(NamedTuple):
    """One case with its cells, as it is written."""

    place: int
    head: ListedCase
    mean: float | None
    """The mean score of all models."""
    spread: float
    text: str
    """What was said, to be searched."""
    cells: Sequence[CellRow]
    view: bytes
    """The case with its answers, in JSON."""
    verdicts: Sequence[VerdictRow]


class Encoded(NamedTuple):
    """What belongs to a scoring as a whole, encoded by `results`."""

    card: bytes
    kept: bytes
    """What a change of its verdicts starts from; empty if it must be scored again."""
    people: bytes
    """The verdicts of people that it was scored with."""
    contributions: Mapping[str, bytes]
    """By model; of a change, those that it replaces."""


class SubBlock(NamedTuple):
    """The measured replies of one model to a sub-block of cases."""

    model: str
    number: int
    replies: bytes


class SumRow(NamedTuple):
    """What the replies of one model add up to: in a sub-block, in a block, or in all."""

    model: str
    level: int
    number: int
    body: bytes


class Change(NamedTuple):
    """Rows that take the place of others in a scoring."""

    cases: Sequence[CaseRow] = ()
    sub_blocks: Sequence[SubBlock] = ()
    sums: Sequence[SumRow] = ()


class FoundCase(NamedTuple):
    """One case, as it is read."""

    value: float
    """What it is sorted by."""
    place: int
    head: ListedCase


class VerdictsWanted(NamedTuple):
    """Which verdicts of a scoring."""

    queue: str = "all"
    metric: str = ""
    model: str = ""
    by: str = ""
    unreviewed: bool = False
