"""The `spec.toml` of a suite: metrics, bands, gates, weights and default settings.

Comparison with limits and rating by bands are the same everywhere (C-08, C-10, C-11).
"""

# No postponed annotations here: msgspec would evaluate the text of each at every start.
import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from callscore.core.resources import parse_table

MOST_RUNS = 100
"""The most runs per case."""
QUOTE_TOLERANCE_S = 5.0
DIGEST_BYTES = 6
"""Length of the hash of a specification in a signature."""
TOLERANCE = 1e-9
"""The tolerance of every comparison with a limit (C-08)."""

Operator = Literal[">=", "<=", ">", "<"]


class Rating(StrEnum):
    """The words of the framework's rating tables."""

    GOOD = "Good"
    ACCEPTABLE = "Acceptable"
    WARNING = "Warning"
    FAIL = "Fail"
    BLOCKER = "Blocker"


def holds(value: float, comparison: Operator, limit: float) -> bool:
    """value ⋚ limit, with the tolerance in favour of equality        C-08"""
    if comparison == ">=":
        return value - limit >= -TOLERANCE
    if comparison == "<=":
        return value - limit <= TOLERANCE
    if comparison == ">":
        return value - limit > TOLERANCE
    return value - limit < -TOLERANCE


class Band(msgspec.Struct, frozen=True, array_like=True):
    """One row of a rating table: the rating, and the comparison that a value must satisfy."""

    rating: Rating
    comparison: Operator
    limit: float

    def holds(self, value: float) -> bool:
        """Whether a value reaches this rating or a better one."""
        return holds(value, self.comparison, self.limit)


def rate(value: float, bands: tuple[Band, ...], otherwise: Rating | None) -> Rating | None:
    """The first band from the top that the value satisfies, else `otherwise`        C-10"""
    for band in bands:
        if band.holds(value):
            return band.rating
    return otherwise


