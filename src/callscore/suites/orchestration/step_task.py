"""A step of a scenario as a task: how models are asked it. Its scenario is scored as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from callscore.core.case import Case, Prompt
from callscore.core.errors import DataError
from callscore.core.noise import FakeReply, JsonOutcome, Noise
from callscore.core.task import SCENARIO
from callscore.suites.orchestration.rules import answer_step
from callscore.suites.orchestration.single_turn.task import OrchestrationTask, SingleTurnReference

if TYPE_CHECKING:
    from callscore.core.labelling import FileLabelling


class StepTask(OrchestrationTask):
    """A plan, tool calls or a rejection; `scenario_tally` measures all steps of a scenario."""

    name = SCENARIO
    prompt_variables: Mapping[str, bool] = {"instructions": False}
    """The rest of the prompt is the conversation before the step."""

    def reference(self, case: Case) -> SingleTurnReference:
        """Refuse a step outside its scenario."""
        raise DataError("is a step of a scenario; expected `data.orchestration`", field="task")

    def labelling(self) -> FileLabelling:
        """People confirm or correct what is due at every step."""
        from callscore.suites.orchestration.scenario.labelling import ScenarioLabelling

        return ScenarioLabelling()

    def answer_by_rules(self, prompt: Prompt) -> FakeReply:
        """One call of the tool that fits best, or a plan with one step."""
        return answer_step(prompt)

    def degrade(self, outcome: JsonOutcome, noise: Noise) -> FakeReply | None:
        """The reply of a weaker model."""
        from callscore.suites.orchestration.noise import degrade_step

        return degrade_step(outcome, noise)
