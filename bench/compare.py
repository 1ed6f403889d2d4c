"""Comparing two runs of 5,000 calls, all with the four tasks: CPU seconds beyond reading.

Before, the memory of `compare` with results files of 100,000 short cases, of which half changed.

Reading is what the command needs to have both runs in memory: their results files, 20,000 lines
each, or the stored answers scored again. Beyond it come pairing, 10,000 resamples, 10,000 exchanges
within calls, every row and every case.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.measuring import sized, usage_of
from bench.score import MODELS, short_records, write_workload
from callscore.comparison.inputs import ComparisonInput, Competitor, select_model
from callscore.comparison.model_comparison import compare_models
from callscore.config.score import ScoreConfig
from callscore.core.measure import Measure
from callscore.core.scorecard import CaseResult, Scorecard
from callscore.stats.contributions import (
    CALL_BLOCKED,
    EVALUATED,
    Charge,
    TaskContributions,
    call_key,
)
from callscore.suites.registry import Catalog

CALLS = sized(5_000, 40)
TASKS = ("qa", "entity", "text", "translation")
AIM_S = 2.0
CASES = sized(100_000, 40)
AIM_MB = 150
BLOCKED = 0.002


Results = dict[str, list[CaseResult]]


def drawn(
    catalog: Catalog, seed: int, skill: float
) -> tuple[dict[str, TaskContributions], Results]:
    """Contributions and results of one model: calls of different difficulty, small counts."""
    dice, difficulty = random.Random(seed), random.Random(1)
    found: dict[str, TaskContributions] = {}
    results: dict[str, list[CaseResult]] = {}
    for task in TASKS:
        formula, kept = catalog.formula(task), TaskContributions()
        blocked = [dice.random() < BLOCKED for _ in range(CALLS)]
        kept.add_cases(
            [Charge(call_key(f"call-{n}", ""), 0.01, 1) for n in range(CALLS)],
            [EVALUATED | (CALL_BLOCKED if is_blocked else 0) for is_blocked in blocked],
        )
        levels = [skill - 0.2 * difficulty.random() for _ in range(CALLS)]
        columns = {}
        for slug in formula.slugs:
            spec = formula.specs[slug]
            columns[slug] = [_measure(spec.unit, level, dice) for level in levels]
            kept.add_column(slug, columns[slug], pooled=spec.pooled)
        for n in range(CALLS):
            metrics = {slug: measures[n].value for slug, measures in columns.items()}
            case = f"{task}-{n}"
            score = metrics[formula.scored[0]]
            results[case] = [CaseResult(case, "m", 1, task, "valid", score, score, (), (), metrics)]
        found[task] = kept
    return found, results


def _measure(unit: str, level: float, dice: random.Random) -> Measure:
    if unit == "count":
        return Measure(0.0)
    right = sum(dice.random() < level for _ in range(8))
    if unit == "percent":
        return Measure(100 * (8 - right) / 8, 8 - right, 8)
    return Measure(right / 8, right, 8)


def side(card: Scorecard, seed: int, skill: float) -> Competitor:
    catalog = ScoreConfig(cases=()).catalog
    contributions, results = drawn(catalog, seed, skill)
    model = card.models[0].model
    loaded = ComparisonInput(
        f"run {seed}", card, catalog, {model: contributions}, {model: results}, ()
    )
    return select_model(loaded, model)


def sample_card() -> Scorecard:
    """A card with all rows: that of the bundled sample, one model."""
    from importlib import resources

    import msgspec

    import callscore

    folder = resources.files("callscore.demo") / "calls"
    with resources.as_file(folder) as path:
        card = callscore.score(
            path / "cases.jsonl",
            sorted(path.glob("outputs*.jsonl")),
            verdicts=sorted(path.glob("verdicts*.jsonl")),
            intervals=False,
        )
    return msgspec.structs.replace(card, models=card.models[:1])


def measured(first: Competitor, second: Competitor, times: int = 3) -> Sequence[float]:
    seconds = []
    for _ in range(times):
        before = time.process_time()
        compare_models(first, second)
        seconds.append(time.process_time() - before)
    return seconds


def report_memory(folder: Path) -> None:
    """Score short cases of two models, then compare their results files."""
    cases, outputs = write_workload(folder, "short", CASES, short_records, MODELS[:2])
    card, results = folder / "card.json", folder / "results.jsonl"
    callscore = [sys.executable, "-m", "callscore"]
    files = ["--results", str(results), "--json", str(card)]
    usage_of([*callscore, "score", str(cases), "--outputs", str(outputs), *files])
    sides = [f"{card}:{model}" for model in MODELS[:2]]
    peak = usage_of([*callscore, "compare", *sides, "--results", str(results), str(results)])
    print(f"{CASES:,} cases from results files: {peak.peak_mb:.1f} MB (aim {AIM_MB})")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:  # first, as a new process inherits the peak
        report_memory(Path(name))
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does
    card = sample_card()
    first, second = side(card, 2, 0.95), side(card, 3, 0.96)
    seconds = measured(first, second)
    found = compare_models(first, second)
    print(found.conclusion)
    print(f"{found.calls} calls, {len(found.rows)} rows, {len(found.cases)} changed cases")
    shown = ", ".join(f"{s:.2f}" for s in seconds)
    print(f"compare: {shown} CPU s beyond reading (aim {AIM_S:g})")