class Gate(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The gate of a `[!]` row: breached if the value satisfies the comparison."""

    kind: Literal["call", "rate"]
    comparison: Operator
    limit: float
    formula: bool = True

    def is_breached(self, value: float) -> bool:
        """Whether this value breaches the gate."""
        return holds(value, self.comparison, self.limit)


class Threshold(msgspec.Struct, frozen=True, array_like=True):
    """The Threshold column of the scorecard: the printed text and its condition (C-16)."""

    printed: str
    comparison: Operator
    limit: float


class Severity(msgspec.Struct, frozen=True, array_like=True):
    """A named range inside Blocker (C-11)."""

    name: str
    comparison: Operator
    limit: float


class MetricSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One metric: its label, its unit, and how its value is rated."""

    section: str
    label: str
    unit: Literal["fraction", "percent", "count"] = "fraction"
    bands: tuple[Band, ...] = ()
    otherwise: Rating | None = None
    otherwise_of_means: Rating | None = None
    aliases: tuple[str, ...] = ()
    needs: Literal["code", "judge", "embedder"] = "code"
    threshold: Threshold | None = None
    gate: Gate | None = None
    pooled: bool = False
    """Σ numerators / Σ denominators instead of the mean over calls (C-06)."""
    resampled: bool = False
    """Whether a pooled row gets a bootstrap interval only, because the counts of an F1 are not
    independent items (STATS §2, orchestration numbers)."""
    zero_if_undefined: bool = False
    """Whether it counts 0 in the task score if cases have it and none defines it (C-113)."""
    shows_resolution: bool = False
    """Whether reports show the smallest rate that is above 0 (C-36)."""
    template_row: bool = True
    """Whether the row is on the scorecard; otherwise it is shown on request only."""
    counts_facts: bool = False
    """Whether reports say how many facts are behind the value (C-61, C-77)."""
    limits_padding: bool = False
    """Whether supported claims beyond a limit are left out, so that reports show the plain value
    as well (C-136)."""
    remark: str = ""
    """A remark that reports print next to the value."""
    decides: bool = True
    """Whether a Fail of this row keeps a model from being recommended (C-138)."""
    complement_of: str = ""
    at_best: str = ""
    """The row that has the value as if everything undecided were right (C-141)."""
    optional: bool = False
    """Whether the row is left out if no model of a card has a value."""
    severities: tuple[Severity, ...] = ()
    secondary: Mapping[str, Literal["percent", "count"]] = {}
    """Secondary figures, outside of the value, with their units."""


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sub-score: its weight in the task score, and the weights of its metrics."""

    weight: float
    weights: Mapping[str, float]
    label: str = ""
    """Its row, if it is not `<Name> Score`."""
    template_row: bool = False
    """Whether the row is on the scorecard; otherwise it is shown on request only."""


class ScoreSpec(msgspec.Struct, frozen=True, dict=True, forbid_unknown_fields=True):
    """The formula of one task score; a task without sub-scores is one part of weight 1."""

    label: str
    weights: Mapping[str, float] = {}
    parts: Mapping[str, Part] = {}
    section: str = ""
    """The heading of the task's rows, if it is not `<LABEL> TASK METRICS`."""
    unit: str = "call"
    """The unit that is sampled: intervals are about future calls or future scenarios."""
    above_floor: tuple[str, ...] = ()
    """Parts and metrics that must each be better than a trivial answer, or the model is not in
    question (C-141)."""
    over: str = ""
    """What the score is over, if the data has only some of its parts (C-142)."""
    coverage: float | None = None
    """The share of cases that must be evaluated, if the setting does not decide (C-119)."""

    @cached_property
    def formula(self) -> Mapping[str, Part]:
        """The parts of the task score; a task without parts is one part."""
        return self.parts or {"": Part(1.0, self.weights)}

    @cached_property
    def terms(self) -> Sequence[tuple[float, Sequence[tuple[str, float]]]]:
        """The same as lists, for speed: the weight of each part, and the weights in it."""
        return [(part.weight, list(part.weights.items())) for part in self.formula.values()]


class Criterion(msgspec.Struct, frozen=True, array_like=True):
    """One binary benchmark."""

    label: str
    unit: Literal["fraction", "percent"]
    comparison: Operator
    limit: float
    printed: str
    tasks: tuple[str, ...]
    """The tasks whose answers it looks at (C-90)."""
    limits_padding: bool = False
    """As of a metric (C-136)."""

    def passes(self, value: float) -> bool:
        """Whether a value earns the binary 1."""
        return holds(value, self.comparison, self.limit)

    @property
    def worst(self) -> float:
        """The value of a malformed answer        C-90"""
        return 0.0 if self.unit == "fraction" else 100.0


class Benchmarks(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The optional second layer; a suite without one has no criteria."""

    recommended_minimum: float = 0.0
    criteria: Mapping[str, Criterion] = {}


class ScoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that every suite has; a suite with further settings extends this struct."""

    gates: Literal["all", "formula_only"] = "all"
    call_gate_tolerance: float = 0.0
    parse: Literal["fenced", "strict"] = "fenced"
    weights: Literal["document", "proportional"] = "document"
    benchmarks_partial: Literal["incomplete", "mean", "zero"] = msgspec.field(
        name="benchmarks.partial", default="incomplete"
    )
    consistency_runs: int = msgspec.field(name="consistency.runs", default=3)
    consistency_ddof: Literal[0, 1] = msgspec.field(name="consistency.ddof", default=1)
    coverage_required: float = msgspec.field(name="coverage.required", default=1.0)

    @property
    def quote_tolerance_s(self) -> float:
        """How far from a turn a time may be that a judge cites."""
        return QUOTE_TOLERANCE_S

    @property
    def notes(self) -> Sequence[str]:
        """What the reader of a scorecard must know about these settings."""
        return ()

    def __post_init__(self) -> None:
        for name, value in (
            ("call_gate_tolerance", self.call_gate_tolerance),
            ("coverage.required", self.coverage_required),
        ):
            if not 0 <= value <= 1:
                raise ValueError(f"{name} must be between 0 and 1, not {value}")
        if not 2 <= self.consistency_runs <= MOST_RUNS:
            raise ValueError(f"consistency.runs must be between 2 and {MOST_RUNS} (C-98)")


class Spec(msgspec.Struct, frozen=True):
    """A `spec.toml` and the hash of its text; a suite may read more tables in the same file."""

    framework: str
    tasks: tuple[str, ...]
    scores: Mapping[str, ScoreSpec]
    metrics: Mapping[str, MetricSpec]
    final: Mapping[str, Mapping[str, float]] = {}
    """Weights of the Final Score by option: `a` with the benchmarks, `b` without."""
    settings: Mapping[str, Any] = {}
    """The defaults of the settings."""
    benchmarks: Benchmarks = Benchmarks()
    digest: str = ""
    rubrics: Mapping[str, bytes] = {}
    """What judging models are asked about its metrics: TOML files by name, covered by the digest.
    The rubrics of built-in suites are in `judges`."""
    alternatives: bool = False
    """Whether its tasks are separate benchmarks: a scorecard has the rows of those that were run,
    and the Final Score of the first of them."""

    def slugs_of(self, task: str) -> tuple[str, ...]:
        """The metrics of a task: those whose slug begins with its name."""
        return tuple(slug for slug in self.metrics if slug.partition(".")[0] == task)


def read_spec(file: Path) -> Spec:
    """The specification in a TOML file, with the hash of its content, without comments."""
    table = parse_table(file.read_text(encoding="utf-8"))
    content = msgspec.json.encode(table, order="sorted")
    digest = hashlib.blake2b(content, digest_size=DIGEST_BYTES).hexdigest()
    return msgspec.convert({**table, "digest": digest}, Spec)


def with_tasks(spec: Spec, tasks: Collection[str]) -> Spec:
    """The part of a specification for these tasks; all of it unless they are alternatives."""
    if not spec.alternatives:
        return spec
    ran = tuple(task for task in spec.tasks if task in tasks)
    return msgspec.structs.replace(
        spec,
        tasks=ran,
        scores={task: spec.scores[task] for task in ran},
        metrics={slug: spec.metrics[slug] for task in ran for slug in spec.slugs_of(task)},
        final={"b": {task: 1.0 for task in ran[:1]}},
    )


def combine_specs(specs: Sequence[Spec]) -> Spec:
    """Combine suites on one scorecard: all rows, and the Final Score of the first."""
    if len(specs) == 1:
        return specs[0]
    first = specs[0]
    return msgspec.structs.replace(
        first,
        framework="+".join(spec.framework for spec in specs),
        tasks=tuple(task for spec in specs for task in spec.tasks),
        scores={task: score for spec in specs for task, score in spec.scores.items()},
        metrics={slug: metric for spec in specs for slug, metric in spec.metrics.items()},
        digest="+".join(spec.digest for spec in specs),
    )


def without_rows(spec: Spec, rows: Collection[str], over: str) -> Spec:
    """The formulas without rows that the data does not have: Σ w × value / Σ w        C-142"""
    if not any(slug in spec.metrics for slug in rows):
        return spec
    scores = {task: _without_rows(score, rows, over) for task, score in spec.scores.items()}
    return msgspec.structs.replace(spec, scores=scores, digest=f"{spec.digest}({over})")


def _without_rows(score: ScoreSpec, rows: Collection[str], over: str) -> ScoreSpec:
    left = {
        name: msgspec.structs.replace(part, weights=weights)
        for name, part in score.parts.items()
        if (weights := _scaled({s: w for s, w in part.weights.items() if s not in rows}))
    }
    if left == score.parts:
        return score
    shares = _scaled({name: part.weight for name, part in left.items()})
    parts = {
        name: msgspec.structs.replace(part, weight=shares[name]) for name, part in left.items()
    }
    kept = tuple(name for name in score.above_floor if name in parts or name not in score.parts)
    return msgspec.structs.replace(score, parts=parts, over=over, above_floor=kept)


def _scaled(weights: Mapping[str, float]) -> Mapping[str, float]:
    """w / Σ w"""
    whole = math.fsum(weights.values())
    return {name: weight / whole for name, weight in weights.items()}


def with_metrics(spec: Spec, added: Mapping[str, tuple[MetricSpec, str]]) -> Spec:
    """Add metrics of other packages, each with its version; no formula or decision uses them."""
    if not added:
        return spec
    versions = ",".join(f"{slug}@{version}" for slug, (_, version) in added.items())
    extra = {
        slug: msgspec.structs.replace(metric, decides=False) for slug, (metric, _) in added.items()
    }
    metrics = {**spec.metrics, **extra}
    return msgspec.structs.replace(spec, metrics=metrics, digest=f"{spec.digest}({versions})")
