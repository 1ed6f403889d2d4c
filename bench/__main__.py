"""`make bench`: every measurement, or those named: `python -m bench score start`.

`--tiny` measures nothing of use: it runs every line on a handful of cases, as the tests do.
Each has a process of its own: a child's peak memory counts that of the parent it was forked from.
"""

from __future__ import annotations

import os
import subprocess
import sys

from bench.measuring import TINY

BENCHES = (
    *(
        "start",
        "score",
        "intervals",
        "compare",
        "orchestration",
        "engine",
        "postgres",
        "providers",
        "run",
        "judged",
        "race",
    ),
    *(
        "embeddings",
        "offline_judge",
        "judge_tokens",
        "judge_errors",
        "middling_judge",
        "report",
        "hops",
    ),
    "export",
    "workers",
    "ray_nodes",
)


def main() -> None:
    names = [name for name in sys.argv[1:] if name != "--tiny"]
    if "--tiny" in sys.argv:
        os.environ[TINY] = "1"
    for name in names or BENCHES:
        print(f"\n== {name}", flush=True)
        measure = f"import bench.{name}; bench.{name}.main()"
        subprocess.run([sys.executable, "-c", measure], check=True)


if __name__ == "__main__":
    main()
