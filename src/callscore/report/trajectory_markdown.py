"""Trajectories as Markdown: request, reply, expected outcome and verdict of each step.

All texts are untrusted. Names are escaped, and texts are in fences that they cannot close.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from callscore.report.numbers import show_money
from callscore.report.safe_text import plain, sanitize

Json = Mapping[str, Any]
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+\-.!|~&@:/])")
_TICKS = re.compile(r"`+")


def scenario_heading(line: Json) -> str:
    """Return the heading of a scenario: model, scenario, run."""
    scenario = line["case_id"].partition("#")[0]
    history = "" if line["history"] == "gold" else ", free-running"
    names = f"{escape_markdown(line['model'])}, {escape_markdown(scenario)}"
    return f"## {names}, run {line['run']}{history}\n"


def step_markdown(line: Json, seen: Sequence[Json]) -> str:
    """Return one step, without the messages in `seen`, the previous request."""
    return "\n".join([*_step(line, seen), ""])


def _step(line: Json, seen: Sequence[Json]) -> Iterator[str]:
    number = escape_markdown(line["case_id"].partition("#")[2])
    verdict = line["verdict"]
    who = f"{escape_markdown(line['kind'])} by {escape_markdown(line['agent'])}"
    yield f"### Step {number}, {who}: {_word(verdict)}"
    yield ""
    yield from _request(line["request"], seen)
    reply = line["reply"]
    if reply is None:
        yield f"**No reply**: {escape_markdown(verdict['why'])}"
        yield ""
    else:
        yield f"**Reply** ({escape_markdown(_reply_cost(reply))})"
        yield from _fence(_reply_text(reply))
    yield "**Expected**"
    yield from _fence(json.dumps(line["gold"], ensure_ascii=False, indent=1))
    for difference in verdict["differences"]:
        yield f"- {escape_markdown(difference['kind'])}: {escape_markdown(difference['detail'])}"


def _request(request: Json, seen: Sequence[Json]) -> Iterator[str]:
    messages = request["messages"]
    same = 0
    while same < min(len(messages), len(seen)) and messages[same] == seen[same]:
        same += 1
    for message in messages[:1] if not same else ():
        yield f"**system**: a prompt of {len(message['content'])} characters"
        same = 1
    if same > 1:
        yield f"… {same - 1} messages as before"
        yield ""
    for message in messages[same:]:
        if message["role"] == "system":
            continue
        yield f"**{escape_markdown(message['role'])}**"
        yield from _fence(message["content"])
    if request["tools"]:
        yield f"Tools: {', '.join(map(escape_markdown, request['tools']))}"
        yield ""


def _word(verdict: Json) -> str:
    if verdict["status"] != "valid":
        return escape_markdown(verdict["status"].replace("_", " "))
    return "right" if verdict["success"] else "wrong"


def _reply_cost(reply: Json) -> str:
    tokens = f"{_count(reply['input_tokens'])} + {_count(reply['output_tokens'])} tokens"
    cost, latency = reply["cost_usd"], reply["latency_ms"]
    parts = [tokens, "cost unknown" if cost is None else show_money(cost)]
    parts += [] if latency is None else [f"{latency:.1f} ms"]
    return ", ".join(parts)


def _count(number: int | None) -> str:
    return "unknown" if number is None else str(number)


def _reply_text(reply: Json) -> str:
    calls = [f"{call['name']} {call['arguments']}" for call in reply["tool_calls"]]
    return "\n".join([*([reply["text"]] if reply["text"] else []), *calls])


def _fence(text: str) -> Iterator[str]:
    """Yield the text between fences that are longer than any in it."""
    lines = [sanitize(line) for line in text.splitlines()] or [""]
    longest = max((len(run) for line in lines for run in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}text", *lines, fence, "")


def escape_markdown(text: str) -> str:
    """Return a text as one line in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", plain(text, 400))
