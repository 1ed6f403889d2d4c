"""Stored runs of calls and scenarios, for tests of the index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import commands
from builders import Json, qa_case, question
from callscore.demo import sample_calls
from scenario_runs import SCENARIOS

MODELS: list[Json] = [
    {"name": "strong", "provider": "simulated", "params": {"seed": 7, "wrong_scores": 0.05}},
    {"name": "weak", "provider": "simulated", "params": {"seed": 9, "wrong_scores": 0.5}},
]
CASES = 130


def calls_file(folder: Path, number: int = CASES) -> Path:
    """Write QA cases in two languages, every tenth with a tag."""
    path = folder / "cases.jsonl"
    lines = [
        json.dumps(
            {
                **qa_case(
                    [question(f"q{at}") for at in range(3)],
                    f"case-{n}",
                    transcript=[{"id": 1, "speaker": "agent", "text": f"Guten Morgen ÄÖ {n}"}],
                ),
                "lang": "de" if n % 3 else "en",
                "tags": ["billing"] if n % 10 == 0 else [],
            },
            ensure_ascii=False,
        )
        for n in range(number)
    ]
    with sample_calls() as config:  # of all tasks, with verdicts of a judge
        lines += config.cases[0].read_text(encoding="utf-8").splitlines()[:8]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_eval(folder: Path, **extra: object) -> Path:
    """An eval file of calls and scenarios."""
    path = folder / "eval.yaml"
    value = {
        "name": "trial",
        "data": ["cases.jsonl", SCENARIOS],
        "models": MODELS,
        "store": "runs.db",
        "judge": "offline",
        "embedder": "none",
        **extra,
    }
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished run of 130 calls and the bundled scenarios."""
    folder = tmp_path_factory.mktemp("project")
    calls_file(folder)
    done = commands.run("run", write_eval(folder))
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module", params=["chrf", pytest.param("auto", marks=pytest.mark.slow)])
def repeated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of four cases of every task by three models, twice each, with an embedder."""
    folder = tmp_path_factory.mktemp("repeated")
    with sample_calls() as config:
        lines = config.cases[0].read_text(encoding="utf-8").splitlines()
    by_task: dict[str, list[str]] = {}
    for line in lines:
        by_task.setdefault(json.loads(line)["task"], []).append(line)
    order = ("qa", "entity", "text", "translation")
    chosen = [line for task in order for line in by_task[task][:4]]
    (folder / "cases.jsonl").write_text("\n".join(chosen) + "\n", encoding="utf-8")
    models = [*MODELS, {"name": "third", "provider": "simulated", "params": {"seed": 3}}]
    write_eval(folder, data="cases.jsonl", models=models, embedder=request.param, repeats=2)
    done = commands.run("run", folder / "eval.yaml")
    assert done.returncode == 0, done.stderr
    return folder
