"""Scenarios are compared, held against a baseline and given intervals as calls are."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

import callscore
from builders import Json
from callscore.core.scorecard import Scorecard
from commands import run
from eval_files import PRICE, cases_file, eval_file, read_json
from scenario_runs import PERFECT, SAMPLES, SCENARIOS, scenario_data

SAME: Json = {**PERFECT, "name": "same"}
WORSE: Json = {
    "name": "w",
    "provider": "simulated",
    "params": {"seed": 1, "refusals": 0.6, "wrong_scores": 0.5},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stored run of a model, of the same under another name, and of a worse one."""
    folder = tmp_path_factory.mktemp("compared")
    models = [PERFECT, SAME, WORSE]
    config = eval_file(folder, models, data=SCENARIOS)
    assert run("run", config, "--store", folder / "runs.db").returncode == 0
    return folder


def compared(folder: Path, first: str, second: str) -> callscore.Comparison:
    store, config = folder / "runs.db", folder / "eval.yaml"
    return callscore.compare(f"1:{first}", f"1:{second}", store=store, eval_file=config)


def test_a_seeded_difference_is_found_and_paired_by_scenario(folder: Path) -> None:
    found = compared(folder, "w", "p")
    assert (found.calls, found.unit) == (6, "scenario")
    assert found.distinguishable is False  # six scenarios are too few, whatever the exact p is
    assert "p (simulated) and w (simulated) cannot be distinguished" in found.conclusion
    final = found.row("final")
    assert final.p is not None and final.p < 0.05
    assert final.ci95 is not None and final.ci95[0] > 0
    assert final.difference is not None and final.difference > 0.2
    assert found.row("scenario").difference == pytest.approx(final.difference)
    assert found.row("scenario").label == "Scenario Score"
    keys = {row.key for row in found.rows}
    assert keys >= {"scenario/fc", "scenario/plan"} and "cost" not in keys  # it is unknown
    assert found.counts["fixed"] > 10 and not found.counts["broken"]
    changed = {slug for case in found.cases for slug in case.metrics}
    assert changed <= {
        f"orchestration.{name}" for name in ("success", "plan", "name", "key", "value")
    }


def test_plan_and_compare_say_the_same_of_a_few_scenarios(tmp_path: Path) -> None:
    config = eval_file(tmp_path, [PERFECT, WORSE], data=SCENARIOS)
    store = ("--store", tmp_path / "runs.db")
    assert run("run", config, *store, "--limit", 4).returncode == 0
    said = []
    for command in (("plan", config), ("compare", f"{config}:p", f"{config}:w")):
        done = run(*command, *store)
        assert done.returncode == 0, done.stderr
        said.append(" ".join(done.stdout.split()))
    assert "Scenarios needed, from" in said[0]
    found = [re.findall(r"they differ in \d scenarios, and no test can", text) for text in said]
    assert set(found[0]) == set(found[1]) and len(set(found[0])) == 1


def test_equal_models_are_not_distinguished(folder: Path) -> None:
    found = compared(folder, "p", "same")
    assert found.distinguishable is False and not found.cases
    assert "have the same score." in found.conclusion


def test_a_baseline_holds_later_runs_of_scenarios(folder: Path, tmp_path: Path) -> None:
    config, store = folder / "eval.yaml", folder / "runs.db"
    target = tmp_path / "baseline.json"
    done = run("baseline", "set", config, "--store", store, "--model", "p", "-o", target)
    assert done.returncode == 0, done.stderr
    rule = {"baseline": target.name, "against": "p", "margin": 0.05}
    gates = [
        {"of": of, "model": model, "no_regression": rule, "sure": sure}
        for of in ("final", "scenario", "orchestration.fc", "orchestration.average")
        for model in ("same", "w")
        for sure in (False, True)
    ]
    gated = eval_file(tmp_path, [SAME, WORSE], data=SCENARIOS, gates=gates)
    done = run("run", gated, "--store", store)
    assert done.returncode == 1
    for of in ("final", "scenario", "orchestration.fc", "orchestration.average"):
        assert done.stderr.count(f"w: {of} (no regression) is ") == 2
    assert "same: " not in done.stderr
    same = [gate for gate in gates if gate["model"] == "same"]
    done = run(
        "run", eval_file(tmp_path, [SAME, WORSE], data=SCENARIOS, gates=same), "--store", store
    )
    assert done.returncode == 3  # six scenarios are too few to be sure that nothing was lost
    assert done.stderr.count("about 59 scenarios like these 6 would show it") == 4


