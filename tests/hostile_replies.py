"""Random replies in the wire format of each API, with hostile values in any field.

The fuzzer walks a valid reply and replaces some of its nodes: with numbers beyond 64 bits, negative
or not finite, other types, deep nesting and broken characters; it also leaves out, repeats and adds
fields. The same seed gives the same replies.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from strict_apis import response
from stub_servers import (
    Answer,
    Json,
    anthropic_message,
    chat_completion,
    converse_answer,
    gemini_answer,
)

Draw = Callable[[Random], Any]

_NUMBERS = (
    18446744073709551616,
    2**63,
    -(2**63) - 1,
    -1,
    10**30,
    10**400,
    1e308,
    -0.0,
    0.5,
    float("nan"),
    float("inf"),
    -float("inf"),
)
_TEXTS = (
    "",
    "\0",
    "\ud800",
    "a\udfffb",
    "\x1b]0;pwn\x07",
    "\u202e\u2066",
    "\u2028",
    "'; DROP TABLE answers; --",
    "=1+1",
    "{{7*7}}",
    "NaN",
    "9" * 5_000,
    "é" * 20_000,
    "../../../etc/passwd",
)
_RAW = ("[" * 3_000 + "]" * 3_000, '{"a":' * 200 + "1" + "}" * 200, "1e400", "9" * 5_000, "-")
_MARK = "@@raw %d@@"


def valid_replies(text: str) -> Mapping[str, Json]:
    """A valid reply of every API, with every field that Callscore reads."""
    arguments = {"city": "Köln", "days": 3}
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat = chat_completion([{"type": "text", "text": text}], tool_calls=[call], refusal=None)
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    tool_use = {"type": "tool_use", "id": "t", "name": "f", "input": arguments}
    function_call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    responses = response(text)
    return {
        "openai": chat if len(text) % 2 else chat_completion(text),
        "responses": {**responses, "output": [*responses["output"], function_call]},
        "anthropic": anthropic_message([thinking, {"type": "text", "text": text}, tool_use]),
        "gemini": {
            **gemini_answer(
                [
                    {"text": "hm", "thought": True},
                    {"text": text},
                    {"functionCall": {"name": "f", "args": arguments}},
                ]
            ),
            "promptFeedback": {"blockReason": None},
        },
        "bedrock": converse_answer(
            [
                {"reasoningContent": {"reasoningText": {"text": "hm"}}},
                {"text": text},
                {"toolUse": {"toolUseId": "t", "name": "f", "input": arguments}},
            ]
        ),
        "embeddings": {
            "object": "list",
            "model": "e",
            "data": [
                {"object": "embedding", "index": 0, "embedding": [0.1, 0.2, -0.3]},
                {"object": "embedding", "index": 1, "embedding": [0.3, 0.2, 0.1]},
            ],
            "usage": {"prompt_tokens": 3, "total_tokens": 3},
        },
    }


class ReplyFuzzer:
    """Draws hostile variants of valid replies."""

    def __init__(self, seed: int, *, share: float = 0.06) -> None:
        self._random = Random(seed)
        self._share = share
        self._raw: list[str] = []

    def body(self, right: Json) -> bytes:
        """One variant as bytes. Most nodes stay, otherwise no field would ever be read."""
        self._raw = []
        text = json.dumps(self._node(right))
        for number, raw in enumerate(self._raw):
            text = text.replace(json.dumps(_MARK % number), raw)
        if self._random.random() < 0.02:
            text = text[: self._random.randrange(len(text))]
        return text.encode("utf-8", "surrogatepass")

    def answer(self, right: Json) -> Answer:
        """One variant with hostile headers, sometimes as an error."""
        chance = self._random
        odd = ("-1", "nan", "1e999", "9" * 80, "x", "", "0")
        headers = {
            name: chance.choice(odd)
            for name in ("x-ratelimit-remaining-requests", "anthropic-ratelimit-tokens-remaining")
            if chance.random() < 0.2
        }
        if chance.random() < 0.1:
            message = self._value() if chance.random() < 0.5 else "bad schema"
            body = self.body({"error": {"message": message, "type": "x", "param": None}})
            return Answer(body, chance.choice((400, 422, 500, 502)), headers)
        return Answer(self.body(right), 200, headers)

    def _node(self, node: Any) -> Any:
        chance = self._random
        if chance.random() < self._share:
            return self._value()
        if isinstance(node, dict):
            pairs = [(k, self._node(v)) for k, v in node.items() if chance.random() > 0.01]
            if chance.random() < self._share:
                pairs.append((chance.choice(("x", "type", "text", "error")), self._value()))
            return dict(pairs)
        if isinstance(node, list):
            return [
                self._node(item) for item in node for _ in range(chance.choice((1,) * 20 + (3,)))
            ]
        return node

    def _value(self) -> Any:
        chance = self._random
        kind = chance.randrange(5)
        if kind == 0:
            return chance.choice(_NUMBERS)
        if kind == 1:
            return chance.choice(_TEXTS)
        if kind == 2:
            return chance.choice((None, True, False, [], {}, [None], {"": ""}, [[]], [{}]))
        if kind == 3:
            self._raw.append(chance.choice(_RAW))
            return _MARK % (len(self._raw) - 1)
        return {chance.choice(_TEXTS): chance.choice(_NUMBERS)}
