"""Extensions: what other installed packages offer through entry points.

A package names its object in `pyproject.toml`, under one of these groups:

callscore.suites      a Suite
callscore.tasks       a StandaloneTask: a suite of one task
callscore.metrics     a Metric: one more row of an existing task
callscore.providers   a function from a ModelSpec to a Provider
callscore.judges      a function without arguments that returns a Judge
callscore.reports     a report format
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from callscore.core.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal[
    "callscore.suites",
    "callscore.tasks",
    "callscore.metrics",
    "callscore.providers",
    "callscore.judges",
    "callscore.reports",
]


def plugin_names(group: Group) -> Sequence[str]:
    """The names that installed packages offer in a group, sorted."""
    return sorted({entry.name for entry in _entries(group)})


def load_plugin(group: Group, name: str) -> Any:
    """The object that a package offers under a name.

    Raises ConfigError if no package or more than one offers it, or if it cannot be imported.
    """
    found = {entry.value: entry for entry in _entries(group) if entry.name == name}
    if not found:
        raise ConfigError(f"{name!r}: no installed package offers it in the group {group}")
    if len(found) > 1:
        raise ConfigError(f"{name!r} is offered by several packages: {', '.join(sorted(found))}")
    (entry,) = found.values()
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{name!r}: {entry.value} cannot be imported: {error}") from error


def _entries(group: Group) -> Sequence[EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and most runs need no plugin

    return list(entry_points(group=group))
