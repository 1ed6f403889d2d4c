"""Many cases on one machine: memory of scoring, growth of the store, start of a resumed run.

100,000 cases by default; `CALLSCORE_BENCH_CASES=1000000 python -m bench million` takes a million.
Every size is measured beside a tenth of it, so that growth shows.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from bench.measuring import Usage, sized, usage_of
from bench.score import brief_records, write_workload

CASES = sized(int(os.environ.get("CALLSCORE_BENCH_CASES", "100000")), 40)
CALLSCORE = (sys.executable, "-m", "callscore")
UNTIL_FIRST_REQUEST = """
import os, sys
import callscore
from callscore.core.run import Completed

def end(event):
    if isinstance(event, Completed) and not event.cached:
        os._exit(0)

callscore.run(sys.argv[1], intervals=False, on_event=end, trust_config=True)
"""


def shown(what: str, cases: int, used: Usage, more: str = "") -> None:
    print(
        f"{what:24} {cases:>9,} cases  {used.wall_seconds:7.1f} s wall,"
        f" {1e3 * used.cpu_seconds / cases:6.3f} ms CPU per case, {used.peak_mb:4.0f} MB{more}"
    )


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def score(folder: Path, cases: int) -> None:
    files = write_workload(folder, "brief", cases, brief_records)
    words = ("score", str(files[0]), "--outputs", str(files[1]), "--no-intervals")
    shown("score", cases, usage_of([*CALLSCORE, *words, "--json", str(folder / "card.json")]))


def run(folder: Path, cases: int) -> None:
    """A simulated model, so that only the client is measured; then everything is there already."""
    files = write_workload(folder, "run", cases, brief_records)
    model = {"name": "m", "provider": "simulated", "params": {"seed": 7}}
    stored = folder / f"store-{cases}"
    (folder / "eval.yaml").write_text(
        json.dumps({"data": str(files[0]), "models": [model], "store": str(stored / "runs.db")}),
        encoding="utf-8",
    )
    words = [*CALLSCORE, "run", str(folder / "eval.yaml"), "--no-intervals", "--trust-config"]
    first = usage_of(words)
    shown("run", cases, first, f", {size_of(stored) / cases:,.0f} bytes of store per reply")
    shown("the same again", cases, usage_of(words), ", nothing is sent")
    tables = folder / f"{cases}.parquet"
    words = [*CALLSCORE, "report", "1", "--store", str(stored / "runs.db")]
    written = usage_of([*words, "-o", str(tables)])
    shown("scored again to Parquet", cases, written, f", {size_of(tables) / cases:,.0f} bytes each")
    counted = usage_of([*CALLSCORE, "query", str(tables), "SELECT avg(score) FROM results"])
    shown("query", cases, counted)
    with files[0].open(
        "a", encoding="utf-8"
    ) as data:  # as if the run had ended before its last case
        data.write(json.dumps({**brief_records(0, 0)[0], "id": "last"}) + "\n")
    started = usage_of([sys.executable, "-c", UNTIL_FIRST_REQUEST, str(folder / "eval.yaml")])
    shown("resumed: first request", cases, started, ", all other replies are stored")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        for measure in (score, run):
            for cases in (CASES // 10, CASES):
                measure(Path(name), cases)
