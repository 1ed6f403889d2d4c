"""How far one sample travels through the package; `python -m bench.hops` prints the way."""

from __future__ import annotations

import importlib.util
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench" / "hops.py"
FILES_OF_SCORE, FILES_OF_RUN = 30, 60


def test_a_sample_crosses_few_files(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("hops", BENCH)
    assert spec is not None and spec.loader is not None
    hops = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hops)
    score, run = hops.of_score(tmp_path), hops.of_run(tmp_path)
    assert len(score.files) <= FILES_OF_SCORE, sorted(score.files)
    assert len(run.files) <= FILES_OF_RUN, sorted(run.files)
