"""Opens what is compared: a model of a stored run, or of a scorecard file with its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from callscore.comparison.result_files import contributions_of, read_results
from callscore.config.config import load_eval
from callscore.config.score import DEFAULT_STORE, ScoreConfig
from callscore.core.errors import UsageError
from callscore.core.scorecard import CaseResult, ModelScore, Scorecard
from callscore.core.signature import parts_of
from callscore.evaluate.scorecards import contributions_of as contributions_of_tallies
from callscore.evaluate.scoring_pass import Tallied
from callscore.evaluate.shape import model_shape
from callscore.export.sources import card_source, newest_run, rescore_run
from callscore.report.source import CaseView
from callscore.runner.prepare import RunOptions
from callscore.stats.contributions import Contributions, ModelShape
from callscore.suites.registry import Catalog

Results = Mapping[str, Sequence[CaseResult]]
"""Of one model, by case."""
EVAL_FILES = (".yaml", ".yml")
CARD_ONLY = (
    "{}: a scorecard contains no results of single calls, so there is no interval, no test and no "
    "list of cases; give its results files (--results), or name the run"
)


class RateGate(NamedTuple):
    """An official limit of a pooled rate."""

    slug: str
    label: str
    limit: float
    is_floor: bool
    """Whether the rate must be at least this; else it is a percentage that must not exceed it."""


class Competitor(NamedTuple):
    """A model that is compared with another."""

    label: str
    card: Scorecard
    score: ModelScore
    shape: ModelShape
    contributions: Contributions | None
    """None if there is only a scorecard."""
    results: Results
    notes: Sequence[str]
    has_counts: bool
    """Whether the contributions have the counts of pooled rows."""
    call_gates: frozenset[str]
    """Metrics that block a call by itself (C-03)."""
    rate_gates: Sequence[RateGate] = ()


class Loaded(NamedTuple):
    """A run or a scorecard, with what is known about its calls."""

    label: str
    card: Scorecard
    catalog: Catalog
    contributions: Mapping[str, Contributions]
    results: Mapping[str, Results]
    notes: Sequence[str]
    has_counts: bool = True


class Places(msgspec.Struct, frozen=True):
    """Where runs are looked for."""

    store: Path | None = None
    eval_file: Path | None = None


def split_name(name: str) -> tuple[str, str | None]:
    """The target and the model of `TARGET:MODEL`: a run, an eval file or a card before the colon.

    A name that is itself a file has no model; models may have colons in their names.
    """
    if name.isdecimal() or Path(name).exists():
        return name, None
    for at, char in enumerate(name):
        if char == ":" and (name[:at].isdecimal() or Path(name[:at]).is_file()):
            return name[:at], name[at + 1 :]
    return name, None


def load(target: str, places: Places, results: Path | None = None) -> Loaded:
    """A run by its id or eval file, scored again; or a scorecard that --json wrote."""
    if target.isdecimal():
        return _load_run(
            int(target), places.store or DEFAULT_STORE, places.eval_file, f"run {target}"
        )
    path = Path(target)
    if path.suffix.lower() in EVAL_FILES:
        config = load_eval(path, places.store)
        run_id = newest_run(config)
        return _load_run(run_id, config.store, config.path, f"run {run_id} of {path.name}")
    return load_card(card_source(path).card, path.name, results)


def load_card(card: Scorecard, label: str, results: Path | None = None) -> Loaded:
    """A scorecard, with a results file if there is one."""
    catalog = _catalog(parts_of(card.signature).get("settings", ""))
    if results is None:
        return Loaded(label, card, catalog, {}, {}, [CARD_ONLY.format(label)])
    found = read_results(results)
    contributions = {
        model: contributions_of(of_model, catalog.formula) for model, of_model in found.items()
    }
    notes = [
        f"{results.name}: has no ids of calls and no counts; every case counts as a call of its "
        "own, and pooled rows are means over cases"
    ]
    return Loaded(label, card, catalog, contributions, found, notes, has_counts=False)


def _load_run(run_id: int, store: Path, eval_file: Path | None, label: str) -> Loaded:
    results: dict[str, dict[str, list[CaseResult]]] = {}
    tallies: list[Tallied] = []

    def collect(view: CaseView) -> None:
        for answer in view.answers:
            of_model = results.setdefault(answer.model, {})
            of_model.setdefault(view.case.id, []).append(answer.result)

    options = RunOptions(on_case=collect, on_tallied=tallies.append)
    found = rescore_run(run_id, store, eval_file, options)
    catalog = found.prepared.config.scoring.catalog
    contributions = contributions_in(tallies)
    return Loaded(label, found.card, catalog, contributions, results, found.caveats)


def contributions_in(tallies: Sequence[Tallied]) -> dict[str, Contributions]:
    """What the calls of every model contributed, from what a scoring pass has left."""
    return {
        model: contributions_of_tallies(of_model)
        for tallied in tallies
        for model, of_model in tallied.tallies.items()
    }


def shapes_of(card: Scorecard, catalog: Catalog) -> dict[str, ModelShape]:
    """The formulas behind every column of a card."""
    return {
        model.model: model_shape(
            model, catalog.formula, catalog.spec_with(model.tasks).benchmarks.criteria
        )
        for model in card.models
    }


def _catalog(settings: str) -> Catalog:
    """The formulas behind a card, from the settings that its signature names."""
    pairs = [pair.partition("=") for pair in settings.split(",") if "=" in pair]
    named = {name: value for name, _, value in pairs if name == "gates"}
    return ScoreConfig(cases=(), settings=named).catalog


def competitor(loaded: Loaded, model: str | None, other: str | None = None) -> Competitor:
    """One model of what was loaded: the named one, its only one, or the one of the other side."""
    names = [score.model for score in loaded.card.models]
    name = model or (names[0] if len(names) == 1 else other)
    if name not in names:
        known = ", ".join(names)
        asked = f"has no model {model!r}" if model else f"has {len(names)} models"
        raise UsageError(f"{loaded.label}: {asked}; expected NAME:MODEL with one of {known}")
    score = loaded.card.models[names.index(name)]
    shape = shapes_of(loaded.card, loaded.catalog)[name]
    return Competitor(
        f"{loaded.label}, {name}" if len(names) > 1 else loaded.label,
        loaded.card,
        score,
        shape,
        loaded.contributions.get(name),
        loaded.results.get(name, {}),
        loaded.notes,
        loaded.has_counts,
        frozenset(
            gate.slug
            for task in score.tasks
            for gate in loaded.catalog.formula(task).gates
            if gate.rule.kind == "call"
        ),
        [
            RateGate(
                gate.slug,
                loaded.catalog.formula(task).specs[gate.slug].label,
                gate.rule.limit,
                gate.rule.comparison in ("<", "<="),
            )
            for task in score.tasks
            for gate in loaded.catalog.formula(task).gates
            if gate.rule.kind == "rate"
        ],
    )
