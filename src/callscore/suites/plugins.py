"""Suites, tasks and metrics of other packages, checked when they are loaded and called."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from callscore.core.case import Prompt
from callscore.core.judging import Question
from callscore.core.measure import Measure
from callscore.core.noise import FakeReply
from callscore.core.plugins import (
    CheckResult,
    Group,
    Guarded,
    PluginError,
    check_members,
    load_plugin,
    plugin_errors,
    plugin_names,
    wrong_result,
)
from callscore.core.spec import TOLERANCE, MetricSpec, Part, Spec
from callscore.core.suite import Metric, ScenarioReader, StandaloneTask, Suite
from callscore.core.task import Measured, Task
from callscore.scorecard.spec_suite import TaskSuite

RESERVED = frozenset({"final", "cost", "blockers", "benchmarks", "bench"})
"""Names that gates, weights and criteria use for something else."""
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


def installed_suites(suites: Collection[str], tasks: Collection[str]) -> Sequence[Suite]:
    """The suites of other packages; a task on its own is a suite of one task.

    `suites` and `tasks` are the built-in names. Raises PluginError.
    """
    found = [*_suites(), *_tasks()]
    takers = {("suite", name): "is built in" for name in suites}
    takers |= {("task", name): "is built in" for name in tasks}
    for what, suite in found:
        names = [("suite", suite.name), *(("task", task) for task in suite.spec.tasks)]
        for kind, name in names:
            if (kind, name) in takers:
                taken = takers[kind, name]
                raise PluginError(f"{what}: a {kind} {name!r} {taken}; expected another name")
            takers[kind, name] = f"also comes from {what}"
    return [suite for _, suite in found]


def checked_metric(name: str, has_suite: Callable[[str], Suite | None]) -> Metric:
    """The metric of this name in another package; raises PluginError."""
    what = f"metric {name!r}"
    made = _made("callscore.metrics", name, what)
    check_members(made, what, Metric)
    task = made.slug.partition(".")[0]
    suite = has_suite(task)
    if suite is None:
        raise PluginError(f"{what}: {made.slug} does not begin with the name of a task")
    if made.slug in suite.spec.metrics:
        raise PluginError(f"{what}: {made.slug} is a metric of the suite {suite.name!r}")
    _check_type(f"{what}: spec", made.spec, MetricSpec)
    return cast(Metric, Guarded(made, what, {"measure": check_measure}))


def _made(group: Group, name: str, what: str) -> Any:
    """The object of an entry point; a class is called without arguments."""
    found = load_plugin(group, name)
    with plugin_errors(what):
        return found() if isinstance(found, type) else found


def _suites() -> Iterator[tuple[str, Suite]]:
    for name in plugin_names("callscore.suites"):
        what = f"suite {name!r}"
        yield what, _checked_suite(_made("callscore.suites", name, what), what)


def _tasks() -> Iterator[tuple[str, Suite]]:
    for name in plugin_names("callscore.tasks"):
        what = f"task {name!r}"
        task = _made("callscore.tasks", name, what)
        check_members(task, what, StandaloneTask)
        for slug, metric in task.metrics.items():
            _check_type(f"{what}: metrics: {slug}", metric, MetricSpec)
        yield what, _checked_suite(TaskSuite(task), what)


def _checked_suite(made: Any, what: str) -> Suite:
    check_members(made, what, Suite)
    with plugin_errors(f"{what}: spec"):
        spec = made.spec
    _check_type(f"{what}: spec", spec, Spec)
    for problem in _spec_problems(spec):
        raise PluginError(f"{what}: spec: {problem}")
    if hasattr(made, "read_scenario"):
        check_members(made, what, ScenarioReader)

    def checked_task(of: str, task: Any) -> Any:
        check_members(task, of, Task)
        checks = {**_TASK_CHECKS, "measure": _measured_check(spec.slugs_of(task.name))}
        return Guarded(task, f"task {task.name!r}", checks)

    checks: Mapping[str, CheckResult] = {
        "task": checked_task,
        "names_in": lambda of, names: list(names),
        "read_scenario": _check_steps,
    }
    return cast(Suite, Guarded(made, what, checks))


def _check_type(what: str, value: object, kind: type) -> None:
    if not isinstance(value, kind):
        found = type(value).__name__
        raise PluginError(f"{what} is {found}; expected a callscore.extension.{kind.__name__}")


# The specification


def _spec_problems(spec: Spec) -> Iterator[str]:
    for task in spec.tasks:
        if not _NAME.fullmatch(task) or task in RESERVED:
            yield f"{task!r} cannot be the name of a task"
        if task not in spec.scores:
            yield f"scores.{task} is missing"
    for slug in spec.metrics:
        if slug.partition(".")[0] not in spec.tasks:
            yield f"metrics: {slug} does not begin with one of the tasks {', '.join(spec.tasks)}"
    for task, score in spec.scores.items():
        if task not in spec.tasks:
            yield f"scores.{task}: unknown task; expected one of {', '.join(spec.tasks)}"
        yield from _score_problems(f"scores.{task}", score.formula, spec.slugs_of(task))
    for option, weights in spec.final.items():
        known = (*spec.tasks, "benchmarks")
        yield from _weight_problems(f"final.{option}", weights, known)


def _score_problems(where: str, parts: Mapping[str, Part], slugs: Collection[str]) -> Iterator[str]:
    for name, part in parts.items():
        yield from _weight_problems(f"{where}.{name}".rstrip("."), part.weights, slugs)
    shares = {name: part.weight for name, part in parts.items()}
    yield from _weight_problems(where, shares, shares)


def _weight_problems(
    where: str, weights: Mapping[str, float], known: Collection[str]
) -> Iterator[str]:
    for name in weights:
        if name not in known:
            yield f"{where}: unknown name {name!r}; expected one of {', '.join(known)}"
    total = math.fsum(weights.values())
    if abs(total - 1) > TOLERANCE:
        yield f"{where}: the weights add up to {total:g}; expected 1"


# What methods return


def check_measure(what: str, measure: Any) -> Any:
    """The measure; raises PluginError if it is none, or has neither a number nor a reason."""
    if not isinstance(measure, Measure):
        raise wrong_result(what, measure, "a callscore.extension.Measure")
    if measure.value is None and not measure.absence:
        raise PluginError(f"{what} returned a Measure without a value; expected an `absence`")
    for field in ("value", "numerator", "denominator"):
        number = getattr(measure, field)
        is_number = isinstance(number, int | float) and math.isfinite(number)
        if not is_number and not (field == "value" and number is None):
            raise PluginError(f"{what} returned the {field} {number!r}; expected a finite number")
    return measure


def _measured_check(slugs: Sequence[str]) -> CheckResult:
    wanted = frozenset(slugs)

    def check(what: str, measured: Any) -> Any:
        if not isinstance(measured, Measured):
            raise wrong_result(what, measured, "a callscore.extension.Measured")
        for slug in measured.measures.keys() - wanted:
            known = ", ".join(slugs)
            raise PluginError(f"{what} returned the unknown metric {slug!r}; expected {known}")
        for slug in wanted - measured.measures.keys():
            raise PluginError(f"{what} returned no measure of {slug}")
        for slug, measure in {**measured.measures, **measured.secondary}.items():
            check_measure(f"{what}: {slug}", measure)
        return measured

    return check


def _check_steps(what: str, steps: Iterable[Any]) -> Any:
    """The steps, each with values that JSON has."""
    found = [msgspec.to_builtins(step) for step in steps]
    for step in found:
        if not isinstance(step, dict):
            raise wrong_result(what, step, "cases as dicts")
    return found


def _check_prompt(what: str, prompt: Any) -> Any:
    if not isinstance(prompt, Prompt):
        raise wrong_result(what, prompt, "a callscore.extension.Prompt")
    return prompt


def _check_questions(what: str, questions: Iterable[Any]) -> Any:
    asked = tuple(questions)
    for question in asked:
        if not isinstance(question, Question):
            raise wrong_result(what, question, "callscore.extension.Question objects")
    return asked


def _guard_part(what: str, part: Any) -> Any:
    """An optional part of a task, whose methods are guarded as well."""
    return None if part is None else Guarded(part, what)


def _check_degraded(what: str, reply: Any) -> Any:
    return None if reply is None else _check_reply(what, reply)


def _check_reply(what: str, reply: Any) -> Any:
    if not isinstance(reply, FakeReply):
        raise wrong_result(what, reply, "a callscore.extension.FakeReply")
    return reply


_TASK_CHECKS: Mapping[str, CheckResult] = {
    "prompt": _check_prompt,
    "ask": _check_questions,
    "ask_case": _check_questions,
    "ask_after": _check_questions,
    "contradictions": lambda what, found: tuple(found),
    "warnings": lambda what, found: tuple(found),
    "degrade": _check_degraded,
    "answer_by_rules": _check_reply,
    "benchmarks": _guard_part,
    "floor": _guard_part,
    "labelling": _guard_part,
}
