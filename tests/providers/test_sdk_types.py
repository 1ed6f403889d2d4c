"""Every request is one that the vendor's own SDK could have sent: its types are the authority.

All tasks with their real schemas and tools, in every form that is tried; the SDKs are development
dependencies, and what is not installed is skipped. botocore knows the Converse API as data.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest

from calls_suite import tasks
from callscore.core.case import Case, Message, Prompt, Tool
from callscore.providers.anthropic import VERSIONS, Messages
from callscore.providers.bedrock import Converse
from callscore.providers.gemini import GenerateContent
from callscore.providers.openai import ChatCompletions
from callscore.providers.responses import Responses
from callscore.providers.wire_format import WireFormat
from callscore.runner.preflight import JUDGE_PROMPT, PROMPT, small_prompt
from callscore.suites.calls.spec import make_settings
from stub_servers import Json

MODEL = "stub-1"
TOOL = Tool(
    "get_weather",
    "The weather of a city.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
)
HISTORY = (
    Message("system", "Plan the work."),
    Message("assistant", "workflow_1: …"),
    Message("user", "one"),
    Message("user", "two"),
    Message("assistant", "a result"),
    Message("assistant", "another"),
)
CONFIG: Json = {"required_fields": ["name", "issue"], "emotions": None, "keywords": ["refund"]}


def _task_prompts() -> Iterator[tuple[str, Prompt]]:
    for name, task in tasks(make_settings()).items():
        yield name, task.prompt(Case("c", name, "hello", CONFIG, {}))


PROMPTS: dict[str, Prompt] = {
    **dict(_task_prompts()),
    "open text": Prompt(PROMPT.messages, {"type": "object", "additionalProperties": {}}),
    "judge": JUDGE_PROMPT,
    "planner": Prompt(HISTORY),
    "agent": Prompt((*HISTORY, Message("user", "go")), tools=[TOOL]),
    "preflight": PROMPT,
    "preflight of an agent": small_prompt(Prompt(HISTORY, tools=[TOOL])),
}
DIALECTS: dict[str, WireFormat] = {
    "chat": ChatCompletions(
        MODEL, {"temperature": 0, "max_completion_tokens": 99, "stop": ["X"], "seed": 7}
    ),
    "responses": Responses(
        MODEL,
        {"temperature": 0, "max_tokens": 99, "reasoning_effort": "low", "verbosity": "low"},
    ),
    "messages": Messages(
        MODEL, {"max_tokens": 99, "stop": ["X"], "output_config": {"effort": "low"}}, VERSIONS[-1]
    ),
    "generateContent": GenerateContent(
        {"temperature": 0, "max_tokens": 99, "top_k": 5, "stop": "X"}
    ),
    "converse": Converse({"temperature": 0, "max_tokens": 99, "top_k": 5, "stop": ["X"]}),
}


def requests(wire_format: WireFormat) -> Iterator[Json]:
    """Every prompt in every form, as it travels."""
    for prompt in PROMPTS.values():
        for form in wire_format.forms(prompt):
            yield msgspec.json.decode(msgspec.json.encode(wire_format.body(prompt, form)))


@cache
def module(name: str) -> Any:
    """A part of an SDK; the test is skipped where it is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, not ours
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            pytest.skip(f"{name} is not installed")


def typed(name: str, kind: str, body: Json) -> list[str]:
    # here, because it needs what comes with the SDKs
    from typed_values import type_errors

    return type_errors(body, getattr(module(name), kind))


def test_chat_completions_are_those_of_the_openai_sdk() -> None:
    kind = ("openai.types.chat.completion_create_params", "CompletionCreateParamsNonStreaming")
    module(kind[0])
    assert [fault for body in requests(DIALECTS["chat"]) for fault in typed(*kind, body)] == []


def test_responses_are_those_of_the_openai_sdk() -> None:
    kind = ("openai.types.responses.response_create_params", "ResponseCreateParamsNonStreaming")
    module(kind[0])
    assert [fault for body in requests(DIALECTS["responses"]) for fault in typed(*kind, body)] == []


def test_messages_are_those_of_the_anthropic_sdk() -> None:
    kind = ("anthropic.types.message_create_params", "MessageCreateParamsNonStreaming")
    module(kind[0])
    assert [fault for body in requests(DIALECTS["messages"]) for fault in typed(*kind, body)] == []
    version = module("anthropic._constants").ANTHROPIC_API_VERSION
    assert version in VERSIONS
    (sampled,) = typed(*kind, {**Messages(MODEL, {"temperature": 0}).body(PROMPT), "messages": []})
    assert "temperature is unknown" in sampled


def test_generate_content_is_that_of_the_google_sdk() -> None:
    types = module("google.genai.types")
    parts = {
        "contents": types.Content,
        "tools": types.Tool,
        "systemInstruction": types.Content,
        "generationConfig": types.GenerationConfig,
    }
    for body in requests(DIALECTS["generateContent"]):
        assert body.keys() <= parts.keys()
        for name, value in body.items():
            for item in value if isinstance(value, list) else [value]:
                parts[name].model_validate(item)


def test_converse_is_that_of_the_service_model() -> None:
    session = module("botocore.session").Session()
    operation = session.get_service_model("bedrock-runtime").operation_model("Converse")
    validator = module("botocore.validate").ParamValidator()
    for body in requests(DIALECTS["converse"]):
        report = validator.validate({"modelId": MODEL, **body}, operation.input_shape)
        assert not report.has_errors(), report.generate_report()


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"model": "m"}, "lacks messages"),
        ({"model": "m", "messages": [], "nonsense": 1}, "nonsense is unknown"),
        ({"model": "m", "messages": [{"role": "user"}]}, "lacks content"),
        ({"model": "m", "messages": [{"role": "robot", "content": "x"}]}, "robot"),
        ({"model": "m", "messages": [], "temperature": "hot"}, "'hot'"),
    ],
)
def test_the_types_can_be_broken(value: Json, fault: str) -> None:
    kind = ("openai.types.chat.completion_create_params", "CompletionCreateParamsNonStreaming")
    module(kind[0])
    assert any(fault in found for found in typed(*kind, value))
