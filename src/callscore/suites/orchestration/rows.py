"""The row of one scenario in `detailed_results`, in both modes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec

from callscore.core.measure import Measure, undefined
from callscore.suites.orchestration.decision.confusion import Confusion

NONE_DUE = undefined("no step of this kind")


class PlanRow(msgspec.Struct, frozen=True):
    """The plan scores of one scenario, all runs pooled        C-118"""

    with_failure: Measure = NONE_DUE
    without_failure: Measure = NONE_DUE
    structural: Measure = NONE_DUE
    component: Measure = NONE_DUE
    failed: int = 0
    evaluated: int = 0


class CallRow(msgspec.Struct, frozen=True):
    """The call scores of one scenario        C-115

    `without_values` has the runs for which the public evaluator has no value score.
    """

    name: Measure = NONE_DUE
    key: Measure = NONE_DUE
    value: Measure = NONE_DUE
    value_positive_only: Measure = NONE_DUE
    value_answered_only: Measure = NONE_DUE
    value_at_best: Measure = NONE_DUE
    """`value` as if undecided values were right (C-141)."""
    perfect: int = 0
    without_values: tuple[str, ...] = ()


class ResultRow(msgspec.Struct, frozen=True):
    """The scores of one output file.

    `call_cases` and `rejection_cases` are separate from the confusion because the public
    evaluator takes them from the label, for any reply. `crash` and `plan_crash` are the errors
    at which it skips the calls or plans of a file, and still counts the file as evaluated;
    `exact_plan` has the plan scores with the exact edit cost (C-128).
    """

    file_path: str
    plan: PlanRow
    call: CallRow
    confusion: Confusion
    call_cases: int
    rejection_cases: int
    crash: str = ""
    plan_crash: str = ""
    exact_plan: PlanRow | None = None
    approximate_plans: int = 0
    undecided_values: int = 0
    """Argument values that were not compared, and count as unequal (C-115)."""
    scenario: str = ""
    runs: int = 1
    right: tuple[bool, ...] = ()
    """By run, whether every step is right; empty if it is not known (C-141)."""
    right_at_best: tuple[bool, ...] = ()
    """The same as if undecided values were right."""
    free_right: tuple[bool, ...] = ()
    """By run, whether every step is right with the model's own history; empty if it did not run."""


class FailedRow(msgspec.Struct, frozen=True):
    """An output file that could not be evaluated, and why        C-119"""

    file_path: str
    error: str
    scenario: str = ""
    not_run: bool = False
    """Whether no step was requested, as for a model that a race has eliminated."""


Mean = Callable[[Iterable[Measure]], Measure]
"""How a mode averages over scenarios."""


def mean_plan(rows: Sequence[ResultRow], mean: Mean) -> PlanRow:
    """The plan scores over all scenarios; counts are summed."""
    return PlanRow(
        with_failure=mean(row.plan.with_failure for row in rows),
        without_failure=mean(row.plan.without_failure for row in rows),
        structural=mean(row.plan.structural for row in rows),
        component=mean(row.plan.component for row in rows),
        failed=sum(row.plan.failed for row in rows),
        evaluated=sum(row.plan.evaluated for row in rows),
    )


def mean_call(rows: Sequence[ResultRow], mean: Mean) -> CallRow:
    """The call scores over all scenarios."""
    return CallRow(
        name=mean(row.call.name for row in rows),
        key=mean(row.call.key for row in rows),
        value=mean(row.call.value for row in rows),
        value_positive_only=mean(row.call.value_positive_only for row in rows),
        value_answered_only=mean(row.call.value_answered_only for row in rows),
        perfect=sum(row.call.perfect for row in rows),
    )
