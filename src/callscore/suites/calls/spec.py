"""Reads `spec.toml`, the only source of the numbers of document 003."""

# No postponed annotations here: msgspec would evaluate the text of each at every start.
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from callscore.core.spec import ScoreSettings, Spec, read_spec
from callscore.scorecard.spec_suite import convert_settings

FORM_NOTE = (
    "schema: form binds ids, maximum scores, types and marks of QA answers to the form: a model "
    "whose server keeps to the schema cannot get them wrong, so errors of this kind are hidden"
)
FILE = Path(__file__).with_name("spec.toml")


class Settings(ScoreSettings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings that the clarifications introduce; part of a result's identity (C-126)."""

    macro_f1: Literal["present_classes", "divide_by_3"]
    open_maps: tuple[str, ...] = msgspec.field(name="structure.open_maps")
    score_margin_fraction: float = msgspec.field(name="qa.score_margin_fraction")
    timestamp_tolerance_s: float = msgspec.field(name="qa.timestamp_tolerance_s")
    fluency_granularity: Literal["sentence"] = msgspec.field(name="fluency.granularity")
    entity_fabricated: Literal["configured", "formula"] = msgspec.field(name="entity.fabricated")
    padding_factor: float
    schema: Literal["documented", "form"]

    @property
    def notes(self) -> Sequence[str]:
        """A note on answers that could not go wrong as others can."""
        return [FORM_NOTE] if self.schema == "form" else []

    @property
    def quote_tolerance_s(self) -> float:
        """How far a time that a judge cites may be from a turn        C-39"""
        return self.timestamp_tolerance_s

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.score_margin_fraction <= 1:
            raise ValueError(
                "qa.score_margin_fraction must be between 0 and 1, "
                f"not {self.score_margin_fraction}"
            )
        if not 0 <= self.timestamp_tolerance_s < float("inf"):
            raise ValueError("qa.timestamp_tolerance_s must be a number of seconds, at least 0")
        if not 0 <= self.padding_factor < float("inf"):
            raise ValueError(f"padding_factor must be at least 0, not {self.padding_factor}")


class MetricNames(NamedTuple):
    """Slugs by task, and every name of a metric (C-15)."""

    by_task: Mapping[str, tuple[str, ...]]
    by_alias: Mapping[str, str]


@cache
def load_spec() -> Spec:
    """The specification; cached."""
    return read_spec(FILE)


@cache
def metric_names() -> MetricNames:
    """The slugs of each task, and a map from every name of a metric to its slug.

    A name that several tasks share (`Response Structure Compliance`) maps only with its task
    in front (`qa Response Structure Compliance`).
    """
    spec = load_spec()
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
    return MetricNames({task: tuple(slugs) for task, slugs in of_task.items()}, by_alias)


def slug_of(name: str) -> str | None:
    """The slug of a slug, a label or an alias; None if the name is unknown (C-15)."""
    return metric_names().by_alias.get(name) or metric_names().by_alias.get(name.strip().casefold())


def make_settings(given: Mapping[str, Any] | None = None) -> Settings:
    """The default settings with some replaced; raises ConfigError on an unknown key or value."""
    return convert_settings(Settings, load_spec().settings, given or {})
