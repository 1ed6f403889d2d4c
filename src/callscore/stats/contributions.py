"""Contributions of cases to the metrics of a model: the input of all intervals and comparisons.

Tallies keep sums only. A `TaskContributions` has, for one model and one task, an entry per case:
its measures (the mean of its runs, C-07), its cost, whether a call gate blocks it, and its call.
Nothing here needs numpy; `stats/matrix.py` converts the entries to arrays by call.

Memory: most values repeat (shares of small counts), so a column stores two-byte codes into a
table of distinct entries. A column with more than `MAX_CODES` distinct entries, such as one of mean
similarities, continues as doubles. Both are exact.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from math import nan
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar, overload

import msgspec

from callscore.core.blocks import part_size
from callscore.core.measure import Measure

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Places = npt.NDArray[np.intp]

MAX_CODES = 4096
"""Distinct entries of a column whose cases are kept as numbers of entries."""

NO_VALUE = Measure(None)

ColumnEntry = tuple[float, float, float]
"""value, numerator, denominator; the value is NaN if a case has none."""

EVALUATED, CALL_BLOCKED, BLOCKED = 1, 2, 4
"""Flags of a case: it has a reply; a call gate blocks it; a gate of any kind blocks it."""


STRATUM = "@"
"""Separates a task from a stratum in the keys of columns."""


def stratum_key(task: str, stratum: str) -> str:
    """The key of the columns of one stratum of a task."""
    return f"{task}{STRATUM}{stratum}"


def call_key(call_id: str | int | None, case_id: str) -> int:
    """A 64-bit hash of the `call_id`, or of the `case_id` if there is none.

    It is the same in every process and run, so runs can be paired by it; sorting calls by it
    shuffles them.
    """
    name = f"case:{case_id}" if call_id is None else f"call:{call_id}"
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest())


class CallKeys(Protocol):
    """The keys of the calls of some cases, in memory or in a file."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...
    @overload
    def __getitem__(self, at: int, /) -> int: ...
    @overload
    def __getitem__(self, at: slice, /) -> array[int]: ...
    def extend(self, keys: Iterable[int], /) -> None:
        """Append keys."""


KEYS_AT_ONCE = 1 << 17
"""Keys that are counted together: keys are hashes, so ranges of equal width have as many each."""


