"""Steps as cases: the gold history before each, the query it is about, the tools it may call."""

from __future__ import annotations

import pytest

from callscore.core.case import Tool
from callscore.suites.orchestration.scenario.cards import Card, Cards, Skill
from callscore.suites.orchestration.scenario.cases import step_cases, tool_result
from callscore.suites.orchestration.scenario.queries import bound_queries
from callscore.suites.orchestration.scenario.reading import Place, interpret
from callscore.suites.orchestration.scenario.values import RawStep, Scenario

CARDS = Cards(
    {
        "desk_agent": Card(
            "desk_agent",
            "Desk",
            "Books.",
            (Skill("book", "Books a table"),),
            (Tool("book", "Books", {}),),
        )
    }
)


def plan(*flows: tuple[str, str, str]) -> str:
    return "\n".join(
        f"{name}:\n  steps:\n    - name: desk_agent\n      status: {status}\n"
        f'      refined_query: "{query}"'
        for name, status, query in flows
    )


FIRST = plan(("workflow_1", "pending", "search"), ("workflow_2", "pending", "book"))
LATER = plan(("workflow_1", "completed", "search"), ("workflow_3", "pending", "cancel"))
CALL = "tool: book\narguments: {a: 1}\ntool_call_result:\n  ok: true\n"
WAIT = "status: AWAITING_USER_INPUT\nrequired_info: day"


def scenario_of(*steps: RawStep) -> Scenario:
    return interpret(steps, Place("EN", "8"), CARDS)


TRIP = scenario_of(
    RawStep(1, "system", "- Today: {{agent_cards}}"),
    RawStep(2, "user", "A trip, please"),
    RawStep(3, "main", FIRST),
    RawStep(4, "desk_agent", CALL, "workflow_1"),
    RawStep(5, "desk_agent", WAIT, "workflow_2"),
    RawStep(6, "user", "On Friday"),
    RawStep(7, "desk_agent", CALL),
    RawStep(8, "main", LATER),
    RawStep(9, "desk_agent", CALL, "workflow_3"),
    RawStep(10, "main", "Done."),
)


def test_q20_a_rejection_does_not_advance_the_plan() -> None:
    assert bound_queries(TRIP, "progress") == {4: "search", 5: "book", 7: "book", 9: "cancel"}


def test_q20_the_public_binding_runs_ahead_of_the_conversation() -> None:
    assert bound_queries(TRIP, "public") == {4: "search", 5: "book", 7: "cancel"}


def test_an_agent_out_of_planned_steps_keeps_its_last_query() -> None:
    scenario = scenario_of(
        RawStep(1, "main", plan(("workflow_1", "pending", "search"))),
        RawStep(2, "desk_agent", CALL, "workflow_1"),
        RawStep(3, "desk_agent", CALL, "workflow_1"),
    )
    assert bound_queries(scenario, "progress") == {2: "search", 3: "search"}


def test_without_a_plan_there_is_no_query() -> None:
    assert bound_queries(scenario_of(RawStep(2, "desk_agent", CALL)), "progress") == {}


def test_a_planner_case_has_the_history_before_it_and_no_tools() -> None:
    case = step_cases(TRIP, CARDS)[0]
    assert case.id == "EN/8#3"
    assert [message.role for message in case.prompt.messages] == ["system", "user"]
    assert case.prompt.tools == ()
    assert "**Desk (desk_agent)**" in case.prompt.messages[0].content


def test_text_from_the_data_cannot_open_a_place_in_the_prompt() -> None:
    system = step_cases(TRIP, CARDS)[0].prompt.messages[0].content
    assert "- Today: {{agent_cards}}" in system
    assert system.count("**Desk (desk_agent)**") == 1


def test_a_sub_agent_case_ends_with_its_query_and_brings_its_tools() -> None:
    case = next(case for case in step_cases(TRIP, CARDS) if case.id == "EN/8#7")
    messages = case.prompt.messages
    assert messages[-1].content == "book"
    assert messages[-1].role == "user"
    assert [tool.name for tool in case.prompt.tools] == ["book"]
    assert '{"ok": true}' in [message.content for message in messages]
    assert WAIT not in [message.content for message in messages]
    assert messages[0].content.startswith("What is known:\n- Today")


def test_no_prompt_holds_the_answer_or_anything_after_it() -> None:
    for case in step_cases(TRIP, CARDS):
        said = "\n".join(message.content for message in case.prompt.messages)
        assert "Done." not in said
        if case.step.step_id < 8:
            assert "workflow_3" not in said


@pytest.mark.parametrize(
    ("content", "result"),
    [
        (CALL, {"ok": True}),
        ("- tool: a\n  tool_call_result: 1\n- tool: a\n  tool_call_result: 2\n", [1, 2]),
        (WAIT, None),
        ('tool: a\ntool_call_result:\n  x: "a "b""', 'x: "a "b""'),
        ("plain: [", None),
    ],
)
def test_what_a_tool_returned(content: str, result: object) -> None:
    assert tool_result(content) == result
