"""The results of a comparison of two models, and of a plan of how many calls a decision needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

import msgspec

from callscore.core.scorecard import DecisionLine, Status

ChangeKind = Literal["fixed", "broken", "new_blocker", "became_error", "no_longer_error"]
"""`fixed` and `broken`: the score of the case is higher or lower, with 0 for a blocked reply.
`new_blocker`: only the second breaches a gate. `became_error`: only the first has a reply."""


class Side(msgspec.Struct, frozen=True):
    """One of the two compared models."""

    label: str
    """The name of the run, file or model."""
    model: str
    signature: str
    final: float | None
    """The official Final Score over all its calls; the row `final` is over the common ones."""
    status: Status
    calls: int = 0
    """Calls it answered."""
    cost_per_1000_calls: float | None = None
    origin: str = ""
    """The provider, if no model was asked: `simulated`, `baseline` or `replay`."""


class RowDifference(msgspec.Struct, frozen=True):
    """One row of the scorecard on the calls that both answered: second minus first."""

    key: str
    """`final`, a task, a metric, `cost`."""
    kind: Literal["final", "task", "part", "metric", "cost"]
    label: str
    unit: str
    first: float | None
    second: float | None
    difference: float | None
    better: bool | None
    """Whether the second is better; null if they are equal or one has no value."""
    weight: float
    """The weight of the row in the Final Score."""
    ci95: tuple[float, float] | None = None
    ci95_method: str = ""
    """`bca`, `percentile`, or `all_equal` (rule of three) if all calls differ alike."""
    p: float | None = None
    p_holm: float | None = None
    """Corrected for all rows that are shown (Holm)."""
    test: Literal["", "mcnemar", "sign flip", "exact sign flip"] = ""
    calls: int = 0
    discordant: int = 0
    """Calls in which the two differ."""
    detectable: float | None = None
    """The smallest difference that this many calls show with a power of 80 %."""
    calls_needed: int | None = None
    """Calls that would show a difference of this size; null if `ci95` has 0 in it."""
    deviation: float = 0.0
    """Standard deviation of the difference from call to call."""
    significant: bool | None = None
    """Of the Final Score: whether the two are distinguishable, by the test of rank bands."""
    claim: tuple[float, float] | None = None
    """Of the Final Score: limits of the difference, each one-sided at 95 % (STATS §2)."""
    corrected: bool = False
    """Whether the values are those that people would give, by labels on both (STATS §5); there is
    no p then."""


class CaseChange(msgspec.Struct, frozen=True):
    """A case with different results."""

    case_id: str
    task: str
    kinds: Sequence[ChangeKind]
    first: float | None
    second: float | None
    change: float
    weighted: float
    """The change times the weight of the task in the Final Score."""
    new_gates: Sequence[str] = ()
    """Gates that only the second breaches."""
    gone_gates: Sequence[str] = ()
    metrics: Mapping[str, tuple[float | None, float | None]] = {}
    """Metrics whose values differ."""


class Comparison(msgspec.Struct, frozen=True):
    """The whole comparison, as `--json` writes it."""

    first: Side
    second: Side
    conclusion: str
    distinguishable: bool | None
    """Whether the Final Scores differ by more than chance; null if that is unknown."""
    calls: int
    """Calls that both answered."""
    only_first: int
    only_second: int
    rows: Sequence[RowDifference]
    counts: Mapping[str, int]
    """Cases by kind of change."""
    cases: Sequence[CaseChange]
    new_blockers: Sequence[str]
    """Official blockers that only the second has."""
    gone_blockers: Sequence[str]
    not_comparable: Sequence[str] = ()
    """Differences that make the two not comparable (C-126); empty unless forced."""
    notes: Sequence[str] = ()
    """Remarks for the reader, such as missing data."""
    seed: int = 0
    decision: Sequence[DecisionLine] = ()
    """Which of the two to take, and how certain that is (C-138)."""
    unit: str = "call"
    """What the two are paired by: calls, or scenarios with all their steps."""

    def row(self, key: str) -> RowDifference:
        """A row by its key: `final`, a task, a metric."""
        return next(row for row in self.rows if row.key == key)

    def __repr__(self) -> str:
        """One line for a prompt or a log; `to_dict` has everything."""
        sides = f"{self.first.model} → {self.second.model}"
        return f"<Comparison {sides}, {self.calls} {self.unit}s: {self.conclusion}>"

    def _repr_html_(self) -> str:
        """The conclusion and the rows, for notebooks."""
        notebook = import_module("callscore.export.notebook")  # `export` is above `core`
        found: str = notebook.comparison_html(self)
        return found

    def to_dict(self) -> dict[str, Any]:
        """The comparison as dicts, lists, strings and numbers, as `--json` writes it."""
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self, enc_hook=list))
        return found


Purpose = Literal["difference", "observed_difference", "width", "gate"]


class PlanLine(msgspec.Struct, frozen=True):
    """One question, and the number of calls that answers it."""

    purpose: Purpose
    question: str
    """In words."""
    of: str
    """`final`, or the metric of a gate."""
    models: Sequence[str]
    target: float | None
    """The difference, the width or the limit."""
    calls: int | None
    """None if no number of calls is enough; `why` is the reason."""
    cost_usd: float | None = None
    """The cost of this many calls for these models; null if a price is unknown."""
    have: int = 0
    """Calls of the pilot."""
    why: str = ""
    shown: bool = False
    """Whether the calls of the pilot show it already."""


class Plan(msgspec.Struct, frozen=True):
    """The plan: one line per question."""

    basis: str
    """The source of the numbers: a pilot run, or assumptions."""
    power: float
    """The probability that this many calls show it, averaged over what the pilot leaves open."""
    calls: int
    """Calls of the pilot; 0 if there is none."""
    lines: Sequence[PlanLine]
    notes: Sequence[str] = ()
    decision: Sequence[DecisionLine] = ()
    """What the pilot decides so far (C-138)."""
    origins: Mapping[str, str] = {}
    """By model, its provider if no model was asked."""
    models: int = 2
    """How many models will be compared; every two of them are distinguished or not."""
    unit: str = "call"
    """What is counted: `call`, `scenario`."""

    def to_dict(self) -> dict[str, Any]:
        """The plan as dicts, lists, strings and numbers, as `--json` writes it."""
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return found
