"""All suites under the settings and extra metrics of one job."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from callscore.core.scorecard import Scorecard, TemplateRow
from callscore.core.spec import (
    MetricSpec,
    ScoreSettings,
    ScoreSpec,
    Spec,
    combined,
    with_metrics,
    with_tasks,
)
from callscore.core.suite import Floor, Floors, Metric, Suite
from callscore.core.task import Task
from callscore.core.verdict_rules import VerdictRules
from callscore.scorecard.formula import TaskFormula, formula_for
from callscore.scorecard.template import template
from callscore.suites import registry

NamesOf = Callable[[Suite], Sequence[str]]
"""The names that a suite finds in the whole data set."""


def no_names(suite: Suite) -> Sequence[str]:
    """No names: the case is read on its own."""
    return ()


class Catalog:
    """Finds tasks, formulas and verdict rules by the name of a task."""

    def __init__(self, settings: Mapping[str, Any] = {}, metrics: Sequence[str] = ()) -> None:
        """`settings` replace defaults; `metrics` are names of metrics in other packages."""
        self._given = settings
        self._settings: dict[str, ScoreSettings] = {}
        self._specs: dict[str, Spec] = {}
        self._metrics: dict[str, list[Metric]] = {}
        for name in metrics:
            metric = registry.metric(name)
            self._metrics.setdefault(metric.slug.partition(".")[0], []).append(metric)

    def check_settings(self) -> None:
        """Raise ConfigError for an unknown setting or a value that is not allowed."""
        default = registry.default_suite()
        self.settings_of(default)
        for key in self._given:
            if not any(key in _setting_names(suite) for suite in self._suites()):
                default.settings({key: self._given[key]})  # raises, with the known names

    def _suites(self) -> Iterator[Suite]:
        """The default suite first; others are imported only if it does not have what is needed."""
        yield registry.default_suite()
        yield from (suite for suite in registry.all_suites() if suite.name != registry.DEFAULT)

    def settings_of(self, suite: Suite) -> ScoreSettings:
        """The settings of a suite: its defaults, with the given ones replaced."""
        found = self._settings.get(suite.name)
        if found is None:
            names = _setting_names(suite) if self._given else ()
            own = {key: value for key, value in self._given.items() if key in names}
            found = self._settings[suite.name] = suite.settings(own)
        return found

    @property
    def settings(self) -> ScoreSettings:
        """The settings that do not depend on a task: those of the default suite."""
        return self.settings_of(registry.default_suite())

    def suite_of(self, task: str) -> Suite:
        """The suite that has a task; raises KeyError."""
        suite = registry.suite_of(task)
        if suite is None:
            raise KeyError(task)
        return suite

    def tasks(self, names: NamesOf = no_names) -> Mapping[str, Task[Any, Any]]:
        """Every task by name, created on first use; `names` are those in all case files."""
        return _Tasks(self, names)

    def spec_of(self, suite: Suite) -> Spec:
        """The specification of a suite, with the metrics of other packages."""
        if not self._metrics:
            return suite.spec
        found = self._specs.get(suite.name)
        if found is None:
            added = {
                metric.slug: (metric.spec, metric.version)
                for task in suite.spec.tasks
                for metric in self.metrics_of(task)
            }
            found = self._specs[suite.name] = with_metrics(suite.spec, added)
        return found

    def metrics_of(self, task: str) -> Sequence[Metric]:
        """The metrics of other packages for a task."""
        return self._metrics.get(task, ())

    def formula(self, task: str) -> TaskFormula:
        """How the measures of a task become its score."""
        suite = self.suite_of(task)
        return formula_for(self.spec_of(suite), task, self.settings_of(suite))

    def suites_with(self, tasks: Iterable[str]) -> list[Suite]:
        """The suites of some tasks, in their order; the default suite if there is no task."""
        names = {suite.name for task in tasks if (suite := registry.suite_of(task)) is not None}
        return registry.ordered(list(names)) if names else [registry.default_suite()]

    def spec_with(self, tasks: Iterable[str]) -> Spec:
        """One specification for some tasks, of one or more suites."""
        tasks = list(tasks)
        return combined(
            [with_tasks(self.spec_of(suite), tasks) for suite in self.suites_with(tasks)]
        )


class _Tasks(Mapping[str, Task[Any, Any]]):
    """The tasks by name; a suite is imported when a case first names one of its tasks."""

    def __init__(self, catalog: Catalog, names: NamesOf) -> None:
        self._catalog = catalog
        self._names = names
        self._tasks: dict[str, Task[Any, Any]] = {}

    def __getitem__(self, name: str) -> Task[Any, Any]:
        task = self._tasks.get(name)
        if task is None:
            suite = self._catalog.suite_of(name)
            settings, names = self._catalog.settings_of(suite), partial(self._names, suite)
            task = self._tasks[name] = suite.task(name, settings, names)
        return task

    def __iter__(self) -> Iterator[str]:
        return iter(registry.task_names())

    def __len__(self) -> int:
        return len(registry.task_names())


class AllFloors:
    """The floors of every suite that has a case in the data."""

    def __init__(self, catalog: Catalog, cases: int = 0) -> None:
        self._catalog = catalog
        self._cases = cases
        self._floors: dict[str, Floors] = {}

    def add(self, suite: Suite, task: str, reference: Any) -> None:
        """Count one case by its reference."""
        floors = self._floors.get(suite.name)
        if floors is None:
            floors = suite.floors(self._catalog.settings_of(suite), self._cases)
            self._floors[suite.name] = floors
        floors.add(task, reference)

    def found(self) -> Mapping[str, Floor]:
        """The floor of every task that has one."""
        return {
            task: floor
            for floors in self._floors.values()
            for task, floor in floors.found().items()
        }

    def data_notes(self) -> list[str]:
        """Notes on what the data cannot show."""
        return [note for floors in self._floors.values() for note in floors.data_notes()]


def rules_for(metric: str) -> VerdictRules:
    """The verdict rules for a metric by slug or name: of its suite, else of the default suite."""
    task, dot, _ = metric.partition(".")
    default = registry.default_suite()
    if not dot or default.verdict_rules.slug_of(metric) is not None:
        return default.verdict_rules
    return (registry.suite_of(task) or default).verdict_rules


def template_of(card: Scorecard) -> Sequence[TemplateRow]:
    """The rows of a scorecard: the tasks of all its suites, then the final rows of the first.

    Tasks and metrics of packages that are not installed are shown under their own names.
    """
    tasks = {task: score for model in card.models for task, score in model.tasks.items()}
    catalog = Catalog()
    suites, spec = catalog.suites_with(tasks), catalog.spec_with(tasks)
    slugs = [slug for score in tasks.values() for slug in score.metrics if slug not in spec.metrics]
    unknown = [task for task in tasks if task not in spec.tasks]
    if not slugs and not unknown:
        return suites[0].rows() if spec is suites[0].spec else template(spec)
    known = {metric.slug: metric.spec for metric in registry.all_metrics()}
    return template(
        msgspec.structs.replace(
            spec,
            tasks=(*spec.tasks, *unknown),
            scores={**spec.scores, **{task: ScoreSpec(task) for task in unknown}},
            metrics={
                **spec.metrics,
                **{slug: known.get(slug) or MetricSpec(section="", label=slug) for slug in slugs},
            },
        )
    )


def _setting_names(suite: Suite) -> Iterable[str]:
    return {field.encode_name for field in msgspec.structs.fields(suite.settings({}))}
