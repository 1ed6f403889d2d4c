"""Start-up: CPU of `callscore --help` beside the bare interpreter."""

from __future__ import annotations

import sys

from bench.measuring import best_of, sized

LIMIT = 8
TURNS = sized(7, 1)


def main() -> None:
    bare = best_of(TURNS, [sys.executable, "-c", "pass"]).cpu_seconds
    shown = best_of(TURNS, [sys.executable, "-m", "callscore", "--help"]).cpu_seconds
    print(f"bare interpreter      {1000 * bare:7.1f} ms CPU")
    print(f"callscore --help      {1000 * shown:7.1f} ms CPU")
    print(f"ratio                 {shown / bare:7.2f}  (limit {LIMIT})")
