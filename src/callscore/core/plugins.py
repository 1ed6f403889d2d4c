"""Extensions in other installed packages, found by entry point."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from callscore.core.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

SUITES = "callscore.suites"
TASKS = "callscore.tasks"
METRICS = "callscore.metrics"
PROVIDERS = "callscore.providers"
JUDGES = "callscore.judges"
REPORTS = "callscore.reports"


@cache
def entry_points(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group, by name; none of them is imported yet.

    Call it only for a name that is not built in: finding the installed packages takes as long as
    starting the program.
    """
    from importlib.metadata import entry_points as installed

    return {point.name: point for point in sorted(installed(group=group))}


def load_plugin(group: str, name: str) -> Any:
    """What the entry point of this name refers to; None where no package has one."""
    point = entry_points(group).get(name)
    if point is None:
        return None
    try:
        return point.load()
    except Exception as error:
        package = point.dist.name if point.dist is not None else point.value
        raise ConfigError(
            f"{group} {name!r} of the package {package} cannot be loaded: "
            f"{type(error).__name__}: {error}"
        ) from error
