"""`openai`: chat completions, as served by OpenAI, Azure, vLLM, Ollama and most proxies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import JsonObject, Message, Prompt, Reply, Tool, ToolCall
from callscore.core.provider import AttemptFailed
from callscore.providers.rate_limit_headers import LimitHeaders
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
)

BASE_URL = "https://api.openai.com/v1"
KEY_ENV = "OPENAI_API_KEY"

_RESERVED = frozenset(("model", "messages", "stream", "stream_options", "n", "tools"))
_FINISH: Mapping[str, str] = {
    "stop": "stop",
    # the other words are those of compatible servers
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "refusal": "refusal",
}
_OUTAGES = frozenset(("error", "abort", "insufficient_system_resource"))
"""Finish reasons that report a failure of the server, not of the model."""


class _Function(msgspec.Struct):
    name: str = ""
    arguments: Any = None


class _Call(msgspec.Struct):
    function: _Function


class _Message(msgspec.Struct):
    content: str | list[dict[str, Any]] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: Any = None


_DECODER = msgspec.json.Decoder(_Completion)


class ChatCompletions:
    """The wire format of `/chat/completions`."""

    kind = "openai"
    limit_headers = LimitHeaders(
        "x-ratelimit-remaining-requests",
        "x-ratelimit-remaining-tokens",
        "x-ratelimit-reset-requests",
        "x-ratelimit-reset-tokens",
    )

    def __init__(self, model: str, params: JsonObject) -> None:
        self._model = model
        forms, params = choose_forms(params, BY_MODE)
        self._params = check_params(params, _RESERVED)
        # the user has chosen the response format
        self._forms = forms[:1] if "response_format" in self._params else forms
        self._response_format = SchemaCache(_response_format)

    def path(self, model: str) -> str:
        """The path below the base URL; the model is in the body."""
        return "chat/completions"

    def forms(self, prompt: Prompt) -> Sequence[AnswerForm]:
        """The schema, also with tools; else any JSON, else the prompt."""
        return self._forms if prompt.schema is not None else ("none",)

    def body(self, prompt: Prompt, form: AnswerForm | None = None) -> Body:
        """The request body."""
        form = form or self.forms(prompt)[0]
        built: Body = {"model": self._model, "messages": [_message(m) for m in prompt.messages]}
        if prompt.schema is not None and form == "format":
            built["response_format"] = self._response_format(prompt.schema)
        elif form == "json":
            built["response_format"] = {"type": "json_object"}
        if prompt.tools:
            built["tools"] = _tools(prompt.tools)
        body = merge_params(built, self._params)
        return body if prompt.max_tokens is msgspec.UNSET else _limit(body, prompt.max_tokens)

    def max_output_tokens(self, body: Body) -> int:
        """The most tokens that the reply to this request may have."""
        return find_max_tokens(body.get("max_completion_tokens"), body.get("max_tokens"))

    def read(self, raw: bytes) -> Reply | AttemptFailed:
        """The first choice."""
        try:
            completion = decode_response(raw, _DECODER)
        except UnreadableResponse as fault:
            return AttemptFailed("unreadable", f"not a chat completion: {fault}")
        if not completion.choices:
            return AttemptFailed("unreadable", "an answer without choices")
        choice = completion.choices[0]
        if choice.finish_reason in _OUTAGES:
            return AttemptFailed("server", f"finish_reason {choice.finish_reason}")
        return _reply(choice, completion)


def _message(message: Message) -> Message | Body:
    """A message; calls and their results in the form of this API."""
    if message.call is not None:
        return {"role": "tool", "tool_call_id": message.call.id, "content": message.content}
    if not message.calls:
        return message
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}}
        for c in message.calls
    ]
    return {"role": message.role, "content": message.content, "tool_calls": calls}


def _limit(body: Body, tokens: int) -> Body:
    """The body with a lower limit of output tokens, under the name that the user chose."""
    name = "max_completion_tokens" if "max_completion_tokens" in body else "max_tokens"
    return body | {name: min(tokens, find_max_tokens(body.get(name)))}


def _reply(choice: _Choice, completion: _Completion) -> Reply:
    message = choice.message
    text, refusal = _text(message)
    calls = tuple(
        ToolCall(call.function.name, arguments_text(call.function.arguments))
        for call in message.tool_calls or ()
    )
    usage = completion.usage if isinstance(completion.usage, dict) else {}
    return Reply(
        text=text or refusal,
        finish_reason=_finish(choice.finish_reason, refused=bool(refusal), called=bool(calls)),
        input_tokens=add_counts(usage.get("prompt_tokens")),
        output_tokens=add_counts(usage.get("completion_tokens")),
        tool_calls=calls,
        model=completion.model,
    )


def _text(message: _Message) -> tuple[str, str]:
    """The text and the refusal; the content may be one text or a list of parts."""
    content, refusal = message.content, message.refusal or ""
    if isinstance(content, str):
        return content, refusal
    said = [part.get("text") for part in content or ()]
    refused = [part.get("refusal") for part in content or ()]
    return (
        "".join(text for text in said if isinstance(text, str)),
        refusal or "".join(text for text in refused if isinstance(text, str)),
    )


def _finish(reason: str | None, *, refused: bool, called: bool) -> str | None:
    if refused:
        return "refusal"
    known = _FINISH.get(reason or "")
    # on some servers a forced call ends with "stop"
    return "tool_calls" if called and known in ("stop", None) else known


def _response_format(schema: JsonObject) -> msgspec.Raw:
    held = {"name": ANSWER_NAME, "strict": fits_strict_mode(schema), "schema": schema}
    return encode_raw({"type": "json_schema", "json_schema": held})


def _tools(tools: Sequence[Tool]) -> list[Body]:
    return [{"type": "function", "function": tool} for tool in tools]
