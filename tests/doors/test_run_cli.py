"""`callscore run` through the door: nothing lost, nothing paid twice, nothing told."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from callscore.config.config import load_eval
from callscore.runner.estimate import dry_run
from callscore.runner.prepare import RunOptions, prepare
from command_server import NEVER_S
from commands import KEY, line_of, run, run_in_new_process, start, wait_for
from eval_files import (
    PRICE,
    cases_file,
    eval_file,
    read_json,
    read_lines,
    remote_model,
    right_answer,
)
from stub_servers import (
    Answer,
    Behaviour,
    FaultyChat,
    Gate,
    Hang,
    Request,
    Stub,
    always,
    chat_completion,
    openai_error,
    serving,
)

PATIENT = {"most": 12}


def asked(stub: Stub) -> list[Request]:
    """The requests about cases; the preflight asks for the word ok."""
    return [request for request in stub.requests if b"word ok" not in request.body]


def test_every_case_ends_scored_or_with_a_cause_and_the_bill_is_right(tmp_path: Path) -> None:
    cases_file(tmp_path, 60)
    rates = {"429": 0.2, "500": 0.05, "cut": 0.04, "garbage": 0.02, "drop": 0.03}
    faulty = FaultyChat(right_answer, rates, seed=3)
    card, results, log = tmp_path / "card.json", tmp_path / "results.jsonl", tmp_path / "log.jsonl"
    with serving(faulty) as stub:
        path = eval_file(
            tmp_path,
            [remote_model(stub.url, "a", limits={"concurrency": 16}), remote_model(stub.url, "b")],
            attempts=PATIENT,
        )
        done = run("run", path, "--json", card, "--results", results, "--log", log)
    assert done.returncode == 0, done.stderr
    lines = read_lines(results)
    assert len(lines) == 120
    assert {line["status"] for line in lines} <= {"valid", "incomplete", "invalid", "error"}
    assert all(line["score"] != 0 for line in lines)
    assert all(line["flags"] for line in lines if line["status"] == "error")
    invalid = sum(line["status"] == "invalid" for line in lines)
    assert invalid == faulty.outcomes["cut"] > 0
    answered = [line for line in read_lines(log) if line["event"] == "answered"]
    paid = sum(line["cost_usd"] for line in answered)
    cost_of_one = (11 * PRICE["input"] + 7 * PRICE["output"]) / 1e6
    assert paid == pytest.approx(len(answered) * cost_of_one)
    models = read_json(card)["models"]
    assert sum(model["cost"]["total"] for model in models) == pytest.approx(paid)
    assert faulty.outcomes["429"] > 5
    retried = {line["kind"] for line in read_lines(log) if line["event"] == "attempt_failed"}
    assert {"rate_limited", "server", "connection"} <= retried


def test_an_outage_is_an_error_with_its_cause_and_never_a_score(tmp_path: Path) -> None:
    cases_file(tmp_path, 3)
    results = tmp_path / "results.jsonl"

    def respond(request: Request) -> Behaviour:
        if b"word ok" in request.body:
            return Answer(chat_completion("ok"))
        return Answer(openai_error("the shop is closed"), 400)

    with serving(respond) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        done = run("run", path, "--results", results, "--json", tmp_path / "card.json")
    assert done.returncode == 3, done.stderr
    assert "run 1: every request failed" in done.stderr
    assert "m: 3 requests failed: bad_request: " in done.stderr
    assert "error: every request failed; see the causes" in done.stderr
    assert "every request failed" in run("runs", path).stdout
    for line in read_lines(results):
        assert (line["status"], line["score"]) == ("error", None)
        assert "the shop is closed" in line["flags"][0]
    (model,) = read_json(tmp_path / "card.json")["models"]
    assert (model["tasks"]["qa"]["status"], model["tasks"]["qa"]["score"]) == ("error", None)


def test_a_second_identical_run_asks_nothing_and_gives_the_same_bytes(tmp_path: Path) -> None:
    cases_file(tmp_path, 5)
    with serving(FaultyChat(right_answer)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], repeats=2)
        first, second = tmp_path / "1.json", tmp_path / "2.json"
        lines, again = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
        assert run("run", path, "--json", first, "--results", lines).returncode == 0
        assert len(asked(stub)) == 10
        before = len(stub.requests)
        assert run("run", path, "--json", second, "--results", again).returncode == 0
        assert len(stub.requests) == before
    assert first.read_bytes() == second.read_bytes()
    assert lines.read_bytes() == again.read_bytes()
    assert "|repeats:2|" in read_json(first)["signature"]
    assert run("run", path, "--json", second).returncode == 0, "needs no server at all"


def test_a_stored_run_is_scored_again_without_a_server(tmp_path: Path) -> None:
    cases_file(tmp_path, 5)
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    with serving(FaultyChat(right_answer)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        assert run("run", path, "--json", first).returncode == 0
    done = run("run", path, "--rescore", "1", "--json", second)
    assert done.returncode == 0, done.stderr
    assert first.read_bytes() == second.read_bytes()
    assert run("run", path, "--rescore", "7").returncode == 2
    cases_file(tmp_path, 6)
    changed = run("run", path, "--rescore", "1")
    assert changed.returncode == 2
    assert "was made with other data" in changed.stderr


@pytest.mark.parametrize(
    "change",
    [
        {"params": {"temperature": 0.5}},
        {"params": {"seed": 2}},
        {"model": "another"},
    ],
)
def test_a_changed_request_is_a_new_one(tmp_path: Path, change: dict[str, Any]) -> None:
    cases_file(tmp_path, 2)
    with serving(FaultyChat(right_answer)) as stub:
        assert run("run", eval_file(tmp_path, [remote_model(stub.url)])).returncode == 0
        assert run("run", eval_file(tmp_path, [remote_model(stub.url, **change)])).returncode == 0
        assert len(asked(stub)) == 4


def test_only_a_changed_case_is_asked_again(tmp_path: Path) -> None:
    path = cases_file(tmp_path, 4)
    with serving(FaultyChat(right_answer)) as stub:
        file = eval_file(tmp_path, [remote_model(stub.url)])
        assert run("run", file).returncode == 0
        path.write_text(path.read_text().replace("Good morning 2", "Good evening 2"))
        assert run("run", file).returncode == 0
        assert len(asked(stub)) == 5


def test_killed_and_resumed_it_pays_once_and_ends_in_the_same_bytes(tmp_path: Path) -> None:
    cases_file(tmp_path, 60)
    whole, resumed = tmp_path / "whole.json", tmp_path / "resumed.json"
    with serving(FaultyChat(right_answer)) as stub:
        plain = eval_file(tmp_path, [remote_model(stub.url)])
        assert run("run", plain, "--store", tmp_path / "w.db", "--json", whole).returncode == 0
    faulty = FaultyChat(right_answer)
    gate = Gate(faulty)
    with serving(gate) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        for requests in (8, 20, 20):
            gate.hold(requests)
            before = len(stub.requests)
            process = start("run", path, "--resume")
            wait_for(lambda: len(stub.requests), before + requests + 1)
            process.kill()
            process.communicate()
        gate.open()
        done = run("run", path, "--resume", "--json", resumed)
        assert done.returncode == 0, done.stderr
    cases_paid = {body: times for body, times in faulty.paid.items() if b"word ok" not in body}
    assert len(cases_paid) == 60
    assert sum(times - 1 for times in cases_paid.values()) <= 3 * 8
    assert resumed.read_bytes() == whole.read_bytes()
    listed = run("runs", path).stdout.splitlines()
    assert len(listed) == 2, "one run, resumed"
    assert "complete" in listed[1]
    assert "60/60" in listed[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_came_and_says_how_to_go_on(
    tmp_path: Path, number: signal.Signals
) -> None:
    cases_file(tmp_path, 50)
    faulty = FaultyChat(right_answer)
    gate = Gate(faulty, answers=19)
    with serving(gate) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        process = start("run", path, "--results", tmp_path / "results.jsonl")
        wait_for(lambda: len(stub.requests), 20)
        process.send_signal(number)
        assert "in flight" in line_of(process, "stopping")
        gate.open()
        _, err = process.communicate(timeout=NEVER_S)
        assert process.returncode == 130
        assert len(asked(stub)) < 50
        assert f"callscore run {path} --resume" in err
        assert "Traceback" not in err
        assert not list(tmp_path.glob("*results*"))
        assert "interrupted" in run("runs", path).stdout
        assert run("run", path, "--resume").returncode == 0
    paid = [times for body, times in faulty.paid.items() if b"word ok" not in body]
    assert (len(paid), max(paid)) == (50, 1)


def test_an_interrupt_before_the_first_answer_ends_at_once(tmp_path: Path) -> None:
    cases_file(tmp_path, 3)
    with serving(always(Hang())) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        process = start("run", path)
        wait_for(lambda: len(stub.requests), 1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=NEVER_S)
    assert process.returncode == 130
    assert "--resume" in err


def test_data_that_changed_since_is_not_mixed_into_the_old_run(tmp_path: Path) -> None:
    cases_file(tmp_path, 20)
    gate = Gate(FaultyChat(right_answer), answers=9)
    with serving(gate) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        process = start("run", path)
        wait_for(lambda: len(stub.requests), 10)
        process.kill()
        process.communicate()
        gate.open()
        cases_file(tmp_path, 19)
        done = run("run", path, "--resume")
        assert done.returncode == 2
        assert "the data has changed since it began" in done.stderr
        assert "no answer would be paid for again" in done.stderr
        assert run("run", path, "--resume", "--yes").returncode == 0
        assert "19/19" in run("runs", path).stdout


def test_a_budget_counts_what_the_run_spent_before(tmp_path: Path) -> None:
    cases_file(tmp_path, 40)
    with serving(FaultyChat(right_answer)) as stub:
        model = remote_model(
            stub.url, params={"max_tokens": 60}, price={"input": 0, "output": 1000}
        )
        path = eval_file(tmp_path, [model], budget_usd=0.15)
        assert run("run", path).returncode == 0
        first, with_preflight = len(asked(stub)), len(stub.requests)
        assert 0 < first < 40
        assert run("run", path, "--resume").returncode == 0
        assert len(stub.requests) == with_preflight, "not even to see whether it answers"


@pytest.mark.slow
def test_fifty_kills_at_random_moments_lose_nothing(tmp_path: Path) -> None:
    cases_file(tmp_path, 400)
    whole, resumed = tmp_path / "whole.json", tmp_path / "resumed.json"
    with serving(FaultyChat(right_answer)) as stub:
        plain = eval_file(tmp_path, [remote_model(stub.url)])
        assert run("run", plain, "--store", tmp_path / "w.db", "--json", whole).returncode == 0
    faulty = FaultyChat(right_answer, {"429": 0.05, "500": 0.05}, delay_s=0.4)
    chance = random.Random(11)
    with serving(faulty) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], attempts=PATIENT)
        for _ in range(50):
            process = start("run", path, "--resume", "--no-preflight")
            time.sleep(chance.uniform(0.3, 2.0))
            process.kill()
            process.communicate()
        done = run("run", path, "--resume", "--json", resumed)
        assert done.returncode == 0, done.stderr
    cases_paid = {body: times for body, times in faulty.paid.items() if b"word ok" not in body}
    assert len(cases_paid) == 400
    assert sum(times - 1 for times in cases_paid.values()) <= 50 * 8
    assert resumed.read_bytes() == whole.read_bytes()


def test_the_second_process_learns_which_one_holds_the_run(tmp_path: Path) -> None:
    def holding(request: Request) -> Behaviour:
        return Answer(chat_completion("ok")) if b"word ok" in request.body else Hang()

    cases_file(tmp_path, 2)
    with serving(holding) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        first = start("run", path)
        wait_for(lambda: len(stub.requests), 3)
        second = run("run", path, "--resume")
        assert first.poll() is None, "the first one ends only when it is killed"
        first.kill()
        first.communicate()
    assert second.returncode == 2
    assert f"held by process {first.pid}" in second.stderr


def test_a_wrong_key_shows_before_anything_is_spent(tmp_path: Path) -> None:
    cases_file(tmp_path, 3)
    refusing = always(Answer(openai_error(f"Incorrect API key provided: {KEY}"), 401))
    with serving(refusing) as bad, serving(FaultyChat(right_answer)) as good:
        models = [remote_model(good.url, "a"), remote_model(bad.url, "b")]
        done = run("run", eval_file(tmp_path, models))
        assert asked(good) == []
        assert len(bad.requests) == 1
    assert done.returncode == 2
    assert "preflight failed" in done.stderr
    assert "b: " in done.stderr
    assert KEY not in done.stderr


def test_without_preflight_a_wrong_key_stops_that_model_alone(tmp_path: Path) -> None:
    cases_file(tmp_path, 6)
    refusing = always(Answer(openai_error("no such key"), 401))
    results = tmp_path / "results.jsonl"
    with serving(refusing) as bad, serving(FaultyChat(right_answer)) as good:
        models = [
            remote_model(good.url, "a"),
            remote_model(bad.url, "b", limits={"concurrency": 1}),
        ]
        done = run("run", eval_file(tmp_path, models), "--no-preflight", "--results", results)
        assert len(bad.requests) == 1
        assert len(good.requests) == 6
    assert done.returncode == 0, done.stderr
    assert "b was stopped" in done.stderr
    states = {line["model"]: line["status"] for line in read_lines(results)}
    assert states["b"] == "error"
    assert states["a"] != "error"


SHAPES = [
    KEY,
    "AIzaSyB-canary-0123456789abcdefghijk",
    "canary.with.no.known.shape.4711",
]


STATUSES = (200, 400, 401, 404, 429, 500)


@pytest.mark.parametrize("key", SHAPES)
def test_a_key_is_found_nowhere_after_a_run_that_fails_in_every_way(
    tmp_path: Path, key: str
) -> None:
    cases_file(tmp_path, 2)

    def echo(request: Request) -> Behaviour:
        status = int(request.path.split("/")[1])
        said = f"bad key {request.headers['authorization']} ({key}) https://u:{key}@host/"
        body = openai_error(said) if status != 200 else {"oops": said}
        return Answer(body, status, {"x-echo": key, "retry-after": "0"})

    (tmp_path / "key").write_text(key + "\n")
    (tmp_path / "key").chmod(0o600)
    with serving(echo) as stub:
        models = [remote_model(f"{stub.origin}/{status}", f"m{status}") for status in STATUSES]
        filed = {"api_key_env": None, "api_key_file": "key"}
        models += [remote_model(f"{stub.origin}/500", "filed", **filed)]
        hasty = {"most": 2, "case_timeout_s": 1}
        path = eval_file(tmp_path, models, attempts=hasty)
        out = ["--json", tmp_path / "card.json", "--results", tmp_path / "results.jsonl"]
        out += ["--log", tmp_path / "log.jsonl"]
        shown = [run("run", path, "--no-preflight", *out, env={"STUB_KEY": key})]
        refused = eval_file(tmp_path, models[2:4])
        shown.append(run("run", refused, *out, env={"STUB_KEY": key}))
        assert all(key in request.headers["authorization"] for request in stub.requests)
    (tmp_path / "key").unlink()
    shown.append(run("runs", path, "--json"))
    assert [done.returncode for done in shown] == [3, 2, 0]
    assert "redacted" in shown[1].stderr
    assert [done.args for done in shown if key in done.stdout + done.stderr] == []
    assert {line["status"] for line in read_lines(tmp_path / "results.jsonl")} == {"error"}
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len(files) >= 6
    assert [file.name for file in files if key.encode() in file.read_bytes()] == []


def test_a_dry_run_sends_nothing_and_names_the_price(tmp_path: Path) -> None:
    cases_file(tmp_path, 10)
    with serving(FaultyChat(right_answer)) as stub:
        priced = remote_model(stub.url, "priced", params={"max_tokens": 1000})
        unpriced = {**remote_model(stub.url, "unpriced"), "price": None}
        path = eval_file(tmp_path, [priced, unpriced], repeats=3)
        done = run("run", path, "--dry-run")
        assert stub.requests == []
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert lines["priced"].split()[1] == "30"
    assert "$" in lines["priced"]
    assert "30,000" in lines["priced"]
    assert lines["unpriced"].endswith("unknown")
    assert lines["In"].endswith("unknown")
    assert not (tmp_path / ".callscore").exists()


def test_a_dry_run_expects_no_reply_longer_than_a_model_may_write(tmp_path: Path) -> None:
    cases_file(tmp_path, 10)
    models = [
        remote_model("http://127.0.0.1:9/v1", "brief", params={"max_tokens": 3}),
        remote_model("http://127.0.0.1:9/v1", "free"),
    ]
    config = load_eval(eval_file(tmp_path, models))
    brief, free = dry_run(prepare(config, RunOptions(), sending=False))
    assert (brief.output_tokens, brief.most_output_tokens) == (30, 30)
    assert 30 < free.output_tokens < free.most_output_tokens
    assert brief.cost_usd is not None and free.cost_usd is not None
    assert brief.most_cost_usd is not None
    assert brief.cost_usd < brief.most_cost_usd, "no token is shorter than a byte"
    assert brief.cost_usd < free.cost_usd


def test_a_dry_run_counts_the_judge_at_most(tmp_path: Path) -> None:
    with serving(FaultyChat(right_answer)) as stub:
        models = [{"name": "careful", "provider": "simulated", "price": {"input": 1, "output": 1}}]
        judge = remote_model(stub.url, "judge")
        path = eval_file(tmp_path, models, data="sample", judge=judge, repeats=2, budget_usd=9)
        done = run("run", path, "--dry-run")
        assert stub.requests == []
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("judge (judge"))
    # QA and translation cases one request, text cases four at most, two runs each; outcomes of
    # four translations, once; one translation has more than 60 items; each may be put twice
    assert row.split()[4] == str(2 * ((13 * (1 + 4 + 1) + 1) * 2 + 4))
    assert "$0 to $" in row
    assert "The budget is for models and judges together." in done.stdout
    assert "each model and judge is tested with one small request" in done.stdout


def test_a_dry_run_counts_the_judging_of_replies_that_are_already_paid(tmp_path: Path) -> None:
    cases_file(tmp_path, 3)
    with serving(FaultyChat(right_answer)) as stub:
        models, judge = [remote_model(stub.url)], remote_model(stub.url, "judge")

        def judge_row() -> list[str]:
            done = run("run", eval_file(tmp_path, models, judge=judge), "--dry-run")
            assert done.returncode == 0, done.stderr
            lines = done.stdout.splitlines()
            return next(line.split() for line in lines if line.startswith("judge ("))

        before = judge_row()
        assert run("run", eval_file(tmp_path, models)).returncode == 0
        assert judge_row() == before


def test_a_budget_is_not_exceeded_and_the_rest_is_not_run(tmp_path: Path) -> None:
    cases_file(tmp_path, 40)
    results = tmp_path / "results.jsonl"
    faulty = FaultyChat(right_answer)
    with serving(faulty) as stub:
        model = remote_model(
            stub.url, params={"max_tokens": 1000}, price={"input": 0, "output": 1000}
        )
        path = eval_file(tmp_path, [model], budget_usd=1.05)
        done = run("run", path, "--results", results)
        assert done.returncode == 0, done.stderr
        assert "budget" in done.stderr
        # an answer costs 0.007, but each call must be able to cost 1.00
        spent = 0.007 * len(asked(stub))
        assert 0 < spent <= 1.05
        states = [line["status"] for line in read_lines(results)]
        assert states.count("not_run") == 40 - len(asked(stub))
        assert run("run", path, "--require-complete").returncode == 3
        assert run("run", path, "--resume", "--budget", "100").returncode == 0
        assert len(asked(stub)) == 40


def test_a_budget_needs_a_price(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    with serving(FaultyChat(right_answer)) as stub:
        path = eval_file(tmp_path, [{**remote_model(stub.url), "price": None}])
        done = run("run", path, "--budget", "1")
        assert stub.requests == []
    assert done.returncode == 2
    assert "price is unknown" in done.stderr


def test_a_limit_asks_the_first_cases_only(tmp_path: Path) -> None:
    cases_file(tmp_path, 9)
    results = tmp_path / "results.jsonl"
    with serving(FaultyChat(right_answer)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        assert run("run", path, "--limit", 2, "--results", results).returncode == 0
        assert len(asked(stub)) == 2
    assert [line["case_id"] for line in read_lines(results)] == ["c0", "c1"]


def test_a_folder_that_cannot_be_written_is_refused_before_the_first_call(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    (tmp_path / "file").write_text("not a folder")
    with serving(FaultyChat(right_answer)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        for option in ("--store", "--results", "--log", "--json", "--records", "--save-verdicts"):
            done = run("run", path, option, tmp_path / "file" / "x")
            assert done.returncode == 4
            assert "Traceback" not in done.stderr
        assert stub.requests == []


def test_gates_decide_the_exit_code(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    perfect = {"name": "p", "provider": "simulated"}
    metric = "qa.question_score_accuracy"
    for gate, code, words in (
        ({"of": metric, "at_least": 1}, 0, ""),
        ({"of": metric, "at_most": 0.5}, 1, f"p: {metric} is 1, expected at most 0.5"),
        ({"of": "final", "at_least": 1}, 0, ""),
        ({"of": "entity", "at_least": 0.1}, 3, "p: entity has no value"),
    ):
        done = run("run", eval_file(tmp_path, [perfect], gates=[gate]))
        assert done.returncode == code, done.stderr
        assert words in done.stderr


def test_a_stored_run_lists_its_cost_and_coverage_as_json(tmp_path: Path) -> None:
    cases_file(tmp_path, 2)
    with serving(FaultyChat(right_answer)) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)])
        assert run("run", path).returncode == 0
    listed = run_in_new_process("runs", path, "--json").stdout.splitlines()
    (record,) = [json.loads(line) for line in listed]
    assert (record["answered"], record["failed"], record["status"]) == (2, 0, "complete")
    # two answers and the preflight
    assert record["cost_usd"] == pytest.approx(3 * (11 * 1.0 + 7 * 2.0) / 1e6)


def test_runs_without_a_store_says_so(tmp_path: Path) -> None:
    done = run("runs", "--store", tmp_path / "none.db")
    assert done.returncode == 2
    assert "no such store" in done.stderr
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "--store"),
        ("purge", "--all", "--yes", "--store"),
        ("report", 1, "-o", "r.md", "--store"),
        ("serve", "--no-open"),
    ],
    ids=str,
)
def test_an_empty_file_does_not_become_a_store(words: Sequence[Any], tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    done = run(*words, empty, cwd=tmp_path)
    assert done.returncode == 2
    assert "empty.jsonl: no such store" in done.stderr
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("empty.jsonl", 0)]
