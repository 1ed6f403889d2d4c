"""Contributions as arrays by call: the input of resampling and comparison.

A `CallMatrix` has the sums (of values, numerators, costs) of every call, so the sums of any
weighting of calls are one matrix product, and `stats/weighted_scores.py` computes the scores from
them without scoring a reply again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, overload

from callscore.stats.contributions import (
    BLOCKED,
    CALL_BLOCKED,
    EVALUATED,
    Contributions,
    MetricColumn,
    ModelShape,
    TaskContributions,
    stratum_key,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Keys = npt.NDArray[np.uint64]

MAX_UNITS = 2_000
"""With more calls, random groups of calls are resampled: they are as exchangeable as calls, and the
matrix product stays small."""
MAX_CODES = 256
"""Distinct values of a line of many calls that are kept as codes of one byte."""
ALL_CALLS = 1 << 40
"""More than any number of calls: every call is a unit."""

ColumnKey = tuple[str, str, str]
"""Task, slug and quantity of a sum; the slug is empty for quantities of the whole task.

In a stratum, the task is `in_stratum(task, stratum)`."""


SharedCalls = Mapping[str, "Keys"]
"""By task, the calls that two models are compared on."""


class ResamplingUnits(NamedTuple):
    """The units of resampling: calls, or groups of calls."""

    calls: Keys
    """The keys of all calls, sorted; as keys are hashes, the order is random."""
    size: int
    """The number of units."""

    @property
    def are_groups(self) -> bool:
        """Whether a unit is a random group of calls."""
        return self.size < len(self.calls)

    def unit_numbers(self, keys: object) -> npt.NDArray[np.intp]:
        """The number of the unit of each call."""
        import numpy as np

        positions: npt.NDArray[np.intp] = np.searchsorted(self.calls, np.asarray(keys, np.uint64))
        return positions % self.size if self.are_groups else positions


class CallMatrix(NamedTuple):
    """The sums of one model: `sums[place[task, slug, quantity], unit]`."""

    units: ResamplingUnits
    place: Mapping[ColumnKey, int]
    sums: Floats
    """Quantities × units."""


class CallLines(Sequence["Floats"]):
    """Lines of a matrix of many calls, of which each is kept without its zeros.

    If every task has calls of its own, most sums are zero, in many lines in the same places.
    """

    def __init__(self, calls: int) -> None:
        self.calls = calls
        self._lines: list[tuple[npt.NDArray[np.int32], _LineValues]] = []
        self._known: list[npt.NDArray[np.int32]] = []
        """The places of lines that differ in them."""

    def add(self, line: Floats) -> None:
        """Append a line."""
        import numpy as np

        at = np.flatnonzero(line).astype(np.int32)
        known = next((known for known in self._known if np.array_equal(known, at)), None)
        if known is None:
            known = at
            self._known.append(at)
        self._lines.append((known, _packed(line[at])))

    def __len__(self) -> int:
        return len(self._lines)

    @overload
    def __getitem__(self, at: int) -> Floats: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Floats]: ...
    def __getitem__(self, at: int | slice) -> Floats | Sequence[Floats]:
        import numpy as np

        if isinstance(at, slice):
            return [self[number] for number in range(len(self))[at]]
        line = np.zeros(self.calls)
        places, (values, codes) = self._lines[at]
        line[places] = values if codes is None else values[codes]
        return line


class _LineValues(NamedTuple):
    """Values, or the distinct ones and which of them each place has."""

    values: Floats
    codes: npt.NDArray[np.uint8] | None


def _packed(values: Floats) -> _LineValues:
    """The same values: one if all are equal, codes of one byte if few are distinct."""
    import numpy as np

    if len(values) > MAX_UNITS:
        if (values == values[0]).all():
            return _LineValues(values[:1].copy(), None)
        distinct, codes = np.unique(values, return_inverse=True)
        if len(distinct) <= MAX_CODES:
            return _LineValues(distinct, codes.astype(np.uint8))
    return _LineValues(values, None)


class SparseMatrix(NamedTuple):
    """A `CallMatrix` of many calls in little memory."""

    units: ResamplingUnits
    place: Mapping[ColumnKey, int]
    sums: CallLines

    def dense(self) -> CallMatrix:
        """The same as arrays."""
        import numpy as np

        sums = np.array(list(self.sums)).reshape(len(self.sums), self.units.size)
        return CallMatrix(self.units, self.place, sums)

    def heaviest(self) -> Floats:
        """By line, the largest sum of a single call."""
        import numpy as np

        return np.array([line.max(initial=0.0) for line in self.sums])


def make_units(models: Iterable[Contributions], most: int = MAX_UNITS) -> ResamplingUnits:
    """The calls of all models as units, which are resampled together."""
    import numpy as np

    calls = np.zeros(0, np.uint64)
    for model in models:
        keys = [np.frombuffer(task.keys, np.uint64) for task in model.values() if len(task)]
        more = [part for part in keys if not _are_in(part, calls)]
        if more:
            calls = distinct_keys([calls, *more])
    return ResamplingUnits(calls, min(len(calls), most))


def _are_in(keys: Keys, calls: Keys) -> bool:
    """Whether calls that are sorted have all these keys."""
    if not len(calls):
        return False
    return bool((calls.take(calls.searchsorted(keys), mode="clip") == keys).all())


def distinct_keys(parts: Sequence[Keys]) -> Keys:
    """The distinct keys, sorted; `np.unique` takes several times the memory of the keys."""
    import numpy as np

    keys = np.concatenate(parts)
    keys.sort()
    is_first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return keys if is_first.all() else keys[is_first]


def call_matrix(
    contributions: Contributions,
    shape: ModelShape,
    units: ResamplingUnits,
    shared: SharedCalls | None = None,
) -> CallMatrix:
    """The sums of one model by unit; a call without a reply adds nothing.

    With the units of several models, their matrices can be resampled or paired together. With
    `shared`, only those calls of a task add something.
    """
    import numpy as np

    places: list[ColumnKey] = []
    lines: list[Floats] = []
    for place, line in _lines(contributions, shape, units, shared):
        places.append(place)
        lines.append(line)
    sums = np.array(lines) if lines else np.zeros((0, units.size))
    return CallMatrix(units, {place: at for at, place in enumerate(places)}, sums)


def sparse_matrix(
    contributions: Contributions, shape: ModelShape, units: ResamplingUnits
) -> SparseMatrix:
    """The sums of one model by unit, in little memory."""
    place: dict[ColumnKey, int] = {}
    sums = CallLines(units.size)
    for name, line in _lines(contributions, shape, units, None):
        place[name] = len(sums)
        sums.add(line)
    return SparseMatrix(units, place, sums)


def group_calls(matrix: CallMatrix | SparseMatrix) -> CallMatrix:
    """The sums of at most 2,000 random groups of calls, which are as exchangeable as calls."""
    import numpy as np

    calls = matrix.units.calls
    if len(calls) <= MAX_UNITS or matrix.units.are_groups:
        return matrix.dense() if isinstance(matrix, SparseMatrix) else matrix
    units = ResamplingUnits(calls, MAX_UNITS)
    unit = units.unit_numbers(calls)
    sums = np.array([np.bincount(unit, line, units.size) for line in matrix.sums])
    return CallMatrix(units, matrix.place, sums)


def heaviest_calls(
    contributions: Contributions,
    shape: ModelShape,
    matrix: CallMatrix,
    shared: SharedCalls | None = None,
) -> Floats:
    """By line of a matrix, the largest sum of a single call."""
    import numpy as np

    if not matrix.units.are_groups:
        heaviest: Floats = matrix.sums.max(axis=1, initial=0.0)
        return heaviest
    found = []
    for task in shape.tasks:
        of_task = {task: contributions[task]} if task in contributions else {}
        single = make_units([of_task], ALL_CALLS)  # only of this task: most have calls of their own
        lines = _lines(of_task, shape, single, shared)
        found += [line.max(initial=0.0) for _, line in lines]
    return np.array(found)


def shared_calls(
    first: Contributions, second: Contributions, tasks: Iterable[str]
) -> SharedCalls | None:
    """By task, the calls that both models answered, with as many cases each; None if all are."""
    import numpy as np

    shared, is_everything = {}, True
    for task in tasks:
        keys = [_answered_keys(of_model.get(task)) for of_model in (first, second)]
        (one, cases), (other, as_many) = (np.unique(of, return_counts=True) for of in keys)
        if np.array_equal(one, other) and np.array_equal(cases, as_many):
            shared[task] = one
            continue
        is_everything = False
        both, at, there = np.intersect1d(one, other, assume_unique=True, return_indices=True)
        shared[task] = both[cases[at] == as_many[there]]
    return None if is_everything else shared


def _answered_keys(task: TaskContributions | None) -> Keys:
    import numpy as np

    if task is None or not len(task):
        return np.zeros(0, np.uint64)
    keys: Keys = np.frombuffer(task.keys, np.uint64)
    return keys[(np.frombuffer(task.flags, np.uint8) & EVALUATED) > 0]


def _lines(
    contributions: Contributions,
    shape: ModelShape,
    units: ResamplingUnits,
    shared: SharedCalls | None,
) -> Iterator[tuple[ColumnKey, Floats]]:
    """The name of each line of a matrix, and its sums by unit."""
    import numpy as np

    for task in shape.tasks:
        whole = contributions.get(task)
        if whole is None:
            continue
        for stratum, entries in (("", whole), *whole.strata.items()):
            entries.complete()
            keys = np.array(entries.keys, np.uint64)
            unit = units.unit_numbers(keys)
            counts = None if shared is None else np.isin(keys, shared.get(task, []))
            name = stratum_key(task, stratum) if stratum else task
            for (slug, quantity), values in _columns(task, entries, shape):
                counted = values if counts is None else np.where(counts, values, 0.0)
                line = np.bincount(unit, counted, units.size)
                yield (name, slug, quantity), line.astype(np.float64, copy=False)


def _columns(
    task: str, entries: TaskContributions, shape: ModelShape
) -> Iterable[tuple[tuple[str, str], Floats]]:
    import numpy as np

    flags = np.frombuffer(entries.flags, np.uint8)
    yield ("", "cases"), (flags & EVALUATED).astype(np.float64)
    yield ("", "blocked"), ((flags & CALL_BLOCKED) > 0).astype(np.float64)
    yield ("", "breached"), ((flags & BLOCKED) > 0).astype(np.float64)
    yield ("", "spend"), np.frombuffer(entries.spend, np.float64)
    yield ("", "answers"), np.frombuffer(entries.answers, np.uint16).astype(np.float64)
    pooled = {row.slug for row in shape.tasks[task].rows if row.kind == "pooled"}
    wanted = [row.slug for row in shape.tasks[task].rows]
    wanted += [criterion.slug for criterion in shape.criteria if task in criterion.tasks]
    for slug in wanted:
        column = entries.columns.get(slug)
        if column is None:
            continue
        value, numerator, denominator = column_values(column)
        has_value = ~np.isnan(value)
        yield (slug, "total"), np.where(has_value, value, 0.0)
        yield (slug, "n"), has_value.astype(np.float64)
        if slug in pooled:
            yield (slug, "numerator"), numerator
            yield (slug, "denominator"), denominator


def column_values(column: MetricColumn) -> Sequence[Floats]:
    """Values (NaN if missing), numerators and denominators of a column, by case."""
    import numpy as np

    coded = column.entries()
    if coded is not None:
        table, codes = coded
        entries = np.array(table, np.float64).reshape(-1, 3)
        places = np.frombuffer(codes, np.uint16) if len(codes) else np.zeros(0, np.uint16)
        return [entries[places, part] for part in range(3)]
    parts = [np.frombuffer(part, np.float64) for part in column.plain()]
    return parts if column.pooled else [parts[0], np.zeros(len(parts[0])), np.zeros(len(parts[0]))]
