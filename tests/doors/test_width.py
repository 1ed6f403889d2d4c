"""At 80 columns nothing but signatures and rows of commands is wider than the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

import callscore
from callscore.report.layout import display_width
from commands import environment, run

DEMO = Path(callscore.__file__).parent / "demo"
CALLS = DEMO / "calls"
SCORE = ("score", CALLS / "cases.jsonl", "--outputs", CALLS / "outputs.jsonl")


@pytest.mark.parametrize(
    "command",
    [
        (*SCORE, "--verdicts", CALLS / "verdicts.jsonl"),
        (*SCORE, "--verdicts", CALLS / "verdicts.jsonl", "--benchmarks", "--all-rows"),
        ("validate", CALLS / "cases.jsonl"),
        ("judge", "check", "offline"),
        ("run", DEMO / "eval.yaml", "--dry-run"),
    ],
    ids=["score", "all rows", "validate", "judge check", "dry run"],
)
def test_24_10_at_80_columns_only_signatures_are_wider(
    command: tuple[object, ...], tmp_path: Path
) -> None:
    done = run(*command, env={"COLUMNS": "80"}, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    wide = [line for line in (done.stdout + done.stderr).splitlines() if display_width(line) > 80]
    assert [line for line in wide if "signature" not in line] == []


def test_a_pipe_gets_whole_lines(tmp_path: Path) -> None:
    assert "COLUMNS" not in environment(None)
    done = run("validate", CALLS / "cases.jsonl", cwd=tmp_path)
    assert any(display_width(line) > 80 for line in done.stdout.splitlines())
