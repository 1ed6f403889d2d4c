"""Exported runs beside the public evaluator itself, where a checkout of it is at hand.

ORCHESTRATIONBENCH names the checkout, ORCHESTRATIONBENCH_PYTHON an interpreter with its packages.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import run
from eval_files import eval_file, read_json
from scenario_runs import SAMPLES, scenario_data

CHECKOUT = Path(os.environ.get("ORCHESTRATIONBENCH", "nowhere"))
PYTHON = os.environ.get("ORCHESTRATIONBENCH_PYTHON", "python3")
CARDS = SAMPLES / "orchestration" / "cards" / "EN"
MODEL = {
    "name": "hasty",
    "provider": "simulated",
    "params": {"seed": 8, "wrong_scores": 0.2, "missing_labels": 0.1, "broken_json": 0.1},
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHECKOUT.is_dir(), reason="no checkout of the public evaluator here"),
]


@pytest.mark.parametrize("protocol", ["callscore", "public"])
def test_c_133_the_public_evaluator_finds_the_numbers_of_our_compat_file(
    tmp_path: Path, protocol: str
) -> None:
    data = scenario_data(protocol=protocol, mode="compat")
    path = eval_file(tmp_path, [MODEL], data=data, repeats=3)
    done = run("run", path, "--json", tmp_path / "ours.json", "--export", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    subprocess.run(
        [
            *(PYTHON, "src/evaluation.py", "--skip-llm-eval"),
            *("--input", str(tmp_path / "out" / "hasty" / "EN")),
            *("--agent-cards-path", str(CARDS)),
            *("--eval-config", "config/base_config/eval_config.yaml"),
            *("--output", str(tmp_path / "theirs.json")),
        ],
        cwd=CHECKOUT,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
        check=True,
        capture_output=True,
    )
    ours, theirs = read_json(tmp_path / "ours.json"), read_json(tmp_path / "theirs.json")
    found = dict(numbers(ours["overall_statistics"]))
    for name, number in numbers(theirs["overall_statistics"]):
        assert found[name] == pytest.approx(number, abs=1e-4), name


def numbers(value: Any, path: str = "") -> Iterator[tuple[str, float]]:
    """Every number of a document with its path."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, f"{path}/{key}")
    elif isinstance(value, int | float):
        yield path, value
