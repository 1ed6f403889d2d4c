"""The frozen values that every report reads: case results, scores, the scorecard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

import msgspec

from callscore.core.card_rows import Documents, document_of, rows_of
from callscore.core.contrast import ModelContrast
from callscore.core.interval import GateClaim, Interval, IntervalMethod
from callscore.core.judging_summary import Judging
from callscore.core.race import RaceCard
from callscore.core.spec import Band

Status = Literal["valid", "invalid", "error", "incomplete", "not_run"]
"""What a result can be (C-01). `invalid` is the model's doing, `error` never is."""


class CaseResult(msgspec.Struct, frozen=True, gc=False):
    """One answer, measured: what `--results` writes, one line each."""

    case_id: str
    model: str
    run: int
    task: str
    status: Status
    score: float | None = None
    ungated_score: float | None = None
    reasons: Sequence[str] = ()
    flags: Sequence[str] = ()
    metrics: Mapping[str, float | None] = {}


class MetricScore(msgspec.Struct, frozen=True, omit_defaults=True):
    """One metric of one model over all its cases."""

    value: float | None
    why: str | None
    unit: str
    rating: str | None
    meets_threshold: bool | None
    macro: float | None
    """The mean over calls; the value itself, unless the metric is pooled (C-06)."""
    micro: float | None
    """Σ numerators / Σ denominators; the value of a pooled metric."""
    n: int
    """The number of calls behind the value, or behind `provisional`."""
    ci95: Interval | None
    approximate: bool
    vacuous: bool
    gate_value: float | None
    max_per_call: float | None = None
    bands: Mapping[str, int] | None = None
    severity: str | None = None
    secondary: Mapping[str, float | None] | None = None
    resolution: float | None = None
    """The smallest rate that a pooled metric can show: one question of all (C-36)."""
    provisional: float | None = None
    """The value over what is decided, where something is not; it enters no score (C-137)."""
    failed: int = 0
    """Calls that a judge or an embedder could not decide."""
    awaiting: int = 0
    """Listed facts that await a verdict (C-75)."""
    facts: int | None = None
    """How many facts are behind a rate of facts (C-61)."""
    ci95_method: str | None = None
    """How the interval was found: bca, percentile, clopper_pearson, design_effect, all_equal."""
    few_calls: bool = False
    """Whether fewer than 15 calls are behind the interval."""
    claim: GateClaim | None = None
    """Of a rate with a gate: whether the data show that it is kept."""


class SubScore(msgspec.Struct, frozen=True):
    """A named part of a task score (Sentiment, Summary, Emotion)."""

    status: Status
    score: float | None
    n: int
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False


class TaskScore(msgspec.Struct, frozen=True):
    """One task of one model: `score` is official only where `official` says so."""

    status: Status
    score: float | None
    ungated_score: float | None
    """formula(rows) × the share of calls that could be read: no gate applied (C-03)."""
    reasons: Sequence[str]
    n: int
    cases: int
    official: bool
    coverage: float | None
    blocked_calls: int
    subscores: Mapping[str, SubScore]
    metrics: Mapping[str, MetricScore]
    zeroed_score: float | None = None
    """formula(rows) × `unblocked_share` of an invalid task; never official (C-129)."""
    unblocked_share: float | None = None
    """The share of calls that no call gate blocks (C-03)."""
    blocked_share_ci95: tuple[float, float] | None = None
    """The interval of the other calls' share, if there is one or the task is invalid."""
    answers: int = 0
    """Answers that were evaluated: calls times runs."""
    malformed: Mapping[str, int] = {}
    """Answers that could not be read, by cause (`truncated`, `prose_around_json`)."""
    undecided_gates: Sequence[str] = ()
    """Blocker rows that are neither breached nor cleared: not judged, or only estimated (C-87)."""
    trivial_floor: float | None = None
    """The best score on the same cases of an answer that reads nothing; none where every such
    answer is blocked, or a row has no case (C-135). Never a gate."""
    trivial_strategy: str | None = None
    """How that answer is made."""
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False
    ungated_ci95: Interval | None = None
    zeroed_ci95: Interval | None = None
    calls: int = 0
    """Distinct calls behind the intervals, where these are computed."""


