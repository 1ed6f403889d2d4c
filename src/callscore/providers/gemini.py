"""`gemini`: generateContent, of the Gemini API and of Vertex AI."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from callscore.core.case import JsonObject, Message, Prompt, Reply, ToolCall
from callscore.core.provider import AttemptFailed
from callscore.providers.wire_format import (
    BY_MODE,
    AnswerForm,
    Body,
    UnreadableResponse,
    add_counts,
    arguments_text,
    call_input,
    check_params,
    choose_forms,
    decode_response,
    find_max_tokens,
    forms_for,
    group_results,
    merge_params,
    merge_turns,
    rename_params,
    system_and_turns,
)

BASE_URL = "https://generativelanguage.googleapis.com/v1beta"
KEY_ENV = "GEMINI_API_KEY"

_RESERVED = frozenset(("contents", "systemInstruction", "tools", "candidateCount"))
_OUTSIDE_CONFIG = frozenset(
    ("safetySettings", "toolConfig", "cachedContent", "labels", "serviceTier")
)
"""Parameters outside of `generationConfig`."""
_OF_THE_FORM = frozenset(("responseJsonSchema", "responseMimeType", "responseSchema"))
_NAMES = {
    "max_tokens": "maxOutputTokens",
    "max_completion_tokens": "maxOutputTokens",
    "top_p": "topP",
    "top_k": "topK",
    "stop": "stopSequences",
}
_FINISH: Mapping[str, str] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "content_filter",
    "RECITATION": "content_filter",
    "LANGUAGE": "content_filter",
    "BLOCKLIST": "content_filter",
    "PROHIBITED_CONTENT": "content_filter",
    "SPII": "content_filter",
    # faults of the model: what it sent is scored, and not requested again as after an outage
    "MALFORMED_FUNCTION_CALL": "stop",
    "UNEXPECTED_TOOL_CALL": "stop",
    "TOO_MANY_TOOL_CALLS": "stop",
    "MALFORMED_RESPONSE": "stop",
}


class _FunctionCall(msgspec.Struct):
    name: str = ""
    args: Any = None


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    function_call: _FunctionCall | None = None


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Answer(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: Any = None
    model_version: str | None = None


_DECODER = msgspec.json.Decoder(_Answer)


class GenerateContent:
    """The wire format of `models/…:generateContent`."""

    kind = "gemini"
    limit_headers = None

    def __init__(self, params: JsonObject) -> None:
        forms, params = choose_forms(params, BY_MODE)
        checked = rename_params(check_params(params, _RESERVED), _NAMES)
        self._config = {key: value for key, value in checked.items() if key not in _OUTSIDE_CONFIG}
        self._outside_config = {k: v for k, v in checked.items() if k in _OUTSIDE_CONFIG}
        stop = self._config.get("stopSequences")
        if isinstance(stop, str):
            self._config["stopSequences"] = [stop]
        # the user has chosen the response format
        self._forms = forms[:1] if _OF_THE_FORM & self._config.keys() else forms

    def path(self, model: str) -> str:
        """The path below the base URL; a bare name is a public model."""
        name = model if "/" in model else f"models/{model}"
        return f"{quote(name, safe='/')}:generateContent"

    def forms(self, prompt: Prompt) -> Sequence[AnswerForm]:
        """The schema, else any JSON, else the prompt; with functions only the last."""
        return forms_for(prompt, self._forms)

    def body(self, prompt: Prompt, form: AnswerForm | None = None) -> Body:
        """The request body; the assistant is called `model` in this API."""
        system, turns = system_and_turns(prompt.messages)
        form = form or self.forms(prompt)[0]
        built: Body = {"contents": [_content(group) for group in group_results(merge_turns(turns))]}
        if system:
            built["systemInstruction"] = {"parts": [{"text": system}]}
        if prompt.tools:
            declared = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "parametersJsonSchema": tool.parameters,
                }
                for tool in prompt.tools
            ]
            built["tools"] = [{"functionDeclarations": declared}]
        config: Body = {}
        if form != "none":
            config["responseMimeType"] = "application/json"
        if form == "format":
            config["responseJsonSchema"] = prompt.schema
        built["generationConfig"] = merge_params(config, self._config) or None
        return merge_params(built, self._outside_config)

    def max_output_tokens(self, body: Body) -> int:
        """The most tokens that the reply to this request may have."""
        return find_max_tokens(self._config.get("maxOutputTokens"))

    def read(self, raw: bytes) -> Reply | AttemptFailed:
        """The first candidate, without the model's thoughts."""
        try:
            answer = decode_response(raw, _DECODER)
        except UnreadableResponse as fault:
            return AttemptFailed("unreadable", f"not a generateContent answer: {fault}")
        if not answer.candidates:
            return _read_refusal(answer)
        candidate = answer.candidates[0]
        parts = (candidate.content.parts if candidate.content else None) or ()
        calls = tuple(
            ToolCall(part.function_call.name, arguments_text(part.function_call.args))
            for part in parts
            if part.function_call is not None
        )
        text = "".join(part.text or "" for part in parts if not part.thought)
        finish = _FINISH.get(candidate.finish_reason or "")
        # this API reports STOP for calls, too
        if calls and finish == "stop":
            finish = "tool_calls"
        return Reply(text, finish, *_usage(answer), None, calls, answer.model_version)


def _content(group: Sequence[Message]) -> Body:
    """One turn; calls and the results of several tools are parts of it."""
    role = "model" if group[0].role == "assistant" else "user"
    return {"role": role, "parts": [part for message in group for part in _parts(message)]}


def _parts(message: Message) -> Iterator[Body]:
    if message.call is not None:
        response = {"name": message.call.name, "response": {"result": message.content}}
        yield {"functionResponse": response}
        return
    # a turn must have a part; calls are enough
    if message.content.strip() or not message.calls:
        yield {"text": message.content}
    for call in message.calls:
        yield {"functionCall": {"name": call.name, "args": call_input(call)}}


def _read_refusal(answer: _Answer) -> Reply | AttemptFailed:
    """No candidate: the prompt was blocked, or the response is invalid."""
    if answer.prompt_feedback is None or answer.prompt_feedback.block_reason is None:
        return AttemptFailed("unreadable", "an answer without candidates")
    return Reply("", "content_filter", *_usage(answer), None, (), answer.model_version)


def _usage(answer: _Answer) -> tuple[int | None, int | None]:
    """Input and output tokens; thoughts are billed as output."""
    reported = answer.usage_metadata if isinstance(answer.usage_metadata, dict) else {}
    return (
        add_counts(reported.get("promptTokenCount"), reported.get("toolUsePromptTokenCount")),
        add_counts(reported.get("candidatesTokenCount"), reported.get("thoughtsTokenCount")),
    )
