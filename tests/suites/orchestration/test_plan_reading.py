"""A plan is found wherever a model puts it, and a malformed one is said to be malformed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Malformed
from callscore.suites.orchestration.plan.reading import plan_of, read_plan
from callscore.suites.orchestration.plan.values import Plan, PlannedStep, Workflow

BODY = {
    "workflow_1": {
        "status": "pending",
        "type": "independent",
        "steps": [{"status": "pending", "agent_id": "desk_agent", "refined_query": "Look it up"}],
    },
    "workflow_2": {
        "status": "pending",
        "depends_on": ["workflow_1"],
        "steps": [{"status": "completed", "agent_id": "till_agent"}],
    },
}
PLAN = Plan(
    (
        Workflow(
            "workflow_1", (PlannedStep("desk_agent", "pending", "Look it up"),), (), "pending"
        ),
        Workflow(
            "workflow_2", (PlannedStep("till_agent", "completed"),), ("workflow_1",), "pending"
        ),
    )
)
BARE = json.dumps(BODY, indent=1)
YAML = """workflow_1:
  status: pending
  steps:
    - status: pending
      name: desk_agent
      refined_query: "Look it up"

workflow_2:
  status: pending
  depend_on: "workflow_1"
  steps:
    - status: completed
      name: till_agent
"""


@pytest.mark.parametrize(
    "text",
    [
        BARE,
        json.dumps(BODY),
        f"```json\n{BARE}\n```",
        f"```\n{BARE}\n```",
        f"Here is the plan:\n{BARE}\nTell me if it suits you {{really}}.",
        f"<think>First workflow_9: {{}}.</think>{BARE}",
        f"<think>a</think>b<think>c</think>\n```json\n{BARE}\n```",
        json.dumps({"plan": BODY}),
        YAML,
        f"```yaml\n{YAML}```",
        f"Of course!\n\n{YAML}",
        f'Two fences. ```json\n{{"status": "SUCCESS"}}\n``` and ```json\n{BARE}\n```',
    ],
)
def test_the_plan_is_found(text: str) -> None:
    assert read_plan(text) == PLAN


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "no_plan"),
        ('{"status": "SUCCESS", "content": "Hello"}', "no_plan"),
        (BARE[:-30], "unreadable_plan"),
        ('{"workflow_1": "not a mapping"}', "workflow_not_a_mapping"),
        ('{"workflow_1": {"steps": "oops"}}', "steps_not_a_list"),
        ('{"workflow_1": {"steps": ["oops"]}}', "step_not_a_mapping"),
        ('{"workflow_1": {"steps": [{"agent_id": ["a"]}]}}', "agent_not_a_name"),
        ('{"workflow_1": {"depends_on": [1]}}', "dependencies_not_names"),
        ('{"workflow_1": {"depends_on": 7}}', "dependencies_not_names"),
        ("I think workflow_1 should do.", "unreadable_plan"),
    ],
)
def test_what_is_no_plan_is_malformed_with_its_cause(text: str, cause: str) -> None:
    found = read_plan(text)
    assert isinstance(found, Malformed)
    assert found.cause == cause


def test_unescaped_quotes_are_repaired_and_said_so() -> None:
    text = (
        'workflow_1:\n  steps:\n    - name: a\n      refined_query: "Table at "The Fork" for 2"\n'
    )
    plan = read_plan(text)
    assert isinstance(plan, Plan)
    assert plan.workflows[0].steps[0].query == 'Table at "The Fork" for 2'
    assert "unescaped_quote" in plan.repairs


@pytest.mark.parametrize("given", ["workflow_1", ["workflow_1"], [" workflow_1 ", ""]])
@pytest.mark.parametrize("key", ["depends_on", "depend_on"])
def test_both_spellings_of_a_dependency_as_name_or_list(given: Any, key: str) -> None:
    plan = plan_of({"workflow_1": {}, "workflow_2": {key: given}})
    assert isinstance(plan, Plan)
    assert plan.workflows[1].depends_on == ("workflow_1",)


def test_an_interrupting_workflow_alone_is_a_plan() -> None:
    assert isinstance(read_plan('{"interrupt_workflow_1-1": {"steps": []}}'), Plan)


@pytest.mark.parametrize(
    ("written", "read"),
    [("Pending", "pending"), ("canceled", "cancelled"), ("_x0008_cancelled", "cancelled")],
)
def test_a_status_has_one_spelling(written: str, read: str) -> None:
    plan = plan_of({"workflow_1": {"steps": [{"name": "a", "status": written}]}})
    assert isinstance(plan, Plan)
    assert plan.workflows[0].steps[0].status == read
    assert plan.repairs == ("status_spelling",)


@given(st.text(alphabet='{}[]":,`workflow_1 \n-steps', max_size=200))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    assert isinstance(read_plan("workflow_" + text), Plan | Malformed)


@pytest.mark.parametrize("text", ["{" * 200_000, "workflow_1: " + "[" * 100_000, "```" * 100_000])
def test_hostile_nesting_is_refused_quickly(text: str) -> None:
    assert isinstance(read_plan("workflow_ " + text), Malformed)
