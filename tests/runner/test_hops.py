"""How many functions one sample crosses; `python -m bench.hops` prints the way."""

from __future__ import annotations

import importlib.util
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench" / "hops.py"
FUNCTIONS_OF_SCORE, FUNCTIONS_OF_RUN = 470, 830
"""More than this, and one case can no longer be followed; bench/README.md has the counts."""


def test_a_sample_crosses_few_functions(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("hops", BENCH)
    assert spec is not None and spec.loader is not None
    hops = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hops)
    score, run = hops.of_score(tmp_path), hops.of_run(tmp_path)
    assert score.functions <= FUNCTIONS_OF_SCORE, sorted(score.files)
    assert run.functions <= FUNCTIONS_OF_RUN, sorted(run.files)
