"""`openai` with `api: responses`: the Responses API of OpenAI and compatible servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import JsonObject, Message, Prompt, Reply, Tool, ToolCall
from callscore.core.errors import ConfigError
from callscore.core.lazy import lazy_regex
from callscore.core.provider import AttemptFailed
from callscore.providers.openai import ChatCompletions
from callscore.providers.wire_format import (
    ANSWER_NAME,
    BY_MODE,
    AnswerForm,
    Body,
    SchemaCache,
    UnreadableResponse,
    add_counts,
    arguments_text,
    check_params,
    choose_forms,
    decode_response,
    encode_raw,
    find_max_tokens,
    fits_strict_mode,
    merge_params,
    rename_params,
)

_RESERVED = frozenset(("model", "input", "messages", "instructions", "stream", "tools", "n"))
_NAMES = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}
_MOVED = (
    ("reasoning_effort", "reasoning", "effort"),
    ("verbosity", "text", "verbosity"),
    ("response_format", "text", "format"),
)
_INCOMPLETE: Mapping[str, str] = {
    "max_output_tokens": "length",
    "content_filter": "content_filter",
}
_OUTAGES = frozenset(("failed", "cancelled", "queued", "in_progress"))
"""Response states that report a failure of the server, not of the model."""
_ONLY_HERE = lazy_regex(
    r"(?i)^(?:o\d+-pro|gpt-\d+(?:\.\d+)?-pro|gpt-daybreak|computer-use"
    r"|.*(?:codex|-deep-research|-cyber|rosalind))"
)


def _items(messages: Sequence[Message]) -> list[Message | Body]:
    """The messages; calls and their results are items of their own."""
    items: list[Message | Body] = []
    for message in messages:
        if message.call is not None:
            output = {"call_id": message.call.id, "output": message.content}
            items.append({"type": "function_call_output", **output})
        elif not message.calls:
            items.append(message)
        else:
            if message.content:
                items.append(Message(message.role, message.content))
            items += [
                {"type": "function_call", "call_id": c.id, "name": c.name, "arguments": c.arguments}
                for c in message.calls
            ]
    return items


def needs_responses(model: str) -> bool:
    """Whether OpenAI offers a model in this API only, judged by its name."""
    return _ONLY_HERE.match(model) is not None


class _Part(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    refusal: str | None = None


class _Item(msgspec.Struct):
    type: str
    content: list[_Part] | None = None
    name: str | None = None
    arguments: Any = None


class _Incomplete(msgspec.Struct):
    reason: str | None = None


class _Answer(msgspec.Struct):
    output: list[_Item]
    status: str | None = None
    incomplete_details: _Incomplete | None = None
    model: str | None = None
    usage: Any = None


_DECODER = msgspec.json.Decoder(_Answer)


class Responses:
    """The wire format of `/responses`."""

    kind = "openai"
    limit_headers = ChatCompletions.limit_headers

    def __init__(self, model: str, params: JsonObject) -> None:
        self._model = model
        forms, params = choose_forms(params, BY_MODE)
        checked = _move_params(rename_params(check_params(params, _RESERVED), _NAMES))
        self._text = checked.pop("text", None) or {}
        self._params = checked
        # the user has chosen the response format
        self._forms = forms[:1] if "format" in self._text else forms
        self._format = SchemaCache(_format)

    def path(self, model: str) -> str:
        """The path below the base URL; the model is in the body."""
        return "responses"

    def forms(self, prompt: Prompt) -> Sequence[AnswerForm]:
        """The schema, also with tools; else any JSON, else the prompt."""
        return self._forms if prompt.schema is not None else ("none",)

    def body(self, prompt: Prompt, form: AnswerForm | None = None) -> Body:
        """The request body; the server must store nothing."""
        form = form or self.forms(prompt)[0]
        built: Body = {"model": self._model, "input": _items(prompt.messages), "store": False}
        text: Body = {}
        if prompt.schema is not None and form == "format":
            text["format"] = self._format(prompt.schema)
        elif form == "json":
            text["format"] = {"type": "json_object"}
        built["text"] = merge_params(text, self._text) or None
        if prompt.tools:
            built["tools"] = [_tool(tool) for tool in prompt.tools]
        return merge_params(built, self._params)

    def max_output_tokens(self, body: Body) -> int:
        """The most tokens that the reply to this request may have."""
        return find_max_tokens(body.get("max_output_tokens"))

    def read(self, raw: bytes) -> Reply | AttemptFailed:
        """The text of all messages and the function calls, without reasoning."""
        try:
            answer = decode_response(raw, _DECODER)
        except UnreadableResponse as fault:
            return AttemptFailed("unreadable", f"not a response: {fault}")
        if answer.status in _OUTAGES:
            return AttemptFailed("server", f"status {answer.status}")
        parts = [p for item in answer.output if item.type == "message" for p in item.content or ()]
        calls = tuple(
            ToolCall(item.name or "", arguments_text(item.arguments))
            for item in answer.output
            if item.type == "function_call"
        )
        refusal = "".join(part.refusal or "" for part in parts)
        usage = answer.usage if isinstance(answer.usage, dict) else {}
        return Reply(
            text="".join(part.text or "" for part in parts) or refusal,
            finish_reason=_finish(answer, refused=bool(refusal), called=bool(calls)),
            input_tokens=add_counts(usage.get("input_tokens")),
            output_tokens=add_counts(usage.get("output_tokens")),
            tool_calls=calls,
            model=answer.model,
        )


def _move_params(params: Body) -> Body:
    """Parameters of chat completions under their names in this API."""
    for name, into, key in _MOVED:
        given = _object(params, into)
        if name in params:
            value = params.pop(name)
            params[into] = {key: _flat(value) if key == "format" else value, **given}
    return params


def _object(params: Body, name: str) -> Body:
    given = params.get(name) or {}
    if not isinstance(given, dict):
        raise ConfigError(f"params.{name}: expected an object")
    return given


def _flat(response_format: Any) -> Any:
    """A response format of chat completions in this API's form, without the inner object."""
    if not isinstance(response_format, dict):
        return response_format
    inner = response_format.get("json_schema")
    rest = {key: value for key, value in response_format.items() if key != "json_schema"}
    return {**rest, **inner} if isinstance(inner, dict) else rest


def _finish(answer: _Answer, *, refused: bool, called: bool) -> str | None:
    if refused:
        return "refusal"
    if answer.status == "incomplete":
        details = answer.incomplete_details
        return _INCOMPLETE.get((details.reason if details else None) or "", "length")
    if called:
        return "tool_calls"
    return "stop" if answer.status == "completed" else None


def _format(schema: JsonObject) -> msgspec.Raw:
    strict = fits_strict_mode(schema)
    return encode_raw(
        {"type": "json_schema", "name": ANSWER_NAME, "strict": strict, "schema": schema}
    )


def _tool(tool: Tool) -> Body:
    described = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    # strict is the default here, and it would refuse a schema with optional arguments
    return {"type": "function", **described, "strict": False}
