"""Human-labelled cases in a folder next to the repository, and the bundled cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import callscore
from callscore.core.case import Case

CASES = Path(__file__).parent.parent.parent / "shared" / "data" / "cases"
BUNDLED = Path(callscore.__file__).parent / "demo" / "calls" / "cases.jsonl"


def shared_file(name: str) -> Path:
    """The path of a case file; skips the test if it is absent."""
    path = CASES / name
    if not path.is_file():
        pytest.skip(f"../shared/data/cases/{name} is absent")
    return path


def shared_cases(name: str) -> list[dict[str, Any]]:
    """The cases of a shared file, as plain JSON."""
    lines = shared_file(name).read_text(encoding="utf-8").splitlines()
    assert lines, f"{name} has no case"
    return [json.loads(line) for line in lines]


def cases_of(task: str, path: Path) -> list[Case]:
    """The cases of one task in a file."""
    cases = [msgspec.json.decode(line, type=Case) for line in path.read_bytes().splitlines()]
    chosen = [case for case in cases if case.task == task]
    assert chosen, f"{path.name} has no case of {task}"
    return chosen
