"""`callscore purge`: no text of a purged run is left in the store's files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from callscore.store.journal import Journal
from commands import run
from run_cases import HEADER

SECRET = "Zanzibarine"
EVAL = """
data: cases.jsonl
models:
  - {name: sim, provider: simulated}
store: runs.db
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cases = [
        {
            "id": f"c{number}", "task": "entity", "transcript": f"Agent: {word} please",
            "config": {"keywords": [word]},
            "expected_outcome": {
                "detected_keywords": [word], "detected_topics": [], "valid_entity_set": [word],
            },
        }
        for number, word in enumerate([SECRET, "refund"])
    ]  # fmt: skip
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    (tmp_path / "eval.yaml").write_text(EVAL)
    return tmp_path


def stored(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("runs.db*"))


def test_a_purged_run_leaves_no_text(folder: Path) -> None:
    assert run("run", "eval.yaml", cwd=folder).returncode == 0
    assert SECRET.encode() in stored(folder)

    done = run("purge", "1", "--store", "runs.db", "--yes", cwd=folder)

    assert done.returncode == 0, done.stderr
    assert "deleted 1 run and 2 replies" in done.stdout
    assert SECRET.encode() not in stored(folder)
    assert run("runs", "--store", "runs.db", cwd=folder).stdout.count("sim") == 0
    assert run("run", "eval.yaml", cwd=folder).returncode == 0


def test_replies_that_another_run_uses_are_kept(folder: Path) -> None:
    assert run("run", "eval.yaml", cwd=folder).returncode == 0
    assert run("run", "eval.yaml", cwd=folder).returncode == 0
    done = run("purge", "1", "--store", "runs.db", "--yes", cwd=folder)
    assert "deleted 1 run and 0 replies" in done.stdout
    assert run("run", "eval.yaml", "--rescore", "2", cwd=folder).returncode == 0


def test_a_run_that_a_living_process_holds_is_not_purged(folder: Path) -> None:
    with Journal(folder / "runs.db") as journal:
        held = journal.open_run(HEADER)
        done = run("purge", held.id, "--store", "runs.db", "--yes", cwd=folder)
    assert done.returncode == 2
    assert f"run {held.id} is held by process" in done.stderr
    assert run("runs", "--store", "runs.db", cwd=folder).stdout.count(HEADER.name) == 1


def test_runs_are_chosen_by_age_or_all(folder: Path) -> None:
    assert run("run", "eval.yaml", cwd=folder).returncode == 0
    young = run("purge", "--older-than", 1, "--store", "runs.db", "--yes", cwd=folder)
    assert "no such run" in young.stdout
    assert (
        "deleted 1 run" in run("purge", "--all", "--store", "runs.db", "--yes", cwd=folder).stdout
    )


@pytest.mark.parametrize("words", [(), ("1", "--all"), ("7",)])
def test_an_unclear_choice_deletes_nothing(folder: Path, words: tuple[str, ...]) -> None:
    assert run("run", "eval.yaml", cwd=folder).returncode == 0
    before = (folder / "runs.db").read_bytes()
    done = run("purge", *words, "--store", "runs.db", "--yes", cwd=folder)
    assert done.returncode == 2
    assert (folder / "runs.db").read_bytes() == before


def test_without_stored_text_the_replies_are_deleted_when_the_run_ends(folder: Path) -> None:
    done = run("run", "eval.yaml", "--no-store-text", "--json", "card.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads((folder / "card.json").read_text())["models"]
    assert SECRET.encode() not in stored(folder)
