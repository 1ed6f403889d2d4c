"""Most tests fork commands from a process that has imported them: they behave like new ones."""

from __future__ import annotations

from pathlib import Path

import pytest

import callscore
from commands import run, run_in_new_process
from eval_files import cases_file, eval_file, remote_model, right_answer
from stub_servers import FaultyChat, serving

SAMPLE = Path(callscore.__file__).parent / "demo" / "calls"


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["score", SAMPLE / "cases.jsonl", "--outputs", SAMPLE / "outputs.jsonl"], 0),
        (["score", SAMPLE / "cases.jsonl", "--set", "gaets=all"], 2),
        (["score"], 2),
        (["run", "--help"], 0),
    ],
)
def test_a_forked_command_prints_the_same_as_a_new_one(args: list[object], code: int) -> None:
    forked, new = run(*args), run_in_new_process(*args)
    assert forked.returncode == new.returncode == code
    assert forked.stdout == new.stdout
    assert _without_progress(forked.stderr) == _without_progress(new.stderr)
    assert forked.stdout or forked.stderr


def _without_progress(text: str) -> list[str]:
    """The lines without the progress of scoring, which only a slow machine prints."""
    return [line for line in text.splitlines() if not line.startswith("scoring: ")]


def test_a_misspelt_command_gets_a_suggestion() -> None:
    done = run("reprot", "card.json")
    assert done.returncode == 2
    assert "Error: No such command 'reprot'. Did you mean 'report'?\n" in done.stderr


def test_a_forked_command_has_its_own_folder_and_environment(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    with serving(FaultyChat(right_answer)) as stub:
        eval_file(tmp_path, [remote_model(stub.url, api_key_env="OWN_KEY")])
        answered = run("run", "eval.yaml", cwd=tmp_path, env={"OWN_KEY": "own-key"})
        assert answered.returncode == 0, answered.stderr
        assert stub.requests[0].headers["authorization"] == "Bearer own-key"
        keyless = run("run", "eval.yaml", "--store", "other.db", cwd=tmp_path)
        elsewhere = run("run", "eval.yaml", env={"OWN_KEY": "own-key"})
    assert (keyless.returncode, "OWN_KEY" in keyless.stderr) == (2, True)
    assert (elsewhere.returncode, "eval.yaml: no such file" in elsewhere.stderr) == (2, True)
