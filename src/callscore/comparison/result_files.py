"""Contributions of calls from results files (`--results`)."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from collections.abc import Callable, Collection, ItemsView, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from weakref import finalize

import msgspec

from callscore.comparison.case_changes import NO_REPLY
from callscore.core.errors import DataError
from callscore.core.measure import Measure
from callscore.core.scenarios import STEP_TASK
from callscore.core.scorecard import CaseResult
from callscore.core.strict_json import DECODE_ERRORS
from callscore.scorecard.criteria import CONSISTENCY, consistency_of
from callscore.scorecard.formula import STRUCTURE, TaskFormula
from callscore.stats.contributions import (
    BLOCKED,
    CALL_BLOCKED,
    EVALUATED,
    NO_VALUE,
    Charge,
    TaskContributions,
    call_key,
)
from callscore.store.files import Line, LinesByKey, lines_of

_DECODER = msgspec.json.Decoder(CaseResult)
TOGETHER = 1_024
"""Cases whose contributions are added at once."""


class ResultsInFile(Mapping[str, Sequence[CaseResult]]):
    """The results of one model by case, in the order of the file; 28 bytes of each are in memory.

    As in contributions, the hash of its id identifies a case.
    """

    def __init__(self, path: Path, change: Callable[[CaseResult], CaseResult]) -> None:
        """Every result is given as `change` returns it."""
        self._change = change
        self._keys = array("Q")
        """The hash of every line; after `finish` those of the cases, sorted."""
        self._numbers = array("I")
        """By rank of its hash, the number of a case."""
        self._lines = LinesByKey([path])
        finalize(self, self._lines.close)

    def add(self, case_id: str, line: Line) -> None:
        """Record the line of a result."""
        self._lines.add(len(self._keys), line)
        self._keys.append(call_key(None, case_id))

    def finish(self) -> None:
        """Number the cases in the order of the file; all lines have been added."""
        import numpy as np

        keys, first, of_line = np.unique(
            np.frombuffer(self._keys, np.uint64), return_index=True, return_inverse=True
        )
        numbers = np.empty(len(keys), np.int64)
        numbers[np.argsort(first)] = np.arange(len(keys))
        if len(keys) < len(of_line):  # otherwise a case is a line
            self._lines.renumber(array("q", numbers[of_line].tobytes()))
        self._keys = array("Q", keys.tobytes())
        self._numbers = array("I", numbers.astype(np.uint32).tobytes())

    def __getitem__(self, case_id: str) -> Sequence[CaseResult]:
        key = call_key(None, case_id)
        at = bisect_left(self._keys, key)
        if at == len(self._keys) or self._keys[at] != key:
            raise KeyError(case_id)
        return self.of_number(self._numbers[at])

    def of_number(self, number: int) -> Sequence[CaseResult]:
        """The results of one case."""
        lines = self._lines.lines(number)
        return [self._change(_DECODER.decode(line.raw)) for line in lines]

    def __iter__(self) -> Iterator[str]:
        return (case_id for case_id, _ in self.items())

    def items(self) -> ItemsView[str, Sequence[CaseResult]]:
        """The cases and their results; every line is read once."""
        return _ItemsInFile(self)

    def __len__(self) -> int:
        return len(self._keys)


class _ItemsInFile(ItemsView[str, Sequence[CaseResult]]):
    _mapping: ResultsInFile

    def __iter__(self) -> Iterator[tuple[str, Sequence[CaseResult]]]:
        for number in range(len(self)):
            runs = self._mapping.of_number(number)
            yield runs[0].case_id, runs


def read_results(
    path: Path, change: Callable[[CaseResult], CaseResult] = lambda result: result
) -> Mapping[str, ResultsInFile]:
    """Read the results of a file, by model and case; raises DataError."""
    results: dict[str, ResultsInFile] = {}
    for line in lines_of([path]):
        try:
            result = _DECODER.decode(line.raw)
        except DECODE_ERRORS as error:
            raise DataError(f"{error}; expected a line of --results", place=line.place) from None
        of_model = results.get(result.model)
        if of_model is None:
            of_model = results[result.model] = ResultsInFile(path, change)
        of_model.add(result.case_id, line)
    for of_model in results.values():
        of_model.finish()
    return results


def contributions_from_results(
    results: Mapping[str, Sequence[CaseResult]],
    formula_of: Callable[[str], TaskFormula],
    criteria: Collection[str] = (),
    ddof: int = 1,
) -> dict[str, TaskContributions]:
    """The contributions of cases by task: values without counts, which results do not have.

    Those of single steps do not add up to the rows of scenarios, and are left out.
    `criteria` has the slugs of the benchmarks if they count in the Final Score (C-79).
    """
    contributions: dict[str, TaskContributions] = {}
    cases = (runs for _, runs in results.items())  # noqa: PERF102  a file is read once so
    while together := list(islice(cases, TOGETHER)):
        by_task: dict[str, list[Sequence[CaseResult]]] = {}
        for runs in together:
            if runs[0].task == STEP_TASK:
                continue
            by_task.setdefault(runs[0].task, []).append(runs)
        for task, of_task in by_task.items():
            columns = contributions.setdefault(task, TaskContributions())
            _contribute(columns, of_task, formula_of(task), criteria, ddof)
    for columns in contributions.values():
        columns.complete()
    return contributions


def _contribute(
    columns: TaskContributions,
    cases: Sequence[Sequence[CaseResult]],
    formula: TaskFormula,
    criteria: Collection[str],
    ddof: int,
) -> None:
    """Add cases of one task."""
    answered_by_case = [[run for run in runs if run.status not in NO_REPLY] for runs in cases]
    call_gates = {gate.slug for gate in formula.gates if gate.rule.kind == "call"}
    columns.add_cases(
        [
            Charge(call_key(None, runs[0].case_id), 0.0, len(answered))
            for runs, answered in zip(cases, answered_by_case, strict=True)
        ],
        [_flags(answered, call_gates) for answered in answered_by_case],
    )
    for slug in formula.slugs:
        columns.add_column(slug, [_mean(answered, slug) for answered in answered_by_case])
    for slug in criteria:
        measures = [
            _consistency(answered, ddof) if slug == CONSISTENCY else _mean(answered, slug)
            for answered in answered_by_case
        ]
        if slug in columns.columns or any(measure.value is not None for measure in measures):
            columns.add_column(slug, measures)


def _consistency(runs: Sequence[CaseResult], ddof: int) -> Measure:
    """How steady the task scores of a case are; a malformed reply counts 0        C-98"""
    scores = [
        Measure(0.0)
        if any(reason.endswith(STRUCTURE) for reason in run.reasons)
        else Measure(run.ungated_score)
        for run in runs
    ]
    return consistency_of(scores, ddof) if scores else NO_VALUE


def _flags(runs: Sequence[CaseResult], call_gates: set[str]) -> int:
    """The flags of a case; if one run breaches a gate, the case does        C-07"""
    if not runs:
        return 0
    flags = EVALUATED
    for run in runs:
        if run.status == "invalid":
            flags |= BLOCKED | (CALL_BLOCKED if call_gates & set(run.reasons) else 0)
    return flags


def _mean(runs: Sequence[CaseResult], slug: str) -> Measure:
    """The mean of the runs that have a value        C-07"""
    values = [value for run in runs if (value := run.metrics.get(slug)) is not None]
    return Measure(math.fsum(values) / len(values)) if values else NO_VALUE
