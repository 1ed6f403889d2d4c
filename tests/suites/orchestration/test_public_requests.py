"""`protocol: public` beside 2,503 requests recorded of the public runner (commit de9cdb8).

The recordings are not copied here; what each request held, its system prompt apart, is a hash.
"""

from __future__ import annotations

import hashlib
import json

import pytest

from callscore.suites.orchestration.scenario.cases import StepCase, step_cases
from callscore.suites.orchestration.scenario.protocol import bundled_protocol
from orchestration_data import cards_of, needs_fixtures, scenarios_of

RECORDED = {
    "EN": (317, 919, "7ec711cf30f6d3e43615cf8938a663a13c78c899d8bccfcee320951733797fc7"),
    "KO": (323, 944, "2bbce6d4e7ed15ccefdcd0969230279f18dfdafe4b8de80d13a3a9b496f74076"),
}


def request(case: StepCase) -> str:
    """Roles, order, history and tools, as the public runner sends them."""
    messages = [{"role": m.role, "content": m.content} for m in case.prompt.messages[1:]]
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in case.prompt.tools
    ]
    return json.dumps([case.id, messages, tools], ensure_ascii=False, sort_keys=True)


@needs_fixtures
@pytest.mark.parametrize("lang", ["EN", "KO"])
def test_c_133_every_request_is_that_of_the_public_runner(lang: str) -> None:
    plans, calls, recorded = RECORDED[lang]
    cases = [
        case
        for scenario in scenarios_of(lang)
        for case in step_cases(scenario, cards_of(lang), bundled_protocol("public"))
    ]
    assert sum(case.is_plan for case in cases) == plans
    assert sum(not case.is_plan for case in cases) == calls
    digest = hashlib.sha256()
    for case in cases:
        digest.update(request(case).encode())
    assert digest.hexdigest() == recorded


@needs_fixtures
@pytest.mark.parametrize("lang", ["EN", "KO"])
def test_c_133_no_planned_query_follows_a_later_reply_of_the_user(lang: str) -> None:
    for scenario in scenarios_of(lang):
        for case in step_cases(scenario, cards_of(lang)):
            if case.is_plan:
                continue
            planned = max(
                (p.step_id for p in scenario.plans if p.step_id < case.step_id), default=0
            )
            said = [
                raw.content
                for raw in scenario.raw
                if raw.agent == "user" and planned < raw.step_id < case.step_id
            ]
            last = case.prompt.messages[-1]
            assert last.role == "user", case.id
            assert not said or last.content == said[-1], case.id


@needs_fixtures
def test_c_133_a_corrected_amount_is_the_last_thing_that_the_model_sees() -> None:
    scenario = next(each for each in scenarios_of("EN") if each.id == "46")
    case = next(case for case in step_cases(scenario, cards_of("EN")) if case.step_id == 16)
    assert "$600" in case.prompt.messages[-1].content
