"""Every bench works: run on a handful of cases, so that one that is broken cannot hide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench.__main__ import BENCHES

ROOT = Path(__file__).parents[1]


LONG = {"embeddings", "million", "ray_nodes"}
"""Even on tiny sizes: a model to load, a store to fill and to read, a cluster to start."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in BENCHES],
)
def test_a_bench_runs_to_its_end_on_tiny_sizes(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "bench", "--tiny", name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    heading, *lines = done.stdout.split("\n== ")[1].splitlines()
    assert heading == name
    if lines[0].startswith("skipped: "):
        pytest.skip(lines[0])
    assert any(any(map(str.isdigit, line)) for line in lines), done.stdout
