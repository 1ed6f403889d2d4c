"""What decides on scenarios: success, floors and bounds (C-141), on public data."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

import callscore
from callscore import Scorecard
from callscore.core.scenarios import RecordedOutputs
from callscore.evaluate.scenarios import OutputsJob, score_outputs
from callscore.report.cells import scorecard_rows
from callscore.scorecard.decision import choose, is_in_question
from callscore.suites.orchestration.floors import SUCCESS, ScenarioFloors
from callscore.suites.orchestration.replies import percentile
from callscore.suites.registry import template_of
from commands import run
from eval_files import eval_file
from orchestration_data import SCENARIOS, cards_of, needs_fixtures, output_files, scenarios_of
from scenario_runs import PERFECT
from scenario_runs import SCENARIOS as SAMPLE_DATA

REJECTS = "<response><status>AWAITING_USER_INPUT</status></response>"
SHOWN = 40
"""Scenarios of the public data that the tests use."""


def write_answers(folder: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The recorded perfect answers of the public data, every answer changed."""
    folder.mkdir(parents=True)
    for path in output_files("perfect_prompt", "EN")[:SHOWN]:
        document = json.loads(path.read_bytes())
        for history in document["history"].values():
            for answer in (*history["main_agent_history"], *history["sub_agent_history"]):
                change(answer)
        (folder / path.name).write_text(json.dumps(document), encoding="utf-8")
    return folder


def say(text: str) -> Callable[[dict[str, Any]], None]:
    def change(answer: dict[str, Any]) -> None:
        answer |= {"content": text, "tool_calls": []}

    return change


def refuse(answer: dict[str, Any]) -> None:
    """Plans are kept; every sub-agent asks back."""
    if "agent_id" in answer:
        say(REJECTS)(answer)


def reword(answer: dict[str, Any]) -> None:
    """Right answers, with free texts in other words: values that await a verdict."""
    for call in answer.get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"])
        for key, value in arguments.items():
            if isinstance(value, str) and " " in value:
                arguments[key] = f"{value}, please"
        call["function"]["arguments"] = json.dumps(arguments)


ANSWERS: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "prose": say("Sure, I will take care of that!"),
    "refuses": refuse,
    "honest": reword,
}


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Scorecard:
    folder = tmp_path_factory.mktemp("answers")
    return score_outputs([job(folder, name, change) for name, change in ANSWERS.items()])


def job(folder: Path, name: str, change: Callable[[dict[str, Any]], None]) -> OutputsJob:
    outputs = write_answers(folder / name / "EN", change)
    cards = SCENARIOS / "EN" / "multiagent_cards"
    return OutputsJob(RecordedOutputs([outputs], [cards], model=name))


@cache
def floors() -> Mapping[str, float]:
    found = ScenarioFloors(cards_of("EN"))
    for scenario in scenarios_of("EN")[:SHOWN]:
        found.add(scenario)
    return found.found()


@needs_fixtures
def test_c141_the_honest_model_is_first_next_to_prose_and_refusals(card: Scorecard) -> None:
    choice = choose(card)
    assert choice.models == ["honest"]
    assert card.decision[0].models == ["honest"]
    assert [line.model for line in card.ranking][0] == "honest"
    assert [name for name in ANSWERS if is_in_question(card.model(name))] == ["honest"]


@needs_fixtures
@pytest.mark.parametrize("other", ["prose", "refuses"])
def test_c141_the_honest_model_is_first_between_two_result_files(
    card: Scorecard, tmp_path: Path, other: str
) -> None:
    for name in ("honest", other):
        (tmp_path / f"{name}.json").write_text(json.dumps(card.document(name)))
    done = run("compare", tmp_path / "honest.json", tmp_path / f"{other}.json")
    assert done.returncode == 0, done.stderr
    named = [line.split()[:2] for line in done.stdout.splitlines() if line.startswith("LIKELY")]
    assert named == [["LIKELY", "honest:"]]
    assert "BEST QUALITY     honest: Final" in done.stdout


