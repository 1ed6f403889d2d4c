"""Eval files and the files that they need, for tests of commands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from builders import Json, form, qa_case, question
from callscore.demo import sample_calls
from stub_servers import Request

PRICE = {"input": 1.0, "output": 2.0}


def cases_file(folder: Path, number: int) -> Path:
    """Write QA cases with different transcripts, so that all requests differ."""
    path = folder / "cases.jsonl"
    turns = [[{"id": 1, "speaker": "agent", "text": f"Good morning {n}"}] for n in range(number)]
    lines = [
        json.dumps(qa_case([question()], f"c{n}", transcript=turn)) for n, turn in enumerate(turns)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def right_answer(_request: Request) -> str:
    """The form as the human filled it in."""
    return json.dumps(form(question()))


def remote_model(url: str, name: str = "m", **extra: Any) -> Json:
    """A model behind a stub server."""
    return {
        "name": name,
        "provider": "openai",
        "model": f"stub-{name}",
        "base_url": url,
        "api_key_env": "STUB_KEY",
        "price": PRICE,
        "limits": {"concurrency": 8},
        **extra,
    }


def eval_file(folder: Path, models: Sequence[Json], **extra: Any) -> Path:
    """Write an eval file for `cases.jsonl`, as JSON, which is valid YAML."""
    path = folder / "eval.yaml"
    value = {"name": "trial", "data": "cases.jsonl", "models": list(models), **extra}
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")
    return path


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def read_lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_small_project(folder: Path, eval_file: str) -> Path:
    """An eval file, and the first four cases of the bundled calls; returns the eval file."""
    with sample_calls() as config:
        lines = config.cases[0].read_bytes().splitlines(keepends=True)
        (folder / "cases.jsonl").write_bytes(b"".join(lines[:4]))
    path = folder / "eval.yaml"
    path.write_text(eval_file, encoding="utf-8")
    return path
