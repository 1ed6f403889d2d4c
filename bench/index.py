"""The results index: what writing it adds to scoring, and what reading it takes, as ratios."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import callscore
from bench.measuring import sized
from bench.score import short_records, write_workload
from callscore.export.sources import rescore_run
from callscore.results import open_results
from callscore.results.port import MatrixQuery
from callscore.results.stored_results import StoredResults
from callscore.runner.prepare import RunOptions

CASES = sized(4_000, 40)
FEW_CASES = sized(500, 20)
TIMES = sized(200, 2)
MODELS = [
    {"name": name, "provider": "simulated", "params": {"seed": seed, "wrong_scores": 0.2}}
    for seed, name in enumerate(("a", "b"))
]
MOST_WITH_INDEX, MOST_FOR_MANY, MOST_FOR_CASE = 1.05, 1.5, 3.0
"""The bars, which are printed with what was measured."""


def cpu_of(action: Callable[[], object], times: int = 1) -> float:
    """CPU seconds of an action, the mean of several."""
    began = time.process_time()
    for _ in range(times):
        action()
    return (time.process_time() - began) / times


def stored_run(folder: Path, cases: int, judge: str = "none") -> Path:
    """A store with one run of these cases."""
    folder.mkdir()
    data, _ = write_workload(folder, "short", cases, short_records)
    eval_file = folder / "eval.yaml"
    value = {"name": "bench", "data": data.name, "models": MODELS, "judge": judge}
    eval_file.write_text(json.dumps({**value, "store": "runs.db"}), encoding="utf-8")
    callscore.run(eval_file)
    return folder / "runs.db"


def page_cpu(results: StoredResults) -> float:
    """CPU seconds of a page of the matrix."""
    return cpu_of(lambda: results.matrix(1, MatrixQuery(sort="worst")), TIMES)


def scoring_cpu(store: Path, results: StoredResults) -> tuple[float, float]:
    """CPU seconds of scoring as `run` scores, without the index and with it."""
    views: list[int] = []
    options = RunOptions(on_case=lambda view: views.append(len(view.answers)))
    without = min(cpu_of(lambda: rescore_run(1, store, None, options)) for _ in range(2))
    return without, min(cpu_of(lambda: results.build(1)) for _ in range(2))


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        many, few = (stored_run(folder / str(size), size) for size in (CASES, FEW_CASES))
        judged = stored_run(folder / "judged", CASES, "offline")
        with closing(open_results(many)) as results, closing(open_results(few)) as others:
            scoring, with_index = scoring_cpu(many, results)
            others.build(1)
            pages = page_cpu(results) / page_cpu(others)
            case = cpu_of(lambda: results.case(1, CASES // 2), TIMES)
            source = cpu_of(lambda: results.source(1).card)
        with closing(open_results(judged)) as results:
            judging, judging_with_index = scoring_cpu(judged, results)
        print(f"{CASES} cases of 2 models: scoring {scoring:.1f} s of CPU, as `run` scores")
        each = scoring / CASES
        added = 1e6 * (with_index - scoring) / (CASES * len(MODELS))
        print(
            f"with the index: {with_index / scoring:.3f} × (bar {MOST_WITH_INDEX}), {added:.0f} µs"
            " more per result"
        )
        print(
            f"judged by rules: {judging:.1f} s of CPU; with the index"
            f" {judging_with_index / judging:.3f} × (bar {MOST_WITH_INDEX})"
        )
        print(
            f"a page of the matrix, against {FEW_CASES} cases: {pages:.2f} × (bar {MOST_FOR_MANY})"
        )
        print(f"a case, against scoring it: {case / each:.2f} × (bar {MOST_FOR_CASE})")
        print(f"the scorecard from the index: 1/{scoring / max(source, 1e-6):.0f} of scoring")


if __name__ == "__main__":
    main()
