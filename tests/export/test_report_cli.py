"""`callscore report` and `--html` through the door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import callscore
from callscore.report.formats import BUILT_IN
from commands import run

SAMPLE = Path(callscore.__file__).parent / "demo" / "calls"


def store(project: Path) -> Path:
    return project / ".callscore" / "runs.db"


@pytest.mark.parametrize("form", [form for form in BUILT_IN if form != "document-001"])
def test_a_stored_run_is_written_in_every_format(form: str, project: Path, tmp_path: Path) -> None:
    target = tmp_path / "report"
    done = run("report", "1", "--store", store(project), "--format", form, "-o", target)
    assert done.returncode == 0, done.stderr
    assert target.stat().st_size > 100
    assert "note:" not in done.stderr


def test_the_name_of_the_file_says_which_format(project: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    assert run("report", project / "eval.yaml", "-o", target).returncode == 0
    assert target.read_bytes() == (project / "card.json").read_bytes()


def test_text_goes_to_standard_output(project: Path) -> None:
    done = run("report", project / "card.json", "--format", "json")
    assert json.loads(done.stdout) == json.loads((project / "card.json").read_bytes())
    assert done.stderr.startswith("note: cases:")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["card.json"], "the format is unknown"),
        (["card.json", "--format", "cvs"], "did you mean csv?"),
        (["card.json", "--format", "csv"], "csv needs cases, and the source has none"),
        (["card.json", "-o", "report.odt"], "the format is unknown"),
        (["card.json", "--format", "json", "-o", "card.json"], "is read by this command"),
        (["99", "--format", "json"], "has no run 99"),
        (["none.yaml", "--format", "json"], "none.yaml"),
        (["card.json", "--format", "json", "-o", "no/such/folder/x"], "cannot be written"),
    ],
)
def test_what_cannot_be_is_refused(project: Path, words: list[str], said: str) -> None:
    before = (project / "card.json").read_bytes()
    done = run("report", *words, cwd=project)
    assert done.returncode in (2, 4)
    assert said in done.stderr
    assert (project / "card.json").read_bytes() == before


def test_score_writes_the_page_on_request(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    files = [SAMPLE / "cases.jsonl", "--outputs", SAMPLE / "outputs.jsonl"]
    done = run("score", *files, "--html", page)
    assert done.returncode == 0, done.stderr
    assert "sample-medium" in page.read_text(encoding="utf-8")


def test_a_run_writes_the_same_page_as_its_report_later(project: Path, tmp_path: Path) -> None:
    now, later = tmp_path / "now.html", tmp_path / "later.html"
    done = run("run", project / "eval.yaml", "--rescore", "1", "--html", now)
    assert done.returncode == 0, done.stderr
    assert f"report: {now}" in done.stderr
    assert run("report", "1", "--store", store(project), "-o", later).returncode == 0
    assert now.read_bytes() == later.read_bytes()
