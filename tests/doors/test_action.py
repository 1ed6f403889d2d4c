"""The GitHub Action: its shell steps run here, with a stand-in for GitHub's command line."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from builders import Json
from commands import environment
from eval_files import cases_file, eval_file

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "action" / "callscore.sh"
MODELS: list[Json] = [
    {"name": "old", "provider": "simulated", "params": {"wrong_scores": 1.0}},
    {"name": "new", "provider": "simulated", "params": {"wrong_scores": 0.0}},
]


def action() -> Any:
    return yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def test_inputs_reach_the_shell_as_variables_only() -> None:
    steps = action()["runs"]["steps"]
    assert all(step["shell"] == "bash" for step in steps)
    assert all("${{" not in step["run"] for step in steps)
    passed = set(steps[1]["env"])
    used = set(re.findall(r"\$\{?(CALLSCORE_\w+)", SCRIPT.read_text(encoding="utf-8")))
    assert used <= passed
    assert {name for name in action()["inputs"]} >= {"eval", "from", "to", "comment", "budget"}


def act(folder: Path, gate: float, **inputs: str) -> subprocess.CompletedProcess[str]:
    cases_file(folder, 8)
    of = {"of": "qa.question_score_accuracy", "at_least": gate, "model": "new"}
    eval_file(folder, MODELS, gates=[of], weights={"qa": 1}, judge="offline", embedder="none")
    tools = folder / "tools"
    tools.mkdir()
    gh = tools / "gh"
    gh.write_text('#!/bin/sh\nprintf "%s\\n" "$@" >> "$GH_CALLS"\n', encoding="utf-8")
    gh.chmod(0o755)
    (tools / "callscore").symlink_to(Path(sys.executable).parent / "callscore")
    return subprocess.run(
        ["bash", str(SCRIPT)],
        cwd=folder,
        env=environment(
            {
                "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
                "GH_CALLS": str(folder / "gh.txt"),
                "GITHUB_ACTIONS": "true",
                "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
                "GITHUB_OUTPUT": str(folder / "outputs.txt"),
                "CALLSCORE_EVAL": "eval.yaml",
                "CALLSCORE_FROM": "eval.yaml:old",
                "CALLSCORE_TO": "eval.yaml:new",
                "CALLSCORE_PULL_REQUEST": "17",
                **inputs,
            }
        ),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("gate", "code"), [pytest.param(0.9, 0, marks=pytest.mark.slow), (1.1, 1)])
def test_it_comments_the_comparison_and_blocks(tmp_path: Path, gate: float, code: int) -> None:
    done = act(tmp_path, gate)
    assert done.returncode == code, done.stderr
    said = (tmp_path / "gh.txt").read_text(encoding="utf-8").splitlines()
    assert said[:3] == ["pr", "comment", "17"]
    comment = Path(tmp_path / "callscore-results" / "comparison.md").read_text(encoding="utf-8")
    assert "On 8 calls that both answered, new (simulated) is" in comment
    assert "- **Likely** new (simulated): " in comment
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert comment in summary
    assert ("1 missed of 1 gates" if code else "all gates hold") in summary
    assert ("::error title=Callscore gate failed::" in done.stderr) == bool(code)
    assert (tmp_path / "outputs.txt").read_text(encoding="utf-8") == f"exit-code={code}\n"
    assert (tmp_path / "callscore-results" / "junit.xml").exists()


def test_an_eval_file_that_cannot_be_used_ends_with_2_and_comments_nothing(tmp_path: Path) -> None:
    done = act(tmp_path, 0.9, CALLSCORE_EVAL="missing.yaml")
    assert done.returncode == 2
    assert not (tmp_path / "gh.txt").exists()