@needs_fixtures
def test_c141_open_values_are_shown_with_their_bounds(card: Scorecard) -> None:
    found = {row.template.label: row.cells for row in scorecard_rows(card, template_of(card))}
    best = card.model("honest").tasks["scenario"].metrics[f"{SUCCESS}_at_best"].value
    assert f"(open values: up to {best:.3f})" in found["Scenario Success"][-1].text
    assert "open values: up to" in found["Scenario Score"][-1].text
    assert "open values" not in found["Scenario Success"][0].text


@needs_fixtures
def test_c125_open_values_are_an_estimate_for_every_model_of_a_card(card: Scorecard) -> None:
    for model in card.models:
        assert model.tasks["scenario"].metrics["scenario.value"].approximate
        assert not model.final.official


@needs_fixtures
def test_c141_a_model_with_open_values_has_bounds(card: Scorecard) -> None:
    task = card.model("honest").tasks["scenario"]
    assert task.provisional_range is not None
    low, high = task.provisional_range
    assert low == task.score
    assert low < high <= 1
    success, at_best = (task.metrics[slug].value for slug in (SUCCESS, f"{SUCCESS}_at_best"))
    assert success is not None
    assert at_best is not None
    assert success < at_best


@needs_fixtures
def test_c141_refusals_are_not_above_the_floor_of_scenario_success(card: Scorecard) -> None:
    margins = card.model("refuses").tasks["scenario"].above_floor
    assert margins is not msgspec.UNSET
    assert margins[SUCCESS].at_best <= margins[SUCCESS].floor
    out = next(line for line in card.decision if "refuses" in line.models and line.word == "OUT")
    assert "of an answer that reads nothing" in out.why


@needs_fixtures
def test_c141_no_trivial_answer_scores_above_its_floor(card: Scorecard) -> None:
    margins = card.model("refuses").tasks["scenario"].above_floor
    assert margins is not msgspec.UNSET
    margin = margins["classification"]
    assert margin.value <= margin.floor
    assert floors()["scenario.call_f1"] + floors()["scenario.reject_f1"] == pytest.approx(
        2 * margin.floor
    )


@needs_fixtures
def test_c141_a_card_read_from_result_files_decides_the_same(card: Scorecard) -> None:
    from callscore.config.score import ScoreConfig
    from callscore.evaluate.scenarios import read_documents
    from callscore.evaluate.scorecards import scorecard

    documents = [card.document(name) for name in ANSWERS]
    again = scorecard(ScoreConfig(cases=()), read_documents(documents), None)
    assert choose(again).models == ["honest"]
    for name in ANSWERS:
        before, after = (each.model(name).tasks["scenario"] for each in (card, again))
        assert after.metrics[SUCCESS].value == before.metrics[SUCCESS].value
        assert after.score == pytest.approx(before.score, abs=1e-4)


CARD = {
    "agent_card": {"agent_id": "booking", "name": "Booking", "description": "", "skills": []},
    "tools": [
        {"name": "cancel", "description": "Cancel a booking", "parameters": {"type": "object"}},
        {
            "name": "book",
            "description": "Book a table",
            "parameters": {
                "type": "object",
                "properties": {
                    "guests": {"type": "integer"},
                    "area": {"type": "string", "enum": ["inside", "outside"]},
                },
                "required": ["guests"],
            },
        },
    ],
}


def without_planner(folder: Path, model: str, arguments: str) -> OutputsJob:
    """Five scenarios of one agent with a tool: no plans, no rejections."""
    cards = folder / "cards"
    cards.mkdir(parents=True)
    (cards / "booking.json").write_text(json.dumps(CARD), encoding="utf-8")
    outputs = folder / model / "EN"
    outputs.mkdir(parents=True)
    for guests in range(2, 7):
        due = f"tool: book\narguments:\n  guests: {guests}\ntool_call_result: {{ok: true}}"
        steps = [
            {"step_id": 1, "agent": "user", "content": f"A table for {guests}, please."},
            {"step_id": 2, "agent": "booking", "content": due},
        ]
        call = {"name": "book", "arguments": arguments.replace("N", str(guests))}
        document = {
            "callscore": "orchestration-1",
            "scenario_id": str(guests),
            "scenario": {"steps": steps},
            "runs": [{"run": 1, "answers": [{"step": 2, "content": "", "tool_calls": [call]}]}],
        }
        path = outputs / f"{guests}_out.json"
        path.write_text(json.dumps(document), encoding="utf-8")
    return OutputsJob(RecordedOutputs([outputs], [cards], model=model))


