"""The orchestration suite: document 001, and single-turn cases."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from callscore.core.verdict_rules import VerdictRules
from callscore.scorecard.spec_suite import SpecSuite
from callscore.suites.orchestration.call.questions import JUDGED_ROWS
from callscore.suites.orchestration.single_turn.task import VERDICT_WORDS, OrchestrationTask
from callscore.suites.orchestration.step_task import StepTask

_VALUES = frozenset(VERDICT_WORDS)
_FROM_VALUES = (
    "orchestration.arguments_value_f1",
    "orchestration.exact_calls",
    "orchestration.case_score",
    *JUDGED_ROWS,
)


class OrchestrationSuite(SpecSuite):
    """Act on a request: plan, call the right tool with the right arguments, or reject."""

    name = "orchestration"
    title = "Orchestration"
    spec_file = Path(__file__).with_name("spec.toml")
    task_types = (OrchestrationTask, StepTask)

    @cached_property
    def verdict_rules(self) -> VerdictRules:
        """Argument values may be judged; the scores of calls depend on them."""
        return VerdictRules(words=VERDICT_WORDS, relies_on=dict.fromkeys(_FROM_VALUES, _VALUES))
