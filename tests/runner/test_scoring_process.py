"""A run scores in a process of its own, to the same bytes as in the process that sends."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import commands
from callscore.core.blocks import BLOCK
from callscore.processes.cores import usable_cores

MODELS = [
    {"name": "careful", "provider": "simulated", "params": {"seed": 7}},
    {"name": "hasty", "provider": "simulated", "params": {"seed": 4, "wrong_scores": 0.3}},
]
RUN = """
import json, multiprocessing, os, signal, sys
from pathlib import Path
import callscore
from callscore.core.run import Completed

folder, kills = Path(sys.argv[1]), sys.argv[2] == "kill"
found = set()

def on_event(event):
    if isinstance(event, Completed):
        for child in multiprocessing.active_children():
            if kills and not found:
                os.kill(child.pid, signal.SIGKILL)
            found.add(child.pid)

card = callscore.run(folder / "eval.yaml", store=folder / "runs.db",
    results=folder / "results.jsonl", records=folder / "records.jsonl", on_event=on_event)
(folder / "card.json").write_text(json.dumps(card.to_dict()))
print(len(found))
"""


def write_eval(folder: Path, cases: int) -> None:
    """Short calls whose words differ, and an eval file over them."""
    words = ["refund", "card", "cancel"]
    with (folder / "cases.jsonl").open("w", encoding="utf-8") as file:
        for number in range(cases):
            said = words[: 1 + number % 3]
            case = {
                "id": f"case-{number}",
                "task": "entity",
                "transcript": f"Call {number}: I want {' and '.join(said)}.",
                "config": {"keywords": words, "topics": []},
                "expected_outcome": {
                    "detected_keywords": said,
                    "detected_topics": [],
                    "valid_entity_set": words,
                },
            }
            file.write(json.dumps(case) + "\n")
    value = {"name": "trial", "data": "cases.jsonl", "models": MODELS}
    (folder / "eval.yaml").write_text(json.dumps(value), encoding="utf-8")


def files_of(folder: Path) -> dict[str, object]:
    card = json.loads((folder / "card.json").read_bytes())
    lines = {name: (folder / name).read_bytes() for name in ("results.jsonl", "records.jsonl")}
    return {**lines, "card": card}


def run_python(folder: Path, what: str) -> int:
    """Run the eval file; returns how many processes were seen besides that of the run."""
    done = commands.run_python(RUN, folder, what)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def score_again(folder: Path) -> dict[str, object]:
    """What one process writes about the same replies."""
    files = ("--results", "results.jsonl", "--records", "records.jsonl", "--json", "card.json")
    again = ("--store", "runs.db", "--rescore", "1", "--workers", "1")
    done = commands.run("run", "eval.yaml", *again, *files, cwd=folder)
    assert done.returncode == 0, done.stderr
    return files_of(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks")
@pytest.mark.skipif(usable_cores() < 2, reason="one core scores where it sends")
@pytest.mark.parametrize("what", ["leave", "kill"])
def test_a_process_of_its_own_changes_no_byte_even_if_it_is_killed(
    tmp_path: Path, what: str
) -> None:
    write_eval(tmp_path, cases=2 * BLOCK.sub_block + 1)
    assert run_python(tmp_path, what) >= 1
    assert files_of(tmp_path) == score_again(tmp_path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks")
@pytest.mark.skipif(usable_cores() < 2, reason="one core scores where it sends")
def test_a_report_has_every_case_once_and_in_order(tmp_path: Path) -> None:
    write_eval(tmp_path, cases=2 * BLOCK.sub_block + 1)
    run = ("run", "eval.yaml", "--store", "runs.db", "--html")
    for words in ((*run, "run.html"), (*run, "again.html", "--rescore", "1", "--workers", "1")):
        done = commands.run(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    report = (tmp_path / "run.html").read_bytes()
    assert report.count(b"case-512") > 0
    assert report == (tmp_path / "again.html").read_bytes()


def test_few_replies_are_scored_where_they_arrive(tmp_path: Path) -> None:
    write_eval(tmp_path, cases=8)
    assert run_python(tmp_path, "leave") == 0