class CriterionScore(msgspec.Struct, frozen=True):
    """One of the eleven: the value over all cases, and the binary that its limit makes of it."""

    value: float | None
    binary: int | None
    why: str | None = None
    unit: str = "fraction"
    case_pass_rate: float | None = None
    """The share of cases that pass by themselves (C-88)."""
    n: int = 0
    approximate: bool = False
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False


class BenchmarkScore(msgspec.Struct, frozen=True):
    """The optional second layer: eleven binary criteria.

    `provisional` is the mean over the `ran` criteria that have a value, official or not (C-89).
    """

    status: Status
    score: float | None
    criteria: Mapping[str, CriterionScore]
    provisional: float | None = None
    ran: int = 0
    approximate: bool = False
    meets_recommended: bool | None = None
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False


class FinalScore(msgspec.Struct, frozen=True):
    """The Final Score: official option, both rows, and the lower bound where a task is invalid."""

    option: str
    status: Status
    score: float | None
    floor_score: float | None
    official: bool
    a: float | None
    b: float | None
    reasons: Sequence[str]
    weights: Mapping[str, float]
    zeroed_final: float | None = None
    """The formula over official or zeroed task scores: never official (C-129)."""
    zeroed_tasks: Sequence[str] = ()
    """The tasks that `zeroed_final` is made of; weights are scaled up if some were not run."""
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False
    zeroed_ci95: Interval | None = None
    calls: int = 0
    """Distinct calls behind the intervals, where these are computed."""


CostStatus = Literal["known", "zero", "unknown", "given"]


class Cost(msgspec.Struct, frozen=True):
    """What the evaluated model cost; judge and embedder are never in it (C-83)."""

    status: CostStatus
    currency: str
    per_1000_calls: float | None
    """Of 1000 telephone calls, each through every task as often as `workload` says."""
    total: float | None
    calls: int
    """Answers that were paid for or free: requests, not telephone calls."""
    per_1000_requests: Mapping[str, float | None] = {}
    """By task."""
    workload: Mapping[str, float] = {}
    """The share of telephone calls that need a task."""
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False


