"""What the four tasks have in common; each hook is imported when it is first used."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from callscore.core.case import Case, Malformed
from callscore.core.errors import DataError
from callscore.core.judging import Item, Verdicts
from callscore.core.task import Faults, ItemCount, Task

if TYPE_CHECKING:
    from callscore.core.noise import JsonOutcome, Noise

Reference = TypeVar("Reference")
Output = TypeVar("Output")


class CallTask(Task[Reference, Output]):
    """The hooks of a task of document 003."""

    def has_item(self, reference: Reference, output: Output | Malformed, item: Item) -> bool:
        """Whether the case or the answer has the item that a verdict names."""
        from callscore.suites.calls.questions import has_item

        return has_item(reference, output, item)

    def count_items(self, case: Case) -> ItemCount:
        """The most items a judge can be asked about, whatever a model answers."""
        from callscore.suites.calls.item_counts import count_items

        return count_items(case)

    def contradictions(self, case: Case, reference: Reference) -> Iterable[DataError]:
        """What in a reference, or between it and its config, cannot all be met        C-131"""
        from callscore.suites.calls.contradictions import contradictions, may_contradict

        return contradictions(case, reference) if may_contradict(case, reference) else ()

    def warnings(self, case: Case, reference: Reference) -> Iterable[DataError]:
        """What a case should say and does not; no reason to refuse stored answers."""
        from callscore.suites.calls.lint import config_warnings

        return config_warnings(case, reference)

    def explain(
        self, reference: Reference, output: Output | Malformed, verdicts: Verdicts
    ) -> Faults:
        """What counted against an answer, by metric."""
        if isinstance(output, Malformed):
            from callscore.scorecard.explain import malformed_reason

            return malformed_reason(self.name, output)
        module: Any = import_module(f"callscore.suites.calls.{self.name}.explain")
        found: Faults = module.faults(reference, output, verdicts)
        return found

    def degrade(self, outcome: JsonOutcome, noise: Noise) -> None:
        """Make an expected outcome worse, as a weaker model would."""
        from callscore.suites.calls.noise import DEGRADE

        DEGRADE[self.name](outcome, noise)
