"""Inputs of comparisons: stored runs, and scorecard files with their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from callscore.comparison.case_changes import Results
from callscore.comparison.result_files import contributions_from_results, read_results
from callscore.config.config import load_eval
from callscore.config.score import DEFAULT_STORE, ScoreConfig
from callscore.core.errors import UsageError
from callscore.core.scenarios import STEP_TASK, STEP_USAGE, StepView
from callscore.core.scorecard import AS_RECOMMENDED, CaseResult, Decide, ModelScore, Scorecard
from callscore.core.signature import kinds_of, parts_of
from callscore.core.task import SCENARIO
from callscore.evaluate.scenarios import read_documents
from callscore.evaluate.scorecards import contributions_by_model
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.evaluate.shape import model_shape
from callscore.export.sources import card_source, newest_run, rescore_run
from callscore.report.source import CaseView
from callscore.results import open_results
from callscore.runner.prepare import RunOptions
from callscore.stats.contributions import Contributions, ModelShape
from callscore.store.address import StoreAddress
from callscore.suites.registry import Catalog

EVAL_FILES = (".yaml", ".yml")
CARD_ONLY = (
    "{}: a scorecard has no results of single calls, so there are no intervals, tests and "
    "cases; give its results files (--results), or the run"
)

DECIMALS = "{}: the scenarios are those of its result file, whose scores have four decimals"


class OfficialRateGate(NamedTuple):
    """A gate of the specification on a pooled rate."""

    slug: str
    label: str
    limit: float
    is_floor: bool
    """Whether the rate must be at least the limit, instead of at most."""
    percent: bool
    """Whether the limit is in percent."""


class Competitor(NamedTuple):
    """A model to compare with another."""

    label: str
    card: Scorecard
    score: ModelScore
    shape: ModelShape
    contributions: Contributions | None
    """None if only a scorecard is known."""
    results: Results
    notes: Sequence[str]
    uncounted: frozenset[str]
    """Tasks whose contributions lack the counts of pooled rows."""
    call_gates: frozenset[str]
    """Metrics whose gate blocks single calls (C-03)."""
    rate_gates: Sequence[OfficialRateGate] = ()
    decide: Decide = AS_RECOMMENDED
    """How its eval file says that results are read."""


class ComparisonInput(NamedTuple):
    """A run or a scorecard, with the contributions and results of its calls if known."""

    label: str
    card: Scorecard
    catalog: Catalog
    contributions: Mapping[str, Contributions]
    results: Mapping[str, Results]
    notes: Sequence[str]
    uncounted: frozenset[str] = frozenset()
    decide: Decide = AS_RECOMMENDED


class SearchPaths(msgspec.Struct, frozen=True):
    """Where to find runs."""

    store: StoreAddress | None = None
    eval_file: Path | None = None


def split_target(name: str) -> tuple[str, str | None]:
    """Split `TARGET:MODEL`; the target is a run, an eval file or a scorecard.

    A name that is a file has no model; names of models can have colons.
    """
    if name.isdecimal() or Path(name).exists():
        return name, None
    for at, char in enumerate(name):
        if char == ":" and (name[:at].isdecimal() or Path(name[:at]).is_file()):
            return name[:at], name[at + 1 :]
    return name, None


@contextmanager
def load_input(
    target: str, places: SearchPaths, results: Path | None = None
) -> Iterator[ComparisonInput]:
    """Load a run by its id or eval file, or a scorecard that --json wrote."""
    if target.isdecimal():
        store = places.store or DEFAULT_STORE
        with _indexed_input(int(target), store, places.eval_file, f"run {target}") as found:
            yield found
        return
    path = Path(target)
    if path.suffix.lower() in EVAL_FILES:
        config = load_eval(path, places.store)
        run_id = newest_run(config)
        label = f"run {run_id} of {path.name}"
        with _indexed_input(run_id, config.store, config.path, label) as found:
            yield found
        return
    yield input_from_card(card_source(path).card, path.name, results)


def input_from_card(card: Scorecard, label: str, results: Path | None = None) -> ComparisonInput:
    """The input of a scorecard, with its results file if there is one."""
    parts = parts_of(card.signature)
    catalog = _catalog(parts.get("settings", ""))
    tasks = {task for model in card.models for task in model.tasks}
    of_scenarios = _contributions_of_documents(card)
    if of_scenarios and tasks == {SCENARIO}:
        steps = read_results(results, _as_compared) if results is not None else {}
        notes = [DECIMALS.format(label)]
        return ComparisonInput(label, card, catalog, of_scenarios, steps, notes)
    if results is None:
        return ComparisonInput(label, card, catalog, {}, {}, [CARD_ONLY.format(label)])
    by_model = read_results(results, _as_compared)
    criteria = catalog.spec_with(tasks).benchmarks.criteria if "option" in parts else ()
    contributions = {
        model: {
            **contributions_from_results(
                of_model,
                catalog.formula,
                criteria,
                catalog.settings.consistency_ddof,
            ),
            **of_scenarios.get(model, {}),
        }
        for model, of_model in by_model.items()
    }
    notes = [
        f"{results.name}: has no call ids and no counts; every case is treated as a call, "
        "and pooled rows are means over cases"
    ]
    uncounted = frozenset(tasks.difference(*of_scenarios.values()))
    return ComparisonInput(label, card, catalog, contributions, by_model, notes, uncounted)


def _contributions_of_documents(card: Scorecard) -> Mapping[str, Contributions]:
    """By model, the contributions of its scenarios, if the card has their result files."""
    if isinstance(card.documents, msgspec.UnsetType):
        return {}
    return contributions_by_model([read_documents(card.documents.values())], card)


@contextmanager
def _indexed_input(
    run_id: int, store: StoreAddress, eval_file: Path | None, label: str
) -> Iterator[ComparisonInput]:
    """A stored run from its index, which is built if it is stale."""
    with closing(open_results(store, eval_file)) as opened:
        if not opened.is_indexed(run_id):
            yield rescored_input(run_id, store, eval_file, label)
            return
        found = opened.source(run_id)
        scoring = opened.config(run_id).scoring
        yield ComparisonInput(
            label,
            found.card,
            scoring.catalog,
            opened.contributions(run_id),
            opened.results(run_id, _as_compared),
            found.absent,
            decide=scoring.decide,
        )


def rescored_input(
    run_id: int, store: StoreAddress, eval_file: Path | None, label: str
) -> ComparisonInput:
    """A run of a store that cannot be written, and so keeps no index: it is scored each time."""
    results: dict[str, dict[str, list[CaseResult]]] = {}
    scored: list[ScoringResult] = []

    def add(view: CaseView | StepView) -> None:
        for answer in view.answers:
            result = _as_compared(answer.result)
            results.setdefault(result.model, {}).setdefault(view.case.id, []).append(result)

    options = RunOptions(on_case=add, on_step=add, on_scoring_result=scored.append)
    rescored = rescore_run(run_id, store, eval_file, options)
    scoring = rescored.prepared.config.scoring
    return ComparisonInput(
        label,
        rescored.card,
        scoring.catalog,
        contributions_by_model(scored, rescored.card),
        results,
        rescored.caveats,
        decide=scoring.decide,
    )


def _as_compared(result: CaseResult) -> CaseResult:
    """A result as it is compared: of a step, its scores only."""
    return _without_usage(result) if result.task in (STEP_TASK, SCENARIO) else result


def _without_usage(result: CaseResult) -> CaseResult:
    """The result of a step with its scores only: tokens and times do not count as a change."""
    scores = {
        slug: value
        for slug, value in result.metrics.items()
        if slug.rpartition(".")[2] not in STEP_USAGE
    }
    return msgspec.structs.replace(result, metrics=scores)


def shapes_by_model(card: Scorecard, catalog: Catalog) -> dict[str, ModelShape]:
    """The formulas of every model of a scorecard."""
    catalog = catalog.with_kinds(kinds_of(card.signature))
    return {
        model.model: model_shape(
            model, catalog.formula, catalog.spec_with(model.tasks).benchmarks.criteria
        )
        for model in card.models
    }


def _catalog(settings: str) -> Catalog:
    """The catalog for a scorecard, with the settings that its signature names."""
    pairs = [pair.partition("=") for pair in settings.split(",") if "=" in pair]
    named = {name: value for name, _, value in pairs if name in ("gates", "consistency.ddof")}
    return ScoreConfig(cases=(), settings=named).catalog


def select_model(
    source: ComparisonInput, model: str | None, other: str | None = None
) -> Competitor:
    """One model of an input: the named one, the only one, or the one with the name of the other."""
    names = [score.model for score in source.card.models]
    name = model or (names[0] if len(names) == 1 else other)
    if name not in names:
        known = ", ".join(names)
        problem = f"has no model {model!r}" if model else f"has {len(names)} models"
        raise UsageError(f"{source.label}: {problem}; expected NAME:MODEL with one of {known}")
    score = source.card.models[names.index(name)]
    shape = shapes_by_model(source.card, source.catalog)[name]
    return Competitor(
        f"{source.label}, {name}" if len(names) > 1 else source.label,
        source.card,
        score,
        shape,
        source.contributions.get(name),
        source.results.get(name, {}),
        source.notes,
        source.uncounted,
        frozenset(
            gate.slug
            for task in score.tasks
            for gate in source.catalog.formula(task).gates
            if gate.rule.kind == "call"
        ),
        [
            OfficialRateGate(
                gate.slug,
                source.catalog.formula(task).specs[gate.slug].label,
                gate.rule.limit,
                gate.rule.comparison in ("<", "<="),
                source.catalog.formula(task).specs[gate.slug].unit == "percent",
            )
            for task in score.tasks
            for gate in source.catalog.formula(task).gates
            if gate.rule.kind == "rate"
        ],
        source.decide,
    )
