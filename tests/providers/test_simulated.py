"""Simulated answers: the gold at rate 0, worse at stated rates, the same for the same seed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import callscore
from callscore.core.case import Case, Prompt, Reply
from callscore.core.provider import CaseProvider, ProviderRequest, ProviderResponse
from callscore.providers.simulated import SimulatedProvider
from callscore.store.files import lines_of
from callscore.store.input_records import read_case
from callscore.suites.registry import noise_of

CASES = Path(str(resources.files("callscore.demo") / "calls" / "cases.jsonl"))
PROMPT = Prompt(())


def sample_cases() -> list[Case]:
    return [read_case(line)[0] for line in lines_of([CASES])]


def simulated(**params: Any) -> SimulatedProvider:
    return SimulatedProvider("s", "", params, noise_of)


def answered(provider: SimulatedProvider, call: ProviderRequest) -> Reply:
    found = asyncio.run(provider.attempt(call))
    assert isinstance(found, ProviderResponse)
    return found.reply


def outputs(provider: SimulatedProvider, repeat: int = 1) -> list[dict[str, Any]]:
    found = []
    for case in sample_cases():
        reply = answered(provider, provider.request_for(case, PROMPT, repeat))
        record = {"case_id": case.id, "model": "s", "output": reply.text}
        found.append({**record, "finish_reason": reply.finish_reason})
    return found


def metric_values(provider: SimulatedProvider) -> Mapping[str, float | None]:
    (model,) = callscore.score(CASES, outputs(provider)).models
    return {
        slug: metric.value for task in model.tasks.values() for slug, metric in task.metrics.items()
    }


def test_without_rates_every_measure_is_perfect() -> None:
    (model,) = callscore.score(CASES, outputs(simulated())).models
    assert model.final.score == pytest.approx(1.0)
    assert model.blockers == []


@pytest.mark.parametrize(
    ("rate", "hurt"),
    [
        ("wrong_scores", "qa.question_score_accuracy"),
        ("wrong_scores", "text.sentiment_accuracy"),
        ("wrong_scores", "translation.critical_facts"),
        ("missing_labels", "entity.keyword_recall"),
        ("missing_labels", "translation.completeness"),
        ("broken_json", "qa.structure"),
        ("refusals", "text.structure"),
    ],
)
def test_each_rate_hurts_what_it_says(rate: str, hurt: str) -> None:
    value = metric_values(simulated(**{rate: 0.5}))[hurt]
    assert value is not None
    assert value < 0.9


def test_fabricated_facts_invent_one_entity_a_call() -> None:
    assert metric_values(simulated(fabricated_facts=1))["entity.fabricated_count"] == 13


def test_missing_labels_are_counted_as_missing() -> None:
    value = metric_values(simulated(missing_labels=0.3))["text.missing_labels"]
    assert value is not None
    assert value > 0


def test_the_same_seed_gives_the_same_answers_and_another_gives_others() -> None:
    rates = {"wrong_scores": 0.3, "missing_labels": 0.1}
    first = outputs(simulated(seed=1, **rates))
    assert outputs(simulated(seed=1, **rates)) == first
    assert outputs(simulated(seed=2, **rates)) != first
    assert outputs(simulated(seed=1, **rates), repeat=2) != first


def test_the_key_covers_case_rates_seed_and_repeat() -> None:
    one, two, *_ = sample_cases()
    keys = [
        simulated().request_for(one, PROMPT, 1).key,
        simulated().request_for(two, PROMPT, 1).key,
        simulated().request_for(one, PROMPT, 2).key,
        simulated(seed=1).request_for(one, PROMPT, 1).key,
        simulated(refusals=0.1).request_for(one, PROMPT, 1).key,
        SimulatedProvider("s", "other", {}, noise_of).request_for(one, PROMPT, 1).key,
    ]
    assert len(set(keys)) == len(keys)
    assert simulated().request_for(one, PROMPT, 1).key == keys[0]


def test_it_says_that_it_is_simulated_and_needs_the_case() -> None:
    provider = simulated()
    assert isinstance(provider, CaseProvider)
    assert (
        answered(provider, provider.request_for(sample_cases()[0], PROMPT, 1)).model == "simulated"
    )


def scenario(expected: dict[str, Any]) -> Case:
    return Case("EN/1#1", "scenario", "", {}, expected)


def test_steps_of_scenarios_are_answered_with_calls_plans_or_texts() -> None:
    provider = simulated()
    calls = answered(
        provider,
        provider.request_for(
            scenario({"calls": [{"name": "f", "arguments": {"a": 1}}]}), PROMPT, 1
        ),
    )
    assert [(c.name, json.loads(c.arguments)) for c in calls.tool_calls] == [("f", {"a": 1})]
    plan = {"workflow_1": {"steps": [{"agent_id": "x"}]}}
    planned = answered(provider, provider.request_for(scenario({"plan": plan}), PROMPT, 1))
    assert json.loads(planned.text) == plan
    said = answered(provider, provider.request_for(scenario({"text": "no"}), PROMPT, 1))
    assert said.text == "no"


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["questions", "detected_keywords", "sentiment", "summary", "emotion", "calls", "plan"]
    + ["sentence_translations", "valid_entity_set", "nodes", "actions"]
)


@given(
    st.sampled_from(["qa", "entity", "text", "translation", "orchestration", "scenario"]),
    st.dictionaries(KEYS, ANY_JSON, max_size=4),
)
def test_no_expected_outcome_breaks_it(task: str, expected: dict[str, Any]) -> None:
    rates = dict.fromkeys(("wrong_scores", "missing_labels", "fabricated_facts"), 0.5)
    provider = simulated(**rates)
    case = Case("c", task, "", {}, expected)
    assert answered(provider, provider.request_for(case, PROMPT, 1)).model == "simulated"
