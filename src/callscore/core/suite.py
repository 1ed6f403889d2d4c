"""The protocol of a suite: a family of tasks that are scored and reported together.

`scorecard.suite.SpecSuite` implements all of it from a `spec.toml` and a list of tasks; a suite
overrides what it does differently. `suites.registry` finds suites by name and by task.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from callscore.core.case import Case, Reply
from callscore.core.judging import Question, Verdicts
from callscore.core.measure import Measure
from callscore.core.scorecard import ModelScore
from callscore.core.spec import MetricSpec, ScoreSettings, Spec
from callscore.core.task import ItemCount, Output, Reference, Task
from callscore.core.template import TemplateRow
from callscore.core.verdict_rules import VerdictRules

if TYPE_CHECKING:
    from pathlib import Path

    from callscore.core.labelling import Labelling
    from callscore.core.noise import Degrade
    from callscore.core.rules import Rules
    from callscore.core.scenarios import ScenarioSuite

DataNames = Callable[[], Sequence[str]]
"""Returns the names that a suite finds in all lines of the case files."""


def no_data_names() -> Sequence[str]:
    """No names: for a case that is read without its file."""
    return ()


class Suite(Protocol):
    """A family of tasks: what it measures, and how that is weighted, judged and shown."""

    name: str
    """The name in signatures: `calls`."""
    title: str
    """The heading of a scorecard: `Call Intelligence`."""

    @property
    def spec(self) -> Spec:
        """Tasks, metrics, bands, gates, formulas and weights, with the version and digest of the
        framework.
        """
        ...

    @property
    def verdict_rules(self) -> VerdictRules:
        """The words that a verdict may use, and which measures depend on which verdicts."""
        ...

    @property
    def scenarios(self) -> ScenarioSuite | None:
        """How scenarios of several steps are scored; None in a suite of another package."""
        ...

    def settings(self, given: Mapping[str, Any]) -> ScoreSettings:
        """The default settings, with some of them replaced; raises ConfigError."""
        ...

    def task(self, name: str, settings: ScoreSettings, names: DataNames) -> Task[Any, Any]:
        """A task of `spec.tasks`; `names` are those that `names_in` finds in all case files."""
        ...

    def names_in(self, line: bytes) -> Iterable[str]:
        """The names in one line of a case file that prompts of all cases need."""
        ...

    def noise(self, task: str) -> Degrade:
        """How `simulated` makes the answers of a task worse; raises NoNoise if it cannot."""
        ...

    def rules(self, task: str) -> Rules:
        """How `baseline` answers the prompts of a task; raises NoRules if it cannot."""
        ...

    def rubrics(self) -> Mapping[str, bytes]:
        """What judging models are asked about its metrics: TOML files by name.

        The digest of `spec` covers them. The rubrics of built-in suites are in `judges`.
        """
        ...

    def labelling(self, task: str) -> Labelling:
        """How people label the cases of a task; raises NoLabelling if they cannot."""
        ...

    def rows(self) -> Sequence[TemplateRow]:
        """The scorecard template, row by row."""
        ...

    def benchmarks(self, settings: ScoreSettings) -> BenchmarkLayer | None:
        """The optional second layer; None if the suite has none."""
        ...

    def floors(self, settings: ScoreSettings, cases: int) -> Floors:
        """The scores of trivial answers on the data (C-135)."""
        ...

    def record_part(self, slug: str, task: str) -> RecordPart:
        """The part of an answer that a metric is about, as records quote it (C-100)."""
        ...

    def notes(
        self, models: Sequence[ModelScore], tallies: Mapping[str, Mapping[str, Any]]
    ) -> Sequence[str]:
        """Notes for readers of the scorecard; `tallies` are TaskTallies by model and task."""
        ...


class RecordPart(NamedTuple):
    """The fields of an outcome that a metric is about; the whole outcome if there are none."""

    paths: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    """If the field is a list of objects: the keys that are shown, the id first."""
    expected_paths: tuple[str, ...] = ()
    """The fields of the reference, if they are others."""
    faults_only: bool = False
    """Whether the observation is what counted against the reply, if anything did."""


class BenchmarkLayer(Protocol):
    """Binary criteria on top of the task scores; `spec.benchmarks` has their limits."""

    tasks: Collection[str]
    """The tasks whose answers it looks at."""

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


class Floors(Protocol):
    """Counts references, and computes the scores of answers that ignore the call."""

    def add(self, task: str, reference: Any) -> None:
        """Count one case by its reference."""
        ...

    def found(self) -> Mapping[str, Floor]:
        """The floor of every task that has one."""
        ...

    def data_notes(self) -> Sequence[str]:
        """Notes on what the data cannot show."""
        ...


class NoFloors:
    """For a suite without trivial answers."""

    def add(self, task: str, reference: Any) -> None:
        """Do nothing."""

    def found(self) -> Mapping[str, Floor]:
        """No floors."""
        return {}

    def data_notes(self) -> Sequence[str]:
        """No notes."""
        return ()


class StandaloneTask(Task[Reference, Output], Protocol[Reference, Output]):
    """A task of another package that is scored as a separate suite (`callscore.tasks`)."""

    title: str
    version: str
    """Part of the signature; change it whenever values may change."""
    metrics: Mapping[str, MetricSpec]
    """By slug (`<task>.<name>`)."""
    weights: Mapping[str, float]
    """Weights of the metrics in the task score; their sum is 1."""
    verdict_words: Mapping[str, tuple[str, ...]] = {}
    """The words that a verdict on a judged metric may use, by slug; for verdict files."""
    rubric_files: Sequence[Path] = ()
    """What judging models are asked: one TOML file for each question."""


class Metric(Protocol):
    """A metric that a package adds to a task: measured, rated and reported, outside the formula."""

    slug: str
    """`<task>.<name>`."""
    spec: MetricSpec
    version: str
    """Part of the signature; change it whenever values may change."""

    def measure(self, case: Case, answer: Any, verdicts: Verdicts) -> Measure:
        """The metric on the JSON of one answer; never called for a malformed one."""
        ...
