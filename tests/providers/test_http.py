"""Every way in which a server or a network misbehaves becomes a word, and none an exception."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket

import pytest

from callscore.core.case import Message, Prompt
from callscore.core.provider import AttemptFailed, ProviderResponse
from callscore.providers.catalog import make_provider
from callscore.providers.http import Http
from commands import wait_for
from provider_calls import (
    KEY,
    PROMPT,
    ask,
    ask_times,
    expect_failure,
    expect_response,
    secrets,
    spec,
)
from stub_servers import (
    Answer,
    Behaviour,
    Bytes,
    Drip,
    Hang,
    Json,
    Reset,
    always,
    chat,
    chat_completion,
    openai_error,
    serving,
)

COMPLETION = json.dumps(chat_completion("whole")).encode()
HTML = Answer(b"<html>bad gateway</html>", 502, {"content-type": "text/html"})


def error(status: int, code: str | None = None, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(openai_error("no luck", code), status, named)


@pytest.mark.parametrize(
    ("behaviour", "kind", "status", "wait"),
    [
        (error(400), "bad_request", 400, None),
        (error(413), "bad_request", 413, None),
        (error(422), "bad_request", 422, None),
        (error(401), "unauthorised", 401, None),
        (error(402), "unauthorised", 402, None),
        (error(403), "unauthorised", 403, None),
        (error(404), "not_found", 404, None),
        (error(408), "timeout", 408, None),
        (error(429), "rate_limited", 429, None),
        (error(429, retry_after="7"), "rate_limited", 429, 7.0),
        (error(429, retry_after_ms="1500", retry_after="7"), "rate_limited", 429, 1.5),
        (error(429, retry_after="1000000000"), "rate_limited", 429, 1e9),
        (error(429, retry_after="-3"), "rate_limited", 429, None),
        (error(429, retry_after="soon"), "rate_limited", 429, None),
        (error(429, retry_after="nan"), "rate_limited", 429, None),
        (
            error(
                429,
                retry_after="Sun, 06 Nov 1994 08:50:07 GMT",
                date="Sun, 06 Nov 1994 08:49:37 GMT",
            ),
            "rate_limited",
            429,
            30.0,
        ),
        (error(429, retry_after="Sun, 06 Nov 1994 08:49:37 GMT"), "rate_limited", 429, 0.0),
        (error(429, "insufficient_quota"), "unauthorised", 429, None),
        (error(500), "server", 500, None),
        (HTML, "server", 502, None),
        (error(503), "server", 503, None),
        (error(503, retry_after="2"), "overloaded", 503, 2.0),
        (error(504), "timeout", 504, None),
        (error(529), "overloaded", 529, None),
        (Answer(b"", 500), "server", 500, None),
        (Answer(b"<html>hello</html>"), "unreadable", 200, None),
        (Answer(b""), "unreadable", 200, None),
        (Answer(b"\xff\xfe"), "unreadable", 200, None),
        (Answer(b"[" * 100_000), "unreadable", 200, None),
        (Answer({"choices": []}), "unreadable", 200, None),
        (Answer({"object": "list", "data": []}), "unreadable", 200, None),
        (Answer({"choices": "none"}), "unreadable", 200, None),
        (Answer(chat_completion(42)), "unreadable", 200, None),
        (Answer(chat_completion("x", "error")), "server", 200, None),
        (Answer({"error": {"message": "busy", "code": 429}}), "rate_limited", 429, None),
        (Answer({"error": {"message": "busy", "code": 502}}), "server", 502, None),
        (Answer(b"", 204), "unreadable", 204, None),
        (Bytes(b"SSH-2.0-OpenSSH_9.9\r\n"), "unreadable", None, None),
        (Reset(), "connection", None, None),
        (Bytes(b""), "connection", None, None),
        (
            Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n" + COMPLETION[:40]),
            "connection",
            None,
            None,
        ),
        (
            Bytes(b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{"cho\r\n'),
            "connection",
            None,
            None,
        ),
        (
            Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n" + COMPLETION),
            "unreadable",
            None,
            None,
        ),
        (
            Bytes(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\nnope"),
            "connection",
            None,
            None,
        ),
    ],
)
def test_what_a_server_does_has_a_word(
    behaviour: Behaviour, kind: str, status: int | None, wait: float | None
) -> None:
    with serving(always(behaviour)) as stub:
        answer = expect_failure(ask(spec("openai", stub.url)))
    assert (answer.kind, answer.status, answer.retry_after_s) == (kind, status, wait)
    assert "\n" not in answer.message
    assert f"127.0.0.1:{stub.port}" in answer.message
    assert len(stub.requests) == 1


def test_a_hang_ends_at_the_deadline() -> None:
    with serving(always(Hang())) as stub:
        answer = expect_failure(ask(spec("openai", stub.url), attempt_seconds=0.3))
    assert answer.kind == "timeout"  # after minutes the stub would have closed the connection
    assert "no complete answer within 0.3 s" in answer.message


def test_a_slow_drip_ends_at_the_deadline_and_leaves_no_half_answer() -> None:
    with serving(always(Drip(Answer(chat_completion("x" * 500)), 20, 0.1))) as stub:
        answer = expect_failure(ask(spec("openai", stub.url), attempt_seconds=0.5))
    assert answer.kind == "timeout"


def test_a_slow_but_whole_answer_is_an_answer() -> None:
    with serving(always(Drip(Answer(chat_completion("whole")), 8, 0.01))) as stub:
        assert expect_response(ask(spec("openai", stub.url))).reply.text == "whole"


HUGE = b'{"choices": "' + b"x" * 50_000 + b'"}'


@pytest.mark.parametrize(
    "behaviour",
    [
        Answer(HUGE),
        Answer(gzip.compress(HUGE), headers={"content-encoding": "gzip"}),
        Bytes(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + HUGE),
    ],
    ids=["told", "packed", "untold"],
)
def test_a_huge_answer_is_not_read(behaviour: Behaviour) -> None:
    with serving(always(behaviour)) as stub:
        answer = expect_failure(ask(spec("openai", stub.url), max_bytes=10_000))
    assert (answer.kind, answer.status) == ("unreadable", 200)
    assert "more than 10000 bytes" in answer.message


@pytest.mark.parametrize(
    "behaviour",
    [
        Answer(gzip.compress(COMPLETION), headers={"content-encoding": "gzip"}),
        Bytes(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + COMPLETION),
        Bytes(
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
            % (len(COMPLETION), COMPLETION)
        ),
    ],
    ids=["packed", "until closed", "chunked"],
)
def test_an_answer_may_be_packed_or_of_untold_length(behaviour: Behaviour) -> None:
    with serving(always(behaviour)) as stub:
        assert expect_response(ask(spec("openai", stub.url))).reply.text == "whole"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_stops_the_model(status: int) -> None:
    with serving(chat()) as elsewhere:
        there = {"location": elsewhere.url}
        with serving(always(Answer(b"", status, there))) as stub:
            answer = expect_failure(ask(spec("openai", stub.url)))
    assert (answer.kind, answer.status) == ("not_found", status)
    assert elsewhere.url in answer.message
    assert elsewhere.requests == []


def test_a_closed_port_is_a_connection_failure_that_names_the_host() -> None:
    with socket.socket() as bound:  # nothing listens, and no other process can take the port
        bound.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{bound.getsockname()[1]}"
        answer = expect_failure(ask(spec("openai", f"http://{host}/v1")))
    assert answer.kind == "connection"
    assert f"{host}: Connection refused" in answer.message


def test_an_unknown_host_name_is_a_connection_failure_with_advice() -> None:
    answer = expect_failure(ask(spec("openai", "https://nobody.invalid/v1")))
    assert answer.kind == "connection"
    assert "nobody.invalid" in answer.message
    assert "base_url" in answer.message


def test_tls_with_a_server_that_speaks_none_is_a_connection_failure() -> None:
    async def answer_in_plain_text(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def attempt() -> ProviderResponse | AttemptFailed:
        server = await asyncio.start_server(answer_in_plain_text, "127.0.0.1", 0)
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        provider = make_provider(spec("openai", url), secrets(), Http())
        try:
            return await provider.attempt(provider.request(PROMPT, 1))
        finally:
            await provider.close()
            server.close()

    answer = expect_failure(asyncio.run(attempt()))
    assert answer.kind == "connection"
    assert "TLS" in answer.message


@pytest.mark.parametrize(
    "body",
    [
        openai_error(f"Incorrect API key provided: {KEY}."),
        {"error": f"bad header Authorization: Bearer {KEY}"},
        {"detail": [{"input": {"x-api-key": KEY}}]},
        {"message": f"https://user:{KEY}@host/ and ?key={KEY}&x=1"},
    ],
)
@pytest.mark.parametrize("status", [200, 400, 401, 500])
def test_a_key_in_an_error_body_is_redacted(body: Json, status: int) -> None:
    with serving(always(Answer(body, status))) as stub:
        answer = expect_failure(ask(spec("openai", stub.url)))
    assert KEY not in answer.message
    assert "canary" not in answer.message
    assert "[redacted]" in answer.message


def test_the_key_travels_in_a_header_and_nowhere_else() -> None:
    with serving(chat()) as stub:
        ask(spec("openai", stub.url))
    (request,) = stub.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in request.path
    assert KEY.encode() not in request.body


def test_connections_are_used_again() -> None:
    with serving(chat()) as stub:
        answers = ask_times(5, spec("openai", stub.url))
    assert all(isinstance(answer, ProviderResponse) for answer in answers)
    assert len(stub.requests) == 5
    assert stub.connections == 1


def test_a_body_of_megabytes_is_sent_whole() -> None:
    prompt = Prompt([Message("user", "é" * 1_500_000)])
    with serving(chat()) as stub:
        expect_response(ask(spec("openai", stub.url), prompt))
    assert stub.requests[0].json["messages"][0]["content"] == prompt.messages[0].content


def test_one_model_may_leave_while_another_goes_on() -> None:
    async def both() -> tuple[ProviderResponse | AttemptFailed, ProviderResponse | AttemptFailed]:
        http = Http()
        first = make_provider(spec("openai", stub.url), secrets(), http)
        second = make_provider(spec("openai", stub.url, name="n"), secrets(), http)
        before = await first.attempt(first.request(PROMPT, 1))
        await first.close()
        after = await second.attempt(second.request(PROMPT, 1))
        await second.close()
        return before, after

    with serving(chat()) as stub:
        before, after = asyncio.run(both())
    assert isinstance(before, ProviderResponse)
    assert isinstance(after, ProviderResponse)


def test_cancelling_an_attempt_cancels_it() -> None:
    async def cancelled() -> bool:
        provider = make_provider(spec("openai", stub.url), secrets(), Http())
        task = asyncio.create_task(provider.attempt(provider.request(PROMPT, 1)))
        await asyncio.to_thread(wait_for, lambda: len(stub.requests), 1)
        task.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
        await provider.close()
        return isinstance(outcome, asyncio.CancelledError)

    with serving(always(Hang())) as stub:
        assert asyncio.run(cancelled())


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, (None, None, None)),
        (
            {
                "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-remaining-tokens": "1490",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            (59, 1490, 360.0),
        ),
        (
            {
                "x-ratelimit-remaining-requests": "59",
                "x-ratelimit-remaining-tokens": "0",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-reset-tokens": "1m30.5s",
            },
            (59, 0, 90.5),
        ),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-remaining-tokens": "1490",
                "x-ratelimit-reset-requests": "1s",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            (0, 1490, 1.0),
        ),
        (
            {"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "20ms"},
            (3, None, 0.02),
        ),
        ({"x-ratelimit-remaining-requests": "many"}, (None, None, None)),
        (
            {"x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "whenever"},
            (None, None, None),
        ),
    ],
)
def test_rate_limit_headers_are_read(
    headers: dict[str, str], expected: tuple[int | None, int | None, float | None]
) -> None:
    with serving(always(Answer(chat_completion(), headers=headers))) as stub:
        answer = expect_response(ask(spec("openai", stub.url)))
    assert (answer.requests_left, answer.tokens_left, answer.reset_s) == pytest.approx(expected)
