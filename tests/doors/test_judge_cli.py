"""Judges, embedders and benchmarks through the doors: `score --judge`, `judge …`, `run`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builders import Json, form, output, qa_case, question, text_case, text_outcome
from callscore.suites.calls.framework import framework_judge
from commands import KEY, run, run_in_new_process, run_python
from eval_files import read_json, read_lines
from judging_stub import answer_as_judge, judge_entry, without_counts
from stub_servers import Answer, Behaviour, Request, Stub, always, chat_completion, serving

TURNS = [
    {
        "id": 1,
        "speaker": "agent",
        "text": "Good morning, this is Marcus from Streamella",
        "start": 1,
    },
    {"id": 2, "speaker": "customer", "text": "I was charged twice for the family plan", "start": 9},
]
REASON = "Good morning, this is Marcus from Streamella"


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving(answer_as_judge) as server:
        yield server


def write(path: Path, *lines: Json) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def yaml(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")  # JSON is YAML
    return path


def data(folder: Path) -> tuple[Path, Path]:
    cases = write(
        folder / "cases.jsonl",
        qa_case([question(reason="Marcus greets")], "c1", transcript=TURNS),
        text_case(case_id="c2"),
    )
    answer = text_outcome()
    answer["summary"] = answer["summary"] | {"highlights": ["The charge was made twice"]}
    outputs = write(
        folder / "outputs.jsonl",
        output("c1", form(question(reason=REASON)), cost_usd=0.001),
        output("c2", answer, cost_usd=0.001),
    )
    return cases, outputs


def test_a_model_judges_and_is_never_asked_twice(tmp_path: Path, stub: Stub) -> None:
    cases, outputs = data(tmp_path)
    config = yaml(tmp_path / "judge.yaml", judge_entry(stub.url))
    args = ("score", cases, "--outputs", outputs, "--judge", config, "--embedder", "none")
    first = run(*args, "--store", tmp_path / "kept.db", "--json", "-")
    assert first.returncode == 0, first.stderr
    card = json.loads(first.stdout)
    evidence = card["models"][0]["tasks"]["qa"]["metrics"]["qa.evidence_backed_reasoning"]
    assert (evidence["value"], evidence["approximate"]) == (1.0, False)
    assert card["judging"]["requests"] == 2
    assert card["judging"]["cost_usd"] > 0
    assert card["models"][0]["cost"]["per_1000_calls"] == pytest.approx(2.0)
    asked = len(stub.requests)
    second = json.loads(run(*args, "--store", tmp_path / "kept.db", "--json", "-").stdout)
    judging = second["judging"]
    assert (judging["requests"], judging["stored"], judging["cost_usd"]) == (0, 2, 0)
    assert without_counts(second) == without_counts(card)
    assert len(stub.requests) == asked
    assert KEY.encode() not in (tmp_path / "kept.db").read_bytes()


def test_a_judge_of_the_models_own_family_is_flagged(tmp_path: Path, stub: Stub) -> None:
    cases, _ = data(tmp_path)
    answers = [output("c1", form(question(reason=REASON)), model) for model in ("gpt-9", "m")]
    outputs = write(tmp_path / "o.jsonl", *answers)
    config = yaml(tmp_path / "judge.yaml", judge_entry(stub.url, model="gpt-8-mini"))
    results = tmp_path / "results.jsonl"
    done = run(
        *("score", cases, "--outputs", outputs, "--judge", config, "--embedder", "none"),
        *("--store", tmp_path / "kept.db", "--results", results),
    )
    assert "judge_overlap: gpt-9 was judged by a model of its own family" in done.stdout
    flagged = {line["model"] for line in read_lines(results) if "judge_overlap" in line["flags"]}
    assert flagged == {"gpt-9"}


def test_a_judge_that_never_answers_leaves_errors_not_zeros(tmp_path: Path) -> None:
    cases, outputs = data(tmp_path)
    with serving(always(Answer(chat_completion("I would rather not say.")))) as stub:
        config = yaml(tmp_path / "judge.yaml", {"judge": judge_entry(stub.url)})
        done = run(
            *("score", cases, "--outputs", outputs, "--judge", config, "--embedder", "none"),
            *("--store", tmp_path / "kept.db", "--json", "-"),
        )
    qa = json.loads(done.stdout)["models"][0]["tasks"]["qa"]
    assert done.returncode == 3, done.stderr
    assert "the judge gave no usable verdict (" in done.stderr
    assert (qa["status"], qa["score"]) == ("incomplete", None)
    assert qa["metrics"]["qa.evidence_backed_reasoning"]["why"].startswith("failed")


def test_what_a_useless_judge_has_cost_is_shown(tmp_path: Path) -> None:
    cases, outputs = data(tmp_path)
    with serving(always(Answer(chat_completion("I would rather not say.")))) as stub:
        entry = {**judge_entry(stub.url), "price": {"input": 1000, "output": 1000}}
        config = yaml(tmp_path / "judge.yaml", {"judge": entry})
        done = run(
            *("score", cases, "--outputs", outputs, "--judge", config, "--embedder", "none"),
            *("--store", tmp_path / "kept.db"),
        )
    assert "cost $0.1" in " ".join(done.stdout.split())
    assert "requests the answer is not one JSON object" in " ".join(done.stdout.split())


def test_the_hint_names_the_offline_judge_only_where_it_was_not_asked(tmp_path: Path) -> None:
    sentence = {"source_id": 1, "source_text": "Hello", "translated_text": "Hola"}
    expected = {
        "full_translation": "Hola",
        "sentence_translations": [sentence],
        "domain_terms_handled": [],
        "named_entities_handled": [],
    }
    answer = {**expected, "sentence_translations": [{**sentence, "translated_text": "Buenas"}]}
    case = {"id": "c", "task": "translation", "transcript": "Hello", "config": {}}
    file = tmp_path / "cases.jsonl"
    file.write_text(
        json.dumps({**case, "expected_outcome": expected, "model_output": answer}), encoding="utf-8"
    )
    assert "or --judge offline (an estimate)" in run("score", file).stdout
    estimated = run("score", file, "--judge", "offline", "--embedder", "chrf").stdout
    assert "or --judge offline" not in estimated


def test_saved_verdicts_give_the_same_scores_without_a_judge(tmp_path: Path, stub: Stub) -> None:
    cases, outputs = data(tmp_path)
    config = yaml(tmp_path / "judge.yaml", judge_entry(stub.url))
    saved = tmp_path / "verdicts.jsonl"
    args = ("score", cases, "--outputs", outputs, "--json", "-")
    judged = run(
        *args,
        *("--judge", config, "--embedder", "none", "--benchmarks", "--save-verdicts", saved),
        *("--store", tmp_path / "kept.db"),
    )
    assert judged.returncode == 0, judged.stderr
    again = run(*args, "--verdicts", saved, "--benchmarks")
    one, other = json.loads(judged.stdout), json.loads(again.stdout)
    assert one["models"] == other["models"]


def test_offline_estimates_head_the_card_and_stay_estimates(tmp_path: Path) -> None:
    cases, outputs = data(tmp_path)
    saved = tmp_path / "verdicts.jsonl"
    args = ("score", cases, "--outputs", outputs)
    done = run(*args, "--judge", "offline", "--embedder", "none", "--save-verdicts", saved)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("offline estimate")
    assert all(line["approximate"] for line in read_lines(saved))
    again = run(*args, "--verdicts", saved)
    assert again.stdout.startswith("offline estimate")


def test_records_hold_a_line_for_every_metric(tmp_path: Path) -> None:
    cases, outputs = data(tmp_path)
    records = tmp_path / "records.jsonl"
    done = run("score", cases, "--outputs", outputs, "--benchmarks", "--records", records)
    assert done.returncode == 0, done.stderr
    found = {(line["case_id"], line["slug"]) for line in read_lines(records)}
    assert ("c1", "qa.structure") in found
    assert ("c2", "bench.exact_match") in found


def test_benchmarks_say_how_many_of_the_eleven_ran(tmp_path: Path) -> None:
    cases, outputs = data(tmp_path)
    done = run("score", cases, "--outputs", outputs, "--benchmarks")
    assert "(2 of 11)" in done.stdout
    assert "not_run" in done.stdout


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--judge", "oracle", "expected none, offline, or a YAML file"),
        ("--judge", "missing.yaml", "missing.yaml"),
        ("--embedder", "word2vec", "expected auto"),
    ],
)
def test_an_unknown_judge_or_embedder_is_named_with_a_remedy(
    tmp_path: Path, option: str, value: str, told: str
) -> None:
    cases, outputs = data(tmp_path)
    done = run("score", cases, "--outputs", outputs, option, value)
    assert done.returncode == 2
    assert told in done.stderr


@pytest.mark.parametrize("option", ["--judge", "--embedder"])
def test_an_empty_file_is_not_taken_for_none(option: str, tmp_path: Path) -> None:
    cases, outputs = data(tmp_path)
    empty = tmp_path / "j.yaml"
    empty.write_text("# provider: openai\n")
    done = run("score", cases, "--outputs", outputs, option, empty)
    assert done.returncode == 2
    assert "j.yaml: file: is empty; expected a" in done.stderr


def test_a_judge_is_checked(tmp_path: Path, stub: Stub) -> None:
    config = yaml(tmp_path / "judge.yaml", judge_entry(stub.url))
    target = tmp_path / "check.json"
    done = run_in_new_process(
        "judge", "check", config, "--store", tmp_path / "kept.db", "--json", target
    )
    # a judge that says the same whatever it is asked notices no change
    assert done.returncode == 1
    assert "not within the limits: " in done.stderr and "label flip" in done.stderr
    assert {check["name"] for check in read_json(target)["checks"]} >= {"repeat", "order"}


def test_the_offline_judge_keeps_to_the_limits(tmp_path: Path) -> None:
    done = run("judge", "check", "offline", "--store", tmp_path / "kept.db")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAILED" not in done.stdout


def test_a_judge_is_compared_with_people(tmp_path: Path) -> None:
    def label(number: int, human: str, judge: str) -> Json:
        return {
            "case_id": f"c{number}",
            "model": "m",
            "metric": "text.fabrication_free",
            "item": "claim:1",
            "verdict": human,
            "judge": judge,
        }

    good, bad = "supported_by_transcript", "not_found"
    words = [(good, good)] * 60 + [(bad, bad)] * 50 + [(good, bad)] * 5
    labels = write(tmp_path / "labels.jsonl", *(label(n, *pair) for n, pair in enumerate(words)))
    target = tmp_path / "calibration.json"
    done = run_in_new_process("judge", "calibrate", labels, "--json", target)
    assert done.returncode == 0, done.stderr
    assert "text.fabrication_free (support): calibrated" in done.stdout
    (found,) = read_json(target)
    assert (found["n"], found["coverage"]) == (115, 1.0)
    assert found["accuracy"] == pytest.approx(110 / 115)
    assert found["sensitivity"] == pytest.approx(60 / 65)


def test_people_who_label_the_same_items_are_compared_with_each_other(tmp_path: Path) -> None:
    base = {"metric": "qa.evidence_backed_reasoning", "item": "Q1", "model": "m"}
    words = {"a": ("vague", "vague"), "b": ("absent", "absent"), "c": ("vague", "as_described")}
    lines = [
        {**base, "case_id": case, "verdict": word, "by": f"person {number}"}
        for case, given in words.items()
        for number, word in enumerate(given)
    ]
    target = tmp_path / "calibration.json"
    done = run("judge", "calibrate", write(tmp_path / "l.jsonl", *lines), "--json", target)
    assert done.returncode == 0, done.stderr
    assert "agreement among people: alpha 0.545 [" in done.stdout  # with its interval
    assert "(3 items, up to 2 people each)" in done.stdout
    assert read_json(target)[0]["people"]["items"] == 3


def test_the_words_of_a_judge_may_come_from_its_own_file(tmp_path: Path) -> None:
    base = {"metric": "qa.evidence_backed_reasoning", "item": "Q1", "model": "m"}
    labels = write(
        tmp_path / "l.jsonl", *({**base, "case_id": c, "verdict": "vague"} for c in "ab")
    )
    judged = write(
        tmp_path / "v.jsonl",
        {**base, "case_id": "a", "verdict": "vague"},
        {**base, "case_id": "z", "verdict": "as_described"},
    )
    done = run("judge", "calibrate", labels, "--verdicts", judged)
    assert done.returncode == 0, done.stderr
    assert "labels 2 (2 of failures) · coverage 50.0 %" in done.stdout
    assert "uncalibrated: not enough labels of passes: 0 of 30" in done.stdout


def test_a_run_is_judged_and_benchmarked_as_its_file_says(tmp_path: Path, stub: Stub) -> None:
    cases, _ = data(tmp_path)
    path = yaml(
        tmp_path / "eval.yaml",
        {
            "data": cases.name,
            "models": [{"name": "sim", "provider": "simulated", "params": {"seed": 1}}],
            "judge": judge_entry(stub.url),
            "embedder": "none",
            "benchmarks": "all",
            "repeats": 2,
        },
    )
    first = run("run", path, "--json", "-")
    assert first.returncode == 0, first.stderr
    card = json.loads(first.stdout)
    card = card.get("calls", card)
    assert card["judging"]["judge"] == "judge"
    assert card["models"][0]["benchmarks"]["criteria"]["bench.exact_match"]["value"] is not None
    assert card["models"][0]["benchmarks"]["criteria"]["bench.consistency"]["n"] >= 1
    asked = len(stub.requests)
    again = json.loads(run("run", path, "--json", "-").stdout)
    assert without_counts(again) == without_counts(json.loads(first.stdout))
    assert len(stub.requests) == asked


def test_an_embedding_server_compares_and_its_key_stays_at_home(tmp_path: Path) -> None:
    def embedding(request: Request) -> Behaviour:
        texts = request.json["input"]
        rows = [{"index": i, "embedding": [1.0, len(text) % 3]} for i, text in enumerate(texts)]
        return Answer({"data": rows})

    cases, outputs = data(tmp_path)
    with serving(embedding) as server:
        config = yaml(
            tmp_path / "embedder.yaml",
            {
                "name": "vectors",
                "provider": "openai",
                "model": "LaBSE",
                "base_url": server.url,
                "api_key_env": "STUB_KEY",
            },
        )
        done = run(
            *("score", cases, "--outputs", outputs, "--embedder", config),
            *("--benchmarks", "--json", "-"),
        )
    assert done.returncode == 0, done.stderr
    card = json.loads(done.stdout)
    relevancy = card["models"][0]["benchmarks"]["criteria"]["bench.answer_relevancy"]
    assert relevancy["value"] is not None and not relevancy["approximate"]
    assert "LaBSE" in card["signature"] and KEY not in done.stdout
    assert all(request.path.endswith("/embeddings") for request in server.requests)


NO_SOCKETS = """
import sys
def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto"):
        raise SystemExit(f"the network was asked for: {event}")
