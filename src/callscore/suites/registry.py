"""Suites by name and by task, and a catalog of them under the settings of one job.

The only module that imports suites. A built-in suite is imported when one of its tasks is first
named; other packages are looked up for names that are not built in.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from callscore.core.errors import ConfigError, UsageError
from callscore.core.plugins import plugin_names
from callscore.core.scorecard import Scorecard
from callscore.core.signature import kinds_of
from callscore.core.spec import (
    MetricSpec,
    ScoreSettings,
    ScoreSpec,
    Spec,
    combine_specs,
    with_metrics,
    with_tasks,
    without_rows,
)
from callscore.core.suite import Metric, ScenarioReader, Suite, no_data_names
from callscore.core.task import SCENARIO, Task, has_hook
from callscore.core.verdict_rules import VerdictRules
from callscore.scorecard.formula import TaskFormula, formula_for
from callscore.scorecard.template import TemplateRow, template_rows, with_final_heading

if TYPE_CHECKING:
    from callscore.core.labelling import Labelling
    from callscore.core.noise import Degrade, Rules
    from callscore.core.scenarios import ScenarioSuite


class BuiltIn(NamedTuple):
    """The module and the tasks of a built-in suite, known without importing it."""

    module: str
    type: str
    tasks: tuple[str, ...]
    also: tuple[str, ...] = ()
    """Tasks that no case file may name."""


BUILT_IN: Mapping[str, BuiltIn] = {
    "calls": BuiltIn(
        "callscore.suites.calls.suite", "CallsSuite", ("qa", "entity", "text", "translation")
    ),
    "orchestration": BuiltIn(
        "callscore.suites.orchestration.suite",
        "OrchestrationSuite",
        ("orchestration",),
        (SCENARIO,),
    ),
}
DEFAULT = "calls"
"""The suite used if no task is named."""


def built_in_tasks() -> tuple[str, ...]:
    """The tasks that a case file may name without any other package."""
    return tuple(task for suite in BUILT_IN.values() for task in suite.tasks)


def default_suite() -> Suite:
    """The suite used if no task is named."""
    return suite(DEFAULT)


@cache
def suite(name: str) -> Suite:
    """The suite of this name; raises ConfigError."""
    built_in = BUILT_IN.get(name)
    if built_in is not None:
        made: Suite = getattr(import_module(built_in.module), built_in.type)()
        return made
    for found in other_suites():
        if found.name == name:
            return found
    known = ", ".join((*BUILT_IN, *(found.name for found in other_suites())))
    raise ConfigError(f"unknown suite {name!r}; expected one of {known}")


@cache
def default_settings(name: str) -> ScoreSettings:
    """The settings of the suite of this name if none is given."""
    return suite(name).settings({})


@cache
def suite_of(task: str) -> Suite | None:
    """The suite that has a task; None if no package has it."""
    for name, built_in in BUILT_IN.items():
        if task in built_in.tasks or task in built_in.also:
            return suite(name)
    return next((found for found in other_suites() if task in found.spec.tasks), None)


@cache
def scenario_suite() -> ScenarioSuite:
    """The scenarios of document 001, scored together; those of other suites are cases."""
    from callscore.suites.orchestration.scenario_suite import OrchestrationScenarios

    return OrchestrationScenarios()


def scenario_readers() -> Mapping[str, ScenarioReader]:
    """By name, the suites whose scenarios are files of their own form."""
    readers = [found for found in other_suites() if hasattr(found, "read_scenario")]
    return {found.name: cast(ScenarioReader, found) for found in readers}


@cache
def _default_task(name: str) -> Task[Any, Any] | None:
    """A task with the default settings; None if no package has it."""
    found = suite_of(name)
    return found.task(name, default_settings(found.name), no_data_names) if found else None


@cache
def noise_of(task: str) -> Degrade:
    """How `simulated` degrades the replies of a task; raises NoNoise if it cannot."""
    found = _default_task(task)
    if found is None or not has_hook(found, "degrade"):
        from callscore.core.noise import NoNoise

        raise NoNoise(task)
    return found.degrade


@cache
def rules_of(task: str) -> Rules:
    """How `baseline` answers the prompts of a task; raises NoRules if it cannot."""
    found = _default_task(task)
    if found is None or not has_hook(found, "answer_by_rules"):
        from callscore.core.noise import NoRules

        raise NoRules(task)
    return found.answer_by_rules


def labelling_of(task: str) -> Labelling:
    """How people label the cases of a task; raises UsageError if they cannot."""
    found = _default_task(task)
    if found is None:
        raise UsageError(f"unknown task {task!r}; expected one of {', '.join(task_names())}")
    labelling = found.labelling()
    if labelling is None:
        from callscore.core.labelling import NoLabelling

        raise NoLabelling(task)
    return labelling


def task_names() -> Sequence[str]:
    """All tasks that a case file may name."""
    return (*built_in_tasks(), *(task for found in other_suites() for task in found.spec.tasks))


def ordered(names: Sequence[str]) -> list[Suite]:
    """Suites by name, the built-in ones first, others in alphabetical order."""
    first = [name for name in BUILT_IN if name in names]
    return [suite(name) for name in (*first, *sorted(set(names) - set(first)))]


@cache
def other_suites() -> Sequence[Suite]:
    """The suites of other packages; a task on its own is a suite of one task."""
    if not plugin_names("callscore.suites") and not plugin_names("callscore.tasks"):
        return ()
    from callscore.suites.plugins import installed_suites

    tasks = [task for suite in BUILT_IN.values() for task in (*suite.tasks, *suite.also)]
    return installed_suites(BUILT_IN, tasks)


def all_suites() -> Iterator[Suite]:
    """Every suite, the built-in ones first; each is imported when the iterator gets to it."""
    yield from map(suite, BUILT_IN)
    yield from other_suites()


def all_metrics() -> Sequence[Metric]:
    """The metrics of other packages."""
    return [metric(name) for name in plugin_names("callscore.metrics")]


@cache
def metric(name: str) -> Metric:
    """The metric of this name in another package; raises ConfigError."""
    known = plugin_names("callscore.metrics")
    if name not in known:
        installed = ", ".join(known) or "none is installed"
        raise ConfigError(f"unknown metric {name!r}; expected one of: {installed}")
    from callscore.suites.plugins import checked_metric

    return checked_metric(name, suite_of)


NamesOf = Callable[[Suite], Sequence[str]]
"""The names that a suite finds in the whole data set."""


def no_names(suite: Suite) -> Sequence[str]:
    """No names: the case is read on its own."""
    return ()


class Catalog:
    """Finds tasks, formulas and verdict rules by the name of a task."""

    def __init__(
        self,
        settings: Mapping[str, Any] = {},
        metrics: Sequence[str] = (),
        kinds: Collection[str] = (),
    ) -> None:
        """`settings` replace defaults; `metrics` are names of metrics in other packages; `kinds`
        are those of the steps in scenarios, if they are known.
        """
        self._kinds = kinds
        self._given = settings
        self._settings: dict[str, ScoreSettings] = {}
        self._specs: dict[str, Spec] = {}
        self._metrics: dict[str, list[Metric]] = {}
        for name in metrics:
            added = metric(name)
            self._metrics.setdefault(added.slug.partition(".")[0], []).append(added)

    def with_kinds(self, kinds: Collection[str]) -> Catalog:
        """The same for scenarios with steps of these kinds only        C-142"""
        if not kinds:
            return self
        found = copy(self)
        found._kinds, found._specs = kinds, {}
        return found

    def check_settings(self) -> None:
        """Raise ConfigError for an unknown setting or a value that is not allowed."""
        self.settings_of(default_suite())
        for key in self._given:
            if not any(key in _setting_names(suite) for suite in self._suites()):
                names = dict.fromkeys(
                    name for suite in self._suites() for name in _setting_names(suite)
                )
                raise ConfigError(f"unknown setting {key!r}; expected one of: {', '.join(names)}")

    def _suites(self) -> Iterator[Suite]:
        """The default suite first; others are imported only if it does not have what is needed."""
        yield default_suite()
        yield from (suite for suite in all_suites() if suite.name != DEFAULT)

    def settings_of(self, suite: Suite) -> ScoreSettings:
        """The settings of a suite: its defaults, with the given ones replaced."""
        found = self._settings.get(suite.name)
        if found is None:
            found = default_settings(suite.name)
            if self._given:
                names = _setting_names(suite)
                own = {key: value for key, value in self._given.items() if key in names}
                found = suite.settings(own) if own else found
            self._settings[suite.name] = found
        return found

    def changed_settings(self, suite: Suite) -> Mapping[str, Any]:
        """The settings of a suite that are not the default, by name."""
        if not self._given:
            return {}
        defaults = msgspec.to_builtins(default_settings(suite.name))
        settings = msgspec.to_builtins(self.settings_of(suite))
        return {key: value for key, value in settings.items() if value != defaults.get(key)}

    @property
    def settings(self) -> ScoreSettings:
        """The settings that do not depend on a task: those of the default suite."""
        return self.settings_of(default_suite())

    def suite_of(self, task: str) -> Suite:
        """The suite that has a task; raises KeyError."""
        found = suite_of(task)
        if found is None:
            raise KeyError(task)
        return found

    def tasks(self, names: NamesOf = no_names) -> Mapping[str, Task[Any, Any]]:
        """Every task by name, created on first use; `names` are those in all case files."""
        return _Tasks(self, names)

    def spec_of(self, suite: Suite) -> Spec:
        """The specification of a suite, with the metrics of other packages."""
        if not self._metrics and not self._kinds:
            return suite.spec
        found = self._specs.get(suite.name)
        if found is None:
            added = {
                extra.slug: (extra.spec, extra.version)
                for task in suite.spec.tasks
                for extra in self.metrics_of(task)
            }
            found = with_metrics(suite.spec, added)
            if self._kinds:
                found = without_rows(found, *scenario_suite().narrow(self._kinds))
            self._specs[suite.name] = found
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
        names = {suite.name for task in tasks if (suite := suite_of(task)) is not None}
        return ordered(list(names)) if names else [default_suite()]

    def spec_with(self, tasks: Iterable[str]) -> Spec:
        """One specification for some tasks, of one or more suites."""
        tasks = list(tasks)
        return combine_specs(
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
        return iter(task_names())

    def __len__(self) -> int:
        return len(task_names())


def rules_for(metric: str) -> VerdictRules:
    """The verdict rules for a metric by slug or name: of its suite, else of the default suite."""
    task, dot, _ = metric.partition(".")
    default = default_suite()
    if not dot or default.verdict_rules.slug_of(metric) is not None:
        return default.verdict_rules
    return (suite_of(task) or default).verdict_rules


def template_of(card: Scorecard) -> Sequence[TemplateRow]:
    """The rows of a scorecard: the tasks of all its suites, then the final rows of the first.

    Tasks and metrics of packages that are not installed are shown under their own names.
    """
    rows = with_final_heading(_rows_of(card), card.final_heading)
    if not card.documents:
        return rows
    return [row for row in rows if not row.is_optional or _has_value(card, row)]


def _has_value(card: Scorecard, row: TemplateRow) -> bool:
    if row.kind == "latency":
        return any(model.latency for model in card.models)
    found = (model.metric(row.key) for model in card.models)
    return any(metric is not None and metric.value is not None for metric in found)


def _rows_of(card: Scorecard) -> Sequence[TemplateRow]:
    tasks = {task: score for model in card.models for task, score in model.tasks.items()}
    spec = Catalog().with_kinds(kinds_of(card.signature)).spec_with(tasks)
    slugs = [slug for score in tasks.values() for slug in score.metrics if slug not in spec.metrics]
    unknown = [task for task in tasks if task not in spec.tasks]
    if not slugs and not unknown:
        return template_rows(spec)
    known = {extra.slug: extra.spec for extra in all_metrics()}
    return template_rows(
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
    fields = msgspec.structs.fields(default_settings(suite.name))
    return {field.encode_name: None for field in fields}
