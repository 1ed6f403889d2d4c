"""How `baseline` acts: rules choose the agents and the tool that share words with the request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Message, Prompt, Tool, ToolCall
from callscore.core.noise import FakeReply
from callscore.metrics.keywords import overlap, topic_words, words

_AGENT = re.compile(r"^\*\*(.+?) \(([\w.-]+)\)\*\*$", re.MULTILINE)
_PUNCTUATION = ".,;:!?()[]{}\"'"
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
ASKS_BACK = "<response><status>AWAITING_USER_INPUT</status></response>"
ENOUGH = 1 / 4
"""The share of the words of an agent's name that must occur in the request."""
PLAN = "workflow_"


def answer_step(prompt: Prompt) -> FakeReply:
    """A step of a scenario: a plan if no tool is offered, else a call or a question."""
    if not prompt.tools:
        return FakeReply(_write_plan(prompt.messages))
    call = _choose_call(prompt.messages, prompt.tools)
    return FakeReply(ASKS_BACK) if call is None else FakeReply("", (call,))


def answer_case(messages: Sequence[Message], tools: Sequence[Tool] | None) -> FakeReply:
    """A single-turn case: at most one call; without tools, a graph with one node."""
    if tools is None:
        node = {"id": 1, "text": messages[-1].content}
        graph = {"nodes": [node], "edges": [["START", "1"], ["1", "END"]]}
        return FakeReply(msgspec.json.encode(graph).decode())
    call = _choose_call(messages, tools)
    if call is None:
        return FakeReply(msgspec.json.encode({"calls": []}).decode())
    return FakeReply("", (call,))


def _write_plan(messages: Sequence[Message]) -> str:
    """One workflow: the agents whose names occur in the last message, or the best match."""
    request = messages[-1].content if messages else ""
    agents = _AGENT.findall(messages[0].content) if messages else []
    shares = {agent: overlap(topic_words(_split_words(agent)), request) for _, agent in agents}
    chosen = [agent for agent, share in shares.items() if share >= ENOUGH]
    if not chosen and shares:
        chosen = [max(shares, key=lambda agent: shares[agent])]
    steps = [{"status": "pending", "agent_id": agent, "refined_query": request} for agent in chosen]
    workflow = {"status": "pending", "type": "independent", "steps": steps}
    return msgspec.json.encode({"workflow_1": workflow}).decode()


def _choose_call(messages: Sequence[Message], tools: Sequence[Tool]) -> ToolCall | None:
    """The tool with the most words of the task, if its required arguments can be found."""
    task = _task_text(messages)
    best = max(tools, key=lambda tool: overlap(_tool_words(tool), task), default=None)
    if best is None:
        return None
    found = named_arguments(best.parameters, " ".join(message.content for message in messages))
    required = best.parameters.get("required")
    if isinstance(required, list) and any(name not in found for name in required):
        return None
    return ToolCall(best.name, msgspec.json.encode(found).decode())


def _task_text(messages: Sequence[Message]) -> str:
    """The request since the last plan: the planned query, and later messages of the user."""
    planned = [i for i, message in enumerate(messages) if message.content.startswith(PLAN)]
    since = messages[planned[-1] :] if planned else messages[-1:]
    return "\n".join(message.content for message in since if message.role == "user")


def _tool_words(tool: Tool) -> set[str]:
    return topic_words(f"{_split_words(tool.name)} {tool.description}")


def _split_words(name: str) -> str:
    return _CAMEL.sub(" ", name).replace("_", " ")


def named_arguments(parameters: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Enum values that occur in the text; for other arguments, the tokens with digits, in order."""
    properties = parameters.get("properties")
    known_words = set(words(text))
    codes = iter(dict.fromkeys(_codes(text)))
    found: dict[str, Any] = {}
    for name, schema in properties.items() if isinstance(properties, Mapping) else ():
        choices = schema.get("enum") if isinstance(schema, Mapping) else None
        if isinstance(choices, list):
            named = [c for c in choices if isinstance(c, str) and c.casefold() in known_words]
            found |= {name: named[0]} if named else {}
        else:
            code = next(codes, None)
            found |= {name: code} if code is not None else {}
    return found


def _codes(text: str) -> Iterator[str]:
    """The tokens with a digit: numbers, dates, references."""
    for piece in text.split():
        code = piece.strip(_PUNCTUATION)
        if any(letter.isdigit() for letter in code):
            yield code