def test_a_baseline_keeps_calls_and_scenarios_apart(tmp_path: Path) -> None:
    cases_file(tmp_path, 3)
    config = eval_file(tmp_path, [PERFECT], data=["cases.jsonl", SCENARIOS])
    store, target = tmp_path / "runs.db", tmp_path / "baseline.json"
    assert run("run", config, "--store", store).returncode == 0
    done = run("baseline", "set", config, "--store", store, "-o", target)
    assert done.returncode == 0, done.stderr
    per_call = read_json(target)["models"]["p"]["per_call"]
    known = {of: sum(value is not None for value in values) for of, values in per_call.items()}
    assert (known["qa"], known["scenario"], known["scenario/plan"]) == (3, 6, 6)
    gate = {"of": "qa", "sure": True, "no_regression": {"baseline": target.name, "margin": 0.01}}
    config = eval_file(tmp_path, [PERFECT], data=["cases.jsonl", SCENARIOS], gates=[gate])
    done = run("run", config, "--store", store)
    assert done.returncode == 3  # equal answers never fail, and three calls show nothing
    assert "on 3 common calls" in done.stderr
    assert "about 299 calls like these 3 would show it" in done.stderr


def test_without_intervals_neither_card_nor_document_has_one(tmp_path: Path) -> None:
    card = callscore.run(eval_file(tmp_path, [PERFECT], data=SCENARIOS), intervals=False)
    assert isinstance(card, Scorecard) and card.intervals is None
    (model,) = card.models
    task = model.tasks["scenario"]
    assert (model.final.ci95, task.ci95, task.metrics["scenario.plan"].ci95) == (None, None, None)
    assert "intervals" not in card.document()["x_extension"]


def test_scenarios_with_calls_are_compared_and_cost_nothing_of_a_call(tmp_path: Path) -> None:
    cases_file(tmp_path, 3)
    priced = [{**model, "price": PRICE} for model in (PERFECT, WORSE)]
    config = eval_file(tmp_path, priced, data=["cases.jsonl", SCENARIOS])
    card = callscore.run(config, store=tmp_path / "runs.db")
    found = callscore.compare(f"{config}:w", f"{config}:p", store=tmp_path / "runs.db")
    assert (found.calls, found.unit) == (3, "call")  # scenarios say nothing about calls
    calls = {row.key: row.calls for row in found.rows}
    assert (calls["final"], calls["qa"], calls["cost"], calls["scenario"]) == (3, 3, 3, 6)
    assert {row.key for row in found.rows} >= {"final", "qa", "scenario", "cost"}
    costs = [model.cost.per_1000_calls for model in card.models]
    cost = found.row("cost")
    assert [cost.second, cost.first] == pytest.approx(costs)


def _values(found: callscore.Comparison) -> Json:
    """What the rows of a comparison have, but for the fourth decimal."""
    return {
        row.key: pytest.approx([row.first, row.second, row.difference], abs=1e-4)
        for row in found.rows
    }


def _numbers(document: Json) -> tuple[object, object]:
    return document["overall_statistics"], document["detailed_results"]


