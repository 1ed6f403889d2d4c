"""`bedrock`: the Converse API, with an API key or signed requests."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from callscore.core.case import JsonObject, Message, Prompt, Reply
from callscore.core.errors import ConfigError, MissingExtra
from callscore.core.provider import AttemptFailed
from callscore.providers.http_provider import Authorise
from callscore.providers.secrets import excerpt
from callscore.providers.wire_format import (
    ANSWER_NAME,
    ANSWER_TOOL,
    ANSWER_TOOL_DESCRIPTION,
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

KEY_ENV = "AWS_BEARER_TOKEN_BEDROCK"

_RESERVED = frozenset(("modelId", "messages", "system", "toolConfig"))
_INFERENCE = frozenset(("maxTokens", "temperature", "topP", "stopSequences"))
_OUTSIDE_CONFIG = frozenset(
    (
        "additionalModelRequestFields",
        "additionalModelResponseFieldPaths",
        "guardrailConfig",
        "outputConfig",
        "performanceConfig",
        "promptVariables",
        "requestMetadata",
        "serviceTier",
    )
)
_NAMES = {
    "max_tokens": "maxTokens",
    "max_completion_tokens": "maxTokens",
    "top_p": "topP",
    "stop": "stopSequences",
}
_STOP: Mapping[str, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    # faults of the model: what it sent is scored, and not requested again as after an outage
    "malformed_model_output": "stop",
    "malformed_tool_use": "stop",
}


class _ToolUse(msgspec.Struct):
    name: str = ""
    input: Any = None


class _Block(msgspec.Struct, rename="camel"):
    text: str | None = None
    tool_use: _ToolUse | None = None


class _Message(msgspec.Struct):
    content: list[_Block]


class _Output(msgspec.Struct):
    message: _Message


class _Answer(msgspec.Struct, rename="camel"):
    output: _Output
    stop_reason: str | None = None
    usage: Any = None


_DECODER = msgspec.json.Decoder(_Answer)


class Converse:
    """The wire format of `/model/…/converse`."""

    kind = "bedrock"
    limit_headers = None

    def __init__(self, params: JsonObject) -> None:
        forms, params = choose_forms(params, BY_TOOL)
        self._forms = SchemaCache(lambda schema: without_format(forms, schema))
        checked = rename_params(check_params(params, _RESERVED), _NAMES)
        self._inference = {k: v for k, v in checked.items() if k in _INFERENCE}
        self._outside_config = {k: v for k, v in checked.items() if k in _OUTSIDE_CONFIG}
        # what only one family of models knows has a place of its own in this API
        own = {k: v for k, v in checked.items() if k not in _INFERENCE | _OUTSIDE_CONFIG}
        if own:
            fields = self._outside_config.get("additionalModelRequestFields") or {}
            self._outside_config["additionalModelRequestFields"] = {**fields, **own}

    def path(self, model: str) -> str:
        """The path below the base URL; a model may be an ARN, so its slashes are quoted."""
        return f"model/{quote(model, safe='')}/converse"

    def forms(self, prompt: Prompt) -> Sequence[AnswerForm]:
        """The output format, else a tool, else the prompt."""
        return forms_for(prompt, self._forms(prompt.schema) if prompt.schema is not None else ())

    def body(self, prompt: Prompt, form: AnswerForm | None = None) -> Body:
        """The request body."""
        system, turns = system_and_turns(prompt.messages)
        form = form or self.forms(prompt)[0]
        built: Body = {"messages": [_turn(group) for group in group_results(merge_turns(turns))]}
        if system:
            built["system"] = [{"text": system}]
        if self._inference:
            built["inferenceConfig"] = merge_params({}, self._inference)
        built |= _tools(prompt, form)
        if prompt.schema is not None and form == "format":
            built["outputConfig"] = {"textFormat": _text_format(prompt.schema)}
        return merge_params(built, self._outside_config)

    def max_output_tokens(self, body: Body) -> int:
        """The most tokens that the reply to this request may have."""
        return find_max_tokens(self._inference.get("maxTokens"))

    def read(self, raw: bytes) -> Reply | AttemptFailed:
        """The text blocks joined; the input of the answer tool counts as text."""
        try:
            answer = decode_response(raw, _DECODER)
        except UnreadableResponse as fault:
            return AttemptFailed("unreadable", f"not a Converse answer: {fault}")
        blocks = answer.output.message.content
        text = "".join(block.text or "" for block in blocks)
        uses = [(b.tool_use.name, b.tool_use.input) for b in blocks if b.tool_use is not None]
        text, finish, calls = split_answer_tool(text, _STOP.get(answer.stop_reason or ""), uses)
        usage = answer.usage if isinstance(answer.usage, dict) else {}
        cached = (usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens"))
        tokens_in = add_counts(usage.get("inputTokens"), *cached)
        return Reply(text, finish, tokens_in, add_counts(usage.get("outputTokens")), None, calls)


def _tools(prompt: Prompt, form: AnswerForm) -> Body:
    if prompt.tools:
        tools = [_tool(t.name, t.description, t.parameters) for t in prompt.tools]
        return {"toolConfig": {"tools": tools}}
    if prompt.schema is None or form not in ("tool", "auto"):
        return {}
    config: Body = {"tools": [_tool(ANSWER_TOOL, ANSWER_TOOL_DESCRIPTION, prompt.schema)]}
    if form == "tool":
        config["toolChoice"] = {"tool": {"name": ANSWER_TOOL}}
    return {"toolConfig": config}


def _turn(group: Sequence[Message]) -> Body:
    """One turn; calls and the results of several tools are blocks of it."""
    role = "assistant" if group[0].role == "assistant" else "user"
    return {"role": role, "content": [block for message in group for block in _blocks(message)]}


def _blocks(message: Message) -> Iterator[Body]:
    if message.call is not None:
        result = {"toolUseId": message.call.id, "content": [{"text": message.content}]}
        yield {"toolResult": result}
        return
    # blank text blocks are refused
    if message.content.strip() or not message.calls:
        yield {"text": message.content}
    for call in message.calls:
        yield {"toolUse": {"toolUseId": call.id, "name": call.name, "input": call_input(call)}}


def _tool(name: str, description: str, parameters: JsonObject) -> Body:
    spec = {"name": name, "description": description, "inputSchema": {"json": parameters}}
    return {"toolSpec": spec}


def _text_format(schema: JsonObject) -> Body:
    """This API takes the schema as text."""
    text = msgspec.json.encode(without_bounds(schema)).decode()
    structure = {"jsonSchema": {"schema": text, "name": ANSWER_NAME}}
    return {"type": "json_schema", "structure": structure}


SERVICE = "bedrock"
_CONTENT = {"content-type": "application/json"}


def signer(url: str, region: str, environment: Mapping[str, str]) -> Authorise:
    """Headers that sign a body for a URL, with credentials from the environment or the AWS
    chain.
    """
    credentials = _credentials(environment)
    auth, requests, exceptions = (_botocore(n) for n in ("auth", "awsrequest", "exceptions"))

    def sign(body: bytes) -> Mapping[str, str] | AttemptFailed:
        request = requests.AWSRequest("POST", url, data=body, headers=_CONTENT)
        try:
            frozen = credentials.get_frozen_credentials()
        except exceptions.BotoCoreError as error:
            return AttemptFailed("unauthorised", f"AWS credentials: {excerpt(str(error))}")
        auth.SigV4Auth(frozen, SERVICE, region).add_auth(request)
        return dict(request.headers.items())

    async def authorise(body: bytes) -> Mapping[str, str] | AttemptFailed:
        # temporary credentials are renewed over the network, which must not block the loop
        return await asyncio.to_thread(sign, body)

    return authorise


def _credentials(environment: Mapping[str, str]) -> Any:
    access = environment.get("AWS_ACCESS_KEY_ID")
    secret, token = environment.get("AWS_SECRET_ACCESS_KEY"), environment.get("AWS_SESSION_TOKEN")
    if access and secret:
        return _botocore("credentials").Credentials(access, secret, token)
    try:
        found = _botocore("session").Session().get_credentials()
    except _botocore("exceptions").BotoCoreError as error:
        raise ConfigError(f"AWS credentials: {excerpt(str(error))}") from None
    if found is None:
        raise ConfigError("no AWS credentials found: environment, ~/.aws or instance role")
    return found


def _botocore(module: str) -> Any:
    try:
        return importlib.import_module(f"botocore.{module}")
    except ImportError:
        raise MissingExtra(
            "signing requests for Bedrock needs botocore: pip install 'callscore[bedrock]' "
            "(or give a Bedrock API key in AWS_BEARER_TOKEN_BEDROCK)"
        ) from None
