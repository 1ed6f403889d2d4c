"""`make bench`: every measurement, or those named: `python -m bench score start`.

Each has a process of its own: a child's peak memory counts that of the parent it was forked from.
"""

from __future__ import annotations

import subprocess
import sys

BENCHES = (
    *(
        "start",
        "score",
        "intervals",
        "compare",
        "orchestration",
        "engine",
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
)


def main() -> None:
    for name in sys.argv[1:] or BENCHES:
        print(f"\n== {name}", flush=True)
        measure = f"import bench.{name}; bench.{name}.main()"
        subprocess.run([sys.executable, "-c", measure], check=True)


if __name__ == "__main__":
    main()
