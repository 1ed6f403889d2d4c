"""`callscore.run` on scenarios: the same Scorecard as of calls, with its own rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import callscore
from callscore.report.cells import scorecard_rows
from callscore.suites.registry import template_of
from commands import run
from eval_files import cases_file, eval_file, read_json
from scenario_runs import PERFECT, SCENARIOS

RULES = {"name": "r", "provider": "baseline"}


def test_a_file_of_scenarios_alone_gives_a_scorecard(tmp_path: Path) -> None:
    card = callscore.run(eval_file(tmp_path, [PERFECT, RULES], data=SCENARIOS))
    assert (card.title, card.suite, card.framework) == ("Orchestration", "orchestration", "001")
    perfect, rules = card.models
    assert perfect.final.score == 1.0
    assert rules.tasks["scenario"].n == 6
    assert rules.cost.status == "zero"
    shown = [row.template.label for row in scorecard_rows(card, template_of(card))]
    assert shown[:6] == [
        "SCENARIOS (001)",
        "Scenario Success",
        "Plan",
        "Function Calling",
        "Call / Rejection",
        "Scenario Score",
    ]


def test_the_interval_of_a_flip_rate_has_four_decimals_and_can_be_left_out(tmp_path: Path) -> None:
    hasty = {"name": "h", "provider": "simulated", "params": {"seed": 7, "wrong_scores": 0.3}}
    config = eval_file(tmp_path, [hasty], data=SCENARIOS, repeats=2)
    runs = callscore.run(config).document("h")["x_extension"]["runs"]
    low, high = runs["flip_rate_ci95"]
    assert low < runs["flip_rate"] < high
    assert [low, high] == [round(low, 4), round(high, 4)]
    document = callscore.run(config, intervals=False).document("h")
    assert "intervals" not in document["x_extension"]
    assert "flip_rate_ci95" not in document["x_extension"]["runs"]


def test_the_document_of_a_card_is_the_file_of_the_command(tmp_path: Path) -> None:
    config = eval_file(tmp_path, [RULES], data=SCENARIOS)
    card = callscore.run(config, store=tmp_path / "first.db")
    file = tmp_path / "document.json"
    store = tmp_path / "second.db"
    assert run("run", config, "--store", store, "--json", file).returncode == 0
    written = read_json(file)
    assert written.pop("directory") == f"{tmp_path.name}/r"
    assert {"directory": "r", **written} == card.document()
    numbers = card.document()["overall_statistics"]["key_metrics"]
    assert round(card.models[0].tasks["scenario"].score or 0, 4) == numbers["Average"]


def test_the_rows_have_the_intervals_of_the_document(tmp_path: Path) -> None:
    card = callscore.run(eval_file(tmp_path, [RULES], data=SCENARIOS))
    limits = card.document()["x_extension"]["intervals"]["ci95"]
    model = card.models[0]
    task = model.tasks["scenario"]
    for part, name in (("plan", "Plan"), ("fc", "FC")):
        interval = task.subscores[part].ci95
        assert interval is not None
        assert [round(end, 4) for end in interval] == limits[f"key_metrics.{name}"]
    assert task.ci95 == task.ungated_ci95 == model.final.ci95
    assert task.few_calls and task.calls == 6
    assert card.intervals is not None and card.intervals.about == "future scenarios"


def test_a_file_of_calls_and_scenarios_gives_one_card_with_the_rows_of_both(
    tmp_path: Path,
) -> None:
    cases = cases_file(tmp_path, 2)
    mixed = eval_file(tmp_path, [PERFECT], data=[cases.name, SCENARIOS])
    card = callscore.run(mixed)
    file = tmp_path / "mixed.json"
    assert run("run", mixed, "--resume", "--json", file).returncode == 0
    calls = callscore.run(eval_file(tmp_path, [PERFECT], data=[cases.name]))
    alone = callscore.run(eval_file(tmp_path, [PERFECT], data=SCENARIOS))
    assert (card.suite, card.title) == (
        "calls+orchestration",
        "Call Intelligence + Orchestration",
    )
    (both,), (of_calls,), (of_scenarios,) = card.models, calls.models, alone.models
    assert both.tasks == {**of_calls.tasks, **of_scenarios.tasks}
    assert (both.final, both.cost) == (of_calls.final, of_calls.cost)
    assert card.documents == alone.documents
    assert [*read_json(file)["models"][0]["tasks"]] == [*both.tasks]
    shown = [row.template.label for row in scorecard_rows(card, template_of(card))]
    assert "SCENARIOS (001)" in shown and "QA Score" in shown
    assert "overall_statistics" in card.document("p")
    with pytest.raises(KeyError, match="expected one of: p"):
        card.document("q")


def test_agents_without_a_planner_are_shown_next_to_calls(tmp_path: Path) -> None:
    card = {"agent_card": {"agent_id": "desk"}, "tools": [{"name": "find"}]}
    steps = [{"user": "A table"}, {"desk": {"tool": "find"}}]
    for name, value in (("cards/desk.json", card), ("scenarios/one.json", {"steps": steps})):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(json.dumps(value))
    data = {
        "calls": [cases_file(tmp_path, 2).name],
        "orchestration": {"scenarios": "scenarios", "cards": "cards"},
    }
    done = run("run", eval_file(tmp_path, [PERFECT], data=data))
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert ["Scenario", "Success", "1.000"] in [row[:3] for row in rows]
    assert ["Latency", "of", "a", "scenario,"] in [row[:4] for row in rows]
    assert ["50", "%", "of", "Scenario"] in [row[-4:] for row in rows], "no plan is due"


def test_a_card_of_calls_has_no_documents(tmp_path: Path) -> None:
    cases_file(tmp_path, 1)
    card = callscore.run(eval_file(tmp_path, [PERFECT]))
    assert "orchestration" not in card.to_dict()
    with pytest.raises(KeyError, match="no scenarios were scored"):
        card.document()
