"""Trajectories as JSON lines: every message of a scenario is written once."""

from __future__ import annotations

from typing import Any

from callscore.runner.scenario_exports import without_repeats


def line(step: int, run: int, *texts: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": text} for text in texts]
    return {"case_id": f"EN/1#{step}", "run": run, "request": {"messages": messages, "tools": []}}


LINES = [
    line(2, 1, "system", "hello"),
    line(4, 1, "system", "hello", "and then"),
    line(5, 1, "other", "hello"),
    line(2, 2, "system", "hello"),
]


def restored(lines: list[dict[str, Any]]) -> list[list[Any]]:
    """The messages of every line, with those that it repeats."""
    found: dict[tuple[str, int], list[Any]] = {}
    for each in lines:
        request, repeats = each["request"], each["request"].get("repeats")
        before = found[repeats["case_id"], repeats["run"]] if repeats else []
        shared = before[: repeats["messages"]] if repeats else []
        found[each["case_id"], each["run"]] = [*shared, *request["messages"]]
    return list(found.values())


def test_a_line_has_only_the_messages_that_no_earlier_step_had() -> None:
    written = list(without_repeats(LINES))
    texts = [[m["content"] for m in each["request"]["messages"]] for each in written]
    assert texts == [["system", "hello"], ["and then"], ["other", "hello"], []]


def test_the_messages_of_every_step_can_be_restored() -> None:
    assert restored(list(without_repeats(LINES))) == [each["request"]["messages"] for each in LINES]
