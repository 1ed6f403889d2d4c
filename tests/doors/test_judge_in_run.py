"""The judge inside a run: under its budget, tried first, kept, and gone on with."""

from __future__ import annotations

import json
import re
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import Json, form, output, qa_case, question
from callscore.core.run import Limits
from command_server import NEVER_S
from commands import line_of, run, start, wait_for
from eval_files import eval_file, read_json, read_lines, remote_model
from judging_stub import answer_as_judge, judge_entry, judge_requests, without_counts
from stub_servers import (
    Answer,
    Behaviour,
    Gate,
    Request,
    Responder,
    Stub,
    WaitUntil,
    always,
    chat,
    chat_completion,
    openai_error,
    serving,
)

CASES = 12
JUDGED = "qa.evidence_backed_reasoning"
DEAR = {"input": 0.0, "output": 1000.0}
"""An answer of the stub has 7 tokens: $0.007. With 1000 tokens it could have cost $1."""


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving(answer_as_judge) as server:
        yield server


def said(number: int) -> str:
    return f"Good morning, this is Marcus, how may I help you with matter {number}"


def data(folder: Path, models: tuple[str, ...] = ("m",)) -> list[Json]:
    """Cases whose reasons need a judge, and recorded models that say the same."""
    cases, outputs = [], []
    for number in range(CASES):
        turns = [{"id": 1, "speaker": "agent", "text": said(number)}]
        cases.append(qa_case([question(reason="Marcus greets")], f"c{number}", transcript=turns))
        reason = f"Marcus opens with {said(number)}"
        outputs += [output(f"c{number}", form(question(reason=reason)), model) for model in models]
    for name, lines in (("cases", cases), ("outputs", outputs)):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return [{"name": model, "provider": "replay", "outputs": "outputs.jsonl"} for model in models]


def trial(folder: Path, stub: Stub, **more: Any) -> Path:
    judge = judge_entry(stub.url, price=DEAR, params={"max_tokens": 1000}, **more)
    return eval_file(folder, data(folder), judge=judge, embedder="none")


def test_judging_stays_within_the_budget_and_goes_on_later(tmp_path: Path, stub: Stub) -> None:
    path, results, card = trial(tmp_path, stub), tmp_path / "r.jsonl", tmp_path / "card.json"
    options = ("--no-preflight", "--budget", "1.05")
    done = run("run", path, *options, "--results", results)
    assert done.returncode == 0, done.stderr
    assert "run 1: budget" in done.stderr
    first = len(judge_requests(stub))
    # each request must be able to cost $1, so at most one is in the air
    assert 0 < first < CASES
    assert 0.007 * first <= 1.05 < 0.007 * first + 1
    states = [line["status"] for line in read_lines(results)]
    assert 0 < states.count("valid") <= first
    assert states.count("valid") + states.count("error") == CASES
    record = json.loads(run("runs", path, "--json").stdout)
    assert (record["status"], record["judge_usd"]) == ("budget", pytest.approx(0.007 * first))
    assert record["cost_usd"] == 0
    done = run("run", path, *options, "--resume")
    assert len(judge_requests(stub)) == first  # what was spent before still counts
    done = run("run", path, "--resume", "--budget", "100", "--json", card)
    assert "run 1: complete" in done.stderr
    judging = read_json(card)["judging"]
    assert len(judge_requests(stub)) == judging["requests"] >= CASES
    assert judging["cost_usd"] == pytest.approx(0.007 * judging["requests"])


def test_models_and_judges_share_one_budget(tmp_path: Path, stub: Stub) -> None:
    data(tmp_path)
    reason = f"Marcus opens with {said(0)}"
    with serving(chat(json.dumps(form(question(reason=reason))))) as models:
        dear: Json = {"price": DEAR, "params": {"max_tokens": 10}}
        judge = judge_entry(stub.url, **dear)
        path = eval_file(tmp_path, [remote_model(models.url, **dear)], judge=judge, embedder="none")
        done = run("run", path, "--budget", "0.11")
        assert "run 1: budget" in done.stderr, done.stderr
        asked = len(models.requests) - 1, len(judge_requests(stub))
    assert 0 < asked[0] <= CASES
    assert 0 < asked[1] < CASES
    # both preflights are paid; another request could cost 0.01
    assert 0.11 - 0.01 < 0.007 * (sum(asked) + 2) <= 0.11


