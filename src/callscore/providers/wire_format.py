"""What differs between model APIs, and what all of them share when a request is built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from callscore.core import strict_json
from callscore.core.case import JsonObject, Message, Prompt, Reply, ToolCall
from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed
from callscore.providers.rate_limit_headers import LimitHeaders
from callscore.providers.schemas import fits_output_format

ASSUMED_MAX_OUTPUT_TOKENS = 8_192
"""Sent where an API demands a maximum, assumed for limits and budgets where none is declared."""
ANSWER_NAME = "answer"
"""What the answer's schema is called."""
CARRIER = "record_the_answer"
"""The tool that carries an answer where only a tool's input can be held to a schema."""
CARRIER_DESCRIPTION = "Records the answer; call it once."
MOST_SCHEMAS_KEPT = 64
MOST_TOKENS = 100_000_000
"""No request has more; a larger count is a mistake of the server, and unknown is the right word."""

_NEVER_A_PARAMETER = frozenset(("api_key", "apikey", "api-key", "authorization", "headers"))

AnswerForm = Literal["format", "json", "tool", "auto", "none"]
"""How an answer is held to its schema.

format   by the API's own structured output
json     the API promises JSON, the prompt says which
tool     by a tool that the model must call
auto     by a tool that the model may call
none     by the words of the prompt alone
"""
BY_TOOL: Sequence[AnswerForm] = ("format", "tool", "auto", "none")
BY_MODE: Sequence[AnswerForm] = ("format", "json", "none")
"""What an API is asked for, the best first: where it refuses one form, the next is tried."""
STRUCTURED = "structured_output"
BEGIN, CONTINUE = "Begin.", "Continue."
"""What the user says where an API wants the user to have the first or the last word."""

Body = dict[str, Any]
T = TypeVar("T")


class Dialect(Protocol):
    """One API: the pure functions from a prompt to a body and from a body to a reply."""

    kind: str

    @property
    def limit_headers(self) -> LimitHeaders | None:
        """Under which names the API tells what is left of its limits, if it does."""
        ...

    def path(self, model: str) -> str:
        """What follows the base URL."""
        ...

    def forms(self, prompt: Prompt) -> Sequence[AnswerForm]:
        """How the answer to a prompt may be held to its schema, the best first."""
        ...

    def body(self, prompt: Prompt, form: AnswerForm | None = None) -> Body:
        """The request, in the best form unless told otherwise."""
        ...

    def max_output_tokens(self, body: Body) -> int:
        """The most that the answer to this request may hold."""
        ...

    def read(self, raw: bytes) -> Reply | AttemptFailed:
        """The reply inside an answer with status 200."""
        ...


def checked_params(params: JsonObject, reserved: frozenset[str]) -> JsonObject:
    """The user's parameters in one order, so that the order in a config changes no key."""
    for name in params:
        if name.lower() in _NEVER_A_PARAMETER:
            raise ConfigError(f"params.{name}: a key belongs in the environment: api_key_env")
        if name in reserved:
            raise ConfigError(f"params.{name}: set by callscore itself; leave it out")
    return dict(sorted(params.items()))


def merged(built: Body, params: Mapping[str, Any]) -> Body:
    """The request with the user's parameters on top; a null parameter removes its field."""
    return {key: value for key, value in (built | dict(params)).items() if value is not None}


def renamed(params: Mapping[str, Any], names: Mapping[str, str]) -> Body:
    """The parameters under the names that this API has for them."""
    return {names.get(key, key): value for key, value in params.items()}


def chosen_forms(
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
    """The forms for a prompt: only a schema without tools beside it is held by any."""
    return forms if prompt.schema is not None and not prompt.tools else ("none",)


def without_format(forms: Sequence[AnswerForm], schema: JsonObject) -> Sequence[AnswerForm]:
    """The forms for a schema: an output format that is known to refuse it is not tried."""
    return forms if fits_output_format(schema) else tuple(f for f in forms if f != "format")


def system_and_turns(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """System messages as one text, and the rest, for APIs that keep them apart."""
    system = [message.content for message in messages if message.role == "system"]
    turns = [message for message in messages if message.role != "system"]
    return "\n\n".join(system), turns


def alternating(turns: Sequence[Message]) -> Sequence[Message]:
    """The turns as APIs demand that take one of each role in turn, the user first and last."""
    merged_turns: list[Message] = []
    for turn in turns:
        if not turn.content.strip():
            continue
        if merged_turns and merged_turns[-1].role == turn.role:
            before = merged_turns.pop().content
            turn = Message(turn.role, f"{before}\n\n{turn.content}")
        merged_turns.append(turn)
    if not merged_turns or merged_turns[0].role != "user":
        merged_turns.insert(0, Message("user", BEGIN))
    if merged_turns[-1].role != "user":
        merged_turns.append(Message("user", CONTINUE))
    return merged_turns


def in_turns(messages: Sequence[Message]) -> Sequence[Message]:
    """System messages as one, then the turns, alternating."""
    system, turns = system_and_turns(messages)
    first = [Message("system", system)] if system else []
    return [*first, *alternating(turns)]


def declared_max(*values: object) -> int:
    """The first declared maximum of output tokens, or the assumed one."""
    for value in values:
        if isinstance(value, int) and value > 0:
            return value
    return ASSUMED_MAX_OUTPUT_TOKENS


class PerSchema(Generic[T]):
    """Something that follows from a schema, worked out once per schema."""

    def __init__(self, work_out: Callable[[JsonObject], T]) -> None:
        self._work_out = work_out
        self._kept: dict[int, tuple[JsonObject, T]] = {}

    def __call__(self, schema: JsonObject) -> T:
        """What follows; the schema itself is kept too, so that its id stays its own."""
        kept = self._kept.get(id(schema))
        if kept is not None:
            return kept[1]
        if len(self._kept) >= MOST_SCHEMAS_KEPT:
            self._kept.clear()
        result = self._work_out(schema)
        self._kept[id(schema)] = (schema, result)
        return result


def encoded(value: object) -> msgspec.Raw:
    """JSON that goes into a request as it is."""
    return msgspec.Raw(msgspec.json.encode(value))


class Unreadable(ValueError):
    """A body that is not what the protocol promises."""


def decoded(raw: bytes, decoder: msgspec.json.Decoder[T]) -> T:
    """The answer as a struct; a lone surrogate in the model's text does not cost the answer."""
    try:
        return decoder.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        value = strict_json.decode(raw, max_bytes=len(raw)).value
        return msgspec.convert(value, decoder.type)
    except (strict_json.JsonFault, msgspec.ValidationError) as fault:
        raise Unreadable(str(fault)) from None


def token_count(*counts: object) -> int | None:
    """The sum of the counts that were told; None where none was, or one is no count."""
    told = [count for count in counts if count is not None]
    total = 0
    for count in told:
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            return None
        total += count
    return total if told and total <= MOST_TOKENS else None


def unpacked(
    text: str, finish: str | None, uses: Sequence[tuple[str, object]]
) -> tuple[str, str | None, tuple[ToolCall, ...]]:
    """Text, finish reason and calls of real tools; what the carrier tool brought is the text."""
    carried = next((arguments_text(value) for name, value in uses if name == CARRIER), None)
    calls = (ToolCall(name, arguments_text(value)) for name, value in uses if name != CARRIER)
    if carried is not None:
        text, finish = carried, "stop" if finish == "tool_calls" else finish
    return text, finish, tuple(calls)


def arguments_text(arguments: object) -> str:
    """The arguments of a call as text: what was written, or the JSON of an object."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else msgspec.json.encode(arguments).decode()
