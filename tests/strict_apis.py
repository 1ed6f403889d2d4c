"""Stub servers that refuse what the current APIs refuse, with the same error messages.

They refuse forced tools, turns that do not alternate, a last turn of the assistant, sampling
parameters, open schemas, and models of another API. They answer everything else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stub_servers import (
    Answer,
    Json,
    Request,
    anthropic_message,
    chat_completion,
    converse_answer,
    gemini_answer,
)

ANSWER: Json = {"score": 4}
Refusal = Callable[[Request], str | None]


def _has_open_object(schema: Any) -> bool:
    """Whether a schema contains an object that is not closed."""
    if isinstance(schema, list):
        return any(_has_open_object(part) for part in schema)
    if not isinstance(schema, dict):
        return False
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        return True
    return any(_has_open_object(part) for part in schema.values())


def _find_role_problem(turns: Sequence[Mapping[str, Any]], assistant: str) -> str | None:
    roles = [turn["role"] for turn in turns]
    if roles[0] != "user":
        return "A conversation must start with a user message."
    if any(first == second for first, second in zip(roles, roles[1:], strict=False)):
        return f"roles must alternate between user and {assistant}"
    if roles[-1] != "user":
        return "The conversation must end with a user message."
    return None


def strict_anthropic(request: Request, *, takes_format: bool = True) -> Answer:
    """A current Claude model; with `takes_format=False` one without structured output."""
    body, version = request.json, request.headers["anthropic-version"]
    problem = _find_role_problem(body["messages"], "assistant")
    for name in ("temperature", "top_p", "top_k"):
        if name in body and version >= "2026":
            problem = f"{name}: Extra inputs are not permitted"
    held = body.get("output_config", {}).get("format")
    if held is not None and not takes_format:
        problem = "output_config.format: Extra inputs are not permitted"
    elif held is not None and _has_open_object(held["schema"]):
        problem = (
            "output_config.format.schema: For 'object' type, 'additionalProperties' must be "
            "explicitly set to false"
        )
    if body.get("tool_choice", {}).get("type") in ("tool", "any"):
        problem = 'tool_choice: type "tool" and "any" are not supported for this model.'
    if problem:
        error = {"type": "invalid_request_error", "message": problem}
        return Answer({"type": "error", "error": error}, 400)
    return Answer(anthropic_message([{"type": "text", "text": json.dumps(ANSWER)}]))


def strict_converse(request: Request) -> Answer:
    """A current Claude model on Bedrock."""
    body = request.json
    problem = _find_role_problem(body["messages"], "assistant")
    if "toolChoice" in body.get("toolConfig", {}):
        problem = "The model returned the following errors: tool_choice: type is not supported."
    held = body.get("outputConfig", {}).get("textFormat")
    if held and _has_open_object(json.loads(held["structure"]["jsonSchema"]["schema"])):
        problem = "The JSON schema of outputConfig.textFormat is not supported."
    if problem:
        return Answer(
            {"message": problem}, 400, {"x-amzn-errortype": "ValidationException:http://internal"}
        )
    return Answer(converse_answer([{"text": json.dumps(ANSWER)}]))


def strict_gemini(request: Request) -> Answer:
    """A current Gemini model."""
    body = request.json
    problem = _find_role_problem(body["contents"], "model")
    if body["contents"][-1]["role"] != "user":
        problem = "Requests ending with a model turn are not supported."
    if problem:
        error = {"code": 400, "message": problem, "status": "INVALID_ARGUMENT"}
        return Answer({"error": error}, 400)
    return Answer(gemini_answer([{"text": json.dumps(ANSWER)}]))


def response(text: str = json.dumps(ANSWER), *, status: str = "completed", **more: Any) -> Json:
    """An answer of `/responses`."""
    said = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed"}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "model": "stub-2026-01-01",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {**message, "content": [said]},
        ],
        "usage": {"input_tokens": 11, "output_tokens": 7, "total_tokens": 18},
        **more,
    }


def responses_only(request: Request) -> Answer:
    """OpenAI, for a model that it offers only in the Responses API."""
    if request.path.endswith("/chat/completions"):
        message = "This model is only supported in v1/responses and not in v1/chat/completions."
        return Answer(_openai_error(message, "model"), 404)
    if "messages" in request.json:
        return Answer(_openai_error("Unsupported parameter: 'messages'.", "messages"), 400)
    return Answer(response())


def strict_template(request: Request) -> Answer:
    """A local model whose chat template requires alternating roles."""
    turns = [turn for turn in request.json["messages"] if turn["role"] != "system"]
    roles = [turn["role"] for turn in turns]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"] * (len(roles) % 2):
        message = "Conversation roles must alternate user/assistant/user/assistant/..."
        return Answer(_openai_error(message, "messages"), 500)
    return Answer(chat_completion(json.dumps(ANSWER)))


def without_schemas(request: Request) -> Answer:
    """A compatible server with JSON mode, but without schemas."""
    if request.json.get("response_format", {}).get("type") == "json_schema":
        message = "This response_format type is unavailable now"
        return Answer(_openai_error(message, "response_format"), 400)
    return Answer(chat_completion(json.dumps(ANSWER)))


def _openai_error(message: str, param: str) -> Json:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": None}
    return {"error": error}
