"""Reads `spec.toml`: the only place where numbers of document 003 enter the program."""

# No postponed annotations here: msgspec would evaluate the text of each at every start.
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from callscore.core.errors import ConfigError
from callscore.core.rating import Band, Comparison, Rating, holds
from callscore.core.resources import read_table


class Gate(msgspec.Struct, frozen=True):
    """A `[!]` row: breached where the value satisfies the comparison."""

    kind: Literal["call", "rate"]
    comparison: Comparison
    limit: float
    formula: bool

    def breached(self, value: float) -> bool:
        """Whether this value is in breach."""
        return holds(value, self.comparison, self.limit)


class Threshold(msgspec.Struct, frozen=True, array_like=True):
    """The Scorecard's Threshold column: the printed text, and what its tick means (C-16)."""

    printed: str
    comparison: Comparison
    limit: float


class Severity(msgspec.Struct, frozen=True, array_like=True):
    """A named range inside Blocker (C-11)."""

    name: str
    comparison: Comparison
    limit: float


class MetricSpec(msgspec.Struct, frozen=True):
    """One metric of the framework, as `spec.toml` states it."""

    section: str
    label: str
    unit: Literal["fraction", "percent", "count"]
    bands: tuple[Band, ...]
    otherwise: Rating | None = None
    otherwise_of_means: Rating | None = None
    aliases: tuple[str, ...] = ()
    needs: Literal["code", "judge", "embedder"] = "code"
    threshold: Threshold | None = None
    gate: Gate | None = None
    pooled: bool = False
    """Σ numerators / Σ denominators instead of the mean over calls (C-06)."""
    shows_resolution: bool = False
    """Whether reports give the interval and the smallest rate that could be seen (C-36)."""
    template_row: bool = True
    counts_facts: bool = False
    """Whether reports say how many facts are behind the value (C-61, C-77)."""
    remark: str = ""
    """What reports say about the row beside its value."""
    complement_of: str = ""
    severities: tuple[Severity, ...] = ()
    secondary: Mapping[str, Literal["percent", "count"]] = {}
    """Figures reported beside the value, outside it, with their units."""


class Part(msgspec.Struct, frozen=True):
    """A sub-score: its weight in the task score, and the weights of its metrics."""

    weight: float
    weights: Mapping[str, float]


class ScoreSpec(msgspec.Struct, frozen=True, dict=True):
    """The formula of one task score; a task without sub-scores is one part of weight 1."""

    label: str
    weights: Mapping[str, float] = {}
    parts: Mapping[str, Part] = {}

    @cached_property
    def formula(self) -> Mapping[str, Part]:
        """The parts of the task score, the whole task being the only part where it has none."""
        return self.parts or {"": Part(1.0, self.weights)}

    @cached_property
    def terms(self) -> Sequence[tuple[float, Sequence[tuple[str, float]]]]:
        """The same, flat, as every answer is scored by it: a part's weight and those inside it."""
        return [(part.weight, list(part.weights.items())) for part in self.formula.values()]


class Criterion(msgspec.Struct, frozen=True, array_like=True):
    """One of the eleven binary benchmarks."""

    label: str
    unit: Literal["fraction", "percent"]
    comparison: Comparison
    limit: float
    printed: str
    tasks: tuple[str, ...]
    """The tasks whose answers it looks at (C-90)."""

    def passes(self, value: float) -> bool:
        """Whether a value earns the binary 1."""
        return holds(value, self.comparison, self.limit)

    @property
    def worst(self) -> float:
        """What an answer of the wrong structure is worth        C-90"""
        return 0.0 if self.unit == "fraction" else 100.0


class Benchmarks(msgspec.Struct, frozen=True):
    """The optional second layer."""

    recommended_minimum: float
    criteria: Mapping[str, Criterion]


