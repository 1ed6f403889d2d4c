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
from callscore.core.case import Case, Failed, Message, Prompt, Reply, Tool, ToolCall
from callscore.core.errors import ConfigError
from callscore.core.provider import AttemptFailed, Provider, ProviderResponse
from callscore.evaluate.cases import load_case
from callscore.providers.baseline.provider import BaselineProvider
from callscore.providers.replay import Recorded, ReplayProvider
from callscore.store.files import lines_of
from callscore.suites.calls import spec

CASES = Path(str(resources.files("callscore.demo") / "calls" / "cases.jsonl"))
CASE = Case("c1", "qa", "", {}, {})
PROMPT = Prompt(())


def answer(provider: Provider, prompt: Prompt) -> Reply:
    found = asyncio.run(provider.attempt(provider.request(prompt, 1)))
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
    provider, outputs = BaselineProvider("b"), []
    for line in lines_of([CASES]):
        opened = load_case(line, tasks(spec.make_settings()))
        reply = answer(provider, opened.task.prompt(opened.case))
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
        call = BaselineProvider("b").request(opened.task.prompt(opened.case), 1)
        assert b"expected_outcome" not in call.body


TOOLS = (
    Tool("get_invoice", "Look up an invoice", {"properties": {"id": {}}, "required": ["id"]}),
    Tool("send_message", "Send a text message", {"properties": {"to": {}}, "required": ["to"]}),
)


def test_the_rules_call_the_tool_that_the_task_names_or_ask_back() -> None:
    provider = BaselineProvider("b")
    reply = answer(provider, Prompt((Message("user", "Look up invoice HT-20418"),), tools=TOOLS))
    (call,) = reply.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("get_invoice", {"id": "HT-20418"})
    reply = answer(provider, Prompt((Message("user", "Look up the invoice"),), tools=TOOLS))
    assert "AWAITING_USER_INPUT" in str(reply.text)
    assert reply.tool_calls == ()


def test_the_rules_plan_with_the_agents_that_exist() -> None:
    system = "**Billing (billing_agent)**\n- bills\n**Weather (weather_agent)**\n- rain"
    messages = (Message("system", system), Message("user", "a question about billing"))
    plan = json.loads(answer(BaselineProvider("b"), Prompt(messages)).text)
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
SCHEMAS = ("questions", "detected_keywords", "sentiment", "full_translation", "nothing")


@given(st.sampled_from(SCHEMAS), CONFIG, ANY_JSON)
def test_no_document_breaks_the_rules(key: str, config: dict[str, Any], transcript: Any) -> None:
    document = json.dumps({"config": config, "transcript": transcript})
    prompt = Prompt((Message("user", document),), {"properties": {key: {}}})
    assert answer(BaselineProvider("b"), prompt).model == "baseline"
