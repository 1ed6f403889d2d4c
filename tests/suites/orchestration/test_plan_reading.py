"""A plan is found wherever a model puts it, and a malformed one is said to be malformed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.core.case import Malformed
from callscore.suites.orchestration.plan.lenient_json import LenientJsonError, read_lenient_json
from callscore.suites.orchestration.plan.model import PlannedStep, Workflow, WorkflowPlan
from callscore.suites.orchestration.plan.parse import READING_REPAIRS, plan_of, read_plan

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
PLAN = WorkflowPlan(
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
    assert isinstance(plan, WorkflowPlan)
    assert plan.workflows[0].steps[0].query == 'Table at "The Fork" for 2'
    assert "unescaped_quote" in plan.repairs


@pytest.mark.parametrize("given", ["workflow_1", ["workflow_1"], [" workflow_1 ", ""]])
@pytest.mark.parametrize("key", ["depends_on", "depend_on"])
def test_both_spellings_of_a_dependency_as_name_or_list(given: Any, key: str) -> None:
    plan = plan_of({"workflow_1": {}, "workflow_2": {key: given}})
    assert isinstance(plan, WorkflowPlan)
    assert plan.workflows[1].depends_on == ("workflow_1",)


def test_an_interrupting_workflow_alone_is_a_plan() -> None:
    assert isinstance(read_plan('{"interrupt_workflow_1-1": {"steps": []}}'), WorkflowPlan)


@pytest.mark.parametrize(
    ("written", "read"),
    [("Pending", "pending"), ("canceled", "cancelled"), ("_x0008_cancelled", "cancelled")],
)
def test_a_status_has_one_spelling(written: str, read: str) -> None:
    plan = plan_of({"workflow_1": {"steps": [{"name": "a", "status": written}]}})
    assert isinstance(plan, WorkflowPlan)
    assert plan.workflows[0].steps[0].status == read
    assert plan.repairs == ("status_spelling",)


@given(st.text(alphabet='{}[]":,`workflow_1 \n-steps', max_size=200))
def test_no_text_makes_the_reader_raise(text: str) -> None:
    assert isinstance(read_plan("workflow_" + text), WorkflowPlan | Malformed)


@pytest.mark.parametrize("text", ["{" * 200_000, "workflow_1: " + "[" * 100_000, "```" * 100_000])
def test_hostile_nesting_is_refused_quickly(text: str) -> None:
    assert isinstance(read_plan("workflow_ " + text), Malformed)


WRITTEN = {
    "workflow_1": {"status": "pending", "steps": [{"agent_id": "a", "refined_query": "it's"}]},
    "workflow_2": {"depends_on": ["workflow_1"], "steps": [], "note": None},
}


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda text: text.replace("}]", "},]"), "trailing_comma"),
        (lambda text: text.replace("it's", "it's\nlate"), "raw_newline"),
        (lambda _: repr(WRITTEN), "python_quotes"),
        (lambda text: text.replace("null", "None"), "python_literal"),
        (lambda text: re.sub(r'"(\w+)":', r"\1:", text), "unquoted_key"),
        (lambda text: text.replace('"pending"', "pending"), "unquoted_word"),
        (lambda text: text.replace('"steps"', '// steps\n"steps"'), "comment"),
    ],
)
@pytest.mark.parametrize("wrap", ["{}", "Here is the plan: {} Thanks.", "```json\n{}\n```"])
def test_c_128_what_a_reasonable_reader_recovers_is_read_and_flagged(
    change: Callable[[str], str], kind: str, wrap: str
) -> None:
    text = wrap.replace("{}", change(json.dumps(WRITTEN)))
    found = read_plan(text)
    assert isinstance(found, WorkflowPlan), found
    assert kind in found.repairs
    exact = read_plan(json.dumps(WRITTEN))
    assert isinstance(exact, WorkflowPlan)
    assert [flow.name for flow in found.workflows] == ["workflow_1", "workflow_2"]
    assert [flow.depends_on for flow in found.workflows] == [(), ("workflow_1",)]
    assert found.workflows[0].steps[0].pair == exact.workflows[0].steps[0].pair
    assert not set(exact.repairs) & set(READING_REPAIRS)


def test_c_128_yaml_indented_with_tabs_is_read_and_flagged() -> None:
    found = read_plan("workflow_1:\n\tsteps:\n\t- name: a\n\t  status: pending\n")
    assert isinstance(found, WorkflowPlan)
    assert "tabs" in found.repairs
    assert found.size == 1


@pytest.mark.parametrize(
    "text",
    [
        '{"workflow_1": {"steps": [{"name": "a"}',
        '{"workflow_1": {"steps": ["a" "b"]}}',
        '{"workflow_1" {"steps": []}}',
        '{"workflow_1": {"steps": [,]}}',
        '{"workflow_1": ' + "[" * 5000,
        "{'workflow_1': 'never closed}",
    ],
)
def test_nothing_is_guessed(text: str) -> None:
    assert isinstance(read_plan(text), Malformed)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text() | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON_VALUES, st.booleans())
def test_the_lenient_reader_reads_json_as_json(value: Any, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert read_lenient_json(text + " and more") == (value, ())


@given(st.text(alphabet="{}[]'\",:ab1\\\n#/*-. "))
def test_the_lenient_reader_raises_only_its_own_error(text: str) -> None:
    with suppress(LenientJsonError):
        read_lenient_json(text)


@pytest.mark.parametrize(
    "text", ["{'" * 50_000, "[" * 200_000, "{a:" * 50_000, "'" + "\\" * 200_001, "/*" * 100_000]
)
def test_hostile_text_is_refused_at_once(text: str) -> None:
    with pytest.raises(LenientJsonError):
        read_lenient_json(text)
