"""The protocol of a task: pure functions from a case and a reply to measures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

import msgspec

from callscore.core.case import Case, Malformed, Prompt, Reply
from callscore.core.errors import DataError
from callscore.core.judging import NO_VERDICTS, Item, Question, Verdicts
from callscore.core.measure import Measure
from callscore.core.prompt_template import VARIABLES, case_values

if TYPE_CHECKING:
    from callscore.core.noise import FakeReply, JsonOutcome, Noise


class Measured(msgspec.Struct, frozen=True, gc=False):
    """The result of `measure` on one output: a measure for every slug, and flags.

    `secondary` holds figures that are reported with a metric, outside its value (`slug/name`).
    """

    measures: Mapping[str, Measure]
    flags: Sequence[str] = ()
    secondary: Mapping[str, Measure] = {}


class ItemCount(NamedTuple):
    """The most items that a judge can be asked about: per case, and per answer."""

    of_case: int
    of_answer: int


class Needs(NamedTuple):
    """What the replies to a case may need, whatever they say (C-125)."""

    judged: Collection[str] = ()
    """Metrics with items that a judge may be asked about."""
    compared: Sequence[tuple[str, str]] = ()
    """Metric and reference text of everything that an embedder may compare."""
    by_rule: Collection[str] = ()
    """Metrics for which a rule of code takes the place of a judge."""


Faults = Mapping[str, Sequence[str]]
"""What counted against an output, by metric; the most serious first."""

SCENARIO = "scenario"
"""The task of a step of a scenario: the only one whose replies may be tool calls."""

Reference = TypeVar("Reference")
Output = TypeVar("Output")


class Task(Protocol[Reference, Output]):
    """What a model is asked about a case, and how its reply is measured.

    A task implements `reference`, `prompt`, `read` and `measure`. The other methods are hooks;
    derive from this class to inherit their defaults. `reference` reads a case once, before any
    reply: it refuses invalid cases (C-20) and prepares what the other methods need for every model.
    """

    name: str

    @abstractmethod
    def reference(self, case: Case) -> Reference:
        """The expected outcome of the case, validated and prepared; raises DataError."""

    @abstractmethod
    def prompt(self, case: Case) -> Prompt:
        """The prompt that a model is sent for the case."""

    @abstractmethod
    def read(self, reference: Reference, reply: Reply) -> Output | Malformed:
        """The parsed reply, or why it has the wrong structure."""

    def ask(self, reference: Reference, output: Output) -> Sequence[Question]:
        """The questions about this output that code cannot decide."""
        return ()

    @abstractmethod
    def measure(
        self, reference: Reference, output: Output | Malformed, verdicts: Verdicts
    ) -> Measured:
        """Every measure of this task on one output."""

    # Hooks of judged tasks

    def ask_case(self, reference: Reference) -> Sequence[Question]:
        """The questions that are asked once per case, before any reply."""
        return ()

    def ask_after(
        self, reference: Reference, output: Output, of_case: Verdicts
    ) -> Sequence[Question]:
        """The questions about an output that depend on the verdicts on its case."""
        return ()

    def presume(self, questions: Sequence[Question]) -> Verdicts:
        """Verdicts on the case for which `ask_after` returns every possible question."""
        return NO_VERDICTS

    def has_item(self, reference: Reference, output: Output | Malformed, item: Item) -> bool:
        """Whether the case or the output has the item that a verdict names."""
        return True

    def count_items(self, case: Case) -> ItemCount:
        """The highest number of items that a judge can be asked about, for any reply."""
        return ItemCount(0, 0)

    def compared_language(self, case: Case) -> str | None:
        """The language of the texts that an embedder compares."""
        return case.lang

    def needs(self, reference: Reference, of_case: Verdicts) -> Needs:
        """What any reply to the case may need, given the verdicts on the case itself."""
        return Needs()

    # Hooks of custom prompts (`prompts` of an eval file)

    prompt_variables: Mapping[str, bool] = VARIABLES
    """The names that custom prompts may use, and whether each of them contains the call."""

    def prompt_values(self, case: Case, prompt: Prompt) -> Mapping[str, str]:
        """The text of each variable; `prompt` is what `prompt` returned for the case."""
        return case_values(case, prompt)

    # Hooks of the data, the records, and the providers `simulated` and `baseline`

    def outcome_keys(self) -> Sequence[str]:
        """Keys of an expected outcome that show that a case without `task` is of this task."""
        return ()

    def contradictions(self, case: Case, reference: Reference) -> Iterable[DataError]:
        """Contradictions in a reference, or between it and its config        C-131"""
        return ()

    def warnings(self, case: Case, reference: Reference) -> Iterable[DataError]:
        """Problems of a case that do not prevent scoring."""
        return self.contradictions(case, reference)

    def explain(
        self, reference: Reference, output: Output | Malformed, verdicts: Verdicts
    ) -> Faults:
        """What counted against an output, by metric."""
        return {}

    def answer_by_rules(self, prompt: Prompt) -> FakeReply:
        """Answer a prompt without a model, by simple rules: a floor for real models.

        Without this method, `baseline` refuses the task.
        """
        from callscore.core.rules import NoRules

        raise NoRules(self.name)

    def degrade(self, outcome: JsonOutcome, noise: Noise) -> FakeReply | None:
        """Make an expected outcome worse in place, as a weaker model would; or return a reply.

        Without this method, `simulated` refuses the task.
        """
        from callscore.core.noise import NoNoise

        raise NoNoise(self.name)
