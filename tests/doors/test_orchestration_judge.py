"""Argument values before a judge: `orchestration score --judge`, `run`, and cases elsewhere."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import callscore
from builders import Json
from callscore.core.case import Message
from callscore.judges.fakes import parse_prompt
from callscore.judges.rubric import built_in_library
from commands import run
from eval_files import cases_file, eval_file, read_json, read_lines, remote_model
from judging_stub import answer_as_judge, judge_entry, judge_requests, without_counts
from stub_servers import Answer, Behaviour, Request, Stub, always, chat_completion, serving

SAMPLES = Path(callscore.__file__).parent / "demo" / "orchestration"
CARDS = SAMPLES / "cards" / "EN"
LARGE = SAMPLES / "outputs" / "sample-large" / "EN"
SCENARIOS = {"orchestration": {"scenarios": str(SAMPLES / "scenarios" / "EN"), "cards": str(CARDS)}}


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving(answer_as_judge) as server:
        yield server


def config(folder: Path, stub: Stub, **more: Any) -> Path:
    path = folder / "judge.yaml"
    path.write_text(json.dumps(judge_entry(stub.url, **more)), encoding="utf-8")
    return path


def scored(folder: Path, *args: object) -> Json:
    target = folder / "result.json"
    store = folder / "kept.db"
    done = run(
        *("orchestration", "score", LARGE, "--cards", CARDS, "--json", target, "--store", store),
        *args,
    )
    assert done.returncode == 0, done.stderr
    found: Json = read_json(target)
    return found


def key_metrics(document: Json) -> Json:
    found: Json = document["overall_statistics"]["key_metrics"]
    return found


def test_open_values_go_to_the_judge_once(tmp_path: Path, stub: Stub) -> None:
    before = scored(tmp_path)
    judge, saved = config(tmp_path, stub), tmp_path / "verdicts.jsonl"
    after = scored(tmp_path, "--judge", judge, "--save-verdicts", saved)
    extension = after["x_extension"]
    assert before["x_extension"]["undecided"]["count"] == 2
    assert (extension["undecided"]["count"], extension["approximate"]) == (0, False)
    assert extension["judge"].startswith("judge@")
    assert extension["judging"]["items"] == 2
    assert extension["judging"]["cost_usd"] > 0
    assert len(judge_requests(stub)) == extension["judging"]["requests"] > 0
    asked = len(stub.requests)
    second = scored(tmp_path, "--judge", judge)
    assert second["x_extension"]["judging"]["requests"] == 0
    assert without_counts(second) == without_counts(after)
    assert len(stub.requests) == asked
    again = scored(tmp_path, "--verdicts", saved)
    assert key_metrics(again) == key_metrics(after)
    assert again["x_extension"]["undecided"]["count"] == 0


def test_the_judge_sees_the_conversation_and_no_model(tmp_path: Path, stub: Stub) -> None:
    scored(tmp_path, "--judge", config(tmp_path, stub))
    assert judge_requests(stub)
    for request in judge_requests(stub):
        system, user = (message["content"] for message in request.json["messages"])
        rubrics = built_in_library().rubrics
        assert rubrics["value"].question in system and rubrics["support"].question not in system
        assert "\nTurn 1, " in user and "calls" in user
        assert "sample-large" not in request.body.decode()


def test_a_word_decides_the_value(tmp_path: Path) -> None:
    def strictly(request: Request) -> Behaviour:
        answer = answer_as_judge(request)
        assert isinstance(answer, Answer) and isinstance(answer.body, dict)
        given = json.loads(answer.body["choices"][0]["message"]["content"])["items"]
        seen = parse_prompt([Message(m["role"], m["content"]) for m in request.json["messages"]])
        canaries = [item.id for item in seen.items if item.text == item.against]
        items = [
            item | {"verdict": "same" if item["id"] in canaries else "different"} for item in given
        ]
        return Answer(chat_completion(json.dumps({"items": items})))

    with serving(strictly) as stub:
        after = scored(tmp_path, "--judge", config(tmp_path, stub))
    assert after["x_extension"]["undecided"]["count"] == 0
    assert after["x_extension"]["errors"]["wrong_value"]["count"] == 2
    assert key_metrics(after)["FC"] < 1


def test_a_judge_that_fails_leaves_the_values_open(tmp_path: Path) -> None:
    with serving(always(Answer(chat_completion("I would rather not say.")))) as stub:
        after = scored(tmp_path, "--judge", config(tmp_path, stub))
    assert after["x_extension"]["undecided"]["count"] == 2
    assert after["x_extension"]["approximate"]
    assert after["x_extension"]["judging"]["failed"] == 2


def test_an_estimate_stays_one(tmp_path: Path) -> None:
    after = scored(tmp_path, "--judge", "offline")
    assert after["x_extension"]["undecided"]["count"] == 2
    assert after["x_extension"]["approximate"]
    assert after["x_extension"]["judge"].startswith("offline:")


def test_compat_takes_no_judge(tmp_path: Path) -> None:
    done = run(
        *("orchestration", "score", LARGE, "--cards", CARDS),
        *("--mode", "compat", "--judge", "offline"),
    )
    assert done.returncode == 2
    assert "expected verdicts, not a judge" in done.stderr


def reworded(request: Request) -> Behaviour:
    """A model that calls the first tool with values which only somebody who reads can compare."""
    tools = request.json.get("tools")
    if not tools:
        return Answer(chat_completion("ok"))
    tool = tools[0]["function"]
    given = {name: f"some {name} of it" for name in tool["parameters"]["properties"]}
    call = {"name": tool["name"], "arguments": json.dumps(given)}
    asked = [{"id": "1", "type": "function", "function": call}]
    return Answer(chat_completion(None, "tool_calls", tool_calls=asked))


def test_verdicts_of_an_eval_file_decide_values_of_scenarios(tmp_path: Path, stub: Stub) -> None:
    target, verdicts, saved = (tmp_path / name for name in ("r.json", "given.jsonl", "saved.jsonl"))
    cases_file(tmp_path, 1)
    evidence = "qa.evidence_backed_reasoning"
    on_a_call = {"case_id": "c0", "metric": evidence, "item": "q1", "verdict": "vague"}
    both = {"calls": "cases.jsonl", **SCENARIOS}

    def of_model(**keys: Any) -> Json:
        path = eval_file(tmp_path, [remote_model(models.url)], **keys)
        done = run("run", path, "--json", target, "--save-verdicts", saved)
        assert done.returncode == 0, done.stderr
        document: Json = read_json(target)
        return document["orchestration"]["m"] if "orchestration" in document else document

    with serving(reworded) as models:
        before = of_model(data=SCENARIOS)["x_extension"]
        first, *others = before["undecided"]["items"]
        assert before["judge"] == "none" and others
        lines = [
            {**first, "verdict": "same"},
            *({**item, "model": "m", "verdict": "different"} for item in others[1:]),
            {**first, "model": "another", "verdict": "different"},
            on_a_call,
        ]
        verdicts.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        after = of_model(data=both, verdicts="given.jsonl")["x_extension"]
        judge = judge_entry(stub.url)
        all_decided = of_model(data=both, verdicts="given.jsonl", judge=judge, embedder="none")
    assert [item["item"] for item in after["undecided"]["items"]] == [others[0]["item"]]
    assert after["judge"] == "verdicts"
    assert not any("verdicts name no open item" in line for line in after["warnings"])
    assert after["errors"]["wrong_value"]["count"] >= len(others) - 1
    extension = all_decided["x_extension"]
    assert extension["undecided"]["count"] == 0
    assert extension["judge"].startswith("verdicts+judge@")
    assert extension["judging"]["items"] == 1
    asked = [line for line in read_lines(saved) if line["metric"] != evidence]
    assert [line["item"] for line in asked] == [others[0]["item"]]


@pytest.mark.parametrize("name", ["open.csv", "open.jsonl"])
def test_the_open_values_of_a_run_can_be_filled_in_by_people(tmp_path: Path, name: str) -> None:
    listed, target = tmp_path / name, tmp_path / "result.json"
    with serving(reworded) as models:
        path = eval_file(tmp_path, [remote_model(models.url)], data=SCENARIOS)
        done = run("run", path, "--open-items", listed, "--json", target)
        assert done.returncode == 0, done.stderr
        before = read_json(target)["x_extension"]["undecided"]
        text = listed.read_text(encoding="utf-8-sig")
        if name.endswith("csv"):
            rows = list(csv.DictReader(text.splitlines(keepends=True)))
            written = io.StringIO(newline="")
            filled = csv.DictWriter(written, list(rows[0]))
            filled.writeheader()
            filled.writerows(row | {"verdict": "same"} for row in rows)
            listed.write_text(written.getvalue(), encoding="utf-8", newline="")
        else:
            rows = [json.loads(line) for line in text.splitlines()]
            lines = [json.dumps(row | {"verdict": "same"}) + "\n" for row in rows]
            listed.write_text("".join(lines), encoding="utf-8")
        asked = {(item["case_id"], item["item"]) for item in before["items"]}
        assert {(row["case_id"], row["item"]) for row in rows} == asked
        path = eval_file(tmp_path, [remote_model(models.url)], data=SCENARIOS, verdicts=name)
        assert run("run", path, "--json", target).returncode == 0
    assert before["count"] == len(rows) > 0
    assert read_json(target)["x_extension"]["undecided"]["count"] == 0


def test_a_verdict_that_is_none_ends_a_run_before_any_model_is_asked(tmp_path: Path) -> None:
    line = {"case_id": "EN/1#7", "metric": "orchestration.argument_value", "item": "x"}
    verdicts = tmp_path / "given.jsonl"
    verdicts.write_text(json.dumps({**line, "verdict": "perhaps"}), encoding="utf-8")
    with serving(reworded) as models:
        path = eval_file(
            tmp_path, [remote_model(models.url)], data=SCENARIOS, verdicts="given.jsonl"
        )
        done = run("run", path)
        assert (done.returncode, models.requests) == (2, [])
    assert f"{verdicts}:1" in done.stderr and "expected one of same, different" in done.stderr


def test_a_verdict_on_no_value_of_a_scenario_is_counted_in_a_warning(tmp_path: Path) -> None:
    line = {"case_id": "EN/1#99", "metric": "orchestration.argument_value", "item": "x"}
    verdicts, target = tmp_path / "given.jsonl", tmp_path / "r.json"
    verdicts.write_text(json.dumps({**line, "verdict": "same"}), encoding="utf-8")
    model = {"name": "p", "provider": "simulated"}
    path = eval_file(tmp_path, [model], data=SCENARIOS, verdicts="given.jsonl")
    assert run("run", path, "--json", target).returncode == 0
    (warning,) = read_json(target)["x_extension"]["warnings"]
    assert warning == "1 verdicts name no open item of this model and language"


def test_a_run_puts_values_to_the_judge_within_its_budget(tmp_path: Path, stub: Stub) -> None:
    target, saved = tmp_path / "result.json", tmp_path / "verdicts.jsonl"
    with serving(reworded) as models:
        path = eval_file(
            tmp_path, [remote_model(models.url)], data=SCENARIOS, judge=judge_entry(stub.url)
        )
        dry = run("run", path, "--dry-run").stdout
        assert next(line for line in dry.splitlines() if line.startswith("judge (judge"))
        assert judge_requests(stub) == []
        done = run("run", path, "--json", target, "--save-verdicts", saved, "--budget", "5")
        assert done.returncode == 0, done.stderr
        document = read_json(target)
        asked = len(stub.requests)
        assert document["x_extension"]["judging"]["items"] > 0
        assert document["x_extension"]["undecided"]["count"] == 0
        lines = read_lines(saved)
        assert {line["metric"] for line in lines} == {"orchestration.argument_value"}
        assert {line["model"] for line in lines} == {"m"}
        extension = document["x_extension"]
        assert extension["answered_by"] == ["stub-2026-01-01"]
        assert any("m: asked for stub-m, answered by" in line for line in extension["warnings"])
        assert extension["judge"].endswith("(answered by stub-2026-01-01)")
        again = run("run", path, "--json", target)
        assert again.returncode == 0
        assert without_counts(read_json(target)) == without_counts(document)
        assert len(stub.requests) == asked


def test_values_of_a_case_of_other_origin_are_judged(tmp_path: Path, stub: Stub) -> None:
    case = {
        "id": "c1",
        "task": "orchestration",
        "transcript": "user: Book a table in the big apple",
        "config": {},
        "expected_outcome": {"calls": [{"book": {"place": ["a table in New York City"]}}]},
    }
    call = {"name": "book", "arguments": {"place": "table in New York City please"}}
    answer = {"case_id": "c1", "model": "m", "output": {"calls": [call]}}
    cases, outputs = tmp_path / "cases.jsonl", tmp_path / "outputs.jsonl"
    cases.write_text(json.dumps(case) + "\n", encoding="utf-8")
    outputs.write_text(json.dumps(answer) + "\n", encoding="utf-8")
    target = tmp_path / "card.json"

    def value(*args: object) -> Json:
        done = run("score", cases, "--outputs", outputs, "--json", target, *args)
        assert done.returncode == 0, done.stderr
        task = read_json(target)["models"][0]["tasks"]["orchestration"]
        found: Json = task["metrics"]["orchestration.arguments_value_f1"]
        return found

    alone = value()
    assert (alone["value"], alone["approximate"]) == (0.0, True)
    options = ("--embedder", "none", "--store", tmp_path / "kept.db")
    decided = value("--judge", config(tmp_path, stub), *options)
    assert (decided["value"], decided["approximate"]) == (1.0, False)
    estimated = value("--judge", "offline", *options)
    assert (estimated["value"], estimated["approximate"]) == (1.0, True)
