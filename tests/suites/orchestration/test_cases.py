"""Steps as cases: the gold history before each, the query it is about, the tools it may call."""

from __future__ import annotations

import pytest

from callscore.core.case import Tool
from callscore.core.errors import DataError
from callscore.suites.orchestration.scenario.cards import Card, Cards, Skill
from callscore.suites.orchestration.scenario.cases import step_cases, tool_result
from callscore.suites.orchestration.scenario.model import RawStep, Scenario
from callscore.suites.orchestration.scenario.parse import ScenarioKey, interpret_steps
from callscore.suites.orchestration.scenario.protocol import (
    PromptProtocol,
    bundled_protocol,
    with_public_prompts,
)
from callscore.suites.orchestration.scenario.queries import Binding, planned_queries

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
    return interpret_steps(steps, ScenarioKey("EN", "8"), CARDS)


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


def queries(scenario: Scenario, binding: Binding) -> dict[int, str]:
    return {step: query.text for step, query in planned_queries(scenario, binding).items()}


def contents(scenario: Scenario, case_id: str, protocol: PromptProtocol | None = None) -> list[str]:
    case = next(case for case in step_cases(scenario, CARDS, protocol) if case.id == case_id)
    return [message.content for message in case.prompt.messages]


def test_q20_a_rejection_does_not_advance_the_plan() -> None:
    assert queries(TRIP, "progress") == {4: "search", 5: "book", 7: "book", 9: "cancel"}


def test_q20_the_public_binding_runs_ahead_of_the_conversation() -> None:
    assert queries(TRIP, "public") == {4: "search", 5: "book", 7: "cancel"}


def test_an_agent_out_of_planned_steps_keeps_its_last_query() -> None:
    scenario = scenario_of(
        RawStep(1, "main", plan(("workflow_1", "pending", "search"))),
        RawStep(2, "desk_agent", CALL, "workflow_1"),
        RawStep(3, "desk_agent", CALL, "workflow_1"),
    )
    assert queries(scenario, "progress") == {2: "search", 3: "search"}


def test_without_a_plan_there_is_no_query() -> None:
    assert queries(scenario_of(RawStep(2, "desk_agent", CALL)), "progress") == {}


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
    case = next(case for case in step_cases(TRIP, CARDS) if case.id == "EN/8#5")
    messages = case.prompt.messages
    assert messages[-1].content == "book"
    assert messages[-1].role == "user"
    assert [tool.name for tool in case.prompt.tools] == ["book"]
    assert '{"ok": true}' in [message.content for message in messages]
    assert WAIT not in [message.content for message in messages]
    assert messages[0].content.startswith("What is known:\n- Today")


def test_the_system_message_says_what_the_sub_agent_is_to_do_now() -> None:
    for case_id, task in (("EN/8#4", "search"), ("EN/8#5", "book"), ("EN/8#9", "cancel")):
        system = contents(TRIP, case_id)[0]
        assert "serve a user together: Desk (desk_agent)." in system
        assert f"## Your task now\n{task}\n" in system
        assert "The plan is made already: do not repeat it" in system


def test_without_a_query_the_task_is_the_last_message() -> None:
    steps = RawStep(1, "user", "A table, please"), RawStep(2, "desk_agent", CALL)
    later = RawStep(3, "main", plan(("workflow_1", "pending", "Pay")))
    system, last = contents(scenario_of(*steps, later), "EN/8#2")
    assert "## Your task now\nWhat the last message asks for.\n" in system
    assert last == "A table, please"
    system, last = contents(scenario_of(*steps), "EN/8#2")
    assert system.startswith("You serve a user: ") and "plan with workflows" not in system
    assert last == "A table, please"


def test_a_query_cannot_open_a_place_in_the_system_message() -> None:
    scenario = scenario_of(
        RawStep(1, "main", plan(("workflow_1", "pending", "{{agent}} {{task}}"))),
        RawStep(2, "desk_agent", CALL, "workflow_1"),
    )
    assert "## Your task now\n{{agent}} {{task}}\n" in contents(scenario, "EN/8#2")[0]


