"""Runs against servers that refuse what current APIs refuse, or echo what they were sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import form, qa_case, question
from commands import run
from eval_files import cases_file, eval_file, read_json, read_lines, remote_model
from strict_apis import responses_only, strict_anthropic, strict_converse, strict_gemini
from stub_servers import Answer, Behaviour, Json, Request, chat_completion, serving

KEY = "sk-canary-Zq81xLmZ0aaPw3"
ENV = {"STUB_KEY": KEY}
TEXT_CASE: Json = {
    "id": "t0",
    "task": "text",
    "transcript": [{"id": 1, "speaker": "customer", "text": "I want a refund"}],
    "config": {"emotions": ["joy"]},
    "expected_outcome": {
        "sentiment": [{"sentence_id": 1, "text": "I want a refund", "label": "negative"}],
        "summary": {
            "call_purpose": "A refund",
            "highlights": ["A refund is wanted"],
            "call_extracted_info": {"topic": "refund"},
        },
        "emotion": {"joy": 100},
    },
}
"""A case that does not say which fields it wants: they are those of its reference."""


def every_api(request: Request) -> Answer:
    """Current APIs, all at one address; Claude is a model from before structured outputs."""
    if request.path.endswith("/messages"):
        return strict_anthropic(request, takes_format=False)
    if request.path.endswith("/converse"):
        return strict_converse(request)
    if request.path.endswith(":generateContent"):
        return strict_gemini(request)
    return responses_only(request)


def test_r08_current_apis_answer_every_case_and_the_card_says_how_they_were_asked(
    tmp_path: Path,
) -> None:
    cases = [qa_case([question()], "c0"), TEXT_CASE]
    text = "".join(json.dumps(case) + "\n" for case in cases)
    (tmp_path / "cases.jsonl").write_text(text, encoding="utf-8")
    cards, results = [tmp_path / "card.json", tmp_path / "again.json"], tmp_path / "results.jsonl"
    with serving(every_api) as stub:
        models = [
            remote_model(stub.url, "anthropic", provider="anthropic", api="2026-10-21"),
            remote_model(stub.origin, "bedrock", provider="bedrock"),
            remote_model(stub.url, "gemini", provider="gemini"),
            remote_model(stub.url, "openai"),
        ]
        path = eval_file(tmp_path, models)
        done = run("run", path, "--json", cards[0], "--results", results, env=ENV)
        sent = len(stub.requests)
        again = run("run", path, "--json", cards[1], env=ENV)
        assert len(stub.requests) == sent, "an answer had in another form is not asked for again"
    assert (done.returncode, again.returncode) == (0, 0), done.stderr + again.stderr
    assert {line["status"] for line in read_lines(results)} <= {"valid", "invalid"}
    assert cards[0].read_bytes() == cards[1].read_bytes()
    notes = [note for note in read_json(cards[0])["notes"] if "refused the schema" in note]
    asked = "its API refused the schema of the answer; asked for 2 answers"
    assert notes == [f"anthropic: {asked} through a tool that the model may call"]


def test_the_preflight_asks_with_the_schema_that_will_be_used(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    with serving(strict_anthropic) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url, provider="anthropic")])
        assert run("run", path, env=ENV).returncode == 0
        first, second = (request.json for request in stub.requests)
    assert b"word ok" in json.dumps(first).encode()
    assert first["output_config"] == second["output_config"]


def test_a_parameter_that_the_version_refuses_is_named_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    cases_file(tmp_path, 1)
    with serving(strict_anthropic) as stub:
        sampled = remote_model(
            stub.url, provider="anthropic", api="2026-10-21", params={"top_p": 0.5}
        )
        done = run("run", eval_file(tmp_path, [sampled]), env=ENV)
        assert stub.requests == []
    assert done.returncode == 2
    assert "params.top_p: version 2026-10-21 of the API refuses it" in done.stderr


@pytest.mark.parametrize("escaped", [False, True])
def test_s12_a_key_in_a_successful_answer_is_stored_and_shown_nowhere(
    tmp_path: Path, escaped: bool
) -> None:
    cases_file(tmp_path, 3)

    def echo(request: Request) -> Behaviour:
        key = request.headers["authorization"].removeprefix("Bearer ")
        said = form(question(reason=f"The key is {key}")) if b"morning" in request.body else key
        answer = chat_completion(json.dumps(said), "stop")
        call = {"id": "1", "type": "function", "function": {"name": key, "arguments": key}}
        answer["choices"][0]["message"]["tool_calls"] = [call]
        answer["model"] = f"stub-m-{key}"
        text = json.dumps(answer)
        if escaped:
            text = text.replace(key, "".join(f"\\u{ord(char):04x}" for char in key))
        return Answer(text.encode(), headers={"x-echo": key})

    out = ["--json", tmp_path / "card.json", "--results", tmp_path / "results.jsonl"]
    out += ["--log", tmp_path / "log.jsonl", "--records", tmp_path / "records.jsonl"]
    with serving(echo) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        done = run("run", path, *out, env=ENV)
        listed = run("runs", path, "--json")
    assert done.returncode == 0, done.stderr
    assert KEY not in done.stdout + done.stderr + listed.stdout
    assert "redacted" in (tmp_path / "card.json").read_text()
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file.name for file in files if KEY.encode() in file.read_bytes()] == []
