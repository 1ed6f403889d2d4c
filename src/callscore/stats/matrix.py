"""Contributions as arrays by call: the input of resampling and comparison.

A `CallMatrix` has the sums (of values, numerators, costs) of every call, so the sums of any
weighting of calls are one matrix product, and `stats/weighted_scores.py` computes the scores from
them without scoring a reply again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple, overload

from callscore.core.blocks import part_size
from callscore.stats.contributions import (
    BLOCKED,
    CALL_BLOCKED,
    EVALUATED,
    CaseContributions,
    Contributions,
    MetricColumn,
    ModelContributions,
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
CALLS_AT_ONCE = 1 << 16
"""Calls whose own sums are in memory together."""
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


def make_units(models: Iterable[ModelContributions], most: int = MAX_UNITS) -> ResamplingUnits:
    """The calls of all models as units, which are resampled together."""
    import numpy as np

    calls = np.zeros(0, np.uint64)
    for model in models:
        found = np.empty(sum(map(len, model.values())), np.uint64)
        filled = 0
        for task in model.values():
            for part in task.parts():
                keys = np.frombuffer(part.keys, np.uint64) if len(part) else calls[:0]
                if not _are_in(keys, calls):
                    found[filled : filled + len(keys)] = keys
                    filled += len(keys)
        if filled:
            calls = distinct_keys(
                np.concatenate((calls, found[:filled])) if len(calls) else found[:filled]
            )
    return ResamplingUnits(calls, min(len(calls), most))


def _are_in(keys: Keys, calls: Keys) -> bool:
    """Whether calls that are sorted have all these keys."""
    if not len(calls):
        return False
    return bool((calls.take(calls.searchsorted(keys), mode="clip") == keys).all())


def distinct_keys(keys: Keys) -> Keys:
    """The distinct keys, sorted in place; `np.unique` takes several times their memory."""
    import numpy as np

    keys.sort()
    is_first = np.ones(len(keys), bool)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return keys if is_first.all() else keys[is_first]


def call_ranges(kept: CaseContributions, units: ResamplingUnits) -> Iterator[TaskContributions]:
    """All cases, a range of calls at a time: those of one call are together, in their order."""
    calls = units.calls
    if len(calls) <= CALLS_AT_ONCE:
        yield kept.whole()
        return
    size = part_size(len(calls), CALLS_AT_ONCE)
    for first in range(0, len(calls), size):
        low, high = calls[first : first + size][[0, -1]]
        found = TaskContributions()
        for part in kept.parts():
            found.extend(part.within(int(low), int(high)))
        yield found


def call_matrix(
    contributions: ModelContributions,
    shape: ModelShape,
    units: ResamplingUnits,
    shared: SharedCalls | None = None,
) -> CallMatrix:
    """The sums of one model by unit; a call without a reply adds nothing.

    With the units of several models, their matrices can be resampled or paired together. With
    `shared`, only those calls of a task add something. Cases are added one by one in their order,
    so that the sums are the same in one part and in several.
    """
    import numpy as np

    lines: dict[ColumnKey, Floats] = {}
    for task in shape.tasks:
        for part in contributions[task].parts() if task in contributions else ():
            for name, unit, values in _entries(task, part, shape, units, shared):
                if name in lines:
                    np.add.at(lines[name], unit, values)
                else:
                    lines[name] = _sums_by_unit(unit, values, units)
    sums = np.array(list(lines.values())) if lines else np.zeros((0, units.size))
    return CallMatrix(units, {name: at for at, name in enumerate(lines)}, sums)


def sparse_matrix(
    contributions: Contributions, shape: ModelShape, units: ResamplingUnits
) -> SparseMatrix:
    """The sums of one model by unit, in little memory."""
    place: dict[ColumnKey, int] = {}
    sums = CallLines(units.size)
    for task in (task for task in shape.tasks if task in contributions):
        for name, unit, values in _entries(task, contributions[task], shape, units, None):
            place[name] = len(sums)
            sums.add(_sums_by_unit(unit, values, units))
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
    contributions: ModelContributions,
    shape: ModelShape,
    matrix: CallMatrix,
    shared: SharedCalls | None = None,
) -> Floats:
    """By line of a matrix, the largest sum of a single call."""
    import numpy as np

    if not matrix.units.are_groups:
        heaviest: Floats = matrix.sums.max(axis=1, initial=0.0)
        return heaviest
    found = dict.fromkeys(matrix.place, 0.0)
    for task in (task for task in shape.tasks if task in contributions):
        for some in call_ranges(contributions[task], matrix.units):
            single = make_units([{task: some}], ALL_CALLS)
            for name, unit, values in _entries(task, some, shape, single, shared):
                line = _sums_by_unit(unit, values, single)
                found[name] = max(found[name], line.max(initial=0.0))
    return np.array(list(found.values()))


def shared_calls(
    first: ModelContributions, second: ModelContributions, tasks: Iterable[str]
) -> SharedCalls | None:
    """By task, the calls that both models answered, with as many cases each; None if all are."""
    import numpy as np

    tasks = list(tasks)
    if all(_have_same_calls(first.get(task), second.get(task)) for task in tasks):
        return None
    shared, is_everything = {}, True
    for task in tasks:
        keys = [np.concatenate(list(_answered_keys(of.get(task)))) for of in (first, second)]
        (one, cases), (other, as_many) = (np.unique(of, return_counts=True) for of in keys)
        if np.array_equal(one, other) and np.array_equal(cases, as_many):
            shared[task] = one
            continue
        is_everything = False
        both, at, there = np.intersect1d(one, other, assume_unique=True, return_indices=True)
        shared[task] = both[cases[at] == as_many[there]]
    return None if is_everything else shared


def _have_same_calls(one: CaseContributions | None, other: CaseContributions | None) -> bool:
    """Whether two models answered the same cases in the same order, found in little memory."""
    import numpy as np

    pairs = zip_longest(_answered_keys(one), _answered_keys(other))
    return all(np.array_equal(keys, of_other) for keys, of_other in pairs)


def _answered_keys(kept: CaseContributions | None) -> Iterator[Keys]:
    """The keys of the calls of answered cases, of one part after another."""
    import numpy as np

    yield np.zeros(0, np.uint64)
    for part in kept.parts() if kept is not None and len(kept) else ():
        keys = np.frombuffer(part.keys, np.uint64)
        yield keys[(np.frombuffer(part.flags, np.uint8) & EVALUATED) > 0]


def _entries(
    task: str,
    whole: TaskContributions,
    shape: ModelShape,
    units: ResamplingUnits,
    shared: SharedCalls | None,
) -> Iterator[tuple[ColumnKey, npt.NDArray[np.intp], Floats]]:
    """The name of each line of a matrix, and by case its unit and what it adds."""
    import numpy as np

    for stratum, entries in (("", whole), *whole.strata.items()):
        entries.complete()
        keys = np.array(entries.keys, np.uint64)
        unit = units.unit_numbers(keys)
        counts = None if shared is None else np.isin(keys, shared.get(task, []))
        name = stratum_key(task, stratum) if stratum else task
        for (slug, quantity), values in _columns(task, entries, shape):
            counted = values if counts is None else np.where(counts, values, 0.0)
            yield (name, slug, quantity), unit, counted


def _sums_by_unit(unit: npt.NDArray[np.intp], values: Floats, units: ResamplingUnits) -> Floats:
    import numpy as np

    return np.bincount(unit, values, units.size).astype(np.float64, copy=False)


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
