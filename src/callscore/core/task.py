"""The protocol of a task: pure functions from a case and a reply to measures."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self, TypeVar

import msgspec

from callscore.core.case import Case, Malformed, Prompt, Reply
from callscore.core.errors import DataError
from callscore.core.judging import NO_VERDICTS, Item, Question, Verdicts
from callscore.core.measure import Measure
from callscore.core.prompt_template import VARIABLES, case_values

if TYPE_CHECKING:
    from callscore.core.labelling import Labelling
    from callscore.core.noise import FakeReply, JsonOutcome, Noise
    from callscore.core.scorecard import ModelScore


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


class RecordPart(NamedTuple):
    """The fields of an outcome that a metric is about; the whole outcome if there are none."""

    paths: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """If the field is a list of objects: the keys that are shown, the id first."""
    expected_paths: tuple[str, ...] = ()
    """The fields of the reference, if they are others."""
    faults_only: bool = False
    """Whether the observation is what counted against the reply, if anything did."""


WHOLE_ANSWER = RecordPart()


class BenchmarkLayer(Protocol):
    """Binary criteria on top of a task score; `spec.benchmarks` has their limits."""

    def ask_case(self, case: Case) -> Sequence[Question]:
        """The questions that are asked once per case."""
        ...

    def view(self, case: Case, reference: Any, output: Any, reply: Reply) -> Any:
        """A well-formed answer as the criteria see it."""
        ...

    def ask(self, view: Any) -> Sequence[Question]:
        """What code cannot decide about one answer, besides what its task asks."""
        ...

    def measure(self, view: Any, verdicts: Verdicts) -> Mapping[str, Measure]:
        """Every criterion of one answer."""
        ...

    def malformed(self, case: Case) -> Mapping[str, Measure]:
        """The criteria of an answer that cannot be read."""
        ...

    def count_items(self, case: Case) -> ItemCount:
        """The most items a judge can be asked about for the criteria."""
        ...

    def compared(self, case: Case) -> Sequence[tuple[str, str]]:
        """Criterion and reference text of everything that an embedder may compare."""
        ...


class Floor(NamedTuple):
    """The best score of a trivial answer; None if a row of the formula has no case."""

    score: float | None
    """With judged rows at their most lenient."""
    strategy: str | None
    rows: Mapping[str, float | None] = {}
    """The rows of the strategy."""
    judged: frozenset[str] = frozenset()
    """The rows for which the floor of a model takes the model's own values (C-135)."""


class Strategy(NamedTuple):
    """A way to answer every case without reading it, with the rows it would get."""

    name: str
    rows: Mapping[str, float | None]
    """Every weighted metric, judged ones at their most lenient; None if no case has it."""


class FloorTally(Protocol):
    """Adds up the references of a task's cases, for the scores of trivial answers (C-135)."""

    judged: frozenset[str] = frozenset()
    """The rows that a judge or an embedder decides, for which a floor takes the model's own."""

    @abstractmethod
    def add(self, reference: Any) -> None:
        """Count one case by its reference."""

    @abstractmethod
    def __iadd__(self, later: Self) -> Self:
        """Add the counts of later cases."""

    @abstractmethod
    def strategies(self) -> Iterable[Strategy]:
        """The rows of every strategy, and of every mixture of strategies, over all cases so far."""

    def notes(self) -> Iterable[str]:
        """Notes on what the data cannot show."""
        return ()


Faults = Mapping[str, Sequence[str]]
"""What counted against an output, by metric; the most serious first."""

SCENARIO = "scenario"
"""The task of a step of a scenario: the only one whose replies may be tool calls."""

Reference = TypeVar("Reference")
Output = TypeVar("Output")


class EarlierReply(NamedTuple):
    """An earlier case of the same call, and what the same model replied to it in the same run."""

    case: Case
    reply: Reply

    @property
    def text(self) -> str:
        """The reply as text; invalid UTF-8 is replaced."""
        text = self.reply.text
        return text if isinstance(text, str) else text.decode("utf-8", "replace")


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

    verdict_words: Mapping[str, tuple[str, ...]] = {}
    """The words that a verdict on a judged metric may use, by slug; for verdict files."""

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

    # Hooks of scenarios: the cases of one call are its steps

    needs_earlier_replies: bool = False
    """Whether the cases of one call are asked one after the other, in the order of the file."""

    def prompt_after(self, case: Case, earlier: Sequence[EarlierReply]) -> Prompt:
        """The prompt of a case, with the replies to the earlier cases of its call.

        Called for every case but the first of a call, if the task needs earlier replies. `earlier`
        has the cases of all tasks that need them.
        """
        return self.prompt(case)

    # Hooks of custom prompts (`prompts` of an eval file)

    prompt_variables: Mapping[str, bool] = VARIABLES
    """The names that custom prompts may use, and whether each of them contains the call."""

    def prompt_values(self, case: Case, prompt: Prompt) -> Mapping[str, str]:
        """The text of each variable; `prompt` is what `prompt` returned for the case."""
        return case_values(case, prompt)

    # Hooks of the scorecard

    def benchmarks(self) -> BenchmarkLayer | None:
        """The optional second layer, with `--benchmarks`."""
        return None

    def floor(self) -> FloorTally | None:
        """A counter of references that knows what an answer scores that ignores the call."""
        return None

    def notes(self, models: Sequence[ModelScore], tallies: Mapping[str, Any]) -> Sequence[str]:
        """Notes for readers of the scorecard; `tallies` are the TaskTally of every model."""
        return ()

    # Hooks of the data, the records, and the providers `simulated` and `baseline`

    def labelling(self) -> Labelling | None:
        """How people label cases with `callscore annotate`."""
        return None

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

    def record_part(self, slug: str) -> RecordPart:
        """The part of an answer that a metric is about, as records quote it (C-100)."""
        return WHOLE_ANSWER

    def answer_by_rules(self, prompt: Prompt) -> FakeReply:
        """Answer a prompt without a model, by simple rules: a floor for real models.

        Without this method, `baseline` refuses the task.
        """
        from callscore.core.noise import NoRules

        raise NoRules(self.name)

    def degrade(self, outcome: JsonOutcome, noise: Noise) -> FakeReply | None:
        """Make an expected outcome worse in place, as a weaker model would; or return a reply.

        Without this method, `simulated` refuses the task.
        """
        from callscore.core.noise import NoNoise

        raise NoNoise(self.name)


def has_hook(task: Task[Any, Any], name: str) -> bool:
    """Whether a task defines a hook; one that it inherits from `Task` does nothing."""
    method = getattr(task, name)
    method = getattr(method, "__wrapped__", method)  # of a task of another package
    return getattr(method, "__func__", None) is not getattr(Task, name)
