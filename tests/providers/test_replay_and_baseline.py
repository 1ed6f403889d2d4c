"""Recorded answers, and answers by rule."""

from __future__ import annotations

import asyncio
import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callscore
from calls_suite import tasks
from callscore.core.case import Case, Failed, Malformed, Message, Prompt, Reply, Tool, ToolCall
from callscore.core.errors import ConfigError
from callscore.core.judging import NO_VERDICTS
from callscore.core.noise import NoRules
from callscore.core.provider import AttemptFailed, ProviderResponse
from callscore.core.task import SCENARIO
from callscore.evaluate.cases import load_case
from callscore.providers.baseline import BaselineProvider
from callscore.providers.replay import Recorded, ReplayProvider
from callscore.store.files import lines_of
from callscore.suites.calls import spec
from callscore.suites.orchestration.single_turn.task import OrchestrationTask
from callscore.suites.registry import rules_of

CASES = Path(str(resources.files("callscore.demo") / "calls" / "cases.jsonl"))
CASE = Case("c1", "qa", "", {}, {})
PROMPT = Prompt(())


def answer_by_rules(task: str, prompt: Prompt) -> Reply:
    provider = BaselineProvider("b", rules_of)
    request = provider.request_for(Case("c1", task, "", {}, {}), prompt, 1)
    found = asyncio.run(provider.attempt(request))
    assert isinstance(found, ProviderResponse)
    return found.reply


def recording(text: str) -> Recorded:
    return lambda case_id, run: Reply(text)


@pytest.mark.parametrize(
    "recorded",
    [
        Reply("some text", "length", 10, 5, 0.25),
        Reply(b'{"a": 1}', None, None, None, None),
        Reply("", "tool_calls", 1, 1, None, (ToolCall("f", '{"x": broken'),)),
    ],
)
def test_a_recorded_answer_comes_back_as_it_was(recorded: Reply) -> None:
    provider = ReplayProvider("r", lambda case_id, run: recorded)
    call = provider.request_for(CASE, PROMPT, 1)
    assert call is not None
    found = asyncio.run(provider.attempt(call))
    assert isinstance(found, ProviderResponse)
    reply = found.reply
    assert (reply.text, reply.finish_reason, reply.input_tokens, reply.cost_usd) == (
        recorded.text,
        recorded.finish_reason,
        recorded.input_tokens,
        recorded.cost_usd,
    )
    assert list(reply.tool_calls) == list(recorded.tool_calls)
    assert reply.model == "replay"


def test_a_recorded_failure_stays_a_failure_and_nothing_recorded_is_nothing_asked() -> None:
    failing = ReplayProvider("r", lambda case_id, run: Failed("model", "was\ndown"))
    call = failing.request_for(CASE, PROMPT, 1)
    assert call is not None
    found = asyncio.run(failing.attempt(call))
    assert found == AttemptFailed("bad_request", "was down")
    assert ReplayProvider("r", lambda case_id, run: None).request_for(CASE, PROMPT, 1) is None


def test_another_recording_has_another_key() -> None:
    keys = set()
    for name, text, run in (("r", "a", 1), ("r", "b", 1), ("q", "a", 1), ("r", "a", 2)):
        call = ReplayProvider(name, recording(text)).request_for(CASE, PROMPT, run)
        assert call is not None
        keys.add(call.key)
    assert len(keys) == 4


def test_a_recording_cannot_answer_a_prompt_alone() -> None:
    with pytest.raises(ConfigError):
        ReplayProvider("r", lambda case_id, run: None).request(PROMPT, 1)


def test_the_rules_are_a_floor_well_shaped_and_well_below_a_model() -> None:
    outputs = []
    for line in lines_of([CASES]):
        opened = load_case(line, tasks(spec.make_settings()))
        reply = answer_by_rules(opened.case.task, opened.task.prompt(opened.case))
        outputs.append({"case_id": opened.case.id, "model": "b", "output": reply.text})
    (model,) = callscore.score(CASES, outputs).models
    values = {s: m.value for task in model.tasks.values() for s, m in task.metrics.items()}
    for task in ("qa", "entity", "text", "translation"):
        assert values[f"{task}.structure"] == 1.0
    assert values["entity.fabricated_count"] == 0
    for slug, low, high in (
        ("text.sentiment_accuracy", 0.4, 0.8),
        ("qa.question_score_accuracy", 0.3, 0.7),
        ("entity.topic_f1", 0.2, 0.7),
        ("entity.keyword_f1", 0.9, 0.99),  # Korean particles hide some of the words
    ):
        value = values[slug]
        assert value is not None
        assert low < value < high


