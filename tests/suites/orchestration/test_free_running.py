"""Free runs: the model's own plans and calls are its history, the user follows the script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from callscore.core.case import Failed, Tool
from callscore.core.scenarios import ScenarioData
from callscore.store.scenario_files import SCENARIO_FILES
from callscore.suites.orchestration.free_run import NO_RESULT, FreeRun, free_replies
from callscore.suites.orchestration.scenario.cards import Card, index_cards
from callscore.suites.orchestration.scenario.cases import StepCase, step_cases
from callscore.suites.orchestration.scenario.data import ScenarioSet
from callscore.suites.orchestration.scenario.model import RawStep, Scenario, gold_reply
from callscore.suites.orchestration.scenario.output_file import RecordedReply
from callscore.suites.orchestration.scenario.parse import ScenarioKey, interpret_steps
from callscore.suites.orchestration.scenario.protocol import bundled_protocol
from orchestration_data import cards_of, needs_fixtures, scenarios_of

TOOLS = (Tool("book", "Books", {"properties": {"day": {"enum": ["Friday", "Monday"]}}}),)
CARDS = index_cards(Card(name, name, "", (), TOOLS) for name in ("desk_agent", "post_agent"))
GOLD = "workflow_1:\n  steps:\n" + "".join(
    f'    - {{name: {agent}, status: pending, refined_query: "{query}"}}\n'
    for agent, query in (("desk_agent", "book"), ("post_agent", "send"))
)
CALL = "tool: book\narguments: {day: Friday}\ntool_call_result: {ok: 1}\n"
WAIT = "status: AWAITING_USER_INPUT"
RIGHT = RecordedReply("", [{"name": "book", "arguments": {"day": "Friday"}}])
WRONG = RecordedReply("", [{"name": "book", "arguments": {"day": "Monday"}}])


def scenario_of(*steps: tuple[str, str]) -> Scenario:
    raw = [RawStep(n, agent, text) for n, (agent, text) in enumerate(steps, 1)]
    return interpret_steps(raw, ScenarioKey("EN", "1"), CARDS)


TRIP = scenario_of(
    ("user", "A trip"),
    ("main", GOLD),
    ("desk_agent", CALL),
    ("main", "Booked. Send it?"),
    ("user", "Yes"),
    ("post_agent", CALL),
    ("main", GOLD.replace("pending", "completed")),
)


def plan(*agents: str) -> str:
    steps = [{"agent_id": agent, "status": "pending", "refined_query": "go"} for agent in agents]
    return json.dumps({"workflow_1": {"steps": steps}})


def free_run(*answers: RecordedReply) -> FreeRun:
    run = FreeRun(TRIP, CARDS, bundled_protocol("callscore"))
    for answer in answers:
        run.add_reply(answer)
    return run


def test_a_request_that_failed_is_named_by_its_cause_or_its_stage(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"agent_card": {"agent_id": "desk_agent"}}')
    (tmp_path / "1.yaml").write_text("steps: []")
    part = ScenarioSet(ScenarioData(tmp_path, tmp_path), SCENARIO_FILES)
    for stored, why in (
        ({1: Failed("model", "503")}, "503"),
        ({1: Failed("model", "")}, "model"),
        ({}, "not run"),
    ):

        def replies(model: str, case: str, stored: Any = stored) -> Any:
            return stored

        assert free_replies(part, TRIP, "m", 1, replies) == f"EN/1#2, run 1: {why}"


def said(run: FreeRun) -> list[str]:
    assert run.next_step is not None
    return [message.content for message in run.next_step.prompt.messages[1:]]


def test_the_models_own_plan_is_the_history_and_gives_the_task() -> None:
    own = plan("desk_agent", "post_agent")
    run = free_run(RecordedReply(f"<think>hm</think>{own}"))
    assert said(run) == ["A trip", own, "go"]


def test_a_matching_call_returns_what_is_recorded_and_the_user_follows_the_script() -> None:
    own = plan("desk_agent", "post_agent")
    run = free_run(RecordedReply(own), RIGHT)
    assert said(run) == ["A trip", own, "go", '{"ok": 1}', "Booked. Send it?", "Yes"]


def test_a_call_that_is_not_in_the_script_returns_a_documented_error() -> None:
    run = free_run(RecordedReply(plan("desk_agent", "post_agent")), WRONG)
    result = json.loads(said(run)[3])
    assert (result["error"], result["tool"]) == (NO_RESULT, "book")


def test_a_rejection_leaves_nothing_behind() -> None:
    run = free_run(RecordedReply(plan("desk_agent", "post_agent")), RecordedReply(WAIT))
    assert said(run)[3:] == ["Booked. Send it?", "Yes"]


@pytest.mark.parametrize("answer", ["", "no plan at all", plan("post_agent")])
def test_an_agent_that_the_plan_leaves_out_is_not_reached(answer: str) -> None:
    run = free_run(RecordedReply(answer))
    assert 3 in run.not_reached
    assert 3 not in run.run(1).steps
    assert run.next_step is not None
    assert run.next_step.step_id == (6 if "post_agent" in answer else 7)


def test_a_plan_that_cannot_be_read_leaves_the_one_before_it_valid() -> None:
    again = scenario_of(("user", "A trip"), ("main", GOLD), ("main", GOLD), ("desk_agent", CALL))
    run = FreeRun(again, CARDS, bundled_protocol("callscore"))
    run.add_reply(RecordedReply(plan("desk_agent")))
    run.add_reply(RecordedReply("Sorry"))
    assert run.next_step is not None
    assert run.next_step.agent == "desk_agent"
    assert run.next_step.prompt.messages[-1].content == "go"


def test_a_run_ends_with_the_script() -> None:
    run = free_run(
        RecordedReply(plan("desk_agent", "post_agent")), RIGHT, RIGHT, RecordedReply(plan())
    )
    assert run.next_step is None
    assert (list(run.run(1).plans), list(run.run(1).steps)) == ([2, 7], [3, 6])


def test_agents_that_annotators_let_act_without_a_plan_are_asked() -> None:
    loose = scenario_of(("user", "A trip"), ("desk_agent", CALL))
    run = FreeRun(loose, CARDS, bundled_protocol("callscore"))
    assert run.next_step is not None
    assert said(run) == ["A trip"]


@needs_fixtures
@pytest.mark.parametrize("lang", ["EN", "KO"])
def test_with_perfect_answers_every_request_is_the_teacher_forced_one(lang: str) -> None:
    for scenario in scenarios_of(lang):
        forced = {case.id: case.prompt for case in step_cases(scenario, cards_of(lang))}
        run = FreeRun(scenario, cards_of(lang), bundled_protocol("callscore"))
        while (case := run.next_step) is not None:
            assert case.prompt == forced[case.id], case.id
            run.add_reply(perfect(scenario, case))
        assert run.not_reached == []


def perfect(scenario: Scenario, case: StepCase) -> RecordedReply:
    """The gold answer; a plan in the annotators' own words."""
    gold: dict[str, Any] = gold_reply(case.step)
    if "plan" in gold:
        return RecordedReply(
            next(raw.content for raw in scenario.raw if raw.step_id == case.step_id)
        )
    return RecordedReply(gold.get("text", ""), gold.get("calls"))
