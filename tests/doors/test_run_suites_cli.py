"""`callscore run` over both suites and the models that are none: labels, documents, replay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import callscore
from builders import form, output, question
from callscore.core.errors import DataError, UsageError
from commands import run
from eval_files import cases_file, eval_file, read_json, read_lines, remote_model
from scenario_runs import PERFECT, SAMPLES, SCENARIOS, call_first_tool
from stub_servers import Answer, Behaviour, Request, serving

RULES = {"name": "r", "provider": "baseline"}


@pytest.fixture(scope="module")
def sample_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("sample")
    (folder / "eval.yaml").write_bytes((SAMPLES / "eval.yaml").read_bytes())
    done = run(
        *("run", folder / "eval.yaml", "--json", folder / "card.json"),
        *("--results", folder / "results.jsonl"),
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_bundled_file_runs_offline_and_ranks_as_it_should(
    sample_run: tuple[Path, str],
) -> None:
    models = {m["model"]: m for m in read_json(sample_run[0] / "card.json")["models"]}
    accuracy = {
        name: model["tasks"]["qa"]["metrics"]["qa.question_score_accuracy"]["value"]
        for name, model in models.items()
    }
    assert accuracy["careful"] > accuracy["hasty"] > accuracy["rules"]
    assert models["careful"]["cost"]["total"] > models["hasty"]["cost"]["total"] > 0
    assert models["rules"]["cost"]["status"] == "zero"


def test_the_first_eval_file_ends_in_a_decision_labelled_as_an_estimate(
    sample_run: tuple[Path, str],
) -> None:
    folder, shown = sample_run
    ranking = {entry["model"]: entry for entry in read_json(folder / "card.json")["ranking"]}
    assert (ranking["thrifty"]["rank"], ranking["careful"]["rank"]) == (1, 2)
    assert ranking["thrifty"]["estimate"] and ranking["careful"]["estimate"]
    assert shown.startswith("offline estimate")
    assert "\nLIKELY           thrifty (simulated): not worse than careful (simulated)" in shown
    assert "an estimate, built-in rules replace a judge" in " ".join(shown.split())


def test_a_model_that_is_none_is_labelled_everywhere(sample_run: tuple[Path, str]) -> None:
    folder, shown = sample_run
    notes = read_json(folder / "card.json")["notes"]
    assert any(note.startswith("careful: simulated") for note in notes)
    assert any(note.startswith("rules: baseline") for note in notes)
    assert "careful: simulated" in shown
    labels = {
        **dict.fromkeys(("careful", "thrifty", "hasty"), "simulated"),
        "rules": "baseline",
    }
    for line in read_lines(folder / "results.jsonl"):
        assert labels[line["model"]] in line["flags"]


def test_scenarios_of_one_model_give_exactly_the_result_document(tmp_path: Path) -> None:
    target, results = tmp_path / "result.json", tmp_path / "results.jsonl"
    path = eval_file(tmp_path, [PERFECT], data=SCENARIOS, repeats=2)
    done = run("run", path, "--json", target, "--results", results, "--require-complete")
    assert done.returncode == 0, done.stderr
    document = read_json(target)
    assert document["overall_statistics"]["key_metrics"]["Average"] == 1.0
    assert document["x_extension"]["model"] == "p"
    assert "|repeats:2|" in document["x_extension"]["signature"]
    lines = read_lines(results)
    assert len(lines) == 42
    assert {line["score"] for line in lines} == {1.0}
    assert all("simulated" in line["flags"] for line in lines)
    assert lines[0]["case_id"] == "EN/1#3"


def test_both_suites_and_several_models_are_in_one_document(tmp_path: Path) -> None:
    cases_file(tmp_path, 2)
    data = {"calls": "cases.jsonl", **SCENARIOS}
    target = tmp_path / "card.json"
    done = run("run", eval_file(tmp_path, [PERFECT, RULES], data=data), "--json", target)
    assert done.returncode == 0, done.stderr
    card = read_json(target)
    assert [model["model"] for model in card["models"]] == ["p", "r"]
    averages = {
        model: document["overall_statistics"]["key_metrics"]["Average"]
        for model, document in card["orchestration"].items()
    }
    assert averages["p"] == 1.0 > averages["r"] > 0.3


def test_a_limit_is_one_of_scenarios_too(tmp_path: Path) -> None:
    path = eval_file(tmp_path, [PERFECT], data=SCENARIOS)
    assert run("run", path, "--limit", 2, "--json", tmp_path / "r.json").returncode == 0
    assert len(read_json(tmp_path / "r.json")["detailed_results"]) == 2


def test_scenarios_can_be_gated_with_calls_and_alone(tmp_path: Path) -> None:
    cases_file(tmp_path, 2)
    both = {"calls": "cases.jsonl", **SCENARIOS}
    gate = {"of": "orchestration.average", "at_least": 0.99}
    accuracy = {"of": "qa.question_score_accuracy", "at_least": 0.9, "model": "p"}
    path = eval_file(tmp_path, [PERFECT], data=SCENARIOS, gates=[gate])
    assert run("run", path).returncode == 0
    path = eval_file(tmp_path, [PERFECT, RULES], data=both, gates=[accuracy, gate])
    done = run("run", path)
    assert done.returncode == 3, "nobody has compared some values of r"
    assert "gates undecided: r: orchestration.average is at least 0." in done.stderr
    plan = {"of": "orchestration.plan", "at_least": 0.99}
    done = run("run", eval_file(tmp_path, [PERFECT, RULES], data=both, gates=[plan, gate]))
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("expected at least 0.99")
    assert "gate failed: r: orchestration.plan is 0." in done.stderr


def test_tools_are_offered_and_calls_are_read(tmp_path: Path) -> None:
    with serving(call_first_tool) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=SCENARIOS)
        done = run("run", path, "--json", tmp_path / "r.json")
        assert done.returncode == 0, done.stderr
        offered = [request for request in stub.requests if "tools" in request.json]
    assert len(offered) == 14
    statistics = read_json(tmp_path / "r.json")["x_extension"]
    assert statistics["status"] == "valid"
    assert statistics["errors"]


def test_an_outage_in_a_scenario_is_a_failed_scenario_and_no_score(tmp_path: Path) -> None:
    def failing(request: Request) -> Behaviour:
        if b"HT-20418" in request.body and "tools" in request.json:
            return Answer({"error": {"message": "gone"}}, 400)
        return call_first_tool(request)

    with serving(failing) as stub:
        path = eval_file(tmp_path, [remote_model(stub.url)], data=SCENARIOS)
        results = tmp_path / "results.jsonl"
        done = run("run", path, "--json", tmp_path / "r.json", "--results", results)
        assert done.returncode == 0, done.stderr
        assert run("run", path, "--require-complete").returncode == 3
    document = read_json(tmp_path / "r.json")
    failed = document["x_extension"]["failed_evaluations"]
    assert len(failed) > 0
    assert "gone" in failed[0]["error"]
    errors = [line for line in read_lines(results) if line["status"] == "error"]
    assert len(errors) >= len(failed)
    assert all(line["score"] is None for line in errors)


def write_outputs(path: Path, *records: Mapping[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def test_replay_scores_as_scoring_the_same_files_does(tmp_path: Path) -> None:
    cases = cases_file(tmp_path, 4)
    good = form(question())
    recorded = [
        output("c0", good, "old", cost_usd=0.5),
        output("c1", json.dumps(good), "old", finish_reason="length"),
        output("c2", None, "old", error="overloaded"),
        output("c0", good, "other"),
    ]
    write_outputs(tmp_path / "outputs.jsonl", *recorded)
    model = {"name": "old", "provider": "replay", "outputs": "outputs.jsonl"}
    results = tmp_path / "results.jsonl"
    path = eval_file(tmp_path, [model])
    done = run("run", path, "--json", tmp_path / "card.json", "--results", results)
    assert done.returncode == 0, done.stderr
    lines = {line["case_id"]: line for line in read_lines(results)}
    states = [lines[f"c{n}"]["status"] for n in range(4)]
    assert states == ["valid", "invalid", "error", "not_run"]
    assert "overloaded" in lines["c2"]["flags"][0]
    (model_score,) = read_json(tmp_path / "card.json")["models"]
    direct = callscore.score(cases, [record for record in recorded if record["model"] == "old"])
    assert model_score["tasks"]["qa"]["status"] == direct.models[0].tasks["qa"].status


@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([output("c0", "x", "a"), output("c0", "x", "b")], "expected `model` to be one of a, b"),
        ([output("c0", "x", "old"), output("c0", "y", "old")], r"o.jsonl:2: .* appears twice"),
    ],
)
def test_a_recording_that_is_not_clear_is_refused(
    tmp_path: Path, records: list[dict[str, Any]], words: str
) -> None:
    cases_file(tmp_path, 1)
    write_outputs(tmp_path / "o.jsonl", *records)
    model = {"name": "old", "provider": "replay", "outputs": "o.jsonl"}
    with pytest.raises((DataError, UsageError), match=words):
        callscore.run(eval_file(tmp_path, [model]))


def test_a_run_from_python_gives_the_scorecard(tmp_path: Path) -> None:
    cases_file(tmp_path, 3)
    seen: list[object] = []
    card = callscore.run(eval_file(tmp_path, [PERFECT]), on_event=seen.append, limit=2)
    (model,) = card.models
    assert model.tasks["qa"].cases == 2
    assert len(seen) > 2


def test_tasks_choose_what_is_asked(tmp_path: Path) -> None:
    path = eval_file(tmp_path, [PERFECT], data="sample", tasks=["entity"])
    (model,) = callscore.run(path).models
    assert list(model.tasks) == ["entity"]
    empty = eval_file(tmp_path, [PERFECT], tasks=["entity"])
    cases_file(tmp_path, 1)
    with pytest.raises(UsageError, match="no case of the selected tasks"):
        callscore.run(empty)


def test_bad_data_is_named_before_anything_is_asked(tmp_path: Path) -> None:
    path = cases_file(tmp_path, 2)
    path.write_text(path.read_text() + '{"id": "c9", "task": "qa"}\n')
    with pytest.raises(DataError, match=r"cases\.jsonl:3"):
        callscore.run(eval_file(tmp_path, [PERFECT]))
    assert not (tmp_path / ".callscore").exists()


def test_a_run_over_scenarios_writes_records_and_one_result_file_a_model(tmp_path: Path) -> None:
    path = eval_file(tmp_path, data=SCENARIOS, models=[PERFECT, RULES])
    records, target = tmp_path / "records.jsonl", tmp_path / "all.json"
    done = run("run", path, "--json", target, "--records", records)
    assert done.returncode == 0, done.stderr
    joint = read_json(target)["orchestration"]
    for model in ("p", "r"):
        single = read_json(tmp_path / f"all.{model}.EN.json")
        assert single == joint[model]
        for row in single["detailed_results"]:
            assert Path(row["file_path"]).name.endswith(".yaml")
    lines = read_lines(records)
    assert {line["model"] for line in lines} == {"p", "r"}
    perfect = [line for line in lines if line["model"] == "p"]
    assert perfect
    assert all(line["score"] == 1.0 for line in perfect)
    wrong = [line for line in lines if line["metric"].endswith("success") and not line["score"]]
    assert wrong
    assert all(line["reason"] for line in wrong)
