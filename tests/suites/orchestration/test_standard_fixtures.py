"""The standard reading on the public fixtures: perfect, hostile and failed answers."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import pytest

from callscore.suites.orchestration.call.questions import NoVerdicts
from callscore.suites.orchestration.result import LanguageResult, ResultMetadata, standard_result
from callscore.suites.orchestration.scenario.model import Scenario
from callscore.suites.orchestration.scenario.output_file import read_recording
from callscore.suites.orchestration.scenario.parse import ScenarioKey, read_scenario
from callscore.suites.orchestration.standard_evaluation import ScenarioEvaluation, evaluate_scenario
from orchestration_data import SCENARIOS, cards_of, load, needs_fixtures, output_files

pytestmark = needs_fixtures


@cache
def evaluated(model: str, lang: str) -> tuple[ScenarioEvaluation, ...]:
    return tuple(
        evaluate_scenario(
            read_recording(load(path), path.name.removesuffix("_out.json")),
            ScenarioKey(lang, path.name.removesuffix("_out.json")),
            cards_of(lang),
            NoVerdicts(),
            path.name,
        )
        for path in output_files(model, lang)
    )


def outcome(model: str, lang: str) -> LanguageResult:
    return standard_result(
        ResultMetadata("d", lang, model, "none", "", ""), evaluated(model, lang), ()
    )


@pytest.mark.parametrize("lang", ["EN", "KO"])
def test_a_perfect_model_scores_one_everywhere(lang: str) -> None:
    written = outcome("perfect_prompt", lang).document()
    statistics = written["overall_statistics"]
    assert set(statistics["key_metrics"].values()) == {1.0}
    assert set(statistics["score_details"]["workflow_scores"].values()) == {1.0}
    assert statistics["total_failed_workflow_generation"] == 0
    assert written["x_extension"]["undecided"]["count"] == 0
    assert written["x_extension"]["runs"]["scenario_success"] == 1.0
    assert written["x_extension"]["errors"] == {}


def test_what_a_perfect_model_is_not_asked_is_in_the_data_report() -> None:
    """712 call steps are written in the English data; every one not counted is explained."""
    result = outcome("perfect_prompt", "EN")
    set_aside = {f.case_id for f in result.findings if f.action == "set_aside"}
    assert set_aside == {"EN/32#7", "EN/108#3", "EN/195#6"}
    assert result.overall.confusion.call_cases == 712 - len({"EN/32#7", "EN/108#3"})
    assert result.overall.confusion.rejection_cases == 208
    assert result.overall.plan.evaluated == 317


def test_one_bad_entry_costs_one_step_never_a_file() -> None:
    wrong = {
        model: Counter(
            record.scenario
            for scenario in evaluated(model, "EN")
            for record in scenario.records
            if not record.success
        )
        for model in ("perfect_label", "hostile")
    }
    assert all(
        wrong["hostile"][scenario] <= wrong["perfect_label"][scenario] + 1
        for scenario in wrong["hostile"]
    )
    assert wrong["hostile"].total() > 100


def test_a_malformed_plan_is_one_failed_step() -> None:
    failed = {
        record.case_id
        for scenario in evaluated("hostile", "EN")
        for record in scenario.records
        if record.kind == "plan" and record.plan is None
    }
    scenarios = {case.partition("#")[0] for case in failed}
    assert len(failed) == len(scenarios) == 54


def _is_answer(entry: dict[str, Any]) -> bool:
    called = any(
        call["function"]["arguments"].startswith("{")
        and call["function"]["arguments"].endswith("}")
        for call in entry["tool_calls"]
    )
    return called or "AWAITING_USER_INPUT" in entry["content"] or "VIOLATION" in entry["content"]


def test_garbage_is_failed_and_not_a_function_call() -> None:
    answered = sum(
        _is_answer(entry)
        for path in output_files("failed", "EN")
        for entry in load(path)["history"]["run #1"]["sub_agent_history"]
    )
    confusion = outcome("failed", "EN").overall.confusion
    steps = confusion.call_cases + confusion.rejection_cases
    assert confusion.failed == steps - answered + _answers_set_aside()
    assert confusion.reject_fc == 0


def _answers_set_aside() -> int:
    """Answers to steps that the data report sets aside: they are in no cell."""
    run = load(output_files("failed", "EN")[31])["history"]["run #1"]
    return sum(_is_answer(entry) for entry in run["sub_agent_history"] if entry["step_id"] == "7")


def test_a_missing_entry_is_failed_too() -> None:
    whys = Counter(
        difference.detail
        for scenario in evaluated("failed", "EN")
        for record in scenario.records
        for difference in record.differences
        if difference.kind == "failed_answer"
    )
    assert set(whys) == {"no_answer", "plain_text", "empty_answer", "malformed_call"}


@pytest.mark.parametrize(
    ("lang", "files", "plans", "steps"), [("EN", 219, 317, 919), ("KO", 222, 323, 944)]
)
def test_the_scenario_files_tell_the_same_as_the_recorded_labels(
    lang: str, files: int, plans: int, steps: int
) -> None:
    scenarios = [_scenario(lang, number) for number in range(1, files + 1)]
    assert sum(len(scenario.plans) for scenario in scenarios) == plans
    assert sum(len(scenario.agent_steps) for scenario in scenarios) == steps
    from_files = {finding for scenario in scenarios for finding in scenario.findings}
    from_labels = {f for scenario in evaluated("perfect_prompt", lang) for f in scenario.findings}
    assert from_labels - from_files == {f for f in from_labels if f.kind == "agent_without_card"}
    assert from_files <= from_labels


def _scenario(lang: str, number: int) -> Scenario:
    text = (SCENARIOS / lang / "scenario_data" / f"{number}.yaml").read_text(encoding="utf-8")
    return read_scenario(text, ScenarioKey(lang, str(number)), cards_of(lang))


def test_three_runs_give_pass_hat_k_and_a_flip_rate() -> None:
    runs = outcome("mixture", "EN").document()["x_extension"]["runs"]
    assert list(runs["pass_hat_k"]) == ["1", "2", "3"]
    assert runs["pass_hat_k"]["1"] >= runs["pass_hat_k"]["2"] >= runs["pass_hat_k"]["3"]
    assert runs["pass_hat_k"]["1"] == runs["scenario_success"]
    assert 0 < runs["flip_rate"] < 1