def test_the_rules_never_see_the_expected_outcome() -> None:
    """They are given the prompt alone, and the prompt holds no expected outcome."""
    for line in lines_of([CASES]):
        opened = load_case(line, tasks(spec.make_settings()))
        provider = BaselineProvider("b", rules_of)
        call = provider.request_for(opened.case, opened.task.prompt(opened.case), 1)
        assert b"expected_outcome" not in call.body


TOOLS = (
    Tool("get_invoice", "Look up an invoice", {"properties": {"id": {}}, "required": ["id"]}),
    Tool("send_message", "Send a text message", {"properties": {"to": {}}, "required": ["to"]}),
)


def test_the_rules_call_the_tool_that_the_task_names_or_ask_back() -> None:
    asked = Prompt((Message("user", "Look up invoice HT-20418"),), tools=TOOLS)
    reply = answer_by_rules(SCENARIO, asked)
    (call,) = reply.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("get_invoice", {"id": "HT-20418"})
    asked = Prompt((Message("user", "Look up the invoice"),), tools=TOOLS)
    reply = answer_by_rules(SCENARIO, asked)
    assert "AWAITING_USER_INPUT" in str(reply.text)
    assert reply.tool_calls == ()


def test_the_rules_plan_with_the_agents_that_exist() -> None:
    system = "**Billing (billing_agent)**\n- bills\n**Weather (weather_agent)**\n- rain"
    messages = (Message("system", system), Message("user", "a question about billing"))
    plan = json.loads(answer_by_rules(SCENARIO, Prompt(messages)).text)
    assert [s["agent_id"] for s in plan["workflow_1"]["steps"]] == ["billing_agent"]


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
CONFIG = st.dictionaries(
    st.sampled_from(
        ["questions", "keywords", "topics", "aliases", "sentences", "emotions", "required_fields"]
    ),
    ANY_JSON,
)
SCHEMAS = {
    "qa": "questions",
    "entity": "detected_keywords",
    "text": "sentiment",
    "translation": "full_translation",
}


@given(st.sampled_from(list(SCHEMAS)), CONFIG, ANY_JSON)
def test_no_document_breaks_the_rules(task: str, config: dict[str, Any], transcript: Any) -> None:
    document = json.dumps({"config": config, "transcript": transcript})
    prompt = Prompt((Message("user", document),), {"properties": {SCHEMAS[task]: {}}})
    assert answer_by_rules(task, prompt).model == "baseline"


CALL_CASE = Case(
    "c2",
    "orchestration",
    "Look up invoice HT-20418",
    {"tools": [{"name": tool.name, "parameters": tool.parameters} for tool in TOOLS]},
    {"calls": [{"get_invoice": {"id": ["HT-20418"]}}]},
)
GRAPH_CASE = Case(
    "c3",
    "orchestration",
    "Bake",
    {},
    {"nodes": [{"id": 1, "text": "Bake"}], "edges": [["START", "1"], ["1", "END"]]},
)


@pytest.mark.parametrize("case", [CALL_CASE, GRAPH_CASE])
def test_the_rules_answer_single_turn_cases_in_the_form_that_is_asked(case: Case) -> None:
    task = OrchestrationTask()
    reply = answer_by_rules(case.task, task.prompt(case))
    reference = task.reference(case)
    output = task.read(reference, reply)
    assert not isinstance(output, Malformed)
    score = task.measure(reference, output, NO_VERDICTS).measures["orchestration.case_score"]
    assert score.value == 1.0


def test_a_task_without_rules_is_refused_and_so_is_a_prompt_alone() -> None:
    provider = BaselineProvider("b", rules_of)
    with pytest.raises(NoRules, match="no rules for the task 'unknown'"):
        provider.request_for(Case("c1", "unknown", "", {}, {}), PROMPT, 1)
    with pytest.raises(ConfigError, match="not single prompts"):
        provider.request(PROMPT, 1)
