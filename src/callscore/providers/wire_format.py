"""What differs between model APIs, and what their request builders share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

import msgspec

from callscore.core import strict_json
from callscore.core.case import JsonObject, Message, Prompt, Reply, SentCall, ToolCall
from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed, ProviderRequest
from callscore.providers.rate_limit_headers import LimitHeaders

if TYPE_CHECKING:
    from yarl import URL

ASSUMED_MAX_OUTPUT_TOKENS = 8_192
"""Sent if an API requires a maximum; assumed for limits and budgets if none is declared."""
ANSWER_NAME = "answer"
"""The name of the answer's schema."""
ANSWER_TOOL = "record_the_answer"
"""The tool that carries an answer if only a tool's input can be held to a schema."""
ANSWER_TOOL_DESCRIPTION = "Records the answer; call it once."
MOST_SCHEMAS_KEPT = 64
"""A case with a form has a schema of its own; other prompts of a run share a few."""
MOST_TOKENS = 100_000_000
"""No request has more; a larger count is an error of the server and treated as unknown."""

_NEVER_A_PARAMETER = frozenset(("api_key", "apikey", "api-key", "authorization", "headers"))

AnswerForm = Literal["format", "json", "tool", "auto", "none"]
"""How an answer is held to its schema.

format   by the API's own structured output
json     the API promises JSON, the prompt says which
tool     by a tool that the model must call
auto     by a tool that the model may call
none     by the prompt alone
"""
BY_TOOL: Sequence[AnswerForm] = ("format", "tool", "auto", "none")
BY_MODE: Sequence[AnswerForm] = ("format", "json", "none")
"""The forms to request, best first: if an API refuses one, the next is tried."""
STRUCTURED = "structured_output"
BEGIN, CONTINUE = "Begin.", "Continue."
"""The user message for an API that requires the user to speak first or last."""

Body = dict[str, Any]
T = TypeVar("T")


class WireFormat(Protocol):
    """One API: pure functions from a prompt to a body and from a body to a reply."""

    kind: str

    @property
    def limit_headers(self) -> LimitHeaders | None:
        """The names of the API's rate-limit headers, if it has any."""
        ...

    def path(self, model: str) -> str:
        """The path below the base URL."""
        ...

    def forms(self, prompt: Prompt) -> Sequence[AnswerForm]:
        """How the schema of a prompt can be enforced, best first."""
        ...

    def body(self, prompt: Prompt, form: AnswerForm | None = None) -> Body:
        """The request body, in the best form unless another is given."""
        ...

    def max_output_tokens(self, body: Body) -> int:
        """The most tokens that the reply to this request may have."""
        ...

    def read(self, raw: bytes) -> Reply | AttemptFailed:
        """The reply in a response with status 200."""
        ...


def check_params(params: JsonObject, reserved: frozenset[str]) -> JsonObject:
    """The user's parameters in a fixed order, so that the order in a config does not change the
    cache key.
    """
    for name in params:
        if name.lower() in _NEVER_A_PARAMETER:
            raise ConfigError(f"params.{name}: a key belongs in the environment: api_key_env")
        if name in reserved:
            raise ConfigError(f"params.{name}: set by callscore itself; leave it out")
    return dict(sorted(params.items()))


def merge_params(built: Body, params: Mapping[str, Any]) -> Body:
    """The request with the user's parameters on top; null removes a field."""
    return {key: value for key, value in (built | dict(params)).items() if value is not None}


def rename_params(params: Mapping[str, Any], names: Mapping[str, str]) -> Body:
    """The parameters under this API's names."""
    return {names.get(key, key): value for key, value in params.items()}


def choose_forms(
    params: JsonObject, ladder: Sequence[AnswerForm]
) -> tuple[Sequence[AnswerForm], JsonObject]:
    """The forms from the user's choice on, and the parameters without that choice."""
    chosen = params.get(STRUCTURED, ladder[0])
    if chosen not in ladder:
        expected = f"{', '.join(ladder[:-1])} or {ladder[-1]}"
        raise ConfigError(f"params.{STRUCTURED}: {chosen!r}; expected {expected}")
    rest = {key: value for key, value in params.items() if key != STRUCTURED}
    return ladder[ladder.index(chosen) :], rest


def forms_for(prompt: Prompt, forms: Sequence[AnswerForm]) -> Sequence[AnswerForm]:
    """The forms for a prompt: only a schema without tools can be enforced."""
    return forms if prompt.schema is not None and not prompt.tools else ("none",)


