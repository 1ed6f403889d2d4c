"""What installed packages add to Callscore, found through their entry points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from callscore.core.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def plugin_names(group: str) -> list[str]:
    """The names that packages announce in a group (`callscore.reports`), sorted."""
    return sorted(_entry_points(group))


def load_plugin(group: str, name: str) -> Any:
    """What a package announces under a name; UsageError where it is missing or does not load."""
    entry = _entry_points(group).get(name)
    if entry is None:
        raise UsageError(f"{name!r}: no installed package announces it in {group}")
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{name!r} of {_package(entry)} cannot be loaded: {error}") from error


def _entry_points(group: str) -> dict[str, EntryPoint]:
    """By name; two packages that announce the same name are refused: neither is the right one."""
    from importlib.metadata import entry_points  # most commands need none

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise UsageError(
                f"{entry.name!r} in {group} is announced by {_package(other)} and by "
                f"{_package(entry)}; expected one of them to be uninstalled"
            )
    return found


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value
