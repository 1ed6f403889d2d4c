"""A stored run is scored again in several processes, to the same bytes as in one."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

import commands
from callscore.app import OutputPaths
from callscore.core.blocks import BlockSize
from callscore.evaluate.block_scoring import Workers
from callscore.export.sources import rescore_run
from callscore.report.json import scorecard_json
from callscore.report.source import CaseView
from callscore.runner.prepare import RunOptions
from callscore.store.disk_list import DiskList
from scenario_runs import scenario_data

SIZE = BlockSize(sub_block=4, sub_blocks=2)
PRICE = {"input": 3.0, "output": 15.0}
MODELS = [
    {"name": "careful", "provider": "simulated", "params": {"seed": 7}, "price": PRICE},
    {"name": "hasty", "provider": "simulated", "params": {"seed": 4, "wrong_scores": 0.3}},
    {"name": "rules", "provider": "baseline"},
]


def run_folder(folder: Path, **keys: object) -> Path:
    """The folder of a run of the sample calls, two repeats of each, and of what `keys` add."""
    value = {"name": "trial", "data": "sample", "models": MODELS, "repeats": 2, **keys}
    (folder / "eval.yaml").write_text(json.dumps(value), encoding="utf-8")
    done = commands.run("run", "eval.yaml", "--store", "runs.db", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module", params=["none", pytest.param("offline", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with or without a judge."""
    return run_folder(tmp_path_factory.mktemp("run"), judge=request.param)


def rescore(folder: Path, out: Path, workers: Workers) -> dict[str, bytes]:
    """Everything that scoring the run again writes."""
    paths = OutputPaths(out / "results", out / "records", out / "verdicts", None, out / "a.jsonl")
    with DiskList(CaseView) as views:
        options = RunOptions(targets=paths, on_case=views.add, workers=workers)
        found = rescore_run(1, folder / "runs.db", folder / "eval.yaml", options)
        files = {path.name: path.read_bytes() for path in paths.files if path is not None}
        return {
            **files,
            "card": scorecard_json(found.card),
            "views": msgspec.json.encode(list(views)),
            "notes": msgspec.json.encode(found.result.notes),
        }


def test_no_number_of_processes_changes_a_byte(store: Path, tmp_path: Path) -> None:
    one = rescore(store, tmp_path, Workers(1, SIZE))
    assert rescore(store, tmp_path, Workers(2, SIZE)) == one


@pytest.mark.slow
def test_calls_with_benchmarks_and_scenarios_have_the_same_bytes(tmp_path: Path) -> None:
    data = ["sample", scenario_data()]
    folder = run_folder(tmp_path, data=data, benchmarks="all", judge="offline")
    one = rescore(folder, tmp_path, Workers(1, SIZE))
    for number in (2, 3):
        assert rescore(folder, tmp_path, Workers(number, SIZE)) == one


def test_the_command_takes_workers_for_stored_runs_only(store: Path) -> None:
    new = commands.run("run", "eval.yaml", "--store", "runs.db", "--workers", 2, cwd=store)
    assert new.returncode == 2
    assert "--workers is for stored runs; expected it with --rescore" in new.stderr
    stored = ("--store", "runs.db", "--rescore", 1, "--json", "card.json")
    again = commands.run("run", "eval.yaml", *stored, "--workers", 2, cwd=store)
    assert again.returncode == 0, again.stderr
    card = commands.run("report", "card.json", "--format", "md", "--workers", 2, cwd=store)
    assert (card.returncode, "a scorecard is not scored again" in card.stderr) == (2, True)
