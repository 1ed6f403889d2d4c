"""Scoring with two processes and on two nodes of a Ray cluster on this machine: wall time.

The cluster is started and stopped here, with one core per node. A command on it also pays for the
import of Ray, the connection, and processes that Ray starts for every command.
"""

from __future__ import annotations

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from bench.measuring import sized, usage_of
from bench.score import MODELS, short_records, write_workload

CASES = sized(50_000, 40)
TURNS = sized(3, 1)
TESTS = Path(__file__).parents[1] / "tests"


def main() -> None:
    if find_spec("ray") is None:
        print("skipped: ray is not installed")
        return
    sys.path.insert(0, str(TESTS))  # the cluster of the tests
    from ray_nodes import ray_nodes

    with tempfile.TemporaryDirectory() as name, ray_nodes() as nodes:
        os.environ.update({key: nodes.env[key] for key in nodes.env if key.startswith("RAY_")})
        cases, outputs = write_workload(Path(name), "short", CASES, short_records, MODELS[:2])
        command = [sys.executable, "-m", "callscore", "score", str(cases)]
        engines = {"pool": ["--workers", "2"], "ray": ["--engine", "ray"]}
        seconds: dict[str, list[float]] = {"pool": [], "ray": []}
        for _ in range(TURNS):
            for engine, options in engines.items():
                results = ["--results", str(Path(name, engine))]
                usage = usage_of([*command, "--outputs", str(outputs), *options, *results])
                seconds[engine].append(usage.wall_seconds)
        assert Path(name, "pool").read_bytes() == Path(name, "ray").read_bytes()
    pool, ray = (min(each) for each in seconds.values())
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    print(f"{CASES:,} cases x 2 models, {os.cpu_count()} cores, load {load}")
    print(f"  pool, two processes   {pool:8.1f} s")
    print(f"  Ray, two nodes        {ray:8.1f} s")
    print(f"  wall, Ray : pool      {ray / pool:8.2f}")
