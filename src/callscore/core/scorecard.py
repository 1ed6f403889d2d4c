"""Case results, scores and the scorecard: the values that every report reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Literal

import msgspec

from callscore.core.card_rows import Documents, document_of, rows_of
from callscore.core.judging import Judging
from callscore.core.measure import ClaimLimits, GateClaim, Interval, IntervalMethod
from callscore.core.race import RaceCard

Status = Literal["valid", "invalid", "error", "incomplete", "not_run"]
"""The status of a result (C-01). `invalid` counts against the model, `error` does not."""


class CriterionScore(msgspec.Struct, frozen=True):
    """One of the eleven criteria: its value over all cases, and whether it meets the limit."""

    value: float | None
    binary: int | None
    why: str | None = None
    unit: str = "fraction"
    case_pass_rate: float | None = None
    """The share of cases that meet the limit on their own (C-88)."""
    n: int = 0
    approximate: bool = False
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False
    plain: float | None = None
    """For a rate of claims: its value if no claim were left out as padding (C-136)."""
    claims_left_out: float | None = None


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


class ModelContrast(msgspec.Struct, frozen=True):
    """Two models on the same calls: second minus first, and whether that is significant."""

    of: Literal["final", "zeroed_final", "efficiency"]
    first: str
    second: str
    difference: float
    ci95: tuple[float, float] | None
    """The interval of this difference, as `callscore compare` has it; null if the data give no
    limits."""
    significant: bool
    """Whether the data separate the two, tested together with all other pairs (studentised max-t
    bootstrap over calls), and `ci95` excludes 0."""
    calls: int
    calls_needed: int | None
    """About how many calls would show a difference of this size; null if `ci95` has 0 in it, as the
    models may then be equal."""
    deviation: float = 0.0
    """Standard deviation of the difference from call to call."""
    claim: tuple[float, float] | None = None
    """One-sided limits of the difference (STATS §2), each at α / (k − 1) for the k models in
    question (C-138); null if one of the two is not in question, or intervals were not asked for."""


class Corrected(msgspec.Struct, frozen=True, omit_defaults=True):
    """What people would have given, estimated from their labels and all verdicts of the judge."""

    value: float
    ci95: Interval | None
    labels: int
    """Items that people labelled."""
    calls: int
    """Calls with a labelled item; of a score, of the row with the fewest."""
    trust: float | None = None
    """The weight of the judge in the estimate (λ), 0 to 1; null for scores of several rows."""
    correlation: float | None = None
    """Between people and judge on the labelled calls; null if one of them does not vary."""
    helps: bool | None = None
    """Whether the judge makes the estimate more certain than the labels alone; null for scores of
    several rows."""
    rating: str | None = None
    """The rating of the corrected value."""
    breached: bool = False
    """Whether the corrected value breaches a gate that the judged one keeps."""
    uncorrected: tuple[str, ...] = ()
    """Judged rows of a score that have no labels, or too few."""
    claim: Interval | None = None
    """One-sided 95 % limits of the corrected value (STATS §2, §5)."""


class RankingLine(msgspec.Struct, frozen=True):
    """One line of the ranking; if `rank` is null, `reason` says why."""

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
    """The ranks in at least 95 % of resamples; see `contrasts` for how models compare."""
    quality_rank_ci95: tuple[int, int] | None = None
    few_calls: bool = False
    rank_band: tuple[int, int] | None = None
    """The best and the worst rank that the data allow; models with equal bands tie (STATS §3)."""
    quality_band: tuple[int, int] | None = None


class DecisionLine(msgspec.Struct, frozen=True):
    """One statement of the decision (C-138): its word, the models it names, and why."""

    word: str
    models: Sequence[str]
    why: str


class ZeroedRankingLine(msgspec.Struct, frozen=True):
    """One line of the ranking with blocked calls counted as 0; never official (C-129)."""

    model: str
    rank: int | None
    zeroed_final: float | None
    cost_per_1000_calls: float | None
    tasks: Sequence[str]
    """The tasks in the score."""
    estimate: bool
    obstacles: Sequence[str]
    """Why the model has no official score."""
    ci95: Interval | None = None
    band: tuple[int, int] | None = None


class CaseResult(msgspec.Struct, frozen=True, gc=False):
    """The result of one answer: one line of `--results`."""

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
    """The value over the decided items, if some are not; no score uses it (C-137)."""
    provisional_range: Interval | None = None
    """The lowest and the highest value that the undecided items allow."""
    bounded: bool = False
    """Whether some calls are undecided and the value is the worst case (C-137)."""
    open_calls: int = 0
    """Calls in which an item is undecided."""
    failed: int = 0
    """Calls that a judge or an embedder could not decide."""
    awaiting: int = 0
    """Listed facts that await a verdict (C-75)."""
    facts: int | None = None
    """How many facts are behind a rate of facts (C-61)."""
    ci95_method: str | None = None
    """The method: bca, percentile, clopper_pearson, design_effect or all_equal."""
    few_calls: bool = False
    """Whether fewer than 15 calls are behind the interval."""
    claim: GateClaim | None = None
    """For a rate with a gate: whether the data show that it meets the gate."""
    decides: bool = True
    """Whether a Fail of this row keeps the model from being recommended (C-138)."""
    claim95: ClaimLimits | None = None
    corrected: Corrected | None = None
    """The value as people would give it, if they labelled a sample (STATS §5)."""
    uncalibrated: bool = False
    """Whether the value rests on a judge whose errors on this row no label shows."""
    plain: float | None = None
    """For a rate of claims: its value if no claim were left out as padding (C-136)."""
    claims_left_out: float | None = None
    """How many supported claims were left out as padding (C-136)."""
    measured_by: str | None = None
    """What compared texts in place of LaBSE or mUSE, for which alone the limits hold (C-68)."""


class SubScore(msgspec.Struct, frozen=True):
    """A named part of a task score (Sentiment, Summary, Emotion)."""

    status: Status
    score: float | None
    n: int
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False
    claim95: ClaimLimits | None = None


class FloorMargin(msgspec.Struct, frozen=True):
    """A number that must be better than a trivial answer on the same cases (C-141)."""

    value: float
    floor: float
    at_best: float
    """The value as if everything undecided were right."""


class TaskScore(msgspec.Struct, frozen=True):
    """One task of one model; `score` is official only if `official` is true."""

    status: Status
    score: float | None
    ungated_score: float | None
    """formula(rows) × the share of well-formed calls, without gates (C-03)."""
    reasons: Sequence[str]
    n: int
    cases: int
    official: bool
    coverage: float | None
    blocked_calls: int
    subscores: Mapping[str, SubScore]
    metrics: Mapping[str, MetricScore]
    zeroed_score: float | None = None
    """formula(rows) of an invalid task × the share of calls that breach no gate on their own; never
    official (C-129)."""
    unblocked_share: float | None = None
    """The share of calls that no call gate blocks (C-03)."""
    blocked_share_ci95: tuple[float, float] | None = None
    """The interval of the share of calls that count 0, if there are any or the task is invalid: of
    those in breach of any gate if it is, otherwise of a call gate."""
    answers: int = 0
    """Answers that were evaluated: calls times runs."""
    malformed: Mapping[str, int] = {}
    """Malformed answers by cause (`truncated`, `prose_around_json`)."""
    flags: Mapping[str, int] = {}
    """Well-formed answers by flag (`max_score_differs`); not those that name an item."""
    undecided_gates: Sequence[str] = ()
    """Blocker rows that are not decided: not judged, or only estimated (C-87)."""
    trivial_floor: float | None = None
    """The best score of a trivial answer on the same cases, with this model's own judged rows; null
    if a row has no case (C-135). Never a gate."""
    trivial_strategy: str | None = None
    """How that answer is produced."""
    above_floor: Mapping[str, FloorMargin] | msgspec.UnsetType = msgspec.UNSET
    """By part or metric, what must be better than a trivial answer; unset if nothing must."""
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False
    ungated_ci95: Interval | None = None
    zeroed_ci95: Interval | None = None
    claim95: ClaimLimits | None = None
    ungated_claim95: ClaimLimits | None = None
    calls: int = 0
    """Distinct calls behind the intervals, if these were computed."""
    provisional: float | None = None
    """The score over the decided calls of an incomplete task (C-137)."""
    provisional_range: Interval | None = None
    """The score in the worst and in the best case of the undecided calls; 0 if a gate would be
    breached."""
    bounded: bool = False
    """Whether some calls are undecided and the score is that of the worst case (C-137)."""
    open_calls: int = 0
    """Calls in which an item of a row is undecided."""
    corrected: Corrected | None = None
    """The score as people would give it, if they labelled a sample (STATS §5)."""


class FinalScore(msgspec.Struct, frozen=True):
    """The Final Score: official option, both rows, and the lower bound if a task is invalid."""

    option: str
    status: Status
    score: float | None
    floor_score: float | None
    official: bool
    a: float | None
    b: float | None
    reasons: Sequence[str]
    weights: Mapping[str, float]
    over: Sequence[str] = ()
    """The tasks that the Final Score is over: those with cases in the data, narrowed by `tasks`
    and by weights of 0 (C-82)."""
    zeroed_final: float | None = None
    """The formula over official or zeroed task scores; never official (C-129)."""
    zeroed_tasks: Sequence[str] = ()
    """The tasks in `zeroed_final`; weights are scaled up if some tasks were not run."""
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False
    zeroed_ci95: Interval | None = None
    claim95: ClaimLimits | None = None
    calls: int = 0
    """Distinct calls behind the intervals, if these were computed."""
    corrected: Corrected | None = None
    """The Final Score as people would give it, if they labelled a sample (STATS §5)."""


CostStatus = Literal["known", "zero", "unknown", "given"]


class Cost(msgspec.Struct, frozen=True):
    """The cost of the evaluated model, without judge and embedder (C-83)."""

    status: CostStatus
    currency: str
    per_1000_calls: float | None
    """For 1000 telephone calls; `workload` is how often each task is needed per call."""
    total: float | None
    calls: int
    """Answers, paid or free: requests, not telephone calls."""
    per_1000_requests: Mapping[str, float | None] = {}
    """By task."""
    workload: Mapping[str, float] = {}
    """The share of telephone calls that need a task."""
    ci95: Interval | None = None
    ci95_method: str | None = None
    few_calls: bool = False


class Latency(msgspec.Struct, frozen=True):
    """How long replies took, in milliseconds: half of them, and 95 % of them, at most this long."""

    step_p50: float
    step_p95: float
    scenario_p50: float
    """The replies to all steps of one run of a scenario, one after the other."""
    scenario_p95: float


class Blocker(msgspec.Struct, frozen=True, omit_defaults=True):
    """A `[!]` row that is breached at model level, with the calls that breach it."""

    task: str
    metric: str
    value: float
    limit: float
    cases: Sequence[str]
    share_of_runs: float | None = None
    """If calls were run several times: the share of all runs that breach a call gate."""
    gating: bool = True
    """Whether it makes the task invalid; false if `gates: formula_only` excludes it (C-87)."""


class ModelScore(msgspec.Struct, frozen=True, omit_defaults=True):
    """One column of the scorecard."""

    model: str
    tasks: Mapping[str, TaskScore]
    benchmarks: BenchmarkScore
    final: FinalScore
    cost: Cost
    blockers: Sequence[Blocker]
    blocked_calls: int
    """Telephone calls that breach a gate on their own, in any task (C-87)."""
    calls: int = 0
    """Telephone calls with an evaluated answer."""
    answered_by: Sequence[str] = ()
    """Model names other than the requested one under which the model replied; part of its
    identity (R-26)."""
    origin: str = ""
    """The provider, if no model was asked in the run: `simulated`, `baseline` or `replay`."""

    latency: Latency | msgspec.UnsetType = msgspec.UNSET
    """Of scenarios in a run (C-141); never in the JSON, whose bytes a resumed run repeats."""

    def metric(self, slug: str) -> MetricScore | None:
        """The row of a metric, by its slug `task.metric`; None if the task was not run."""
        task = self.tasks.get(slug.partition(".")[0])
        return task.metrics.get(slug) if task is not None else None


FINAL = "Final Score"
"""The heading of a Final Score over every task of the framework."""
SKIPPED = "skipped: "
"""Prefix of a note about an unusable case (C-20)."""


class Scorecard(msgspec.Struct, frozen=True):
    """All models side by side, as `--json` writes it."""

    framework: str
    signature: str
    models: Sequence[ModelScore]
    ranking: Sequence[RankingLine]
    zeroed_ranking: Sequence[ZeroedRankingLine] = ()
    """Present if a model is invalid: which one is closest, and why it does not pass (C-129)."""
    notes: Sequence[str] = ()
    estimate: bool = False
    """Whether a score uses built-in rules instead of a judge or an embedder (C-125)."""
    judging: Judging | None = None
    suite: str = ""
    """The names of the suites whose tasks were scored: `calls`, `calls+orchestration`."""
    title: str = ""
    """The title of reports: `Call Intelligence`."""
    final_heading: str = FINAL
    """How reports head the Final Score: `Final over QA` if it is over some tasks only (C-82)."""
    intervals: IntervalMethod | None = None
    """How `ci95` was computed; null if no intervals were requested."""
    contrasts: Sequence[ModelContrast] = ()
    """Every pair of models that are ranked together; the basis of rank bands (STATS §3)."""
    decision: Sequence[DecisionLine] = ()
    """Which model to take, and how certain that is; most important line first (C-138)."""
    race: RaceCard | msgspec.UnsetType = msgspec.UNSET
    """The result of the race; absent in the JSON if the run was not a race."""
    documents: Documents = msgspec.field(default=msgspec.UNSET, name="orchestration")
    """By model, the result of its scenarios as document 001; unset without scenarios."""

    def document(self, model: str | None = None) -> dict[str, Any]:
        """The result of a model's scenarios (document 001), by default of the only model."""
        return document_of(self.documents, model)

    @property
    def skipped_cases(self) -> int:
        """How many cases were unusable and left out        C-20"""
        return sum(note.startswith(SKIPPED) for note in self.notes)

    def model(self, name: str) -> ModelScore:
        """The column of a model; raises KeyError if there is none."""
        for model in self.models:
            if model.model == name:
                return model
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """The scorecard as dicts, lists, strings and numbers, as `--json` writes it."""
        found: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self.without_times()))
        return found

    def without_times(self) -> Scorecard:
        """The scorecard without what differs from run to run."""
        if not any(model.latency for model in self.models):
            return self
        models = [msgspec.structs.replace(each, latency=msgspec.UNSET) for each in self.models]
        return msgspec.structs.replace(self, models=models)

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat dict per model and value, for a table: `pandas.DataFrame(card.to_rows())`.

        Keys: model, task, metric, value, low and high (the 95 % interval), unit, rating,
        meets_threshold, n, status, approximate, why. Tasks and totals have the metric `score`.
        """
        return [row for model in self.models for row in rows_of(model)]

    def _repr_html_(self) -> str:
        """The first screen of the HTML report, for notebooks."""
        found: str = _notebook().card_html(self)
        return found

    def plot(self, kind: str = "cost_quality", metric: str | None = None) -> Any:
        """Draw an SVG picture: `cost_quality`, `ranks`, or `metric` with a slug as `metric`."""
        return _notebook().plot(self, kind, metric)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """`to_rows` as an Arrow stream, for polars, DuckDB and others (`callscore[arrow]`)."""
        return _notebook().arrow_stream(self, requested_schema)


def _notebook() -> Any:
    """Import by name: `export` is above `core` and imports it."""
    return import_module("callscore.export.notebook")


BY = ("recommended", "quality", "efficiency")


class Decide(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`decide`: what the recommended model is chosen by."""

    by: str = BY[0]
    """`recommended`: the cheapest model that is not worse than the best. `quality`: the best.
    `efficiency`: the framework's cost efficiency."""
    margin: float = 0.02
    """A model whose Final Score is lower by at most this much is not worse."""
    allow_fail: bool = False
    """Whether a model with a row rated Fail may be recommended."""


AS_RECOMMENDED = Decide()


CheckStatus = Literal["passed", "failed", "undecided", "not_run"]
"""`undecided`: a value that the check needs is missing."""


class CheckResult(msgspec.Struct, frozen=True):
    """The result of one check of one model."""

    model: str
    name: str
    status: CheckStatus
    message: str = ""
    """Why it did not pass; the value if it did."""
