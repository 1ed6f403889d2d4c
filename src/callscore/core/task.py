"""A task is five pure functions; only the engine touches the world."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import msgspec

from callscore.core.case import Case, Malformed, Prompt, Reply
from callscore.core.errors import DataError
from callscore.core.judging import NO_VERDICTS, Item, Question, Verdicts
from callscore.core.measure import Measure

if TYPE_CHECKING:
    from callscore.core.noise import FakeReply, JsonOutcome, Noise


class Measured(msgspec.Struct, frozen=True, gc=False):
    """What `measure` found on one answer: a measure for every slug, and the flags raised.

    `secondary` holds figures that are reported with a metric, outside its value (`slug/name`).
    """

    measures: Mapping[str, Measure]
    flags: Sequence[str] = ()
    secondary: Mapping[str, Measure] = {}


class ItemCount(NamedTuple):
    """How many items a judge can be asked about: once a case, and of every answer."""

    of_case: int
    of_answer: int


Faults = Mapping[str, Sequence[str]]
"""By metric, what counted against the answer, the gravest first if one is graver."""

SCENARIO = "scenario"
"""The task of a step of a scenario: the only one that is answered with calls of tools."""

Reference = TypeVar("Reference")
Output = TypeVar("Output")


class Task(Protocol[Reference, Output]):
    """reference · prompt · read · ask · measure, and hooks that most tasks leave as they are.

    `reference` reads a case once, before any answer is seen: it refuses what C-20 calls a
    dataset error, and keeps in the form that the other functions need what they would
    otherwise compute again for every model.

    Derive from this class to inherit the hooks.
    """

    name: str

    @abstractmethod
    def reference(self, case: Case) -> Reference:
        """The case's expected outcome, checked and made ready; raises DataError."""

    @abstractmethod
    def prompt(self, case: Case) -> Prompt:
        """What a model is asked."""

    @abstractmethod
    def read(self, reference: Reference, reply: Reply) -> Output | Malformed:
        """The model's answer, or why it has the wrong shape."""

    def ask(self, reference: Reference, output: Output) -> Sequence[Question]:
        """What code cannot decide about this answer."""
        return ()

    @abstractmethod
    def measure(
        self, reference: Reference, output: Output | Malformed, verdicts: Verdicts
    ) -> Measured:
        """Every measure of this task on one answer."""

    # Hooks of judged tasks

    def ask_case(self, reference: Reference) -> Sequence[Question]:
        """What is asked once a case, before any answer is seen."""
        return ()

    def ask_after(
        self, reference: Reference, output: Output, of_case: Verdicts
    ) -> Sequence[Question]:
        """What is asked about an answer once the verdicts on its case are known."""
        return ()

    def presume(self, questions: Sequence[Question]) -> Verdicts:
        """Verdicts on the case that make `ask_after` return all that it may ask."""
        return NO_VERDICTS

    def has_item(self, reference: Reference, output: Output | Malformed, item: Item) -> bool:
        """Whether the case or the answer has the item that a verdict names."""
        return True

    def count_items(self, case: Case) -> ItemCount:
        """The most items a judge can be asked about, whatever a model answers."""
        return ItemCount(0, 0)

    def compared_language(self, case: Case) -> str | None:
        """The language of the texts whose similarity is asked for."""
        return case.lang

    # Hooks of the data, the records and the simulated provider

    def contradictions(self, case: Case, reference: Reference) -> Iterable[DataError]:
        """What in a reference, or between it and its config, cannot all be met        C-131"""
        return ()

    def warnings(self, case: Case, reference: Reference) -> Iterable[DataError]:
        """What a case should say and does not: no reason to refuse stored answers."""
        return self.contradictions(case, reference)

    def explain(
        self, reference: Reference, output: Output | Malformed, verdicts: Verdicts
    ) -> Faults:
        """What counted against an answer, by metric."""
        return {}

    def degrade(self, outcome: JsonOutcome, noise: Noise) -> FakeReply | None:
        """Make an expected outcome worse in place, as a weaker model would; or return a reply.

        Without it `simulated` refuses the task.
        """
        from callscore.core.noise import NoNoise

        raise NoNoise(self.name)
