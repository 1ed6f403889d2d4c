"""A suite defined by a `spec.toml` and its tasks: derive from it and override what differs."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from callscore.core.scorecard import ModelScore, TemplateRow
from callscore.core.spec import DIGEST_BYTES, ScoreSettings, ScoreSpec, Spec, read_spec
from callscore.core.suite import (
    BenchmarkLayer,
    DataNames,
    Floors,
    NoFloors,
    RecordPart,
    StandaloneTask,
    no_data_names,
)
from callscore.core.task import Task
from callscore.core.verdict_rules import VerdictRules
from callscore.scorecard.settings import checked_settings
from callscore.scorecard.template import template

if TYPE_CHECKING:
    from callscore.core.labelling import Labelling
    from callscore.core.noise import Degrade
    from callscore.core.scenarios import ScenarioSuite

WHOLE_ANSWER = RecordPart()


class SpecSuite:
    """Implements `core.suite.Suite`: set `name`, `title`, `spec_file` and `task_types`."""

    name: str
    title: str
    spec_file: Path
    task_types: Sequence[Callable[[], Task[Any, Any]]] = ()
    """Create the tasks; override `task` if they need the settings or the data."""
    settings_type: type[ScoreSettings] = ScoreSettings

    @cached_property
    def spec(self) -> Spec:
        """The specification; without final weights, all tasks have the same weight."""
        spec = read_spec(self.spec_file)
        if spec.final:
            return spec
        share = {task: 1 / len(spec.tasks) for task in spec.tasks}
        return msgspec.structs.replace(spec, final={"b": share})

    @cached_property
    def verdict_rules(self) -> VerdictRules:
        """Nothing is judged."""
        return VerdictRules()

    @cached_property
    def scenarios(self) -> ScenarioSuite | None:
        """None."""
        return None

    def settings(self, given: Mapping[str, Any]) -> ScoreSettings:
        """The settings of the specification with some replaced; raises ConfigError."""
        return checked_settings(self.settings_type, self.spec.settings, given)

    def task(
        self, name: str, settings: ScoreSettings, names: DataNames = no_data_names
    ) -> Task[Any, Any]:
        """The task of this name."""
        made = (make() for make in self.task_types)
        return next(task for task in made if task.name == name)

    def names_in(self, line: bytes) -> Iterable[str]:
        """No task depends on the whole data set."""
        return ()

    def noise(self, task: str) -> Degrade:
        """The `degrade` of the task; raises NoNoise if it has none."""
        from callscore.core.noise import NoNoise

        found = self.task(task, self.settings({}))
        if type(found).degrade is Task.degrade:
            raise NoNoise(task)
        return found.degrade

    def labelling(self, task: str) -> Labelling:
        """Raises NoLabelling: override it to let people label the cases of a task."""
        from callscore.core.labelling import NoLabelling

        raise NoLabelling(task)

    def rows(self) -> Sequence[TemplateRow]:
        """Sections, metrics, task scores, benchmarks and final rows of the specification."""
        return template(self.spec)

    def benchmarks(self, settings: ScoreSettings) -> BenchmarkLayer | None:
        """No second layer."""
        return None

    def floors(self, settings: ScoreSettings, cases: int) -> Floors:
        """No trivial answer is known."""
        return NoFloors()

    def record_part(self, slug: str, task: str) -> RecordPart:
        """The whole answer."""
        return WHOLE_ANSWER

    def notes(
        self, models: Sequence[ModelScore], tallies: Mapping[str, Mapping[str, Any]]
    ) -> Sequence[str]:
        """No notes besides those of every suite."""
        return ()


class TaskSuite(SpecSuite):
    """One task of another package as a suite."""

    def __init__(self, task: StandaloneTask[Any, Any]) -> None:
        self._task = task
        self.name = task.name
        self.title = task.title

    @cached_property
    def spec(self) -> Spec:
        """The metrics of the task, and its formula."""
        task = self._task
        stated = (task.version, task.metrics, task.weights)
        raw = msgspec.json.encode(stated, order="deterministic")
        return Spec(
            framework=task.version,
            tasks=(task.name,),
            scores={task.name: ScoreSpec(task.title, weights=task.weights)},
            metrics=task.metrics,
            final={"b": {task.name: 1.0}},
            digest=hashlib.blake2b(raw, digest_size=DIGEST_BYTES).hexdigest(),
        )

    def task(
        self, name: str, settings: ScoreSettings, names: DataNames = no_data_names
    ) -> Task[Any, Any]:
        """The only task."""
        return self._task
