"""How many functions one sample crosses; `python -m bench.hops` prints the way."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench" / "hops.py"
MOST = {
    ("score", "none"): 441,
    ("score", "offline"): 830,
    ("run", "none"): 815,
    ("run", "offline"): 940,
}
"""By command and judge: more than this, and one case can no longer be followed. bench/README.md has
the counts; in a process with other tests there is one more."""


@pytest.mark.parametrize(("command", "judge"), MOST)
def test_a_sample_crosses_few_functions(command: str, judge: str, tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("hops", BENCH)
    assert spec is not None and spec.loader is not None
    hops = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hops)
    found = (hops.of_score if command == "score" else hops.of_run)(tmp_path, judge)
    assert found.functions <= MOST[command, judge], sorted(found.files)
