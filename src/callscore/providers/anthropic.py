"""`anthropic`: the messages API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import JsonObject, Message, Prompt, Reply
from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed
from callscore.providers.rate_limit_headers import LimitHeaders
from callscore.providers.wire_format import (
    ANSWER_TOOL,
    ANSWER_TOOL_DESCRIPTION,
    ASSUMED_MAX_OUTPUT_TOKENS,
    BY_TOOL,
    AnswerForm,
    Body,
    SchemaCache,
    UnreadableResponse,
    add_counts,
    call_input,
    check_params,
    choose_forms,
    decode_response,
    encode_raw,
    find_max_tokens,
    forms_for,
    group_results,
    merge_params,
    merge_turns,
    rename_params,
    split_answer_tool,
    system_and_turns,
    without_bounds,
    without_format,
)

BASE_URL = "https://api.anthropic.com/v1"
KEY_ENV = "ANTHROPIC_API_KEY"
VERSION = "2023-06-01"
VERSIONS = (VERSION, "2026-10-21")
"""Valid values of the header `anthropic-version`; the first is the default."""

_RESERVED = frozenset(("model", "messages", "system", "stream", "tools"))
_SAMPLING = ("temperature", "top_p", "top_k")
"""Parameters that newer API versions refuse, even at their default values."""
_NAMES = {"stop": "stop_sequences", "max_completion_tokens": "max_tokens"}
_STOP: Mapping[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "length",  # the server has stopped in the middle of a turn
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
    """The wire format of `/messages`."""

    limit_headers = LimitHeaders(
        "anthropic-ratelimit-requests-remaining",
        "anthropic-ratelimit-tokens-remaining",
        "anthropic-ratelimit-requests-reset",
        "anthropic-ratelimit-tokens-reset",
    )

    def __init__(self, model: str, params: JsonObject, version: str = VERSION) -> None:
        self._model = model
        self.kind = "anthropic" if version == VERSION else f"anthropic {version}"
        forms, params = choose_forms(params, BY_TOOL)
        if version != VERSION:
            _refuse_sampling(params, version)
        self._params = rename_params(check_params(params, _RESERVED), _NAMES)
        self._forms = SchemaCache(lambda schema: without_format(forms, schema))
        self._format = SchemaCache(_format)
        self._tool = SchemaCache(_answer_tool)

    def path(self, model: str) -> str:
        """The path below the base URL; the model is in the body."""
        return "messages"

    def forms(self, prompt: Prompt) -> Sequence[AnswerForm]:
        """The output format, else a tool, else the prompt."""
        return forms_for(prompt, self._forms(prompt.schema) if prompt.schema is not None else ())

    def body(self, prompt: Prompt, form: AnswerForm | None = None) -> Body:
        """The request body; system messages are separate from the turns."""
        system, turns = system_and_turns(prompt.messages)
        form = form or self.forms(prompt)[0]
        built: Body = {
            "model": self._model,
            "max_tokens": ASSUMED_MAX_OUTPUT_TOKENS,  # which this API requires
            "messages": [_turn(group) for group in group_results(merge_turns(turns))],
        }
        if system:
            built["system"] = system
        built |= self._tools(prompt, form)
        body = merge_params(built, self._params)
        if prompt.schema is not None and form == "format":
            # in addition to the user's own output settings, such as the effort
            body["output_config"] = {
                "format": self._format(prompt.schema),
                **(self._params.get("output_config") or {}),
            }
        return body

    def _tools(self, prompt: Prompt, form: AnswerForm) -> Body:
        if prompt.tools:
            tools = [
                {"name": t.name, "description": t.description, "input_schema": t.parameters}
                for t in prompt.tools
            ]
            return {"tools": tools}
        if prompt.schema is None or form not in ("tool", "auto"):
            return {}
        built: Body = {"tools": [self._tool(prompt.schema)]}
        if form == "tool":
            built["tool_choice"] = {"type": "tool", "name": ANSWER_TOOL}
        return built

    def max_output_tokens(self, body: Body) -> int:
        """The most tokens that the reply to this request may have."""
        return find_max_tokens(body.get("max_tokens"))

    def read(self, raw: bytes) -> Reply | AttemptFailed:
        """The text blocks joined; the input of the answer tool counts as text."""
        try:
            answer = decode_response(raw, _DECODER)
        except UnreadableResponse as fault:
            return AttemptFailed("unreadable", f"not a message: {fault}")
        text = "".join(b.text or "" for b in answer.content if b.type == "text")
        uses = [(b.name or "", b.input) for b in answer.content if b.type == "tool_use"]
        text, finish, calls = split_answer_tool(text, _STOP.get(answer.stop_reason or ""), uses)
        return Reply(text, finish, *_usage(answer.usage), None, calls, answer.model)


def _turn(group: Sequence[Message]) -> Message | Body:
    """One turn; calls and the results of several tools are blocks of it."""
    first = group[0]
    if first.call is not None:
        blocks = [
            {"type": "tool_result", "tool_use_id": each.call.id, "content": each.content}
            for each in group
            if each.call is not None
        ]
        return {"role": "user", "content": blocks}
    if not first.calls:
        return first
    # blank text blocks are refused
    said = [{"type": "text", "text": first.content}] if first.content.strip() else []
    used = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call_input(call)}
        for call in first.calls
    ]
    return {"role": first.role, "content": [*said, *used]}


def _refuse_sampling(params: JsonObject, version: str) -> None:
    for name in _SAMPLING:
        if params.get(name) is not None:
            raise ConfigError(
                f"params.{name}: version {version} of the API refuses it, whatever its value; "
                f"leave it out, or use api: {VERSION} where the model takes it"
            )


def _format(schema: JsonObject) -> msgspec.Raw:
    return encode_raw({"type": "json_schema", "schema": without_bounds(schema)})


def _answer_tool(schema: JsonObject) -> msgspec.Raw:
    tool = {"name": ANSWER_TOOL, "description": ANSWER_TOOL_DESCRIPTION, "input_schema": schema}
    return encode_raw(tool)


def _usage(usage: object) -> tuple[int | None, int | None]:
    """Input and output tokens; cache reads and writes are input too."""
    reported = usage if isinstance(usage, dict) else {}
    cached = (reported.get("cache_creation_input_tokens"), reported.get("cache_read_input_tokens"))
    return add_counts(reported.get("input_tokens"), *cached), add_counts(
        reported.get("output_tokens")
    )