def count_distinct(keys: Sequence[CallKeys]) -> int:
    """The number of distinct calls; of many keys, a range at a time, in little memory."""
    number = sum(map(len, keys))
    if number <= KEYS_AT_ONCE and "numpy" not in sys.modules:
        return len(set[int]().union(*keys))
    import numpy as np

    ranges = -(-number // part_size(number, KEYS_AT_ONCE))
    width, distinct = -(-(1 << 64) // max(1, ranges)), 0
    for low in range(0, ranges * width, width):
        first, last = np.uint64(low), np.uint64(min(low + width, 1 << 64) - 1)
        found = [np.zeros(0, np.uint64)]
        for some in keys:
            for at in range(0, len(some), KEYS_AT_ONCE):
                part = np.frombuffer(some[at : at + KEYS_AT_ONCE], np.uint64)
                found.append(part[(part >= first) & (part <= last)])
        in_order = np.concatenate(found)
        in_order.sort()  # in place: `np.unique` takes several times the memory of the keys
        distinct += min(1, len(in_order)) + int(np.count_nonzero(in_order[1:] != in_order[:-1]))
    return distinct


class Charge(NamedTuple):
    """The call of a case, and its cost."""

    key: int
    spend: float = 0.0
    """The cost of all runs in US dollars, including failed ones."""
    answers: int = 0
    """The number of runs with a reply."""


class _Codes(dict[object, int]):
    """Numbers the distinct entries of a column in the order of their first occurrence."""

    def __missing__(self, entry: object) -> int:
        code = self[entry] = len(self)
        return code


class MetricColumn:
    """The entries of one metric by case: values, with counts if it is pooled."""

    __slots__ = ("_codes", "_index", "_plain", "pooled")

    def __init__(self, *, pooled: bool) -> None:
        self.pooled = pooled
        self._index: _Codes | None = _Codes()
        self._codes = array("H")
        self._plain: list[array[float]] = []

    def __len__(self) -> int:
        return len(self._codes) if self._index is not None else len(self._plain[0])

    def add(self, measures: Iterable[Measure]) -> None:
        """Append the measures of cases."""
        entries: list[object]
        if self.pooled:
            entries = [
                None if m.value is None else (m.value, m.numerator, m.denominator) for m in measures
            ]
        else:
            entries = [m.value for m in measures]
        self._add(entries)

    def add_missing(self, cases: int) -> None:
        """Append cases without a value."""
        self._add([None] * cases)

    def _add(self, entries: Sequence[object]) -> None:
        index = self._index
        if index is None:
            self._add_plain(entries)
            return
        self._codes.extend([index[entry] for entry in entries])
        if len(index) > MAX_CODES:
            table = list(index)
            self._plain = [array("d") for _ in range(3 if self.pooled else 1)]
            self._add_plain([table[code] for code in self._codes])
            self._index, self._codes = None, array("H")

    def _add_plain(self, entries: Sequence[object]) -> None:
        for place, part in enumerate(self._plain):
            part.extend([_entry_part(entry, place) for entry in entries])

    def entries(self) -> tuple[Sequence[ColumnEntry], array[int]] | None:
        """The table of distinct entries and the codes of the cases; None if the column is plain."""
        if self._index is None:
            return None
        table = [
            (_entry_part(entry, 0), _entry_part(entry, 1), _entry_part(entry, 2))
            for entry in self._index
        ]
        return table, self._codes

    def plain(self) -> Sequence[array[float]]:
        """The values of a plain column, and its numerators and denominators if it is pooled."""
        return self._plain

    def extend(self, other: MetricColumn) -> None:
        """Append the entries of another column."""
        index = self._index
        if index is None or other._index is None or len(index) + len(other._index) > MAX_CODES:
            self._add(other._rows())
            return
        codes = [index[entry] for entry in other._index]
        self._codes.extend([codes[code] for code in other._codes])

    def replaced(self, measures: Mapping[int, Measure]) -> MetricColumn:
        """The same column with the measures of some cases replaced."""
        rows = self._rows()
        for place, m in measures.items():
            rows[place] = (m.value, m.numerator, m.denominator) if self.pooled else m.value
        found = MetricColumn(pooled=self.pooled)
        found._add(rows)
        return found

    def taken(self, places: Places) -> MetricColumn:
        """The same column with the cases at some places."""
        found = MetricColumn(pooled=self.pooled)
        found._index = self._index
        found._codes = taken(self._codes, places)
        found._plain = [taken(part, places) for part in self._plain]
        return found

    def _rows(self) -> list[object]:
        """The entry of every case."""
        coded = self.entries()
        if coded is None:
            parts = self.plain()
            rows = zip(*parts, strict=True) if self.pooled else parts[0]
            return [_entry(row) for row in rows]
        assert self._index is not None  # coded columns have their table
        table = list(self._index)
        return [table[code] for code in coded[1]]


N = TypeVar("N", int, float)


def taken(numbers: array[N], places: Places) -> array[N]:
    """The numbers at some places."""
    import numpy as np

    found = np.frombuffer(numbers, numbers.typecode)[places] if len(numbers) else np.zeros(0)
    return array(numbers.typecode, found.tobytes())


def _entry_part(entry: object, place: int) -> float:
    """The value (0), numerator (1) or denominator (2) of an entry; NaN, 0, 0 if it is missing."""
    if entry is None:
        return 0.0 if place else nan
    if isinstance(entry, tuple):
        return float(entry[place])
    assert isinstance(entry, (int, float))  # the value of a row that is not pooled
    return 0.0 if place else float(entry)


def _entry(row: object) -> object:
    value = row[0] if isinstance(row, tuple) else row
    return None if value != value else row


class OpenCase(NamedTuple):
    """An undecided case at its worst: its flags, and the measures that are undecided."""

    flags: int
    measures: Mapping[str, Measure]


BLOCKED_SHARE = "blocked"
"""Instead of a slug, for labels: whether a call gate blocks a case."""


class Labelled(NamedTuple):
    """A case with items that a judge decided, and how far people labelled them    STATS §5"""

    items: int
    labelled: int
    judged: Measure
    people: Measure
    """With the words of people on the labelled items, and those of the judge on the others."""

    @property
    def weight(self) -> float:
        """The labelled share of the items."""
        return self.labelled / self.items


class TaskContributions:
    """The contributions of the cases of one task and one model, in the order of scoring.

    With `keeps_open`, undecided cases are also kept at their worst.
    """

    def __init__(self, *, keeps_open: bool = False) -> None:
        self.keeps_open = keeps_open
        self.keys = array("Q")
        self.flags = array("B")
        self.spend = array("d")
        self.answers = array("H")
        self.columns: dict[str, MetricColumn] = {}
        """By slug of a metric or of a criterion."""
        self.strata: Mapping[str, TaskContributions] = {}
        """The same cases by stratum, if metrics are means of the strata."""
        self.labels: dict[str, dict[int, Labelled]] = {}
        """By metric and place, the cases that a judge decided, if people labelled a sample."""
        self.open: dict[int, OpenCase] = {}
        """By place, the cases with undecided items, as if these were at their worst (C-137)."""

    def __len__(self) -> int:
        return len(self.keys)

    def add_cases(self, charges: Sequence[Charge], flags: Sequence[int]) -> None:
        """Append cases; `add_column` adds their measures."""
        self.keys.extend([charge.key for charge in charges])
        self.spend.extend([charge.spend for charge in charges])
        self.answers.extend([charge.answers for charge in charges])
        self.flags.extend(flags)

    def add_unanswered(self, charge: Charge) -> None:
        """Append a case without a reply: every run failed, or it was not run."""
        self.add_cases([charge], [0])

    def add_column(self, slug: str, measures: Sequence[Measure], *, pooled: bool = False) -> None:
        """Append the measures of the cases that were added last."""
        column = self.columns.get(slug)
        if column is None:
            column = self.columns[slug] = MetricColumn(pooled=pooled)
        missing = len(self.keys) - len(measures) - len(column)
        if missing:
            column.add_missing(missing)
        column.add(measures)

    def add_open(self, from_end: int, flags: int, measures: Mapping[str, Measure]) -> None:
        """Record what an undecided case would add at worst; counted from the last case (1)."""
        if self.keeps_open:
            known = {slug: found for slug, found in measures.items() if found.value is not None}
            self.open[len(self.keys) - from_end] = OpenCase(flags, known)

    def add_label(self, slug: str, from_end: int, labelled: Labelled) -> None:
        """Record a judged case; counted from the last case (1)."""
        self.labels.setdefault(slug, {})[len(self.keys) - from_end] = labelled

    def at_worst(self) -> TaskContributions:
        """The same cases, with undecided ones at their worst        C-137"""
        found = TaskContributions()
        found.extend(self)
        found.open = {}
        for place, case in self.open.items():
            found.flags[place] = case.flags
        for slug in {slug for case in self.open.values() for slug in case.measures}:
            found.columns[slug] = self.columns[slug].replaced(
                {
                    place: case.measures[slug]
                    for place, case in self.open.items()
                    if slug in case.measures
                }
            )
        return found

    def rename_calls(self, keys: Mapping[int, int]) -> None:
        """Replace the keys of calls; two calls that get one key are one from then on."""
        self.keys = array("Q", [keys.get(key, key) for key in self.keys])

    def parts(self) -> Iterator[TaskContributions]:
        """All cases, as they are in memory at once."""
        yield self

    def whole(self) -> TaskContributions:
        """The same cases in memory."""
        return self

    @property
    def has_labels(self) -> bool:
        """Whether people labelled items of these cases."""
        return bool(self.labels)

    def within(self, low: int, high: int) -> TaskContributions:
        """The cases of the calls with keys from `low` to `high`, without labels and open items."""
        import numpy as np

        self.complete()
        keys = np.frombuffer(self.keys, np.uint64)
        places = np.flatnonzero((keys >= np.uint64(low)) & (keys <= np.uint64(high)))
        found = TaskContributions()
        found.keys, found.flags = taken(self.keys, places), taken(self.flags, places)
        found.spend, found.answers = taken(self.spend, places), taken(self.answers, places)
        found.columns = {slug: column.taken(places) for slug, column in self.columns.items()}
        found.strata = {name: part.within(low, high) for name, part in self.strata.items()}
        return found

    def complete(self) -> None:
        """Extend all columns to the same length: the last cases may have no measures."""
        for column in self.columns.values():
            column.add_missing(len(self.keys) - len(column))

    def extend(self, other: TaskContributions) -> None:
        """Append the cases of another scoring pass."""
        self.complete()
        other.complete()
        first = len(self.keys)
        self.open.update({first + place: case for place, case in other.open.items()})
        for slug, cases in other.labels.items():
            own_cases = self.labels.setdefault(slug, {})
            own_cases.update({first + place: case for place, case in cases.items()})
        for slug, column in other.columns.items():
            own = self.columns.get(slug)
            if own is None:
                own = self.columns[slug] = MetricColumn(pooled=column.pooled)
                own.add_missing(len(self.keys))
            own.extend(column)
        self.keys.extend(other.keys)
        self.flags.extend(other.flags)
        self.spend.extend(other.spend)
        self.answers.extend(other.answers)
        self.complete()


Contributions = Mapping[str, TaskContributions]
"""The contributions of one model, by task."""


class CaseContributions(Protocol):
    """The contributions of the cases of one task and one model, in memory or in a file."""

    def __len__(self) -> int: ...

    @property
    def has_labels(self) -> bool:
        """Whether people labelled items of these cases."""

    def parts(self) -> Iterator[TaskContributions]:
        """All cases in their order, as many at a time as are in memory."""

    def whole(self) -> TaskContributions:
        """The same cases in memory."""

    def at_worst(self) -> TaskContributions:
        """The same cases in memory, with undecided ones at their worst        C-137"""

    def extend(self, other: TaskContributions) -> None:
        """Append the cases of another scoring pass."""


ModelContributions = Mapping[str, CaseContributions]
"""The contributions of one model, by task, in memory or in files."""


class MetricShape(msgspec.Struct, frozen=True):
    """How a metric is computed from its column."""

    slug: str
    kind: str
    """`mean` over calls, `pooled` numerators over denominators, or `count`: the total (C-06)."""
    percent: bool = False


class TaskShape(msgspec.Struct, frozen=True):
    """The formula of a task score: Σ part weight × Σ weight × row."""

    rows: Sequence[MetricShape]
    parts: Sequence[tuple[str, float, Sequence[tuple[str, float]]]]
    """Name, weight, and slugs with weights; a task without sub-scores has one part."""


class CriterionShape(msgspec.Struct, frozen=True):
    """A binary criterion: mean over tasks of the mean over cases, against a limit (C-88, C-90)."""

    slug: str
    tasks: Sequence[str]
    comparison: str
    limit: float


class ModelShape(msgspec.Struct, frozen=True):
    """The formulas that compute the scores of one model from its contributions."""

    tasks: Mapping[str, TaskShape]
    final: Mapping[str, float]
    """Weights of the Final Score by task, and of `benchmarks`; empty if there is no Final Score."""
    zeroed: Mapping[str, float] = {}
    """Weights of the Final Score with blocked calls as 0, over the tasks that ran (C-129)."""
    invalid: frozenset[str] = frozenset()
    """The tasks that a gate makes invalid, which count their zeroed score there."""
    workload: Mapping[str, float] = {}
    """By task that the cost is made of, the share of calls that need it (C-83)."""
    cost: float | None = None
    """The cost of 1000 calls if it does not depend on the calls; NaN if unknown."""
    criteria: Sequence[CriterionShape] = ()
    criteria_in_all: int = 0
    """The divisor of the number of passed criteria (C-89); 0 if there is no benchmark score."""
