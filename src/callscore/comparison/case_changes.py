"""Cases whose results differ between two models: fixed, broken, newly blocked, or without reply."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from threading import Lock
from typing import NamedTuple, overload
from weakref import finalize

from callscore.core.comparison import CaseChange, ChangeKind
from callscore.core.scorecard import CaseResult
from callscore.core.spec import TOLERANCE
from callscore.store.disk_list import DiskList

Results = Mapping[str, Sequence[CaseResult]]
"""The results of one model, by case."""
NO_REPLY = ("error", "not_run")
NO_GATES: frozenset[str] = frozenset()
MANY = 4_096
"""As many changes, or more, are in a file."""


class _CaseSummary(NamedTuple):
    """The results of all runs of one case."""

    task: str
    answered: bool
    score: float | None
    gates: frozenset[str]
    """The gates that a run breaches."""
    metrics: Mapping[str, float | None]


class ChangesOnDisk(Sequence[CaseChange]):
    """Many changes in a temporary file, the largest first; threads can share it."""

    def __init__(self) -> None:
        self._changes = DiskList(CaseChange)
        self._places = array("q")
        self._lock = Lock()
        finalize(self, self._changes.close)

    def extend(self, changes: Iterable[CaseChange]) -> None:
        """Sort and store all changes."""
        keys = [(*_order(change), self._changes.put(change)) for change in changes]
        keys.sort()
        self._places.extend(key[-1] for key in keys)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, at: int) -> CaseChange: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[CaseChange]: ...
    def __getitem__(self, at: int | slice) -> CaseChange | Sequence[CaseChange]:
        with self._lock:
            if isinstance(at, slice):
                return [self._changes.at(place) for place in self._places[at]]
            return self._changes.at(self._places[at])

    def __reduce__(self) -> tuple[type[list[CaseChange]], tuple[list[CaseChange]]]:
        return list, (list(self),)


def find_changes(
    first: Results, second: Results, weights: Mapping[str, float], call_gates: frozenset[str]
) -> Sequence[CaseChange]:
    """The cases of both models whose results differ, the largest change first."""
    found = _changes(first, second, weights, call_gates)
    few = list(islice(found, MANY))
    if len(few) < MANY:
        return sorted(few, key=_order)
    many = ChangesOnDisk()
    many.extend(chain(few, found))
    return many


def _order(change: CaseChange) -> tuple[float, float, str, str]:
    return -abs(change.weighted), -abs(change.change), change.case_id, change.task


def _changes(
    first: Results, second: Results, weights: Mapping[str, float], call_gates: frozenset[str]
) -> Iterator[CaseChange]:
    for case_id, runs in first.items():
        others = second.get(case_id)
        if not runs or not others or runs == others:
            continue
        before, after = _summarise(runs, call_gates), _summarise(others, call_gates)
        change = _compare_case(case_id, before, after, weights.get(before.task, 0.0))
        if change is not None:
            yield change


def count_changes(changes: Iterable[CaseChange]) -> dict[str, int]:
    """The number of cases by kind of change."""
    counts: Counter[str] = Counter(kind for change in changes for kind in change.kinds)
    kinds = ("fixed", "broken", "new_blocker", "became_error", "no_longer_error")
    return {kind: counts[kind] for kind in kinds}


def _summarise(runs: Sequence[CaseResult], call_gates: frozenset[str]) -> _CaseSummary:
    """The mean of the runs, with 0 for blocked ones, and every gate that a run breaches    C-07"""
    if len(runs) == 1 and runs[0].status == "valid":
        run = runs[0]
        return _CaseSummary(run.task, True, run.score, NO_GATES, run.metrics)
    answered = [run for run in runs if run.status not in NO_REPLY]
    scores = [score for run in answered if (score := _run_score(run, call_gates)) is not None]
    slugs = dict.fromkeys(slug for run in answered for slug in run.metrics)
    return _CaseSummary(
        runs[0].task,
        bool(answered),
        math.fsum(scores) / len(scores) if scores else None,
        frozenset(r for run in answered if run.status == "invalid" for r in run.reasons),
        {slug: _mean([run.metrics.get(slug) for run in answered]) for slug in slugs},
    )


def _run_score(run: CaseResult, call_gates: frozenset[str]) -> float | None:
    if run.status == "invalid" and call_gates & set(run.reasons):
        return 0.0
    return run.score if run.score is not None else run.ungated_score


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _compare_case(
    case_id: str, before: _CaseSummary, after: _CaseSummary, weight: float
) -> CaseChange | None:
    """The change of one case; None if nothing changed."""
    kinds: list[ChangeKind] = []
    scored = before.score is not None and after.score is not None
    change = (after.score or 0.0) - (before.score or 0.0) if scored else 0.0
    if abs(change) > TOLERANCE:
        kinds.append("fixed" if change > 0 else "broken")
    new_gates = sorted(after.gates - before.gates)
    if new_gates:
        kinds.append("new_blocker")
    if before.answered != after.answered:
        kinds.append("became_error" if before.answered else "no_longer_error")
    gone_gates = sorted(before.gates - after.gates) if after.answered else []
    metrics = _changed_metrics(before, after) if before.answered and after.answered else {}
    if not (kinds or gone_gates or metrics):
        return None
    return CaseChange(
        case_id,
        before.task,
        kinds,
        before.score,
        after.score,
        change,
        weight * change,
        new_gates,
        gone_gates,
        metrics,
    )


def _changed_metrics(
    before: _CaseSummary, after: _CaseSummary
) -> dict[str, tuple[float | None, float | None]]:
    """By metric, the values before and after, if they differ."""
    values = {
        slug: (before.metrics.get(slug), after.metrics.get(slug))
        for slug in [*before.metrics, *after.metrics]
    }
    return {slug: pair for slug, pair in values.items() if not _is_close(*pair)}


def _is_close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return abs(one - other) <= TOLERANCE
