from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Failed
from callscore.core.provider import AttemptFailed, FailureKind
from callscore.embeddings import http_encoder
from callscore.embeddings.http_encoder import HttpEncoder, Post


class Server:
    """Answers as `/embeddings` does: a text's vector is its length and its number of spaces."""

    def __init__(self, *first: bytes | AttemptFailed) -> None:
        self.first = list(first)
        self.inputs: list[list[str]] = []

    async def post(self, body: bytes) -> bytes | AttemptFailed:
        asked = json.loads(body)
        assert asked["model"] == "acme/LaBSE"
        assert asked["encoding_format"] == "float"
        self.inputs.append(asked["input"])
        if self.first:
            return self.first.pop(0)
        rows = [
            {"object": "embedding", "index": index, "embedding": [len(text), text.count(" ")]}
            for index, text in enumerate(asked["input"])
        ]
        return json.dumps({"object": "list", "data": rows[::-1], "model": "x"}).encode()


def encoder(post: Post, languages: Sequence[str] = ()) -> HttpEncoder:
    return HttpEncoder("acme/LaBSE", "embeddings.example", post, languages)


def failed(kind: FailureKind) -> AttemptFailed:
    return AttemptFailed(kind, "as told", retry_after_s=0.001)


def test_vectors_come_in_the_order_of_the_texts() -> None:
    server = Server()
    found = asyncio.run(encoder(server.post).encode(["a", "b c", "d e f"]))
    assert found == [[1.0, 0.0], [3.0, 1.0], [5.0, 2.0]]
    assert server.inputs == [["a", "b c", "d e f"]]


def test_many_texts_go_in_few_requests() -> None:
    server = Server()
    found = asyncio.run(encoder(server.post).encode(["x" * n for n in range(1, 131)]))
    assert [len(batch) for batch in server.inputs] == [64, 64, 2]
    assert not isinstance(found, Failed)
    assert [vector[0] for vector in found] == list(range(1, 131))


@pytest.mark.parametrize("kind", ["rate_limited", "overloaded", "server", "timeout", "connection"])
def test_a_passing_fault_is_tried_again(kind: FailureKind) -> None:
    server = Server(failed(kind), failed(kind))
    assert asyncio.run(encoder(server.post).encode(["a"])) == [[1.0, 0.0]]
    assert len(server.inputs) == 3


def test_a_lasting_fault_ends_in_words() -> None:
    server = Server(*[failed("server")] * 9)
    assert asyncio.run(encoder(server.post).encode(["a"])) == Failed("embedding", "server: as told")
    assert len(server.inputs) == http_encoder.ATTEMPTS


@pytest.mark.parametrize("kind", ["unauthorised", "not_found", "bad_request"])
def test_what_can_never_work_is_asked_once(kind: FailureKind) -> None:
    server = Server(failed(kind))
    assert isinstance(asyncio.run(encoder(server.post).encode(["a"])), Failed)
    assert len(server.inputs) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"<html>",
        b"{}",
        b'{"data": []}',
        b'{"data": [{"index": 0, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 2, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": []}, {"index": 1, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": [1]}, {"index": 1, "embedding": "AAAA"}]}',
        b'{"data": [{"index": 0, "embedding": [NaN]}, {"index": 1, "embedding": [1]}]}',
        b'{"data": [{"index": 0, "embedding": [1e999]}, {"index": 1, "embedding": [1]}]}',
        b"[" * 100_000,
    ],
)
def test_an_unusable_answer_gives_no_vectors(answer: bytes) -> None:
    assert isinstance(asyncio.run(encoder(Server(answer).post).encode(["a", "b"])), Failed)


@given(st.binary(max_size=200))
def test_whatever_a_server_sends_nothing_is_raised(answer: bytes) -> None:
    assert isinstance(asyncio.run(encoder(Server(answer).post).encode(["a"])), Failed)


def test_only_labse_and_muse_are_official_wherever_they_are_served() -> None:
    post = Server().post
    assert encoder(post).is_official
    assert HttpEncoder("universal-sentence-encoder-multilingual", "h", post).is_official
    assert not HttpEncoder("text-embedding-3-large", "h", post).is_official


def test_host_and_model_are_in_the_signature() -> None:
    signature = encoder(Server().post).signature
    assert "embeddings.example" in signature
    assert "acme/LaBSE" in signature


def test_it_reads_the_configured_languages() -> None:
    told = encoder(Server().post, ["hi", "en-GB"])
    assert [told.reads(lang) for lang in ("hi-IN", "en", None, "fr")] == [True, True, True, False]
    assert encoder(Server().post).reads("fr")
    assert told.can_read("anything")