OPEN_MAPS = "structure.open_maps"
MOST_RUNS = 100
"""Runs of a case, at most."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings that the clarifications introduce; part of a result's identity (C-126)."""

    gates: Literal["all", "formula_only"]
    call_gate_tolerance: float
    parse: Literal["fenced", "strict"]
    macro_f1: Literal["present_classes", "divide_by_3"]
    weights: Literal["document", "proportional"]
    open_maps: tuple[str, ...] = msgspec.field(name=OPEN_MAPS)
    score_margin_fraction: float = msgspec.field(name="qa.score_margin_fraction")
    timestamp_tolerance_s: float = msgspec.field(name="qa.timestamp_tolerance_s")
    fluency_granularity: Literal["sentence"] = msgspec.field(name="fluency.granularity")
    benchmarks_partial: Literal["incomplete", "mean", "zero"] = msgspec.field(
        name="benchmarks.partial"
    )
    consistency_runs: int = msgspec.field(name="consistency.runs")
    consistency_ddof: Literal[0, 1] = msgspec.field(name="consistency.ddof")
    coverage_required: float = msgspec.field(name="coverage.required")

    def __post_init__(self) -> None:
        for name, value in (
            ("call_gate_tolerance", self.call_gate_tolerance),
            ("qa.score_margin_fraction", self.score_margin_fraction),
            ("coverage.required", self.coverage_required),
        ):
            if not 0 <= value <= 1:
                raise ValueError(f"{name} must lie between 0 and 1, not {value}")
        if not 0 <= self.timestamp_tolerance_s < float("inf"):
            raise ValueError("qa.timestamp_tolerance_s must be a number of seconds, at least 0")
        if not 2 <= self.consistency_runs <= MOST_RUNS:
            raise ValueError(f"consistency.runs must lie between 2 and {MOST_RUNS} (C-98)")


class Spec(msgspec.Struct, frozen=True):
    """The whole of `spec.toml`."""

    framework: str
    tasks: tuple[str, ...]
    settings: Settings
    final: Mapping[str, Mapping[str, float]]
    scores: Mapping[str, ScoreSpec]
    metrics: Mapping[str, MetricSpec]
    benchmarks: Benchmarks


class Names(NamedTuple):
    """Slugs by task, and every name a metric goes by (C-15)."""

    of_task: Mapping[str, tuple[str, ...]]
    by_alias: Mapping[str, str]


@cache
def load() -> Spec:
    """The specification; read once."""
    return msgspec.convert(read_table(Path(__file__).with_name("spec.toml")), Spec)


@cache
def names() -> Names:
    """The slugs of each task, and a map from every name of a metric to its slug.

    A name that several tasks share (`Response Structure Compliance`) maps only with its task
    in front (`qa Response Structure Compliance`).
    """
    spec = load()
    of_task: dict[str, list[str]] = {task: [] for task in spec.tasks}
    by_alias: dict[str, str] = {}
    shared: set[str] = set()
    for slug, metric in spec.metrics.items():
        task = slug.partition(".")[0]
        of_task[task].append(slug)
        by_alias[slug] = slug
        for name in (metric.label, *metric.aliases):
            by_alias[f"{task} {name}".casefold()] = slug
            if by_alias.setdefault(name.casefold(), slug) != slug:
                shared.add(name.casefold())
    for slug, criterion in spec.benchmarks.criteria.items():
        by_alias[slug] = slug
        by_alias.setdefault(criterion.label.casefold(), slug)
    for name in shared:
        del by_alias[name]
    return Names({task: tuple(slugs) for task, slugs in of_task.items()}, by_alias)


def slug_of(name: str) -> str | None:
    """The slug behind a slug, a label or an alias; None where the name means nothing (C-15)."""
    return names().by_alias.get(name) or names().by_alias.get(name.strip().casefold())


def settings(overrides: Mapping[str, Any] | None = None) -> Settings:
    """The default settings with some replaced; raises ConfigError on an unknown key or value."""
    defaults = load().settings
    if not overrides:
        return defaults
    known = msgspec.to_builtins(defaults)
    for key in overrides:
        if key not in known:
            raise ConfigError(f"unknown setting {key!r}; expected one of: {', '.join(known)}")
    given = {key: _as_list(key, value) for key, value in overrides.items()}
    try:
        return msgspec.convert({**known, **given}, Settings, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        wrong = next((key for key in given if f"$.{key}`" in str(error)), None)
        words = choices().get(wrong or "")
        problem = str(error).partition(" - at ")[0].replace("`", "")
        if words:
            problem = f"expected one of {', '.join(words)}"
        # what is out of range begins with the name of its setting
        raise ConfigError(
            f"setting {wrong}: {problem}" if wrong else f"setting {problem}"
        ) from None


def _as_list(key: str, value: Any) -> Any:
    """Several paths in one text, as a command line gives them, stand apart by spaces."""
    return tuple(value.split()) if key == OPEN_MAPS and isinstance(value, str) else value


@cache
def choices() -> Mapping[str, tuple[str, ...]]:
    """The words that a setting may be, by its name; those of numbers and paths are left out."""
    hints = get_type_hints(Settings)
    return {
        field.encode_name: tuple(map(str, words))
        for field in msgspec.structs.fields(Settings)
        if (words := get_args(hints[field.name])) and get_origin(hints[field.name]) is Literal
    }