def asked_and_judged(folder: Path, url: str, **more: Any) -> Path:
    """One server answers as a model, one call at a time, and judges."""
    data(folder)
    model = remote_model(url, limits={"concurrency": 1}, **more)
    return eval_file(folder, [model], judge=judge_entry(url), embedder="none")


def answering(request: Any) -> Behaviour:
    if request.json["model"] == "judge-1":
        return answer_as_judge(request)
    matter = re.search(r"matter (\d+)", request.body.decode())
    reason = f"Marcus opens with {said(int(matter[1]))}" if matter else ""
    return Answer(chat_completion(json.dumps(form(question(reason=reason)))))


def until_judged(respond: Responder) -> Responder:
    """A responder whose last answer as a model waits for the first question to the judge."""
    asked: Counter[str] = Counter()

    def waiting(request: Request) -> Behaviour:
        behaviour = respond(request)
        asked[request.json["model"]] += 1
        preflight = 1
        if asked["stub-m"] < preflight + CASES:
            return behaviour
        return WaitUntil(behaviour, lambda: asked["judge-1"] > preflight)

    return waiting


def test_an_answer_is_judged_while_others_are_still_being_asked(tmp_path: Path) -> None:
    with serving(until_judged(answering)) as stub:
        done = run("run", asked_and_judged(tmp_path, stub.url))
        assert "run 1: complete" in done.stderr, done.stderr
        models = [request.json["model"] for request in stub.requests]
    assert models.count("stub-m") == 1 + CASES


def test_a_case_that_a_model_fails_holds_up_no_judge(tmp_path: Path) -> None:
    def failing(request: Any) -> Behaviour:
        if request.json["model"] == "stub-m" and said(0) in request.body.decode():
            return Answer(openai_error("no", "bad"), 400)
        return answering(request)

    results = tmp_path / "results.jsonl"
    with serving(until_judged(failing)) as stub:
        done = run("run", asked_and_judged(tmp_path, stub.url), "--results", results)
        assert "run 1: complete" in done.stderr, done.stderr
    assert [line["status"] for line in read_lines(results)] == ["error"] + ["valid"] * (CASES - 1)


def test_a_run_killed_while_it_asks_and_judges_goes_on_and_pays_only_what_was_in_flight(
    tmp_path: Path,
) -> None:
    files = [tmp_path / name for name in ("whole.json", "whole.jsonl", "again.json", "again.jsonl")]
    gate = Gate(answering)
    with serving(gate) as stub:
        path = asked_and_judged(tmp_path, stub.url)
        stores = tmp_path / "whole.db", tmp_path / "killed.db"
        run("run", path, "--store", stores[0], "--json", files[0], "--results", files[1])
        whole = len(stub.requests)
        for enough in (6, 8):
            gate.hold(enough)
            before = len(stub.requests)
            process = start("run", path, "--store", stores[1], "--no-preflight", "--resume")
            wait_for(lambda: len(stub.requests), before + enough + 1)
            process.kill()
            process.communicate()
        gate.open()
        options = ("--no-preflight", "--resume", "--store", stores[1])
        done = run("run", path, *options, "--json", files[2], "--results", files[3])
        assert "run 1: complete" in done.stderr, done.stderr
        paid = len(stub.requests) - whole
    preflights, in_flight = 2, 1 + Limits().concurrency
    assert paid <= whole - preflights + 2 * in_flight
    assert files[0].read_bytes() == files[2].read_bytes()
    assert files[1].read_bytes() == files[3].read_bytes()


def test_a_budget_needs_the_price_of_the_judge(tmp_path: Path, stub: Stub) -> None:
    path = eval_file(tmp_path, data(tmp_path), judge=judge_entry(stub.url, price=None))
    done = run("run", path, "--budget", "1")
    assert done.returncode == 2
    assert "'judge (judge)': its price is unknown" in done.stderr
    assert stub.requests == []