sys.addaudithook(refuse)
from callscore.cli.main import main
main()
"""


def test_an_offline_estimate_opens_no_connection(tmp_path: Path) -> None:
    cases, outputs = data(tmp_path)
    args = ["score", cases, "--outputs", outputs, "--judge", "offline", "--benchmarks"]
    done = run_python(NO_SOCKETS, *args)
    assert done.returncode == 0, done.stderr
    assert "embedder mUSE" in done.stdout


def test_a_connection_would_be_noticed() -> None:
    reaching = NO_SOCKETS.replace("main()", "import socket; socket.create_connection(('::1', 9))")
    done = run_python(reaching)
    assert "the network was asked for" in done.stderr


def test_nothing_is_calibrated_without_labels(tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    labels.touch()
    done = run("judge", "calibrate", labels)
    assert (done.returncode, "labels.jsonl: contains no label" in done.stderr) == (2, True)


def test_a_label_of_a_metric_without_words_is_refused_with_its_line(tmp_path: Path) -> None:
    label = {"case_id": "c1", "metric": "translation.meaning", "item": "1", "value": 1}
    done = run("judge", "calibrate", write(tmp_path / "labels.jsonl", label))
    assert done.returncode == 2
    assert "labels.jsonl:1: case 'c1': field metric: " in done.stderr


def answering_in_five_keys(request: Request) -> Behaviour:
    """The framework's judge: every metric is worth 0.5, and the whole outcome is cited."""
    content = request.json["messages"][-1]["content"]
    judged = framework_judge().metrics.values()
    named = next((m for m in judged if f">\n{m.name}\n" in content), None)
    if named is None:
        return Answer(chat_completion("ok"))
    cited = {
        key: re.search(rf"<{block}-\w+>\n(.*?)\n</{block}-", content, re.DOTALL).group(1)  # type: ignore[union-attr]
        for key, block in (
            ("expected_outcome_reference", "expected_outcome"),
            ("model_output_observed", "model_output"),
        )
    }
    told = {"metric": named.name, "score": 0.5, **cited, "reason": "half of it"}
    return Answer(chat_completion(json.dumps(told)))


