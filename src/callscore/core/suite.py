"""The protocol of a suite: a family of tasks that are scored and reported together.

`scorecard.spec_suite.SpecSuite` implements it from a `spec.toml` and a list of tasks. What belongs
to one task (floors, benchmarks, labelling, records, notes) is a hook of `core.task.Task`.
`suites.registry` finds suites by name and by task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from callscore.core.case import Case
from callscore.core.judging import Verdicts
from callscore.core.measure import Measure
from callscore.core.spec import MetricSpec, ScoreSettings, Spec
from callscore.core.task import Output, Reference, Task
from callscore.core.verdict_rules import VerdictRules

if TYPE_CHECKING:
    from pathlib import Path

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

    def settings(self, given: Mapping[str, Any]) -> ScoreSettings:
        """The default settings, with some of them replaced; raises ConfigError."""
        ...

    def task(self, name: str, settings: ScoreSettings, names: DataNames) -> Task[Any, Any]:
        """A task of `spec.tasks`; `names` are those that `names_in` finds in all case files."""
        ...


class NamesSource(Protocol):
    """A suite whose prompts need names from the whole data set; no other suite has this method."""

    def names_in(self, line: bytes) -> Iterable[str]:
        """The names in one line of a case file."""
        ...


def names_in(suite: Suite, line: bytes) -> Iterable[str]:
    """The names in one line of a case file, if the suite is a `NamesSource`."""
    find: Callable[[bytes], Iterable[str]] | None = getattr(suite, "names_in", None)
    return find(line) if find is not None else ()


class ScenarioReader(Protocol):
    """A suite whose scenarios are files of its own form; no other suite has these members.

    `data: {SUITE: FOLDER}` in an eval file, and `SUITE:FOLDER` on the command line.
    """

    scenario_files: str
    """The pattern of their names: `*.yaml`."""

    def read_scenario(self, name: str, text: str) -> Iterable[Mapping[str, Any]]:
        """The steps in one file, in their order, each as a case of a case file; raises DataError.

        `name` is the path of the file in its folder, without the suffix.
        """
        ...


class StandaloneTask(Task[Reference, Output], Protocol[Reference, Output]):
    """A task of another package that is scored as a separate suite (`callscore.tasks`)."""

    title: str
    version: str
    """Part of the signature; change it whenever values may change."""
    metrics: Mapping[str, MetricSpec]
    """By slug (`<task>.<name>`)."""
    weights: Mapping[str, float]
    """Weights of the metrics in the task score; their sum is 1."""
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
