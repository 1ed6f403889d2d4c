"""Scoring with one process and with two: wall time, CPU, and memory of the largest process.

Short calls of one model, the four tasks mixed, the case results written and the scorecard as JSON.
Both numbers of processes are measured in turn, so that a slow minute of the machine strikes both.
The ratio of wall times needs two idle cores: the load is printed beside it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from bench.measuring import Usage, sized, usage_of
from bench.score import MODELS, short_records, write_workload

CASES = sized(100_000, 40)
TURNS = sized(3, 1)
AIM_RATIO, AIM_CPU = 1.7, 1.1


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases, outputs = write_workload(folder, "short", CASES, short_records, MODELS[:2])
        _report_processes(folder, cases, outputs)


def _report_processes(folder: Path, cases: Path, outputs: Path) -> None:
    found: dict[int, list[Usage]] = {1: [], 2: []}
    for _ in range(TURNS):
        for number, usages in found.items():
            usages.append(usage_of(_score(folder, cases, outputs, number)))
    one, two = (min(usages, key=lambda usage: usage.wall_seconds) for usages in found.values())
    cpu = min(u.cpu_seconds for u in found[2]) / min(u.cpu_seconds for u in found[1])
    ratio = one.wall_seconds / two.wall_seconds
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    print(f"{CASES:,} cases x 2 models, {os.cpu_count()} cores, load {load}")
    print(f"  one process     {one.wall_seconds:8.1f} s  {one.peak_mb:8.1f} MB")
    print(f"  two processes   {two.wall_seconds:8.1f} s  {two.peak_mb:8.1f} MB in the largest")
    print(f"  wall, one : two {ratio:8.2f}  {'met' if ratio >= AIM_RATIO else 'missed'}")
    print(f"  CPU, two : one  {cpu:8.2f}  {'met' if cpu <= AIM_CPU else 'missed'}")


def _score(folder: Path, cases: Path, outputs: Path, number: int) -> list[str]:
    command = [sys.executable, "-m", "callscore", "score", str(cases), "--outputs", str(outputs)]
    results, card = folder / "results.jsonl", folder / "card.json"
    return [*command, "--results", str(results), "--json", str(card), "--workers", str(number)]
