"""A task is five pure functions; only the engine touches the world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

import msgspec

from callscore.core.case import Case, Malformed, Prompt, Reply
from callscore.core.judging import Question, Verdicts
from callscore.core.measure import Measure


class Measured(msgspec.Struct, frozen=True, gc=False):
    """What `measure` found on one answer: a measure for every slug, and the flags raised.

    `secondary` holds figures reported beside a metric, outside its value (`slug/name`).
    """

    measures: Mapping[str, Measure]
    flags: Sequence[str] = ()
    secondary: Mapping[str, Measure] = {}


Reference = TypeVar("Reference")
Output = TypeVar("Output")


class Task(Protocol[Reference, Output]):
    """prompt · read · ask · measure; `score` is one function for all tasks of a suite.

    `reference` reads a case once, before any answer is seen: it refuses what C-20 calls a
    dataset error, and keeps in the form that the other functions need what they would
    otherwise compute again for every model.
    """

    name: str

    def reference(self, case: Case) -> Reference:
        """The case's expected outcome, checked and made ready; raises DataError."""
        ...

    def prompt(self, case: Case) -> Prompt:
        """What a model is asked."""
        ...

    def read(self, reference: Reference, reply: Reply) -> Output | Malformed:
        """The model's answer, or why it has the wrong shape."""
        ...

    def ask(self, reference: Reference, output: Output) -> Sequence[Question]:
        """What code cannot decide about this answer."""
        ...

    def measure(
        self, reference: Reference, output: Output | Malformed, verdicts: Verdicts
    ) -> Measured:
        """Every measure of this task on one answer."""
        ...
