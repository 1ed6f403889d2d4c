"""Floors of scenarios: what answers that read nothing would score        C-135, C-141

Always reject, with either type; always call the first tool with the arguments named in the
request; always plan one step for the whole request. Each number has the best of these.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from callscore.core.scorecard import TaskScore
from callscore.core.task import SCENARIO
from callscore.suites.orchestration.call.questions import NoVerdicts
from callscore.suites.orchestration.rows import ResultRow
from callscore.suites.orchestration.rules import named_arguments
from callscore.suites.orchestration.scenario.cards import Cards
from callscore.suites.orchestration.scenario.model import AgentStep, Scenario
from callscore.suites.orchestration.scenario.output_file import (
    RecordedReply,
    RecordedRun,
    ScenarioRecording,
)
from callscore.suites.orchestration.scenario.parse import ScenarioKey
from callscore.suites.orchestration.scenario_tally import score_tally, tally_scenarios
from callscore.suites.orchestration.spec import card_spec
from callscore.suites.orchestration.standard_evaluation import evaluate_scenario

SUCCESS = f"{SCENARIO}.success"
STRATEGY = "always rejects, or always calls the first tool; plans one step"
Answer = Callable[[AgentStep, Scenario, Cards], RecordedReply]


def _rejection(kind: str) -> Answer:
    reply = RecordedReply(f"<response><status>{kind}</status></response>")
    return lambda step, scenario, cards: reply


def _first_call(step: AgentStep, scenario: Scenario, cards: Cards) -> RecordedReply:
    """A call of the agent's first tool, with the arguments that the last request names."""
    card = cards.by_id.get(step.agent)
    if card is None or not card.tools:
        return RecordedReply("")
    tool = card.tools[0]
    request = [raw.content for raw in scenario.raw if raw.agent == "user"]
    said = [r.content for r in scenario.raw if r.agent == "user" and r.step_id < step.step_id]
    text = (said or request or [""])[-1]
    arguments = msgspec.json.encode(named_arguments(tool.parameters, text)).decode()
    return RecordedReply("", [{"name": tool.name, "arguments": arguments}])


_STRATEGIES: tuple[Answer, ...] = (
    _rejection("AWAITING_USER_INPUT"),
    _rejection("TOOL_CONSTRAINT_VIOLATION"),
    _first_call,
)


class ScenarioFloors:
    """Adds up the scenarios of one language as trivial answers would score on them."""

    def __init__(self, cards: Cards) -> None:
        self._cards = cards
        agent = next(iter(cards.by_id), "")
        step = {"status": "pending", "agent_id": agent, "refined_query": ""}
        plan = {"workflow_1": {"status": "pending", "type": "independent", "steps": [step]}}
        self._plan = RecordedReply(msgspec.json.encode(plan).decode())
        self._rows: tuple[list[ResultRow], ...] = tuple([] for _ in _STRATEGIES)

    def add(self, scenario: Scenario) -> None:
        """Answer every step of a scenario in every way."""
        plans = {plan.step_id: self._plan for plan in scenario.plans}
        key = ScenarioKey(scenario.lang, scenario.id)
        for answer, rows in zip(_STRATEGIES, self._rows, strict=True):
            steps = {
                step.step_id: answer(step, scenario, self._cards)
                for step in scenario.agent_steps
                if step.has_card
            }
            run = RecordedRun(1, plans, steps)
            recording = ScenarioRecording(scenario.id, (run,), (scenario.raw,))
            found = evaluate_scenario(recording, key, self._cards, NoVerdicts(), scenario.id)
            rows.append(found.row)

    def found(self) -> Mapping[str, float]:
        """By row, its value in the way that is best for its part of the score."""
        scores = [score_tally(tally_scenarios(rows)) for rows in self._rows if rows]
        floors: dict[str, float] = {}
        for name, part in card_spec().scores[SCENARIO].parts.items():
            best = max(scores, key=lambda score: _part(score, name), default=None)
            for slug in part.weights:
                value = None if best is None else best.metrics[slug].value
                floors |= {} if value is None else {slug: value}
        success = [score.metrics[SUCCESS].value or 0.0 for score in scores]
        return {**floors, SUCCESS: max(success)} if success else floors


def _part(score: TaskScore, name: str) -> float:
    found = score.subscores[name].score
    return -1.0 if found is None else found