def test_c142_agents_without_a_planner_get_a_decision_over_calls(tmp_path: Path) -> None:
    jobs = [
        without_planner(tmp_path / "right", "right", '{"guests": N}'),
        without_planner(tmp_path / "wrong", "wrong", '{"guests": 99}'),
    ]
    card = score_outputs(jobs)
    final = card.model("right").final
    assert (final.score, final.status, final.official) == (1.0, "valid", True)
    assert list(final.over) == ["calls"]
    assert card.final_heading == "Final over calls"
    assert choose(card).models == ["right"]
    document = card.document("right")
    assert document["overall_statistics"]["key_metrics"]["Average"] is None


def test_c141_a_call_that_its_schema_refuses_is_an_error_of_its_own(tmp_path: Path) -> None:
    arguments = '{"guests": "N", "area": "roof"}'
    card = score_outputs([without_planner(tmp_path, "m", arguments)])
    errors = card.document("m")["x_extension"]["errors"]
    assert errors["schema_violation"]["count"] == 10
    details = {each["detail"] for each in errors["schema_violation"]["evidence"]}
    assert "calls[0].area: 'roof' is not one of the allowed values" in details
    assert "calls[0].guests: expected integer, not str" in details


@pytest.mark.parametrize(
    ("guests", "violations"), [("1" + "0" * 400, 0), ("1e308", 0), ("3.0", 0), ("2.5", 5)]
)
def test_c141_an_integer_may_be_of_any_size(tmp_path: Path, guests: str, violations: int) -> None:
    """One of 400 digits fits no float."""
    card = score_outputs([without_planner(tmp_path, "m", f'{{"guests": {guests}}}')])
    errors = card.document("m")["x_extension"]["errors"]
    assert errors.get("schema_violation", {"count": 0})["count"] == violations


def test_c141_a_card_has_latencies_of_steps_and_scenarios_and_its_json_has_none(
    tmp_path: Path,
) -> None:
    gates = [{"of": "latency.scenario_p95", "at_most": 1e9}, {"of": SUCCESS, "at_least": 0.9}]
    file = eval_file(tmp_path, [PERFECT], data=SAMPLE_DATA, repeats=2, gates=gates)
    card = callscore.run(file)
    (model,) = card.models
    assert model.latency is not msgspec.UNSET
    assert 0 < model.latency.step_p50 <= model.latency.step_p95
    assert model.latency.step_p50 < model.latency.scenario_p50 <= model.latency.scenario_p95
    assert "latency" not in json.dumps(card.to_dict())
    task = model.tasks["scenario"]
    assert task.metrics[SUCCESS].value == task.metrics["scenario.pass_k"].value == 1.0
    for suffix in ("md", "html"):
        target = tmp_path / f"report.{suffix}"
        done = run("report", file, "--format", suffix, "-o", target)
        assert done.returncode == 0, done.stderr
        shown = target.read_text(encoding="utf-8")
        assert "Latency of a scenario, p50 / p95" in shown
        assert "Pass^k: right in every run" in shown
        assert "$ / 1000 scenarios" in shown and "1000 calls" not in shown


def test_c141_a_latency_gate_that_is_missed_ends_with_exit_code_1(tmp_path: Path) -> None:
    gates = [{"of": "latency.step_p50", "at_most": 0}]
    file = eval_file(tmp_path, [PERFECT], data=SAMPLE_DATA, gates=gates)
    done = run("run", file)
    assert done.returncode == 1
    assert "latency.step_p50" in done.stdout + done.stderr


def test_percentiles_are_values_that_occur() -> None:
    assert [percentile([1.0, 2.0, 3.0, 4.0], p) for p in (0.5, 0.95)] == [2.0, 4.0]
    assert percentile([7.0], 0.95) == 7.0