def test_a_judge_that_cannot_be_reached_ends_the_run_before_models_are_asked(
    tmp_path: Path,
) -> None:
    data(tmp_path)
    refusing = always(Answer(openai_error("Incorrect API key provided", "invalid_api_key"), 401))
    with serving(refusing) as stub, serving(chat()) as models:
        path = eval_file(tmp_path, [remote_model(models.url)], judge=judge_entry(stub.url))
        done = run("run", path)
        assert done.returncode == 2
        assert "preflight failed" in done.stderr and "judge (judge)" in done.stderr
        assert len(models.requests) <= 1  # its own preflight
        assert len(stub.requests) == 1
        # its answer is malformed, so the judge is not asked
        assert run("run", path, "--no-preflight", "--limit", 1).returncode == 0


def test_a_gate_does_not_hold_where_the_judge_failed_on_an_answer(tmp_path: Path) -> None:
    def respond(request: Request) -> Behaviour:
        is_lost = said(7).encode() in request.body
        return Answer(openai_error("overlong"), 400) if is_lost else answer_as_judge(request)

    judged, missed = {"of": JUDGED, "at_least": 0.1}, {"of": JUDGED, "at_most": 0.1}
    code = {"of": "qa.question_score_accuracy", "at_least": 0.9}
    ends, card = [], tmp_path / "card.json"
    with serving(respond) as stub:
        judge = judge_entry(stub.url)
        for gate in (judged, missed, code):
            path = eval_file(tmp_path, data(tmp_path), judge=judge, embedder="none", gates=[gate])
            ends.append(run("run", path, "--json", card))
    assert [end.returncode for end in ends] == [3, 3, 0]
    assert f"{JUDGED} has no value" in ends[0].stderr
    metrics = read_json(card)["models"][0]["tasks"]["qa"]["metrics"]
    assert (metrics[JUDGED]["n"], metrics[JUDGED]["failed"]) == (CASES - 1, 1)
    assert "failed" not in metrics[code["of"]]


def test_c140_three_identical_replies_take_one_request_and_its_price_once(
    tmp_path: Path, stub: Stub
) -> None:
    models, card = data(tmp_path, ("a", "b", "c")), tmp_path / "card.json"
    judge = judge_entry(stub.url, price={"input": 1000.0, "output": 0.0})
    path = eval_file(tmp_path, models, judge=judge, embedder="none")
    done = run("run", path, "--limit", "3", "--json", card)
    assert done.returncode == 0, done.stderr
    found = read_json(card)
    judging, sent = found["judging"], len(judge_requests(stub))
    assert (judging["items"], judging["requests"], judging["stored"]) == (9, sent, 2 * sent)
    assert judging["input_tokens"] == 11 * sent
    assert judging["cost_usd"] == pytest.approx(0.011 * sent)
    shown = f"9 items · {sent} requests sent · {2 * sent} from the store"
    assert shown in " ".join(done.stdout.split())
    scores = [model["tasks"]["qa"]["metrics"] for model in found["models"]]
    assert scores[0] == scores[1] == scores[2]
    for again in (("--rescore", "1"), ()):
        assert run("run", path, "--limit", "3", *again, "--json", card).returncode == 0
        judging = read_json(card)["judging"]
        assert (judging["requests"], judging["stored"], judging["cost_usd"]) == (0, 3 * sent, 0)
        assert (judging["input_tokens"], judging["output_tokens"]) == (0, 0)
    assert len(judge_requests(stub)) == sent


