"""`callscore run`: whose answers count, who gave them, and what all of it cost."""

from __future__ import annotations

import asyncio
import json
from itertools import count
from pathlib import Path

import pytest

from callscore.core.case import Message, Prompt
from callscore.core.provider import AttemptFailed
from callscore.core.run import ModelSpec
from callscore.providers.catalog import KINDS, make_provider
from callscore.providers.client_pool import ClientPool
from callscore.providers.http import Http
from callscore.providers.secrets import Secrets
from command_server import NEVER_S
from commands import run, start
from eval_files import cases_file, eval_file, read_json, remote_model, right_answer
from stub_servers import (
    Answer,
    Behaviour,
    FaultyChat,
    Request,
    WaitUntil,
    always,
    chat_completion,
    openai_error,
    serving,
)


def test_two_runs_that_pay_for_the_same_request_score_the_answer_that_was_kept(
    tmp_path: Path,
) -> None:
    cases_file(tmp_path, 60)
    number = count()

    def answer(request: Request) -> str:
        return right_answer(request) if next(number) % 2 else "I would rather not say."

    chat = FaultyChat(answer)

    def is_any_case_asked_twice() -> bool:
        return sum(times > 1 for times in chat.attempts.values()) > 1

    def together(request: Request) -> Behaviour:
        """Both preflights are answered at once; no case before both runs have asked it."""
        is_preflight = not chat.attempts or request.body == next(iter(chat.attempts))
        behaviour = chat(request)
        return behaviour if is_preflight else WaitUntil(behaviour, is_any_case_asked_twice)

    names, store = ("one", "two"), tmp_path / "runs.db"
    # As on a file system without locks: neither run sees what the other has under way.
    (tmp_path / "runs.db-leases").mkdir()
    with serving(together) as stub:
        paths = []
        for name in names:
            (tmp_path / name).mkdir()
            cases_file(tmp_path / name, 60)
            paths.append(eval_file(tmp_path / name, [remote_model(stub.url)], name=name))
        processes = [
            start("run", path, "--store", store, "--results", tmp_path / f"{name}.jsonl")
            for name, path in zip(names, paths, strict=True)
        ]
        said = [process.communicate(timeout=NEVER_S)[1] for process in processes]
        assert [process.returncode for process in processes] == [0, 0], said
        assert len(stub.requests) > 62, "some requests were paid for by both"
    for number_of_run in ("1", "2"):
        path = next(
            p for p, told in zip(paths, said, strict=True) if f"run {number_of_run}:" in told
        )
        again = tmp_path / "again.jsonl"
        done = run("run", path, "--store", store, "--rescore", number_of_run, "--results", again)
        assert done.returncode == 0, done.stderr
        assert again.read_bytes() == (tmp_path / f"{path.parent.name}.jsonl").read_bytes()


def test_a_dry_run_and_scoring_again_need_no_key(tmp_path: Path) -> None:
    cases_file(tmp_path, 5)
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    without_key = {"STUB_KEY": ""}
    with serving(FaultyChat(right_answer)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        refused = run("run", path, env=without_key)
        assert (refused.returncode, stub.requests) == (2, [])
        assert "STUB_KEY is not set" in refused.stderr
        before = run("run", path, "--dry-run", env=without_key)
        assert before.returncode == 0, before.stderr
        assert before.stdout.splitlines()[2].split()[:3] == ["m", "5", "0"]
        assert stub.requests == []
        assert run("run", path, "--json", first).returncode == 0
        asked = len(stub.requests)
        after = run("run", path, "--dry-run", env=without_key)
        assert after.stdout.splitlines()[2].split()[:3] == ["m", "5", "5"], "all is paid for"
        again = run("run", path, "--rescore", "1", "--json", second, env=without_key)
        assert again.returncode == 0, again.stderr
        assert len(stub.requests) == asked
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_is_not_to_be_asked_builds_the_same_requests_and_sends_none(
    kind: str,
) -> None:
    secrets = Secrets({"SOME_KEY": "sk-some-key", "AWS_REGION": "eu-west-1"})
    spec = ModelSpec("m", kind, "model-1", api_key_env="SOME_KEY", params={"temperature": 0.5})
    prompt = Prompt((Message("system", "Be brief."), Message("user", "Say ok.")))
    unsent = ClientPool({"AWS_REGION": "eu-west-1"}).provider(spec, sending=False)
    call = unsent.request(prompt, 2)
    assert call == make_provider(spec, secrets, Http()).request(prompt, 2)
    answer = asyncio.run(unsent.attempt(call))
    assert isinstance(answer, AttemptFailed)
    assert (answer.kind, answer.message) == ("unauthorised", "this model is not to be asked")


def test_the_preflight_is_in_the_bill(tmp_path: Path) -> None:
    cases_file(tmp_path, 2)
    dear, unknown = {"input": 0, "output": 1000}, None
    with serving(FaultyChat(right_answer)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url, price=dear)])
        done = run("run", path)
        assert "1 small request to test the models: 18 tokens, cost $0.007" in (done.stderr)
        assert run("run", path).returncode == 0
        listed = [json.loads(line) for line in run("runs", path, "--json").stdout.splitlines()]
        costs = [record["cost_usd"] for record in listed]
        assert costs == pytest.approx([0, 0.021]), "the second asked nothing"
        done = run("run", eval_file(tmp_path, [remote_model(stub.url, "n", price=unknown)]))
        assert "18 tokens, cost unknown" in done.stderr


