"""A suite defined by a `spec.toml` and its tasks: derive from it and override what differs.

Its settings are the defaults of the `spec.toml` with some replaced, checked.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from callscore.core.errors import ConfigError
from callscore.core.spec import DIGEST_BYTES, ScoreSettings, ScoreSpec, Spec, read_spec
from callscore.core.suite import DataNames, StandaloneTask, no_data_names
from callscore.core.task import Task
from callscore.core.verdict_rules import VerdictRules

Settings = TypeVar("Settings", bound=ScoreSettings)


class SpecSuite:
    """Implements `Suite` from a `spec.toml`: set `name`, `title`, `spec_file` and `task_types`."""

    name: str
    title: str
    spec_file: Path
    task_types: Sequence[Callable[[], Task[Any, Any]]] = ()
    """Create the tasks; override `task` if they need the settings or the data."""
    settings_type: type[ScoreSettings] = ScoreSettings
    rubric_files: Sequence[Path] = ()
    """What judging models are asked: one TOML file for each question."""

    @cached_property
    def spec(self) -> Spec:
        """The specification; without final weights, all tasks have the same weight."""
        try:
            spec = with_rubrics(read_spec(self.spec_file), self.rubric_files)
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            raise ConfigError(f"suite {self.name!r}: {self.spec_file.name}: {error}") from error
        if spec.final:
            return spec
        share = {task: 1 / len(spec.tasks) for task in spec.tasks}
        return msgspec.structs.replace(spec, final={"b": share})

    @cached_property
    def verdict_rules(self) -> VerdictRules:
        """The words that the tasks allow."""
        tasks = [make() for make in self.task_types]
        return VerdictRules(words={k: v for task in tasks for k, v in task.verdict_words.items()})

    def settings(self, given: Mapping[str, Any]) -> ScoreSettings:
        """The settings of the specification with some replaced; raises ConfigError."""
        return convert_settings(self.settings_type, self.spec.settings, given)

    def task(
        self, name: str, settings: ScoreSettings, names: DataNames = no_data_names
    ) -> Task[Any, Any]:
        """The task of this name."""
        for make in self.task_types:
            if (task := make()).name == name:
                return task
        raise ConfigError(f"suite {self.name!r}: `task_types` has no task {name!r}")


class TaskSuite(SpecSuite):
    """One task of another package as a suite."""

    def __init__(self, task: StandaloneTask[Any, Any]) -> None:
        self._task = task
        self.name = task.name
        self.title = task.title
        self.task_types = (lambda: task,)
        self.rubric_files = task.rubric_files

    @cached_property
    def spec(self) -> Spec:
        """The metrics of the task, and its formula."""
        task = self._task
        stated = (task.version, task.metrics, task.weights)
        raw = msgspec.json.encode(stated, order="deterministic")
        spec = Spec(
            framework=task.version,
            tasks=(task.name,),
            scores={task.name: ScoreSpec(task.title, weights=task.weights)},
            metrics=task.metrics,
            final={"b": {task.name: 1.0}},
            digest=hashlib.blake2b(raw, digest_size=DIGEST_BYTES).hexdigest(),
        )
        return with_rubrics(spec, self.rubric_files)


def with_rubrics(spec: Spec, paths: Sequence[Path]) -> Spec:
    """The specification with these rubrics; its digest covers them."""
    if not paths:
        return spec
    files = {path.name: path.read_bytes() for path in paths}
    digest = hashlib.blake2b(spec.digest.encode(), digest_size=DIGEST_BYTES)
    for name in sorted(files):
        digest.update(b"%s\0%d\0%s" % (name.encode(), len(files[name]), files[name]))
    return msgspec.structs.replace(spec, rubrics=files, digest=digest.hexdigest())


def convert_settings(
    kind: type[Settings], defaults: Mapping[str, Any], given: Mapping[str, Any]
) -> Settings:
    """The defaults with some replaced; raises ConfigError on an unknown key or value."""
    usual = msgspec.convert(defaults, kind)
    if not given:
        return usual
    known = msgspec.to_builtins(usual)
    for key in given:
        if key not in known:
            raise ConfigError(f"unknown setting {key!r}; expected one of: {', '.join(known)}")
    lists = list_settings(kind)
    # on a command line, several paths are separated by spaces
    given = {
        key: tuple(value.split()) if key in lists and isinstance(value, str) else value
        for key, value in given.items()
    }
    try:
        return msgspec.convert({**known, **given}, kind, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        raise _settings_error(kind, given, str(error)) from None


def _settings_error(
    kind: type[ScoreSettings], given: Mapping[str, Any], message: str
) -> ConfigError:
    wrong = next((key for key in given if f"$.{key}`" in message), None)
    words = setting_words(kind).get(wrong or "")
    problem = message.partition(" - at ")[0].replace("`", "")
    if words:
        problem = f"expected one of {', '.join(words)}"
    # the message about a value out of range begins with the name of its setting
    return ConfigError(f"setting {wrong}: {problem}" if wrong else f"setting {problem}")


@cache
def setting_words(kind: type[ScoreSettings]) -> Mapping[str, tuple[str, ...]]:
    """The allowed words of each setting; numbers and paths are left out."""
    hints = get_type_hints(kind)
    return {
        field.encode_name: tuple(map(str, words))
        for field in msgspec.structs.fields(kind)
        if (words := get_args(hints[field.name])) and get_origin(hints[field.name]) is Literal
    }


@cache
def list_settings(kind: type[ScoreSettings]) -> frozenset[str]:
    """The settings that are lists."""
    hints = get_type_hints(kind)
    return frozenset(
        field.encode_name
        for field in msgspec.structs.fields(kind)
        if get_origin(hints[field.name]) is tuple
    )