class Blocker(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `[!]` row breached at model level, with the calls behind it."""

    task: str
    metric: str
    value: float
    limit: float
    cases: Sequence[str]
    share_of_runs: float | None = None
    """If calls were run more than once: in how many of all runs a call gate was breached."""
    gating: bool = True
    """Whether it makes the task invalid; not where `gates: formula_only` leaves it out (C-87)."""


class ModelScore(msgspec.Struct, frozen=True, omit_defaults=True):
    """One column of the scorecard."""

    model: str
    tasks: Mapping[str, TaskScore]
    benchmarks: BenchmarkScore
    final: FinalScore
    cost: Cost
    blockers: Sequence[Blocker]
    blocked_calls: int
    answered_by: Sequence[str] = ()
    """Under which other names than the one asked for the model answered: with its own name the
    identity of the column (R-26)."""


class RankingLine(msgspec.Struct, frozen=True):
    """One line of the ranking; `rank` is null where `reason` says why."""

    model: str
    rank: int | None
    efficiency: float | None
    final_score: float | None
    cost_per_1000_calls: float | None
    normalised_cost: float | None
    cost_status: str
    quality_rank: int | None
    pareto: bool
    estimate: bool
    reason: str | None
    efficiency_ci95: Interval | None = None
    rank_ci95: tuple[int, int] | None = None
    """The ranks that at least 95 % of resamples give; how models compare is another question."""
    quality_rank_ci95: tuple[int, int] | None = None
    few_calls: bool = False
    rank_band: tuple[int, int] | None = None
    """The best and the worst rank that the data allow; equal bands are ties (STATS §3)."""
    quality_band: tuple[int, int] | None = None


class ZeroedRankingLine(msgspec.Struct, frozen=True):
    """One line of the second ranking, in which a blocked call counts 0; never official (C-129)."""

    model: str
    rank: int | None
    zeroed_final: float | None
    cost_per_1000_calls: float | None
    tasks: Sequence[str]
    """The tasks that the score is made of."""
    estimate: bool
    obstacles: Sequence[str]
    """What keeps the model from an official score."""
    ci95: Interval | None = None
    band: tuple[int, int] | None = None


RowKind = Literal[
    "section",
    "metric",
    "subscore",
    "task",
    "criterion",
    "benchmarks",
    "final_a",
    "final_b",
    "cost",
    "rank",
    "blocker",
]


class TemplateRow(msgspec.Struct, frozen=True):
    """One row of a scorecard as a report shows it: what it is called, and where its value is."""

    kind: RowKind
    label: str
    key: str
    threshold: str = ""
    is_blocker: bool = False
    bands: tuple[Band, ...] = ()
    """The limits that a shown value must not seem to meet (C-09)."""
    is_detail: bool = False
    """Shown on request only: the template of the framework does without it."""
    remark: str = ""
    """What must be said about the row wherever it has a value."""


SKIPPED = "skipped: "
"""What a note about an unusable case begins with (C-20)."""


class Scorecard(msgspec.Struct, frozen=True):
    """All models side by side, as `--json` writes it."""

    framework: str
    signature: str
    models: Sequence[ModelScore]
    ranking: Sequence[RankingLine]
    zeroed_ranking: Sequence[ZeroedRankingLine] = ()
    """Filled where a model is invalid: who is closest, and what keeps it from passing (C-129)."""
    notes: Sequence[str] = ()
    estimate: bool = False
    """Whether a score rests on a built-in substitute: reports head it `offline estimate`."""
    judging: Judging | None = None
    suite: str = ""
    """The names of the suites whose tasks were scored: `calls`, `calls+orchestration`."""
    title: str = ""
    """What heads a report: `Call Intelligence`."""
    intervals: IntervalMethod | None = None
    """How `ci95` was computed; null where no interval was asked for."""
    contrasts: Sequence[ModelContrast] = ()
    """Every pair of models that are ranked together: what rank bands rest on (STATS §3)."""
    race: RaceCard | msgspec.UnsetType = msgspec.UNSET
    """How the race separated the models; not in the JSON of a run that was no race."""
    documents: Documents = msgspec.field(default=msgspec.UNSET, name="orchestration")
    """By model, the result file of its scenarios in their own format; unset without scenarios."""

    def document(self, model: str | None = None) -> dict[str, Any]:
        """The result file of a model's scenarios (document 001), of the only one by default."""
        return document_of(self.documents, model)

    @property
    def skipped_cases(self) -> int:
        """How many cases were unusable and left out        C-20"""
        return sum(note.startswith(SKIPPED) for note in self.notes)

    def model(self, name: str) -> ModelScore:
        """The column of a model; KeyError if the card has none of this name."""
        return {model.model: model for model in self.models}[name]

    def to_dict(self) -> dict[str, Any]:
        """The card as dicts, lists, texts and numbers: what `--json` writes."""
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return found

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat dict a model and value, for a table: `pandas.DataFrame(card.to_rows())`.

        Keys: model, task, metric, value, low and high (the 95 % interval), unit, rating,
        meets_threshold, n, status, approximate, why. Tasks and totals have the metric `score`.
        """
        return [row for model in self.models for row in rows_of(model)]

    def _repr_html_(self) -> str:
        """What a notebook shows: the first screen of the HTML report."""
        found: str = _notebook().card_html(self)
        return found

    def plot(self, kind: str = "cost_quality", metric: str | None = None) -> Any:
        """SVG; `kind` is `cost_quality`, `ranks`, or `metric` with a slug as `metric`."""
        return _notebook().plot(self, kind, metric)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """`to_rows` as an Arrow stream, for polars, DuckDB and others (`callscore[arrow]`)."""
        return _notebook().arrow_stream(self, requested_schema)


def _notebook() -> Any:
    """Import by name: `export` is above `core` and imports it."""
    return import_module("callscore.export.notebook")
