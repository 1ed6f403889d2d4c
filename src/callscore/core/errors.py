"""All errors and the exit codes of commands that raise them.

CallscoreError                exit code
├── UsageError            2   the arguments cannot be used
│   ├── ConfigError       2   … in a setting or a config file
│   └── DataError         2   … in a dataset (file, line, field, what was expected)
├── MissingExtra          2   an optional dependency is not installed
├── GateFailed            1   a configured gate or threshold was not met
├── Inconclusive          3   a gate or a required completeness cannot be decided
├── StoreError            4   the store cannot be written; work stops at once
│   ├── OutputError       4   … in an output file: replies are still stored
│   └── ReadTooSlow       4   … a read took longer than the reader waits
└── WorkerLost           70   a process that computes was killed twice on the same block

Any other exception is a bug; the exit code is 70.
A failing model or judge raises no error: it becomes a `Failed` value.
"""

from __future__ import annotations

from collections.abc import Iterable


class CallscoreError(Exception):
    """Base of all errors for users; carries the exit code of the command."""

    exit_code = 2


class UsageError(CallscoreError):
    """The arguments cannot be used."""


class ConfigError(UsageError):
    """A setting or a config file is invalid."""


class DataError(UsageError):
    """A dataset is invalid.

    The message reads `file:line: case …: field …: what is wrong; expected …`, without the parts
    that are unknown where the error is raised. `with_place` adds file and line.
    """

    def __init__(
        self, problem: str, *, field: str = "", case_id: str = "", place: str = ""
    ) -> None:
        self.problem = problem
        self.field = field
        self.case_id = case_id
        self.place = place
        super().__init__(self._message())

    def _message(self) -> str:
        parts = [self.place] if self.place else []
        if self.case_id:
            parts.append(f"case {self.case_id!r}")
        if self.field:
            parts.append(f"field {self.field}")
        return ": ".join([*parts, self.problem])

    def with_place(self, place: str, case_id: str = "") -> DataError:
        """The same error with file and line (and case)."""
        return DataError(
            self.problem,
            field=self.field,
            case_id=self.case_id or case_id,
            place=self.place or place,
        )


class MissingExtra(CallscoreError):
    """An optional dependency is needed and not installed."""


class GateFailed(CallscoreError):
    """A configured gate or threshold was not met."""

    exit_code = 1


class Inconclusive(CallscoreError):
    """A complete result was required, and this one is not."""

    exit_code = 3


class StoreError(CallscoreError):
    """The store cannot be written."""

    exit_code = 4


class OutputError(StoreError):
    """An output file cannot be written; the store still works."""


class ReadTooSlow(StoreError):
    """A read of the index took longer than its reader waits; it was stopped."""


class WorkerLost(CallscoreError):
    """A process that computes was killed twice on the same block."""

    exit_code = 70


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name most similar to this one, ignoring case; None if none is similar"""
    from difflib import get_close_matches  # needed for error messages only

    by_form = {other.casefold(): other for other in known}
    found = get_close_matches(name.casefold(), by_form, n=1, cutoff=likeness)
    return by_form[found[0]] if found else None


def similar_key_hint(missing: str, found: Iterable[str]) -> str:
    """A hint for the error about a missing key if a similar one is present; else empty"""
    near = nearest(missing, found)
    return f"there is {near!r}, did you mean {missing}? " if near else ""
