"""What every call contributes to every row: the raw material of all intervals and comparisons.

The tallies of a card add up and forget. A `TaskContributions` keeps, for one model and one task,
one entry a case: the measures after its runs were averaged (C-07), what it cost, whether a call
gate blocked it, and which call it belongs to. Nothing here needs numpy; `stats/matrix.py` turns
the entries into arrays with one line per call.

Memory: most values repeat (shares of small counts), so a column stores two-byte codes into a
table of the distinct entries. A column with more than `MOST_CODES` distinct entries, as mean
similarities have, continues as plain doubles. Both lose no digit.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from math import nan
from typing import NamedTuple

import msgspec

from callscore.core.measure import Measure

MOST_CODES = 4096

NO_VALUE = Measure(None)

Entry = tuple[float, float, float]
"""value, numerator, denominator; the value is NaN if a case has none."""

EVALUATED, CALL_BLOCKED, BLOCKED = 1, 2, 4
"""Flags of a case: it has an answer; a call gate blocks it; a gate of either kind does."""


STRATUM = "@"


def in_stratum(task: str, stratum: str) -> str:
    """What the columns of one stratum of a task are filed under."""
    return f"{task}{STRATUM}{stratum}"


def call_key(call_id: str | int | None, case_id: str) -> int:
    """64 bits that name a call: those of its `call_id`; a case without one is its own call.

    The same in every process and run, so that runs can be paired by it. Ordering calls by it is
    as good as shuffling them.
    """
    name = f"case:{case_id}" if call_id is None else f"call:{call_id}"
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest())


class Charge(NamedTuple):
    """Which call a case belongs to, and what was spent on it."""

    key: int
    spend: float = 0.0
    """US dollars of all its runs, failed ones included."""
    answers: int = 0
    """Runs that were answered."""


class _Codes(dict[object, int]):
    """Numbers the distinct entries of a column in the order in which they first come."""

    def __missing__(self, entry: object) -> int:
        code = self[entry] = len(self)
        return code


class Column:
    """One row of the card, an entry for each case: its value, with counts if it is pooled."""

    __slots__ = ("_codes", "_index", "_plain", "pooled")

    def __init__(self, *, pooled: bool) -> None:
        self.pooled = pooled
        self._index: _Codes | None = _Codes()
        self._codes = array("H")
        self._plain: list[array[float]] = []

    def __len__(self) -> int:
        return len(self._codes) if self._index is not None else len(self._plain[0])

    def add(self, measures: Iterable[Measure]) -> None:
        """Append the measures of some cases, one each."""
        entries: list[object]
        if self.pooled:
            entries = [
                None if m.value is None else (m.value, m.numerator, m.denominator) for m in measures
            ]
        else:
            entries = [m.value for m in measures]
        self._add(entries)

    def add_nothing(self, cases: int) -> None:
        """Append cases without a value."""
        self._add([None] * cases)

    def _add(self, entries: Sequence[object]) -> None:
        index = self._index
        if index is None:
            self._add_plain(entries)
            return
        self._codes.extend([index[entry] for entry in entries])
        if len(index) > MOST_CODES:
            table = list(index)
            self._plain = [array("d") for _ in range(3 if self.pooled else 1)]
            self._add_plain([table[code] for code in self._codes])
            self._index, self._codes = None, array("H")

    def _add_plain(self, entries: Sequence[object]) -> None:
        for place, part in enumerate(self._plain):
            part.extend([_of(entry, place) for entry in entries])

    def entries(self) -> tuple[Sequence[Entry], array[int]] | None:
        """The table of distinct entries, and the code of every case; None of a plain column."""
        if self._index is None:
            return None
        table = [(_of(entry, 0), _of(entry, 1), _of(entry, 2)) for entry in self._index]
        return table, self._codes

    def plain(self) -> Sequence[array[float]]:
        """Values, and where the row is pooled numerators and denominators, of a plain column."""
        return self._plain

    def extend(self, other: Column) -> None:
        """Append the values of another column."""
        coded = other.entries()
        if coded is None:
            parts = other.plain()
            rows = zip(*parts, strict=True) if self.pooled else parts[0]
            self._add([_entry(row) for row in rows])
        else:
            assert other._index is not None  # coded columns have their table
            table = list(other._index)
            self._add([table[code] for code in coded[1]])


def _of(entry: object, place: int) -> float:
    """The value (0), numerator (1) or denominator (2) of an entry; of nothing NaN, 0 and 0."""
    if entry is None:
        return 0.0 if place else nan
    if isinstance(entry, tuple):
        return float(entry[place])
    assert isinstance(entry, (int, float))  # the value of a row that is not pooled
    return 0.0 if place else float(entry)


def _entry(row: object) -> object:
    value = row[0] if isinstance(row, tuple) else row
    return None if value != value else row


class TaskContributions:
    """The contributions of all cases of one task and one model, in the order of their scoring."""

    def __init__(self) -> None:
        self.keys = array("Q")
        self.flags = array("B")
        self.spend = array("d")
        self.answers = array("H")
        self.columns: dict[str, Column] = {}
        """By slug; criteria of the second layer are columns as well."""
        self.strata: Mapping[str, TaskContributions] = {}
        """The same cases by stratum, where each row is the mean of the strata."""

    def __len__(self) -> int:
        return len(self.keys)

    def add_cases(self, charges: Sequence[Charge], flags: Sequence[int]) -> None:
        """Append cases; their columns follow by `add_column`."""
        self.keys.extend([charge.key for charge in charges])
        self.spend.extend([charge.spend for charge in charges])
        self.answers.extend([charge.answers for charge in charges])
        self.flags.extend(flags)

    def add_unanswered(self, charge: Charge) -> None:
        """Append a case without a reply: every run failed, or it was not run."""
        self.add_cases([charge], [0])

    def add_column(self, slug: str, measures: Sequence[Measure], *, pooled: bool = False) -> None:
        """Append to a row the measures of the cases that were added last, one each."""
        column = self.columns.get(slug)
        if column is None:
            column = self.columns[slug] = Column(pooled=pooled)
        without = len(self.keys) - len(measures) - len(column)
        if without:
            column.add_nothing(without)
        column.add(measures)

    def complete(self) -> None:
        """Bring all columns to the same length: cases at the end may have no measures."""
        for column in self.columns.values():
            column.add_nothing(len(self.keys) - len(column))

    def extend(self, other: TaskContributions) -> None:
        """Append the cases of another pass."""
        self.complete()
        other.complete()
        for slug, column in other.columns.items():
            mine = self.columns.get(slug)
            if mine is None:
                mine = self.columns[slug] = Column(pooled=column.pooled)
                mine.add_nothing(len(self.keys))
            mine.extend(column)
        self.keys.extend(other.keys)
        self.flags.extend(other.flags)
        self.spend.extend(other.spend)
        self.answers.extend(other.answers)
        self.complete()


def joined(
    one: TaskContributions | None, other: TaskContributions | None
) -> TaskContributions | None:
    """The cases of both, without shared state; None if either records none."""
    if one is None or other is None:
        return None
    found = TaskContributions()
    found.extend(one)
    found.extend(other)
    return found


Contributions = Mapping[str, TaskContributions]
"""Of one model, by task."""


class Row(msgspec.Struct, frozen=True):
    """How the entries of a column become the value of a row."""

    slug: str
    kind: str
    """`mean` over calls, `pooled` numerators over denominators, or `count`: their total (C-06)."""
    percent: bool = False


class TaskShape(msgspec.Struct, frozen=True):
    """The formula of a task score: Σ part weight × Σ weight × row."""

    rows: Sequence[Row]
    parts: Sequence[tuple[str, float, Sequence[tuple[str, float]]]]
    """Name, weight, and the slugs with their weights; a task without sub-scores is one part."""


class CriterionShape(msgspec.Struct, frozen=True):
    """A binary criterion: mean over tasks of the mean over cases, against a limit (C-88, C-90)."""

    slug: str
    tasks: Sequence[str]
    comparison: str
    limit: float


class ModelShape(msgspec.Struct, frozen=True):
    """All that turns the contributions of one model into its column of the card."""

    tasks: Mapping[str, TaskShape]
    final: Mapping[str, float]
    """Weights of the Final Score by task, `benchmarks` among them; empty if it has none."""
    zeroed: Mapping[str, float] = {}
    """Weights of the Final Score with blocked calls as 0, over the tasks that ran (C-129)."""
    workload: Mapping[str, float] = {}
    """By task, the share of calls that need it (C-83)."""
    cost: float | None = None
    """The cost of 1000 calls, independent of the calls: given by the user, or 0; NaN if unknown."""
    criteria: Sequence[CriterionShape] = ()
    criteria_in_all: int = 0
    """What the number of passed criteria is divided by (C-89); 0 if that gives no score."""