def test_a_preflight_that_fails_is_still_charged_for_those_that_answered(tmp_path: Path) -> None:
    cases_file(tmp_path, 2)
    refusing = always(Answer(openai_error("no such model"), 404))
    with serving(FaultyChat(right_answer)) as good, serving(refusing) as bad:
        path = eval_file(tmp_path, [remote_model(good.url, "a"), remote_model(bad.url, "b")])
        assert run("run", path).returncode == 2
    (record,) = [json.loads(line) for line in run("runs", path, "--json").stdout.splitlines()]
    assert record["cost_usd"] == pytest.approx((11 * 1.0 + 7 * 2.0) / 1e6)


def test_a_model_that_answers_under_another_name_is_named_in_card_and_json(tmp_path: Path) -> None:
    cases_file(tmp_path, 3)
    card, again = tmp_path / "card.json", tmp_path / "again.json"
    names = {"stub-a": "stub-a", "stub-b": "stub-b-2026-01-31", "stub-c": "cheap-mini"}

    def respond(request: Request) -> Answer:
        answered = names[json.loads(request.body)["model"]]
        return Answer({**chat_completion(right_answer(request)), "model": answered})

    with serving(respond) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url, name) for name in "abc"])
        done = run("run", path, "--json", card)
    expected = [
        "b: asked for stub-b, answered by stub-b-2026-01-31 (3 answers)",
        "c: asked for stub-c, answered by another model: cheap-mini (3 answers)",
    ]
    found = read_json(card)
    assert [note for note in found["notes"] if "reads nothing" not in note] == expected
    told = {model["model"]: model.get("answered_by") for model in found["models"]}
    assert told == {"a": None, "b": ["stub-b-2026-01-31"], "c": ["cheap-mini"]}
    for note in expected:
        assert f"note: {note}" in done.stdout
    assert run("run", path, "--rescore", "1", "--json", again).returncode == 0
    assert again.read_bytes() == card.read_bytes()


def test_a_damaged_store_is_refused_and_what_is_left_of_it_is_not_paid_for_again(
    tmp_path: Path,
) -> None:
    cases_file(tmp_path, 40)
    card, again = tmp_path / "card.json", tmp_path / "again.json"
    store, saved = tmp_path / "runs.db", tmp_path / "saved.db"
    with serving(FaultyChat(right_answer)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], store="runs.db")
        assert run("run", path, "--json", card).returncode == 0
        asked = len(stub.requests)
        raw = bytearray(store.read_bytes())
        raw[:4096] = bytes(4096)
        store.write_bytes(raw)
        refused = run("run", path)
        assert refused.returncode == 4
        assert "is damaged" in refused.stderr
        assert len(stub.requests) == asked
        done = run("runs", path, "--salvage", saved)
        assert done.returncode == 0, done.stderr
        assert f"{saved}: 40 replies, 1 run, 40 results saved; 0 replies before" in done.stderr
        assert "40/40" in done.stdout
        assert store.read_bytes() == raw
        assert run("run", path, "--store", saved, "--json", again).returncode == 0
        assert len(stub.requests) == asked
    assert again.read_bytes() == card.read_bytes()


def test_a_stored_reply_costs_what_the_eval_file_says_now(tmp_path: Path) -> None:
    """The card says what a model costs; `runs` says what was paid."""
    cases_file(tmp_path, 2)
    costs: list[object] = []
    with serving(FaultyChat(right_answer)) as stub:
        for price in (None, {"input": 1000, "output": 0}, {"input": 3000, "output": 0}):
            path = eval_file(tmp_path, [remote_model(stub.url, price=price)])
            assert run("run", path, "--json", tmp_path / "card.json").returncode == 0
            costs.append(read_json(tmp_path / "card.json")["models"][0]["cost"]["total"])
        again = run("run", path, "--rescore", "3", "--json", tmp_path / "again.json")
        assert again.returncode == 0, again.stderr
    tokens = 2 * 11
    assert costs == [None, pytest.approx(tokens / 1000), pytest.approx(3 * tokens / 1000)]
    assert read_json(tmp_path / "again.json") == read_json(tmp_path / "card.json")


def test_two_models_with_the_same_requests_have_their_own_prices(tmp_path: Path) -> None:
    cases_file(tmp_path, 2)
    same = {"provider": "simulated", "model": "s"}
    models = [
        {**same, "name": "cheap", "price": {"input": 1, "output": 1}},
        {**same, "name": "dear", "price": {"input": 10, "output": 10}},
    ]
    path = eval_file(tmp_path, models)
    assert run("run", path, "--json", tmp_path / "card.json").returncode == 0
    cheap, dear = (model["cost"]["total"] for model in read_json(tmp_path / "card.json")["models"])
    assert dear == pytest.approx(10 * cheap)
