"""One scored source, one stored run and one dossier for all tests of reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from callscore.demo import sample_calls
from callscore.export.sources import scored_source
from callscore.report.source import ReportSource
from commands import run
from eval_files import write_small_project

EVAL = """
name: tiny
data: cases.jsonl
models:
  - name: careful
    provider: simulated
    params: {seed: 7, wrong_scores: 0.3}
    price: {input: 3, output: 15}
  - {name: rules, provider: baseline}
judge: offline
embedder: none
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an eval file, its data, and one finished run."""
    folder = tmp_path_factory.mktemp("project")
    eval_file = write_small_project(folder, EVAL)
    done = run("run", eval_file, "--json", folder / "card.json")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def sample() -> Iterator[ReportSource]:
    """The bundled sample calls, scored."""
    with sample_calls() as config, scored_source(config) as source:
        yield source
