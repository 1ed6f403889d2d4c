"""`anthropic`: the messages API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.calling import AttemptFailed
from callscore.core.case import JsonObject, Prompt, Reply
from callscore.providers.dialect import (
    ASSUMED_MAX_OUTPUT_TOKENS,
    CARRIER,
    CARRIER_DESCRIPTION,
    Body,
    PerSchema,
    Unreadable,
    checked_params,
    declared_max,
    decoded,
    encoded,
    held_by,
    merged,
    renamed,
    structured_mode,
    system_and_turns,
    token_count,
    unpacked,
)
from callscore.providers.waiting import LimitHeaders

BASE_URL = "https://api.anthropic.com/v1"
KEY_ENV = "ANTHROPIC_API_KEY"

_RESERVED = frozenset(("model", "messages", "system", "stream", "tools"))
_NAMES = {"stop": "stop_sequences", "max_completion_tokens": "max_tokens"}
_STOP: Mapping[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",
    "tool_use": "tool_calls",
    "refusal": "refusal",
}


class _Block(msgspec.Struct):
    type: str
    text: str | None = None
    name: str | None = None
    input: Any = None


class _Answer(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None
    model: str | None = None
    usage: Any = None


_DECODER = msgspec.json.Decoder(_Answer)


class Messages:
    """The dialect of `/messages`."""

    kind = "anthropic"
    limit_headers = LimitHeaders(
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-requests-reset",
        "anthropic-ratelimit-tokens-reset",
    )

    def __init__(self, model: str, params: JsonObject) -> None:
        self._model = model
        chosen, params = structured_mode(params, default="format")
        self._params = renamed(checked_params(params, _RESERVED), _NAMES)
        self._held_by = PerSchema(lambda schema: held_by(chosen, schema))
        self._format = PerSchema(_format)
        self._tool = PerSchema(_answer_tool)

    def path(self, model: str) -> str:
        """What follows the base URL; the model stands in the body."""
        return "messages"

    def body(self, prompt: Prompt) -> Body:
        """The request; system messages stand apart from the turns."""
        system, turns = system_and_turns(prompt.messages)
        held = self._held_by(prompt.schema) if prompt.schema is not None else "none"
        built: Body = {
            "model": self._model,
            "max_tokens": ASSUMED_MAX_OUTPUT_TOKENS,
            "messages": turns,
        }
        if system:
            built["system"] = system
        tools: list[object] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters}
            for tool in prompt.tools
        ]
        if prompt.schema is not None and held == "tool" and not tools:
            tools = [self._tool(prompt.schema)]
            built["tool_choice"] = {"type": "tool", "name": CARRIER}
        if tools:
            built["tools"] = tools
        body = merged(built, self._params)
        if prompt.schema is not None and held == "format":
            # beside what the user says about the output, for instance its effort
            body["output_config"] = {
                "format": self._format(prompt.schema),
                **(self._params.get("output_config") or {}),
            }
        return body

    def max_output_tokens(self, body: Body) -> int:
        """The most that the answer to this request may hold."""
        return declared_max(body.get("max_tokens"))

    def read(self, raw: bytes) -> Reply | AttemptFailed:
        """The text blocks joined; the input of the answer tool is the answer's text."""
        try:
            answer = decoded(raw, _DECODER)
        except Unreadable as fault:
            return AttemptFailed("unreadable", f"not a message: {fault}")
        text = "".join(b.text or "" for b in answer.content if b.type == "text")
        uses = [(b.name or "", b.input) for b in answer.content if b.type == "tool_use"]
        text, finish, calls = unpacked(text, _STOP.get(answer.stop_reason or ""), uses)
        return Reply(text, finish, *_usage(answer.usage), None, calls, answer.model)


def _format(schema: JsonObject) -> msgspec.Raw:
    return encoded({"type": "json_schema", "schema": schema})


def _answer_tool(schema: JsonObject) -> msgspec.Raw:
    tool = {"name": CARRIER, "description": CARRIER_DESCRIPTION, "input_schema": schema}
    return encoded(tool)


def _usage(usage: object) -> tuple[int | None, int | None]:
    """Input and output tokens; what was written to or read from a cache is input, too."""
    told = usage if isinstance(usage, dict) else {}
    cached = (told.get("cache_creation_input_tokens"), told.get("cache_read_input_tokens"))
    return token_count(told.get("input_tokens"), *cached), token_count(told.get("output_tokens"))
