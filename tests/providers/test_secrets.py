"""What may be stored and printed of what a provider says (S-12, S-19, S-20)."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.providers.secrets import LONGEST_EXCERPT, excerpt, redact, without_secrets
from growth import grows_in_line
from provider_calls import KEY, ask, expect_response, spec
from stub_servers import (
    Answer,
    Json,
    always,
    anthropic_message,
    chat_completion,
    converse_answer,
    gemini_answer,
    serving,
)

SECRET = "Zq81-private-value"


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-AbC123def456ghi789.",
        "key sk-ant-api03-AbC123def456ghi789-xyz",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "Authorization: Bearer abc.def-123",
        'headers={"authorization": "Bearer abc.def-123"}',
        "authorization=Basic dXNlcjpwYXNz",
        "x-api-key: abcdef123456",
        "'x-goog-api-key': 'abcdef123456'",
        '"api_key":"abcdef123456"',
        "api-key = abcdef123456",
        "https://user:abcdef123456@host/path",
        "https://abcdef123456@host/path",
        "https://host/v1?key=abcdef123456&alt=json",
        "https://host/v1?a=1&access_token=abcdef123456",
        "AKIAABCDEF1234567890 was used",
        "gsk_abcdef1234567890abcdef",
        "hf_abcdef1234567890abcdef",
        "xai-abcdef1234567890abcdef",
        "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdef123456",
        f"we got {SECRET} from you",
    ],
)
def test_keys_of_every_shape_are_gone(text: str) -> None:
    safe = redact(text, [SECRET])
    assert "[redacted]" in safe
    for part in ("abc.def", "AbC123", "abcdef123456", "dXNlc", "A12345", "ABCDEF", SECRET):
        assert part not in safe


@pytest.mark.parametrize(
    "text",
    [
        "The model `gpt-4o` does not exist",
        "max_tokens is too large: 100000",
        "Rate limit reached for requests. Limit: 3 / min.",
        "https://platform.openai.com/account/api-keys",
        "token count 1234 over the limit",
    ],
)
def test_ordinary_messages_are_left_alone(text: str) -> None:
    assert redact(text, [SECRET]) == text


def _json_escaped(text: str, depth: int = 1) -> str:
    escaped = "".join(f"\\u{ord(char):04x}" for char in text)
    for _ in range(depth - 1):
        escaped = json.dumps(escaped)[1:-1]
    return escaped


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        _json_escaped(SECRET),
        _json_escaped(SECRET, 3),
        SECRET[:4] + _json_escaped(SECRET[4:7]) + SECRET[7:],
        "".join(f"%{ord(char):02X}" for char in SECRET),
        SECRET.replace("-", "%2d"),
        base64.b64encode(SECRET.encode()).decode(),
        base64.b64encode(f"user:{SECRET}".encode()).decode(),
        base64.urlsafe_b64encode(f"ab{SECRET}??".encode()).decode(),
    ],
)
def test_s12_a_secret_is_found_however_it_is_written(written: str) -> None:
    safe = without_secrets(f'{{"a": "it is {written}."}}', [SECRET])
    assert "[redacted]" in safe
    assert SECRET not in urllib.parse.unquote(json.dumps(json.loads(safe)))
    assert written not in safe


@pytest.mark.parametrize("flood", ["\\", "%", "%5a", "\\u005a", "Zq81-", "Z", "\\Z"])
def test_s11_a_flood_that_resembles_a_secret_takes_no_time(flood: str) -> None:
    def work(size: int) -> str:
        return without_secrets(flood * (size // len(flood)) + "\\u00 %", [SECRET])

    assert grows_in_line(work, 100_000)


def test_a_short_secret_does_not_tear_words_apart() -> None:
    assert redact("a test of the best", ["st"]) == "a test of the best"


@given(st.text(max_size=600))
def test_an_excerpt_is_one_short_printable_line(text: str) -> None:
    line = excerpt(text, [SECRET])
    assert len(line) <= LONGEST_EXCERPT
    assert len(line.splitlines()) <= 1
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in line)
    assert not {"\u202e", "\u2066", "\u2028"} & set(line)


@given(st.integers(200, 400))
def test_a_cut_leaves_no_part_of_a_key(start: int) -> None:
    line = excerpt("x" * start + " " + SECRET + " " + "y" * 500, [SECRET])
    assert "Zq81" not in line


@pytest.mark.parametrize("piece", ["sk-", "Bearer ", "api_key=", "eyJ", "://a:", "?key=", "a.b-"])
def test_hostile_bodies_take_no_time(piece: str) -> None:
    assert grows_in_line(lambda size: redact(piece * (size // len(piece))), 100_000)


ECHOES: Mapping[str, Json] = {
    "openai": {
        **chat_completion(
            [{"text": KEY[:9]}, {"text": KEY[9:]}],
            tool_calls=[{"function": {"name": KEY, "arguments": json.dumps({"a": KEY})}}],
        ),
        "model": f"m-{KEY}",
    },
    "anthropic": {
        **anthropic_message(
            [
                {"type": "text", "text": f"your key is {KEY}"},
                {"type": "tool_use", "name": "f", "input": {KEY: [KEY]}},
            ]
        ),
        "model": KEY,
    },
    "gemini": {
        **gemini_answer([{"text": KEY}, {"functionCall": {"name": "f", "args": {"k": KEY}}}]),
        "modelVersion": KEY,
    },
    "bedrock": converse_answer([{"text": KEY}, {"toolUse": {"name": KEY, "input": {"k": KEY}}}]),
}


@pytest.mark.parametrize("provider", ECHOES)
def test_s12_a_successful_answer_that_echoes_the_key_is_redacted(provider: str) -> None:
    with serving(always(Answer(ECHOES[provider]))) as stub:
        reply = expect_response(ask(spec(provider, stub.url))).reply
    assert KEY not in repr(reply)
    assert "[redacted]" in str(reply.text)
    assert "[redacted]" in reply.tool_calls[0].arguments
