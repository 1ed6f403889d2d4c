"""Extensions: what other installed packages offer through entry points, and guards for it.

A package names its object in `pyproject.toml`, under one of these groups:

callscore.suites      a Suite
callscore.tasks       a StandaloneTask: a suite of one task
callscore.metrics     a Metric: one more row of an existing task
callscore.providers   a function from a ModelSpec to a Provider
callscore.judges      a function without arguments that returns a Judge
callscore.reports     a report format
callscore.importers   an import format

Whatever such an object does wrong becomes a PluginError that names it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from callscore.core.case import Case
from callscore.core.errors import CallscoreError, ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal[
    "callscore.suites",
    "callscore.tasks",
    "callscore.metrics",
    "callscore.providers",
    "callscore.judges",
    "callscore.reports",
    "callscore.importers",
]

MOST_NAMED = 3
"""Missing members that a message names."""
CheckResult = Callable[[str, Any], Any]
"""Takes the name of a method and what it returned; returns it, or raises PluginError."""


class PluginError(ConfigError):
    """An object of another package does not do what its protocol says."""


def plugin_names(group: Group) -> Sequence[str]:
    """The names that installed packages offer in a group, sorted."""
    return sorted({entry.name for entry in installed_entries()[group]})


def load_plugin(group: Group, name: str) -> Any:
    """The object that a package offers under a name.

    Raises PluginError if no package or more than one offers it, or if it cannot be imported.
    """
    found = {entry.value: entry for entry in installed_entries()[group] if entry.name == name}
    if not found:
        raise PluginError(f"{name!r}: no installed package offers it in the group {group}")
    if len(found) > 1:
        raise PluginError(f"{name!r} is offered by several packages: {', '.join(sorted(found))}")
    (entry,) = found.values()
    with plugin_errors(f"{name!r}: {entry.value}", "cannot be imported:"):
        return entry.load()


@cache
def installed_entries() -> Mapping[str, Sequence[EntryPoint]]:
    """What installed packages offer, by group: a file of each of them is read, so only once."""
    from importlib.metadata import entry_points  # slow to import, and most commands need no plugin

    found = entry_points()
    return {group: list(found.select(group=group)) for group in get_args(Group)}


@contextmanager
def plugin_errors(
    what: str, problem: str = "raised", *, with_message: bool = True
) -> Iterator[None]:
    """Turn what an object of another package raises into a PluginError; ours stay as they are.

    It has the type and the message of the exception, and the line of the package that raised it.
    The message of whatever connects to a server could contain a key; leave it out there.
    """
    try:
        yield
    except CallscoreError:
        raise
    except Exception as error:
        message = f": {error}" if with_message and str(error) else ""
        why = f"{type(error).__name__}{message}{_raised_at(error)}"
        raise PluginError(f"{what} {problem} {why}") from error


def _raised_at(error: BaseException) -> str:
    """The deepest line of the first package in the traceback that is not ours or Python's."""
    from pathlib import Path  # only after an error
    from traceback import walk_tb

    packages = [
        (str(frame.f_globals.get("__name__")).partition(".")[0], frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
    ]
    others = [each for each in packages if each[0] not in {"callscore", *sys.stdlib_module_names}]
    if not others:
        return ""
    _, file, line = [each for each in others if each[0] == others[0][0]][-1]
    return f" ({Path(file).name}, line {line})"


def check_members(made: object, what: str, protocol: type) -> None:
    """Raise PluginError if an object lacks an attribute or a method of a public protocol."""
    from inspect import getattr_static

    missing = [
        name
        for base in reversed(protocol.__mro__)
        if base.__module__.startswith("callscore.")
        for name in {**base.__dict__.get("__annotations__", {}), **vars(base)}
        if not name.startswith("_") and getattr_static(made, name, made) is made
    ]
    if missing:
        names = ", ".join(missing[:MOST_NAMED]) + (", …" if len(missing) > MOST_NAMED else "")
        raise PluginError(
            f"{what}: {type(made).__name__} has no {names}; expected a {protocol.__name__}"
        )


def wrong_result(what: str, result: object, expected: str) -> PluginError:
    """The error for a result of the wrong type."""
    return PluginError(f"{what} returned {type(result).__name__}; expected {expected}")


def guarded(function: Callable[..., Any], what: str, check: CheckResult | None) -> Any:
    """The same function; what it raises becomes a PluginError, and its result is checked."""

    def call(*args: Any, **options: Any) -> Any:
        case = f" of case {args[0].id!r}" if args and isinstance(args[0], Case) else ""
        with plugin_errors(what + case):
            result = function(*args, **options)
            return result if check is None else check(what + case, result)

    call.__wrapped__ = function  # type: ignore[attr-defined]  # for `core.task.has_hook`
    return call


class Guarded:
    """An object of another package whose methods are guarded."""

    def __init__(self, made: Any, what: str, checks: Mapping[str, CheckResult] = {}) -> None:
        self._made = made
        self._what = what
        self._checks = checks

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._made, name)
        if not callable(value):
            return value
        call = guarded(value, f"{self._what}: {name}()", self._checks.get(name))
        self.__dict__[name] = call
        return call
