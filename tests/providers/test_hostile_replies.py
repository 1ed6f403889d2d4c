"""Whatever a server sends becomes a reply, or a failure of that call; nothing ends a run."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from builders import form, qa_case, question
from callscore.core.case import Failed
from callscore.core.judging import Similarity
from callscore.core.provider import AttemptFailed
from callscore.core.run import Price
from callscore.embeddings.encoder import CosineEmbedder
from callscore.embeddings.http_encoder import HttpEncoder
from callscore.providers.anthropic import Messages
from callscore.providers.bedrock import Converse
from callscore.providers.gemini import GenerateContent
from callscore.providers.openai import ChatCompletions
from callscore.providers.responses import Responses
from callscore.providers.wire_format import MOST_TOKENS, WireFormat
from callscore.store.reply_rows import from_bytes, to_bytes
from commands import run
from eval_files import cases_file, eval_file, read_json, read_lines, remote_model, right_answer
from hostile_replies import ReplyFuzzer, valid_replies
from judging_stub import answer_as_judge, judge_entry
from provider_calls import ask, expect_response, spec
from stub_servers import Answer, Request, always, chat_completion, serving

DIALECTS: dict[str, WireFormat] = {
    "openai": ChatCompletions("m", {}),
    "responses": Responses("m", {}),
    "anthropic": Messages("m", {}),
    "gemini": GenerateContent({}),
    "bedrock": Converse({}),
}


@pytest.mark.parametrize("protocol", DIALECTS)
def test_r10_no_reply_is_beyond_reading_and_keeping(protocol: str) -> None:
    hostile, read = ReplyFuzzer(seed=1), Counter[str]()
    right = valid_replies("hello")[protocol]
    for _ in range(400):
        found = DIALECTS[protocol].read(hostile.body(right))
        read[type(found).__name__] += 1
        if isinstance(found, AttemptFailed):
            continue
        assert from_bytes(to_bytes(found)) == found
        for count in (found.input_tokens, found.output_tokens):
            assert count is None or 0 <= count <= MOST_TOKENS
        assert math.isfinite(Price(1.0, 1.0).of(found.input_tokens or 0, found.output_tokens or 0))
    assert min(read["Reply"], read["AttemptFailed"]) > 20  # else the grammar is too tame, or wild


@pytest.mark.parametrize("count", [18446744073709551616, -1, 1.5, True, "12", [1], 10**400])
def test_r10_a_count_that_cannot_be_is_unknown(count: object) -> None:
    body = {**chat_completion("hi"), "usage": {"prompt_tokens": count, "completion_tokens": 7}}
    with serving(always(Answer(body))) as stub:
        reply = expect_response(ask(spec("openai", stub.url))).reply
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("hi", None, 7)


@pytest.mark.parametrize("size", [19_000_000, 21_000_000])
def test_r10_a_reply_of_twenty_megabytes_is_read_or_fails(size: int) -> None:
    with serving(always(Answer(chat_completion("x" * size)))) as stub:
        found = ask(spec("openai", stub.url), max_bytes=20_000_000)
    assert isinstance(found, AttemptFailed) is (size > 20_000_000)


class HostileServers:
    """One server for all protocols, which answers every request about a case with a variant."""

    def __init__(self, seed: int) -> None:
        self._hostile = ReplyFuzzer(seed)
        self._random = Random(seed)
        self.sent: Counter[str] = Counter()

    def __call__(self, request: Request) -> Answer:
        protocol = _protocol(request.path)
        self.sent[protocol] += 1
        if self._random.random() < 0.3:
            # so that no model gives up after so many failures in a row
            return Answer(valid_replies(right_answer(request))[protocol])
        return self._hostile.answer(valid_replies(right_answer(request))[protocol])


def _protocol(path: str) -> str:
    for end, protocol in (
        ("/chat/completions", "openai"),
        ("/responses", "responses"),
        ("/messages", "anthropic"),
        (":generateContent", "gemini"),
        ("/converse", "bedrock"),
    ):
        if path.endswith(end):
            return protocol
    raise AssertionError(path)


def hostile_run(folder: Path, cases: int) -> Counter[str]:
    """A run of all protocols; every case must end scored or with a cause."""
    cases_file(folder, cases)
    servers = HostileServers(seed=cases)
    with serving(servers) as stub, serving(answer_as_judge) as judge:
        models = [
            remote_model(stub.url, "openai"),
            remote_model(stub.url, "responses", api="responses"),
            remote_model(stub.url, "anthropic", provider="anthropic"),
            remote_model(stub.url, "gemini", provider="gemini"),
            remote_model(stub.origin, "bedrock", provider="bedrock"),
        ]
        once = {"most": 1}
        path = eval_file(folder, models, attempts=once, judge=judge_entry(judge.url))
        out = ["--json", folder / "card.json", "--results", folder / "results.jsonl"]
        done = run("run", path, "--no-preflight", *out, env={"STUB_KEY": "sk-canary-0123456789"})
    assert done.returncode == 0, done.stderr
    lines = read_lines(folder / "results.jsonl")
    assert len(lines) == cases * len(models)
    json.dumps(read_json(folder / "card.json"), allow_nan=False)
    statuses = Counter(line["status"] for line in lines)
    assert set(statuses) <= {"valid", "invalid", "error"}
    assert min(statuses["valid"], statuses["error"]) > cases / 5
    return servers.sent


def test_r10_hostile_replies_end_no_run(tmp_path: Path) -> None:
    assert hostile_run(tmp_path, 60).total() >= 300


@pytest.mark.slow
def test_r10_ten_thousand_hostile_replies_end_no_run(tmp_path: Path) -> None:
    assert hostile_run(tmp_path, 2_000).total() >= 10_000


def hostile_judge_run(folder: Path, cases: int) -> int:
    """A run whose judge answers out of its mind; verdicts are lost, nothing else."""
    turns = [[{"id": 1, "speaker": "agent", "text": _said(number)}] for number in range(cases)]
    lines = [
        json.dumps(qa_case([question(reason="He greets")], f"c{n}", transcript=turn))
        for n, turn in enumerate(turns)
    ]
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    hostile = ReplyFuzzer(seed=cases)

    def judge(request: Request) -> Answer:
        messages = request.json["messages"]
        sane = answer_as_judge(request)
        assert isinstance(sane, Answer) and isinstance(sane.body, dict)
        return sane if len(messages) == 1 else hostile.answer(sane.body)

    with serving(judge) as judges, serving(_with_reasons) as stub:
        once = {"most": 1}
        path = eval_file(
            folder, [remote_model(stub.url)], attempts=once, judge=judge_entry(judges.url)
        )
        out = ["--json", folder / "card.json", "--results", folder / "results.jsonl"]
        done = run("run", path, *out, env={"STUB_KEY": "sk-canary-0123456789"})
        asked = len(judges.requests)
    assert done.returncode == 0, done.stderr
    assert len(read_lines(folder / "results.jsonl")) == cases
    json.dumps(read_json(folder / "card.json"), allow_nan=False)
    return asked


def _said(number: int) -> str:
    return f"Good morning, this is Marcus, how may I help you with matter {number}"


def _with_reasons(request: Request) -> Answer:
    """A model whose reasons need a judge."""
    found = re.search(rb"matter (\d+)", request.body)
    reason = f"Marcus opens with {_said(int(found[1]))}" if found else "ok"
    return Answer(chat_completion(json.dumps(form(question(reason=reason)))))


def test_r10_a_hostile_judge_ends_no_run(tmp_path: Path) -> None:
    assert hostile_judge_run(tmp_path, 60) >= 60


@pytest.mark.slow
def test_r10_a_thousand_answers_of_a_hostile_judge_end_no_run(tmp_path: Path) -> None:
    assert hostile_judge_run(tmp_path, 1_000) >= 1_000


async def similarities(
    embedder: CosineEmbedder, pairs: Sequence[tuple[str, str]]
) -> Sequence[Similarity] | Failed:
    return await embedder.similarities(pairs, None)


def test_r10_a_hostile_embedder_gives_finite_vectors_or_a_failure() -> None:
    hostile, seen = ReplyFuzzer(seed=3), Counter[str]()
    right = valid_replies("")["embeddings"]

    async def post(body: bytes) -> bytes | AttemptFailed:
        return hostile.body(right)

    embedder = CosineEmbedder(HttpEncoder("e", "host", post))
    for number in range(400):
        pairs = [(f"text {number}", f"text {number + 1}")]
        found = asyncio.run(similarities(embedder, pairs))
        seen[type(found).__name__] += 1
        if not isinstance(found, Failed):
            assert all(-1 <= similarity.value <= 1 for similarity in found)
    assert min(seen.values()) > 20