def test_c100_a_judge_of_the_documents_style_is_asked_by_the_documents_prompt(
    tmp_path: Path,
) -> None:
    saved, card, again = (tmp_path / name for name in ("v.jsonl", "card.json", "again.json"))
    cases, outputs = tmp_path / "cases.jsonl", tmp_path / "outputs.jsonl"
    answer = text_outcome()
    answer["summary"]["call_purpose"] = "Customer asking about billing"
    cases.write_text(json.dumps(text_case()) + "\n", encoding="utf-8")
    outputs.write_text(json.dumps(output("c1", answer)) + "\n", encoding="utf-8")
    job = ("score", cases, "--outputs", outputs)
    with serving(answering_in_five_keys) as stub:
        config = tmp_path / "judge.yaml"
        config.write_text(json.dumps({"judge": judge_entry(stub.url, style="document")}))
        options = ("--judge", config, "--embedder", "none", "--store", tmp_path / "kept.db")
        done = run(*job, *options, "--save-verdicts", saved, "--json", card)
        assert done.returncode == 0, done.stderr
        sent = [request.json["messages"][0]["content"] for request in stub.requests]
    assert set(sent) == {framework_judge().prompt}
    assert len(sent) == 2  # Call Intent Match and Fabrication-Free Rate are open
    found = read_json(card)
    assert "|judge:document(judge@" in found["signature"]
    metrics = found["models"][0]["tasks"]["text"]["metrics"]
    assert metrics["text.call_intent"]["value"] == 0.5
    lines = read_lines(saved)
    assert {line["metric"]: line["score"] for line in lines} == {
        "text.call_intent": 0.5,
        "text.fabrication_free": 0.5,
    }
    done = run(*job, "--verdicts", saved, "--embedder", "none", "--json", again)
    assert done.returncode == 0, done.stderr
    assert read_json(again)["models"] == found["models"]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"style": "poem"}, "judge.style: 'poem'; expected one of items, document"),
        ([{"style": "document"}, {}], "judges of two styles"),
    ],
)
def test_a_style_that_does_not_exist_or_is_mixed_is_refused(
    tmp_path: Path, entries: Any, said: str
) -> None:
    url = "http://127.0.0.1:1"
    several = isinstance(entries, list)
    listed = [judge_entry(url, **more) for more in (entries if several else [entries])]
    config = tmp_path / "judge.yaml"
    config.write_text(json.dumps({"judge": listed if several else listed[0]}))
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps(text_case()) + "\n", encoding="utf-8")
    done = run("score", cases, "--outputs", cases, "--judge", config)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_reliability_suite_refuses_a_judge_that_gives_numbers(tmp_path: Path) -> None:
    config = tmp_path / "judge.yaml"
    config.write_text(json.dumps(judge_entry("http://127.0.0.1:1", style="document")))
    done = run("judge", "check", config, "--store", tmp_path / "kept.db")
    assert done.returncode == 2
    assert "style items" in done.stderr
