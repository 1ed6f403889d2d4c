"""Trajectories as JSON lines: every message, paragraph and expected step is written once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import callscore
from callscore.runner.scenario_exports import LONG_MESSAGE, CompactLines
from eval_files import eval_file
from scenario_runs import PERFECT, SCENARIOS

DOCS = Path(__file__).parent.parent.parent / "docs"
LONG = "\n\n".join(f"{name}: " + "what every prompt says. " * 9 for name in "ABC")
OTHER = LONG.replace("B:", "X:")


def line(step: int, run: int, *texts: str, gold: str = "g") -> dict[str, Any]:
    messages = [{"role": "user", "content": text} for text in texts]
    where = f"EN/1#{step}"
    return {
        "case_id": where,
        "run": run,
        "request": {"messages": messages, "tools": []},
        "gold": {"text": gold},
    }


LINES = [
    line(2, 1, "hello", LONG),
    line(4, 1, "hello", OTHER, "and then"),
    line(2, 2, "hello", LONG),
    line(4, 2, "hello", "other", gold="h"),
]


def compacted(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    compact = CompactLines()
    return [compact.compact(each) for each in lines]


def read_by_the_docs(path: Path) -> list[Any]:
    """The lines as the page on runs says how to read them."""
    scope: dict[str, Any] = {}
    text = (DOCS / "run.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?def read_trajectories.*?)```", text, re.DOTALL)
    exec(compile(code, "run.md", "exec"), scope)
    return list(scope["read_trajectories"](path))


def test_a_line_has_only_what_no_earlier_line_had() -> None:
    assert len(LONG) > LONG_MESSAGE
    first, second, again, last = compacted(LINES)
    hello, long = first["request"]["messages"]
    assert hello == {"id": 1, "role": "user", "content": "hello"}
    assert [part["text"][0] for part in long["content"]] == ["A", "B", "C"]
    number, other, more = second["request"]["messages"]
    assert number == 1 and more["content"] == "and then"
    same, new, end = other["content"]
    assert (same, end) == (long["content"][0]["id"], long["content"][2]["id"])
    assert new["text"].startswith("X: ")
    assert again["request"]["messages"] == [1, long["id"]]
    assert ["gold" in each for each in (first, second, again, last)] == [True, True, False, True]


def test_every_line_can_be_restored_as_the_docs_say(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, compacted(LINES))), encoding="utf-8")
    assert read_by_the_docs(path) == LINES


def test_a_run_writes_each_message_once_for_all_models_and_runs(tmp_path: Path) -> None:
    other = {**PERFECT, "name": "q"}
    config = eval_file(tmp_path, [PERFECT, other], data=SCENARIOS, repeats=2)
    callscore.run(config, trajectories=tmp_path / "t.jsonl")
    raw = (tmp_path / "t.jsonl").read_bytes()
    found = read_by_the_docs(tmp_path / "t.jsonl")
    whole = sum(len(json.dumps(each)) for each in found)
    assert len(found) == 4 * 21 and len(raw) < whole / 3
    by_step: dict[str, list[Any]] = {}
    for each in found:
        by_step.setdefault(each["case_id"], []).append((each["request"], each["gold"]))
    assert all(len(of) == 4 and of.count(of[0]) == 4 for of in by_step.values())
    first = [request["messages"][0]["role"] for of in by_step.values() for request, _ in of]
    assert set(first) == {"system"}