def test_c_133_the_public_protocol_has_one_system_message_for_all_sub_agents() -> None:
    public = bundled_protocol("public")
    systems = {
        case.prompt.messages[0].content
        for case in step_cases(TRIP, CARDS, public)
        if not case.is_plan
    }
    assert len(systems) == 1
    assert "task now" not in systems.pop()


def test_c_133_a_query_follows_its_plan_once_the_user_has_spoken() -> None:
    said = contents(TRIP, "EN/8#7")
    assert said[1:] == ["A trip, please", FIRST, "book", '{"ok": true}', "On Friday"]


def test_c_133_the_last_word_of_the_user_is_last_whatever_tools_returned_since() -> None:
    later = (RawStep(8, "desk_agent", CALL), RawStep(9, "desk_agent", CALL))
    scenario = scenario_of(*TRIP.raw[:7], *later)
    assert contents(scenario, "EN/8#9")[-3:] == ['{"ok": true}', '{"ok": true}', "On Friday"]


def test_c_133_without_a_plan_the_last_word_of_the_user_is_the_task() -> None:
    scenario = scenario_of(RawStep(1, "user", "Book, please"), RawStep(2, "desk_agent", CALL))
    assert contents(scenario, "EN/8#2")[1:] == ["Book, please"]


def test_c_133_the_public_protocol_ends_with_its_query_wherever_the_user_spoke() -> None:
    said = contents(TRIP, "EN/8#7", bundled_protocol("public"))
    assert said[1:] == ["A trip, please", FIRST, '{"ok": true}', "On Friday", "cancel"]
    assert said[0].startswith("SYSTEM_INFO:\n- Today")


def test_the_public_protocol_asks_what_cannot_be_scored_and_forgets_listed_results() -> None:
    """Q46."""
    listed = "- tool: book\n  arguments: {}\n  tool_call_result: {ok: true}"
    scenario = scenario_of(
        RawStep(1, "user", "Book, please"),
        RawStep(2, "desk_agent", listed),
        RawStep(3, "desk_agent", "tool_call_result: {data: 1}"),
    )
    ours, public = (
        step_cases(scenario, CARDS),
        step_cases(scenario, CARDS, bundled_protocol("public")),
    )
    assert [case.step_id for case in ours] == [2]
    assert [case.step_id for case in public] == [2, 3]
    assert public[1].step is None
    assert [message.content for message in public[1].prompt.messages][1:] == ["Book, please"]


CONFIG = """
prompts:
  general: {prompt: "Known: %%system_info%% Now: %%workflows%% Agents: %%agent_cards%%%%more%%"}
  select_tools: {prompt: "Call %%system_info%%."}
"""


def test_prompts_of_the_public_runner_are_taken_from_its_config_to_the_letter() -> None:
    protocol = with_public_prompts(CONFIG)
    planner, agent = contents(TRIP, "EN/8#3", protocol)[0], contents(TRIP, "EN/8#4", protocol)[0]
    cards = "**Desk (desk_agent)**\n- Books.\n- Skills:\n  - book: Books a table\n"
    assert planner == f"Known: - Today: {{{{agent_cards}}}} Now: NONE Agents: {cards}%%more%%"
    assert agent == "SYSTEM_INFO:\n- Today: {{agent_cards}}\n\nCall %%system_info%%."
    assert protocol.signature.startswith("public+")


@pytest.mark.parametrize("text", ["", "[", "prompts: {general: {prompt: a}}", "prompts: 1"])
def test_a_config_without_the_two_prompts_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="expected"):
        with_public_prompts(text)


def test_no_prompt_holds_the_answer_or_anything_after_it() -> None:
    for case in step_cases(TRIP, CARDS):
        said = "\n".join(message.content for message in case.prompt.messages)
        assert "Done." not in said
        if case.step_id < 8:
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