def test_an_interrupt_while_judging_keeps_what_was_paid(tmp_path: Path) -> None:
    results, gate = tmp_path / "results.jsonl", Gate(answer_as_judge, answers=3)
    with serving(gate) as stub:
        path = trial(tmp_path, stub, limits={"concurrency": 2})
        process = start("run", path, "--results", results)
        wait_for(lambda: len(judge_requests(stub)), 4)  # two are answered, two are held
        process.send_signal(signal.SIGINT)
        # what it waits for, never that nothing is in flight
        awaited = "waiting for 2 requests in flight: 2 to judge (judge); "
        assert awaited in line_of(process, "stopping")
        gate.open()
        _, err = process.communicate(timeout=NEVER_S)
        assert process.returncode == 130, err
        assert "--resume" in err and not results.exists()
        asked = len(judge_requests(stub))
        assert asked < CASES
        card = tmp_path / "card.json"
        done = run("run", path, "--resume", "--results", results, "--json", card)
        assert "run 1: complete" in done.stderr
    assert len(judge_requests(stub)) == read_json(card)["judging"]["requests"]
    assert {line["status"] for line in read_lines(results)} == {"valid"}


def test_a_judge_that_answers_under_another_name_is_part_of_the_signature(
    tmp_path: Path,
) -> None:
    def named(name: str) -> Json:
        def respond(request: Any) -> Answer:
            answer = answer_as_judge(request)
            assert isinstance(answer, Answer) and isinstance(answer.body, dict)
            return Answer({**answer.body, "model": name})

        card = tmp_path / "card.json"
        with serving(respond) as server:
            path = trial(tmp_path, server)
            assert run("run", path, "--json", card).returncode == 0
            first = without_counts(read_json(card))
            assert run("run", path, "--rescore", "1", "--json", card).returncode == 0
            assert without_counts(read_json(card)) == first
        (tmp_path / ".callscore" / "runs.db").unlink()
        found: Json = read_json(card)
        return found

    own, other = named("judge-1"), named("cheap-mini")
    assert "answered by" not in own["signature"] and own["judging"]["answered_by"] == []
    assert own["notes"] == other["notes"][1:]
    assert "(answered by cheap-mini)|embedder" in other["signature"]
    assert other["judging"]["answered_by"] == ["cheap-mini"]
    assert "asked for judge-1, answered by another model: cheap-mini" in other["notes"][0]


def test_scoring_again_asks_no_judge(tmp_path: Path, stub: Stub) -> None:
    path, card = trial(tmp_path, stub), tmp_path / "card.json"
    run("run", path, "--limit", "3")
    asked = len(stub.requests)
    again = ("run", path, "--limit", "3", "--rescore", "1", "--json", card)
    done = run(*again, env={"STUB_KEY": ""})
    assert done.returncode == 0, done.stderr
    assert read_json(card)["models"][0]["tasks"]["qa"]["status"] == "valid"
    other = trial(tmp_path, stub, name="other", model="judge-2")
    done = run("run", other, "--limit", "3", "--rescore", "1", "--json", card)
    assert len(stub.requests) == asked
    evidence = read_json(card)["models"][0]["tasks"]["qa"]["metrics"][
        "qa.evidence_backed_reasoning"
    ]
    assert evidence["value"] is None and evidence["why"].startswith("failed")


def test_a_run_writes_the_records_and_verdicts_that_score_writes(
    tmp_path: Path, stub: Stub
) -> None:
    path = trial(tmp_path, stub)
    files = [tmp_path / name for name in ("r1", "r2", "v1", "v2")]
    ran = run("run", path, "--records", files[0], "--save-verdicts", files[2])
    assert ran.returncode == 0, ran.stderr
    judge = judge_entry(stub.url, price=DEAR, params={"max_tokens": 1000})
    (tmp_path / "judge.yaml").write_text(json.dumps(judge), encoding="utf-8")
    asked = len(stub.requests)
    scored = run(
        *("score", tmp_path / "cases.jsonl", "--outputs", tmp_path / "outputs.jsonl"),
        *("--judge", tmp_path / "judge.yaml", "--embedder", "none"),
        *("--store", tmp_path / ".callscore" / "runs.db"),
        *("--records", files[1], "--save-verdicts", files[3]),
    )
    assert scored.returncode == 0, scored.stderr
    assert len(stub.requests) == asked
    assert len(read_lines(files[2])) == CASES
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[2].read_bytes() == files[3].read_bytes()
