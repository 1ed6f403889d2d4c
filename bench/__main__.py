"""`make bench`: every measurement, or those named: `python -m bench score start`.

`--tiny` measures nothing of use: it runs every line on a handful of cases, as the tests do.
`--instructions` counts those of runs as well, where valgrind is installed.
`--write` puts what is printed into docs/measured.md, in place of what an older run printed.
Each has a process of its own: a child's peak memory counts that of the parent it was forked from.
"""

from __future__ import annotations

import os
import subprocess
import sys

from bench.instructions import WANTED
from bench.measuring import TINY
from bench.table import PAGE, about, write_bench

BENCHES = (
    "start",
    "score",
    "intervals",
    "compare",
    "orchestration",
    "graphs",
    "engine",
    "postgres",
    "providers",
    "run",
    "judged",
    "race",
    "embeddings",
    "offline_judge",
    "judge_tokens",
    "judge_errors",
    "middling_judge",
    "report",
    "hops",
    "export",
    "index",
    "reviews",
    "web",
    "workers",
    "ray_nodes",
    "million",
)


def main() -> None:
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    if "--tiny" in sys.argv:
        os.environ[TINY] = "1"
    if "--instructions" in sys.argv:
        os.environ[WANTED] = "1"
    for name in names or BENCHES:
        print(f"\n== {name}", flush=True)
        load = os.getloadavg()[0]
        measure = f"import bench.{name}; bench.{name}.main()"
        with subprocess.Popen([sys.executable, "-c", measure], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                print(line.decode(), end="", flush=True)
                lines.append(line.decode())
        if process.returncode:
            sys.exit(process.returncode)
        if "--write" in sys.argv:
            write_bench(PAGE, name, lines, about(load))


if __name__ == "__main__":
    main()
