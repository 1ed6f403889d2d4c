"""What intervals take: a handful of cases, 100,000 cases, and the arrays of 100,000 calls alone.

Scoring with and without intervals by turns, brief calls of four models, a call going through all
four tasks. Then the bootstrap by itself on synthetic contributions: 100,000 calls, four models, 32
rows of four tasks.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from typing import Any

from bench.measuring import sized, usage_of
from bench.score import MODELS, brief_records, write_workload
from callscore.core.measure import Measure
from callscore.stats.contributions import (
    EVALUATED,
    Charge,
    Contributions,
    MetricShape,
    ModelShape,
    TaskContributions,
    TaskShape,
    call_key,
)
from callscore.stats.matrix import call_matrix, make_units
from callscore.stats.resampling import bca_interval, make_replicates
from callscore.stats.weighted_scores import Scores, rank_scores, scores

Json = dict[str, Any]
FEW, MANY = 32, sized(100_000, 40)
CALLS = sized(100_000, 50)
TASKS = 4
MEANS, RATES = 5, 2
"""Rows of each task: with the one that counts, 32 in all."""
TURNS = sized(5, 1)


def records_of_calls(number: int, model: int) -> tuple[Json, Json]:
    """The same brief cases, four of them a call, each with a price."""
    case, answer = brief_records(number, model)
    priced = {**answer, "cost_usd": 0.001 * (1 + number % 7)}
    return {**case, "call_id": f"call-{number // TASKS}"}, priced


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        for cases, turns in ((FEW, TURNS), (MANY, 1))[: sized(2, 1)]:
            _report_scoring(Path(name), cases, turns)
    _report_bootstrap()


def _report_scoring(folder: Path, number: int, turns: int) -> None:
    cases, outputs = write_workload(folder, "brief", number, records_of_calls, MODELS)
    command = [sys.executable, "-m", "callscore", "score", str(cases), "--outputs", str(outputs)]
    pairs = [
        (usage_of([*command, "--json", "-"]), usage_of([*command, "--json", "-", "--no-intervals"]))
        for _ in range(turns)
    ]
    with_them, without = (min(column) for column in zip(*pairs, strict=True))
    more = with_them.cpu_seconds - without.cpu_seconds
    print(f"{number:,} cases x {len(MODELS)} models, {number // TASKS:,} calls")
    print(f"  scoring           {without.cpu_seconds:9.2f} s of CPU, {without.peak_mb:7.1f} MB")
    print(f"  with intervals    {with_them.cpu_seconds:9.2f} s of CPU, {with_them.peak_mb:7.1f} MB")
    grown = with_them.peak_mb - without.peak_mb
    print(f"  more              {more:9.2f} s, {more / without.cpu_seconds:.2f} x, {grown:+.1f} MB")


def _report_bootstrap() -> None:
    before, began = _peak_mb(), time.process_time()
    kept = [_synthetic(model) for model in range(len(MODELS))]
    stored, filled = _peak_mb() - before, time.process_time() - began
    began = time.process_time()
    intervals = _intervals_of(kept)
    taken = time.process_time() - began
    rows = TASKS * (MEANS + RATES + 1)
    print(f"{CALLS:,} calls x {len(MODELS)} models x {rows} rows, contributions made up")
    print(f"  stored            {stored:9.1f} MB, filled in {filled:.1f} s of CPU")
    print(f"  {intervals} intervals     {taken:9.2f} s of CPU")
    print(f"  memory in all     {_peak_mb() - before:9.1f} MB, numpy included")


def _peak_mb() -> float:
    return getrusage(RUSAGE_SELF).ru_maxrss / 1024


def _shape() -> ModelShape:
    tasks = {}
    for task in map(str, range(TASKS)):
        rows = [MetricShape(f"{task}.mean{at}", "mean") for at in range(MEANS)]
        rows += [MetricShape(f"{task}.rate{at}", "pooled") for at in range(RATES)]
        weights = [(row.slug, 1 / len(rows)) for row in rows]
        tasks[task] = TaskShape(
            [*rows, MetricShape(f"{task}.count", "count")], [("", 1.0, weights)]
        )
    return ModelShape(tasks, dict.fromkeys(tasks, 1 / TASKS))


def _synthetic(model: int) -> dict[str, TaskContributions]:
    dice = Random(model)
    found = {}
    for task in map(str, range(TASKS)):
        kept = found[task] = TaskContributions()
        for start in range(0, CALLS, 1_000):
            calls = range(start, min(CALLS, start + 1_000))
            charges = [Charge(call_key(call, ""), 0.001 * dice.random(), 1) for call in calls]
            kept.add_cases(charges, [EVALUATED] * len(charges))
            for at in range(MEANS):
                digits = 17 if at == 0 else 2  # one row of similarities, the others of shares
                values = [round(dice.random(), digits) for _ in calls]
                kept.add_column(f"{task}.mean{at}", [Measure(value) for value in values])
            for at in range(RATES):
                counts = [(dice.randint(0, 9), 9) for _ in calls]
                rates = [Measure(part / whole, part, whole) for part, whole in counts]
                kept.add_column(f"{task}.rate{at}", rates, pooled=True)
            kept.add_column(f"{task}.count", [Measure(float(dice.randint(0, 2))) for _ in calls])
    return found


def _intervals_of(models: Sequence[Contributions]) -> int:
    """Resample everything and find all limits; says how many."""
    shape, units = _shape(), make_units(models)
    matrices = [call_matrix(kept, shape, units) for kept in models]

    def statistic(sums: Sequence[Any]) -> list[Scores]:
        pairs = zip(matrices, sums, strict=True)
        values = [scores(shape, matrix.place, own) for matrix, own in pairs]
        rank_scores(values)
        return values

    found = make_replicates(matrices, statistic)
    limits = [bca_interval(numbers, CALLS) for of_model in found for numbers in of_model.values()]
    return sum(limit is not None for limit in limits)
