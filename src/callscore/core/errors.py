"""Everything that can go wrong, and who is told.

CallscoreError                exit code
├── UsageError            2   something was asked for that cannot be
│   ├── ConfigError       2   … in a setting or a config file
│   └── DataError         2   … in a dataset (file, line, field, what was expected)
├── MissingExtra          2   an optional part is not installed
├── GateFailed            1   a configured gate or threshold was not met
├── Inconclusive          3   gates or completeness were asked for and cannot be decided
└── StoreError            4   the results cannot be kept; work stops at once
    └── OutputError       4   … in a file beside the store: what is under way is still kept

Any other exception is a bug, and ends a command with 70.
A model or a judge that fails raises nothing across rooms: it becomes a `Failed` value.
"""

from __future__ import annotations


class CallscoreError(Exception):
    """Base of every error that a user may see; carries the exit code of the command."""

    exit_code = 2


class UsageError(CallscoreError):
    """The caller asked for something that cannot be."""


class ConfigError(UsageError):
    """A setting or a config file holds something that cannot be used."""


class DataError(UsageError):
    """A dataset holds something that cannot be used.

    The message always reads `file:line: case …: field …: what is wrong; expected …`,
    leaving out the parts that are not known where the error is raised. `located`
    adds the parts that only the reader of the file knows.
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

    def located(self, place: str, case_id: str = "") -> DataError:
        """The same error, saying in which file and line (and case) it was found."""
        return DataError(
            self.problem,
            field=self.field,
            case_id=self.case_id or case_id,
            place=self.place or place,
        )


class MissingExtra(CallscoreError):
    """An optional part of the package is needed and not installed."""


class GateFailed(CallscoreError):
    """A configured gate or threshold was not met."""

    exit_code = 1


class Inconclusive(CallscoreError):
    """Completeness was demanded, and the results do not have it."""

    exit_code = 3


class StoreError(CallscoreError):
    """The results cannot be kept."""

    exit_code = 4


class OutputError(StoreError):
    """A file beside the store cannot be written; answers can still be kept."""
