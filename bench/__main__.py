"""`make bench`: every measurement, or those named: `python -m bench score start`."""

from __future__ import annotations

import importlib
import sys

BENCHES = (
    *("start", "score", "orchestration", "engine", "providers", "run"),
    *("embeddings", "offline_judge"),
)


def main() -> None:
    for name in sys.argv[1:] or BENCHES:
        print(f"\n== {name}")
        importlib.import_module(f"bench.{name}").main()


main()
