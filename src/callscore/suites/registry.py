"""Suites by name and by task: those built in, and those of other installed packages.

The only module that imports suites. A built-in suite is imported when one of its tasks is first
named; other packages are looked up for names that are not built in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from callscore.core.errors import ConfigError, UsageError
from callscore.core.plugins import Group, load_plugin, plugin_names
from callscore.core.suite import Metric, StandaloneTask, Suite
from callscore.core.task import SCENARIO

if TYPE_CHECKING:
    from callscore.core.labelling import Labelling
    from callscore.core.noise import Degrade
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
    for found in _installed():
        if found.name == name:
            return found
    known = ", ".join((*BUILT_IN, *(found.name for found in _installed())))
    raise ConfigError(f"unknown suite {name!r}; expected one of {known}")


@cache
def suite_of(task: str) -> Suite | None:
    """The suite that has a task; None if no package has it."""
    for name, built_in in BUILT_IN.items():
        if task in built_in.tasks or task in built_in.also:
            return suite(name)
    return next((found for found in _installed() if task in found.spec.tasks), None)


def scenario_suite() -> ScenarioSuite:
    """The suite that has scenarios."""
    found = suite_of(SCENARIO)
    assert found is not None and found.scenarios is not None  # it is built in
    return found.scenarios


@cache
def noise_of(task: str) -> Degrade:
    """How `simulated` degrades the replies of a task; raises NoNoise if it cannot."""
    found = suite_of(task)
    if found is None:
        from callscore.core.noise import NoNoise

        raise NoNoise(task)
    return found.noise(task)


def labelling_of(task: str) -> Labelling:
    """How people label the cases of a task; raises UsageError if they cannot."""
    found = suite_of(task)
    if found is None:
        raise UsageError(f"unknown task {task!r}; expected one of {', '.join(task_names())}")
    return found.labelling(task)


def task_names() -> Sequence[str]:
    """All tasks that a case file may name."""
    return (*built_in_tasks(), *(task for found in _installed() for task in found.spec.tasks))


def ordered(names: Sequence[str]) -> list[Suite]:
    """Suites by name, the built-in ones first, others in alphabetical order."""
    first = [name for name in BUILT_IN if name in names]
    return [suite(name) for name in (*first, *sorted(set(names) - set(first)))]


@cache
def _installed() -> Sequence[Suite]:
    """The suites of other packages; a task on its own is a suite of one task."""
    return (*_from("callscore.suites"), *(_alone(task) for task in _from("callscore.tasks")))


def _from(group: Group) -> Iterator[Any]:
    for name in plugin_names(group):
        found = load_plugin(group, name)
        yield found() if isinstance(found, type) else found


def _alone(task: StandaloneTask[Any, Any]) -> Suite:
    from callscore.scorecard.suite import TaskSuite

    return TaskSuite(task)


def all_suites() -> Iterator[Suite]:
    """Every suite, the built-in ones first; each is imported when the iterator gets to it."""
    yield from map(suite, BUILT_IN)
    yield from _installed()


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
    found = load_plugin("callscore.metrics", name)
    made: Metric = found() if isinstance(found, type) else found
    if suite_of(made.slug.partition(".")[0]) is None:
        raise ConfigError(f"metric {name!r}: {made.slug} does not begin with the name of a task")
    return made