@pytest.mark.parametrize("mode", ["standard", pytest.param("compat", marks=pytest.mark.slow)])
def test_result_files_of_scenarios_are_compared_like_their_runs(tmp_path: Path, mode: str) -> None:
    """In two languages, with repeats and prices; the files are all that is known."""
    folders = [SAMPLES / "orchestration" / "scenarios" / "EN", tmp_path / "KO"]
    cards = [SAMPLES / "orchestration" / "cards" / "EN", tmp_path / "cards" / "KO"]
    for source, copy in (folders, cards):
        shutil.copytree(source, copy)
    data = scenario_data(scenarios=[*map(str, folders)], cards=[*map(str, cards)], mode=mode)
    priced = [{**model, "price": PRICE} for model in (PERFECT, WORSE)]
    both = eval_file(tmp_path, priced, data=data, repeats=2)
    of_run = callscore.run(both)
    for model in priced:
        folder = tmp_path / model["name"]
        folder.mkdir()
        config = eval_file(folder, [model], data=data, repeats=2)
        target = tmp_path / f"{model['name']}.json"
        done = run("run", config, "--json", target)
        assert done.returncode == 0, done.stderr
        assert "languages" in read_json(target)
    of_files = callscore.compare(tmp_path / "w.json", tmp_path / "p.json", all_rows=True)
    expected = callscore.compare(f"{both}:w", f"{both}:p", all_rows=True)
    assert (of_files.calls, of_files.unit) == (6, "scenario")
    assert run("report", both, "-o", tmp_path / "both.001").returncode == 0
    for file in (tmp_path / "both.001").iterdir():
        name, language, _ = file.name.split(".")
        one = read_json(tmp_path / f"{name}.json")["languages"][language]
        assert _numbers(read_json(file)) == _numbers(one)
    assert len(list((tmp_path / "both.001").iterdir())) == 4
    assert _values(of_files) == {
        row.key: [row.first, row.second, row.difference]
        for row in expected.rows
        if row.key != "cost" or mode == "standard"  # a file of `compat` does not count its runs
    }
    final = of_files.row("final")
    assert final.p == pytest.approx(expected.row("final").p)
    assert callscore.compare(of_run, of_run, a="w", b="p").row("final").p == expected.row("final").p
    other = eval_file(tmp_path, [PERFECT], data=SCENARIOS)
    assert run("run", other).returncode == 0
    with pytest.raises(callscore.UsageError, match="data"):
        callscore.compare(tmp_path / "w.json", other)


def test_a_card_of_calls_and_scenarios_is_compared_with_its_results(tmp_path: Path) -> None:
    cases_file(tmp_path, 3)
    config = eval_file(tmp_path, [PERFECT, WORSE], data=["cases.jsonl", SCENARIOS])
    card, results = tmp_path / "card.json", tmp_path / "results.jsonl"
    assert run("run", config, "--json", card, "--results", results).returncode == 0
    given = (f"{card}:w", f"{card}:p", "--results", results, results)
    done = run("compare", *given, "--json", tmp_path / "c.json")
    assert done.returncode == 0, done.stderr
    rows = {row["key"]: row for row in read_json(tmp_path / "c.json")["rows"]}
    expected = callscore.compare(f"{config}:w", f"{config}:p")
    assert rows["scenario"]["difference"] == pytest.approx(
        expected.row("scenario").difference, abs=1e-4
    )
    assert (rows["scenario"]["calls"], rows["qa"]["calls"]) == (6, 3)


def test_recorded_outputs_are_compared_reported_and_kept_as_a_baseline_by_their_result_files(
    tmp_path: Path,
) -> None:
    sample = SAMPLES / "orchestration"
    for name in ("sample-large", "sample-small"):
        words = (sample / "outputs" / name, "--cards", sample / "cards" / "EN")
        done = run("orchestration", "score", *words, "--json", tmp_path / f"{name}.json")
        assert done.returncode == 0, done.stderr
    large, small = tmp_path / "sample-large.json", tmp_path / "sample-small.json"
    found = callscore.compare(small, large)
    assert (found.calls, found.unit) == (6, "scenario")
    average = [
        read_json(path)["overall_statistics"]["key_metrics"]["Average"] for path in (small, large)
    ]
    row = found.row("scenario")
    assert [row.first, row.second] == pytest.approx(average, abs=1e-4)
    done = run("report", large, "--format", "md")
    assert done.returncode == 0, done.stderr
    assert "Scenario Score" in done.stdout
    done = run("report", large, "--format", "document-001")
    assert json.loads(done.stdout) == read_json(large)
    done = run("baseline", "set", large, "-o", tmp_path / "baseline.json")
    assert done.returncode == 0, done.stderr
    (model,) = read_json(tmp_path / "baseline.json")["models"].values()
    assert len(model["per_call"]["scenario"]) == 6


@pytest.mark.parametrize(
    "document",
    ['{"detailed_results": []}', '{"languages": {"EN": {}}}', '{"detailed_results": [{"x": 1}]}'],
)
def test_a_result_file_of_another_program_is_refused(tmp_path: Path, document: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(document, encoding="utf-8")
    done = run("compare", path, path)
    assert done.returncode == 2
    assert "expected a result file of `callscore`" in done.stderr
