"""Calls of tools and their results in later requests, in the form of every API."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from callscore.core.case import Message, Prompt, SentCall
from callscore.providers.anthropic import Messages
from callscore.providers.bedrock import Converse
from callscore.providers.gemini import GenerateContent
from callscore.providers.openai import ChatCompletions
from callscore.providers.responses import Responses

FIND, BOOK = SentCall("1", "find", '{"n":4}'), SentCall("2", "book", "{n")
PROMPT = Prompt(
    (
        Message("system", "Serve."),
        Message("user", "Hi"),
        Message("assistant", "", (FIND, BOOK)),
        Message("tool", "[12]", call=FIND),
        Message("tool", "error", call=BOOK),
        Message("assistant", "Done."),
        Message("user", "Thanks"),
    )
)


def sent(format_: Any, key: str) -> Any:
    has_model = format_ in (ChatCompletions, Messages, Responses)
    built = format_("m", {}) if has_model else format_({})
    return json.loads(msgspec.json.encode(built.body(PROMPT)))[key]


def test_chat_completions_have_calls_and_tool_messages() -> None:
    _, _, called, first, second, *_ = sent(ChatCompletions, "messages")
    assert called["tool_calls"][0] == {
        "id": "1",
        "type": "function",
        "function": {"name": "find", "arguments": '{"n":4}'},
    }
    assert first == {"role": "tool", "tool_call_id": "1", "content": "[12]"}
    assert second["tool_call_id"] == "2"


def test_responses_have_items_of_their_own() -> None:
    kinds = [item.get("type", item.get("role")) for item in sent(Responses, "input")]
    calls, outputs = ["function_call"] * 2, ["function_call_output"] * 2
    assert kinds == ["system", "user", *calls, *outputs, "assistant", "user"]


@pytest.mark.parametrize(
    ("format_", "key", "blocks", "call", "result"),
    [
        (
            Messages,
            "messages",
            "content",
            {"type": "tool_use", "id": "1", "name": "find", "input": {"n": 4}},
            {"type": "tool_result", "tool_use_id": "2", "content": "error"},
        ),
        (
            Converse,
            "messages",
            "content",
            {"toolUse": {"toolUseId": "1", "name": "find", "input": {"n": 4}}},
            {"toolResult": {"toolUseId": "2", "content": [{"text": "error"}]}},
        ),
        (
            GenerateContent,
            "contents",
            "parts",
            {"functionCall": {"name": "find", "args": {"n": 4}}},
            {"functionResponse": {"name": "book", "response": {"result": "error"}}},
        ),
    ],
)
def test_turns_alternate_and_results_of_one_step_are_one_turn(
    format_: Any, key: str, blocks: str, call: Any, result: Any
) -> None:
    turns = sent(format_, key)
    assert [turn["role"] for turn in turns][::2] == ["user"] * 3
    assert len(turns) == 5
    assert (turns[1][blocks][0], turns[2][blocks][1]) == (call, result)