def without_format(forms: Sequence[AnswerForm], schema: JsonObject) -> Sequence[AnswerForm]:
    """The forms for a schema, without an output format that is known to refuse it."""
    return forms if fits_output_format(schema) else tuple(f for f in forms if f != "format")


def system_and_turns(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """System messages as one text, and the turns, for APIs that separate them."""
    system = [message.content for message in messages if message.role == "system"]
    turns = [message for message in messages if message.role != "system"]
    return "\n\n".join(system), turns


def merge_turns(turns: Sequence[Message]) -> Sequence[Message]:
    """The turns for APIs that require alternating roles, the user first and last."""
    merged_turns: list[Message] = []
    for turn in turns:
        if is_of_tool(turn):
            merged_turns.append(turn)
            continue
        if not turn.content.strip():
            continue
        if merged_turns and merged_turns[-1].role == turn.role and not is_of_tool(merged_turns[-1]):
            before = merged_turns.pop().content
            turn = Message(turn.role, f"{before}\n\n{turn.content}")
        merged_turns.append(turn)
    if not merged_turns or merged_turns[0].role != "user":
        merged_turns.insert(0, Message("user", BEGIN))
    if merged_turns[-1].role == "assistant":
        merged_turns.append(Message("user", CONTINUE))
    return merged_turns


def is_of_tool(message: Message) -> bool:
    """Whether a message has calls of tools, or the result of one."""
    return bool(message.calls) or message.call is not None


def group_results(turns: Sequence[Message]) -> list[list[Message]]:
    """The turns one by one, and the results of tools that follow each other together."""
    groups: list[list[Message]] = []
    for turn in turns:
        if turn.call is not None and groups and groups[-1][0].call is not None:
            groups[-1].append(turn)
        else:
            groups.append([turn])
    return groups


def call_input(call: SentCall) -> JsonObject:
    """The arguments of a call as an object, for APIs that take no text; empty if they are none."""
    try:
        value = msgspec.json.decode(call.arguments)
    except msgspec.DecodeError:
        return {}
    return value if isinstance(value, dict) else {}


def in_turns(messages: Sequence[Message]) -> Sequence[Message]:
    """One system message, then alternating turns."""
    system, turns = system_and_turns(messages)
    first = [Message("system", system)] if system else []
    return [*first, *merge_turns(turns)]


def find_max_tokens(*values: object) -> int:
    """The first declared maximum of output tokens, or the default."""
    for value in values:
        if isinstance(value, int) and value > 0:
            return value
    return ASSUMED_MAX_OUTPUT_TOKENS


class SchemaCache(Generic[T]):
    """A cached function of a schema, by its JSON: prompts may have equal schemas of their own."""

    def __init__(self, work_out: Callable[[JsonObject], T]) -> None:
        self._work_out = work_out
        self._kept: dict[bytes, T] = {}
        self._newest: tuple[JsonObject, T] | None = None
        """The last schema and its result; it is kept, so that no other has its identity."""

    def __call__(self, schema: JsonObject) -> T:
        """The result for a schema, from the cache if it was there before."""
        if self._newest is not None and self._newest[0] is schema:
            return self._newest[1]
        key = msgspec.json.encode(schema)
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= MOST_SCHEMAS_KEPT:
                self._kept.clear()
            kept = self._kept[key] = self._work_out(schema)
        self._newest = schema, kept
        return kept


def encode_raw(value: object) -> msgspec.Raw:
    """JSON that is inserted into a request unchanged."""
    return msgspec.Raw(msgspec.json.encode(value))


class UnreadableResponse(ValueError):
    """A body that violates the protocol."""


def decode_response(raw: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """The response as a struct; a lone surrogate in the model's text is replaced."""
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        value = strict_json.decode(raw, max_bytes=len(raw)).value
        return msgspec.convert(value, decoder.type)
    except (strict_json.JsonFault, msgspec.ValidationError) as fault:
        raise UnreadableResponse(str(fault)) from None


def add_counts(*counts: object) -> int | None:
    """The sum of the reported counts; None if none is reported, or one is invalid."""
    reported = [count for count in counts if count is not None]
    total = 0
    for count in reported:
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            return None
        total += count
    return total if reported and total <= MOST_TOKENS else None


def split_answer_tool(
    text: str, finish: str | None, uses: Sequence[tuple[str, object]]
) -> tuple[str, str | None, tuple[ToolCall, ...]]:
    """Text, finish reason and calls of real tools; the input of the answer tool is the text."""
    carried = next((arguments_text(value) for name, value in uses if name == ANSWER_TOOL), None)
    calls = (ToolCall(name, arguments_text(value)) for name, value in uses if name != ANSWER_TOOL)
    if carried is not None:
        text, finish = carried, "stop" if finish == "tool_calls" else finish
    return text, finish, tuple(calls)


def arguments_text(arguments: object) -> str:
    """The arguments of a call as text: as written, or the JSON of an object."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else msgspec.json.encode(arguments).decode()


KEY_BYTES = 32
BYTES_A_TOKEN_ASCII = 4
BYTES_A_TOKEN_OTHER = 3
"""For estimates before sending: text in other scripts takes more tokens per byte."""


class Requests:
    """Builds requests in a wire format. It needs neither an API key nor a connection."""

    def __init__(self, model: str, wire_format: WireFormat, url: URL) -> None:
        self._model = model
        self._dialect = wire_format
        # Host, path and query: the part of the address that identifies the model.
        address = f"{url.host_port_subcomponent or ''}{url.raw_path_qs}"
        self._identity = "\0".join((wire_format.kind, address, model, "")).encode()

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The request for a prompt, with the cache key."""
        fields = self._dialect.body(prompt)
        body = msgspec.json.encode(fields)
        key = blake2b(self._identity, digest_size=KEY_BYTES)
        key.update(body)
        key.update(b"\0%d" % repeat)
        return ProviderRequest(
            key.digest(),
            self._model,
            body,
            estimate_tokens(body),
            self._dialect.max_output_tokens(fields),
            prompt,
        )


def estimate_tokens(body: bytes) -> int:
    """About four bytes per token in ASCII text, three otherwise; an estimate, not for the cost."""
    return len(body) // (BYTES_A_TOKEN_ASCII if body.isascii() else BYTES_A_TOKEN_OTHER) + 1


_BOUNDS = frozenset(
    (
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
    )
)
_OF_SCHEMAS = ("properties", "$defs", "definitions")
"""Keywords whose value maps names to schemas."""
_UNSUPPORTED = frozenset(("allOf", "not", "if", "oneOf", "patternProperties", "dependentSchemas"))
_OF_PARTS = _UNSUPPORTED.union(_OF_SCHEMAS, ("required", "items", "anyOf"))
"""Keywords that a schema of a plain value does not have."""


def fits_strict_mode(schema: JsonObject) -> bool:
    """Whether strict mode accepts the schema: every object closed, every property required.

    Providers refuse a request with any other schema, so such a schema is sent as a hint.
    """
    return schema.get("type") == "object" and _fits(schema, requires_all=True)


def fits_output_format(schema: JsonObject) -> bool:
    """Whether an output format accepts the schema, bounds aside: every object closed."""
    return schema.get("type") == "object" and _fits(schema)


def without_bounds(schema: Any) -> Any:
    """The schema without limits on values and lengths, which an output format would refuse."""
    if isinstance(schema, list):
        return [without_bounds(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: _without_bounds_of_members(value) if key in _OF_SCHEMAS else without_bounds(value)
        for key, value in schema.items()
        if key not in _BOUNDS
    }


def _without_bounds_of_members(members: Any) -> Any:
    """The same for schemas by name; a name may equal that of a bound."""
    if not isinstance(members, Mapping):
        return members
    return {name: without_bounds(inner) for name, inner in members.items()}


def _fits(part: Mapping[str, Any], *, requires_all: bool = False) -> bool:
    """Whether every object in a schema is closed, and requires all its properties."""
    if _OF_PARTS.isdisjoint(part) and part.get("type") != "object":
        return True
    if not _UNSUPPORTED.isdisjoint(part):
        return False
    properties = part.get("properties", ())
    is_object = part.get("type") == "object" or "properties" in part
    if is_object and part.get("additionalProperties") is not False:
        return False
    if requires_all and set(part.get("required", ())) != set(properties):
        return False
    inner = [part.get("items"), *(part.get("anyOf") or ())]
    for name in _OF_SCHEMAS:
        inner += (part.get(name) or {}).values()
    return all(
        _fits(each, requires_all=requires_all)
        for each in inner
        if isinstance(each, (dict, Mapping))
    )
