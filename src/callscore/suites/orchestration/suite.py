"""The orchestration suite: document 001, and single-turn cases."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from callscore.core.verdict_rules import VerdictRules
from callscore.scorecard.spec_suite import SpecSuite
from callscore.suites.orchestration.single_turn.task import VERDICT_WORDS, OrchestrationTask
from callscore.suites.orchestration.step_task import StepTask

_VALUES = frozenset(VERDICT_WORDS)
_FROM_VALUES = ("arguments_value_f1", "exact_calls", "case_score")


class OrchestrationSuite(SpecSuite):
    """Act on a request: plan, call the right tool with the right arguments, or reject."""

    name = "orchestration"
    title = "Orchestration"
    spec_file = Path(__file__).with_name("spec.toml")
    task_types = (OrchestrationTask, StepTask)

    @cached_property
    def verdict_rules(self) -> VerdictRules:
        """Argument values may be judged; the scores of calls depend on them."""
        relies_on = {f"orchestration.{name}": _VALUES for name in _FROM_VALUES}
        return VerdictRules(words=VERDICT_WORDS, relies_on=relies_on)
