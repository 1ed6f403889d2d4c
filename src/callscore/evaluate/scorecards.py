"""Builds the scorecard from tallies: task scores, benchmarks, Final Score, cost, ranks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.judging import Judging
from callscore.core.scenarios import ScenarioScore
from callscore.core.scorecard import SKIPPED, ModelScore, Scorecard, TaskScore
from callscore.core.signature import KINDS, SCENARIOS, VERSION, parts_of
from callscore.core.spec import ScoreSettings, Spec, holds
from callscore.core.suite import Suite
from callscore.core.task import Floor
from callscore.core.verdict_rules import NOT_CITED
from callscore.core.version import __version__
from callscore.evaluate.calibration_marks import mark_judged, with_audit, with_label_notes
from callscore.evaluate.judging import JudgeRunner, judging_of
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.report.decision_lines import with_decision
from callscore.scorecard.final import FinalWeights, final_score, score_benchmarks
from callscore.scorecard.floors import floor_notes, with_floor, with_range
from callscore.scorecard.model_score import score_open_task
from callscore.scorecard.ranking import model_cost, rank, rank_zeroed
from callscore.scorecard.tally import TaskTally
from callscore.stats.contributions import (
    Contributions,
    ModelContributions,
    TaskContributions,
    count_distinct,
)
from callscore.suites.registry import Catalog, scenario_suite


def card_signature(
    config: ScoreConfig,
    result: ScoringResult,
    suites: Sequence[Suite],
    over: Sequence[str],
    judge_runner: JudgeRunner | None,
) -> str:
    """The parts of a signature; `over` are the tasks of the Final Score (C-82)."""
    judge = judge_runner.judge_signature if judge_runner is not None else None
    embedder = judge_runner.embedder if judge_runner is not None else None
    judges = [*result.judges, *([judge] if judge is not None else ())]
    settings = [config.catalog.settings_of(suite) for suite in suites]
    changed = {
        key: value
        for suite in suites
        for key, value in config.catalog.changed_settings(suite).items()
    }
    specs = [config.catalog.spec_of(suite) for suite in suites]
    parts = {
        "suite": "+".join(suite.name for suite in suites),
        "framework": "+".join(spec.framework for spec in specs),
        "spec": "+".join(spec.digest for spec in specs),
        **next((score.identity for score in result.scenarios.values()), {}),
        "data": result.dataset,
        "repeats": str(config.repeats) if config.repeats is not None else _repeats(result),
        "settings": ",".join(f"{k}={v}" for k, v in changed.items()) or "default",
        "judge": "+".join(judges) or "none",
        "embedder": embedder.signature if embedder is not None else "none",
        "over": "+".join(over),
        **({KINDS: "+".join(config.kinds)} if config.kinds else {}),
        **({"option": "A"} if config.benchmarks else {}),
        "weights": _list_numbers(config.weights) if config.weights else settings[0].weights,
        **({"workload": _list_numbers(config.workload)} if config.workload else {}),
        **({"labels": result.labels.digest} if result.labels is not None else {}),
        "callscore": __version__,
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def _list_numbers(numbers: Mapping[str, float]) -> str:
    return ",".join(f"{task}={number:g}" for task, number in sorted(numbers.items()))


def _repeats(result: ScoringResult) -> str:
    """Requests per case: one number, or several if models or tasks differ        C-07"""
    of_tasks = (tally for tallies in result.tallies.values() for tally in tallies.values())
    found = sorted({tally.most_runs for tally in of_tasks if tally.most_runs})
    return "+".join(map(str, found)) or "0"


LEAKS_SHOWN = 5


def scorecard(
    config: ScoreConfig, result: ScoringResult, judge_runner: JudgeRunner | None
) -> Scorecard:
    """The scorecard of all models, with its signature."""
    if result.scenarios:
        config = narrow_to_kinds(config, result)
    tasks, final = _tasks_in(result), final_weights(config, result)
    suites, spec = config.catalog.suites_with(tasks), final.spec
    origins = {**result.origins, **config.origins}
    context = CardContext(spec, final, result.floors, origins, result.measured_by)
    scored = [_model_score(model, of, config, context) for model, of in result.tallies.items()]
    if result.scenarios:
        shared = share_estimates(scored)
        scored = [_of_scenarios(each, result.scenarios, config.catalog) for each in shared]
    models = mark_judged(scored, result.judged, config.catalog) if result.judged else scored
    card = Scorecard(
        framework=spec.framework,
        suite="+".join(suite.name for suite in suites),
        title=" + ".join(suite.title for suite in suites),
        final_heading=final.heading,
        signature=card_signature(config, result, suites, final.over, judge_runner),
        models=models,
        ranking=rank(models, spec),
        zeroed_ranking=rank_zeroed(models, spec),
        notes=[
            *_config_notes(config, suites),
            *_notes(result),
            *(_judge_notes(result, judge_runner) if judge_runner is not None else ()),
            *floor_notes(models, result.tallies, spec),
            *_task_notes(models, result, config.catalog, spec),
        ],
        estimate=any(map(is_estimate, models)),
        judging=_judging(config, result, judge_runner) if judge_runner is not None else None,
    )
    card = _with_intervals(card, config, result, spec) if config.intervals else card
    card = with_decision(card, spec, config.decide)
    if card.judging is not None and card.judging.audited:
        card = with_audit(card, card.judging, result, config.catalog)
    if result.labels is not None:
        card = with_label_notes(card, result.labels)
    if not result.scenarios:
        return card
    from callscore.evaluate.scenarios import add_documents, restrict_to_language

    card = add_documents(
        card,
        result.scenarios,
        lambda language: scorecard(config, restrict_to_language(result, language), None),
    )
    return with_decision(card, spec, config.decide)  # it also depends on the judge of the steps


def narrow_to_kinds(config: ScoreConfig, result: ScoringResult) -> ScoreConfig:
    """The settings of a card whose scenarios have no step of some kind        C-142"""
    kinds = {kind for score in result.scenarios.values() for kind in score.kinds}
    if not kinds or not scenario_suite().narrow(kinds)[0]:
        return config
    return msgspec.structs.replace(config, kinds=sorted(kinds))


def decide_again(config: ScoreConfig, card: Scorecard) -> Scorecard:
    """The same card with its decision, after something was added that may change it."""
    tasks = {task: None for model in card.models for task in model.tasks}
    return with_decision(card, config.catalog.spec_with(tasks), config.decide)


def joint_scorecard(config: ScoreConfig, cards: Sequence[Scorecard]) -> Scorecard:
    """The rows of calls and of scenarios on one card; its Final Score is that of the first."""
    return cards[0] if len(cards) == 1 else add_rows(config, *cards)


def add_rows(config: ScoreConfig, card: Scorecard, other: Scorecard) -> Scorecard:
    """Add the rows of another scorecard, and decide by all of them; the Final Score stays that of
    the first.
    """
    rows = {model.model: model.tasks for model in other.models}
    times = {model.model: model.latency for model in other.models}
    both = msgspec.structs.replace(
        card,
        framework=f"{card.framework}+{other.framework}",
        suite=f"{card.suite}+{other.suite}",
        title=f"{card.title} + {other.title}",
        signature=f"{card.signature}|{SCENARIOS}:{_nest_signature(other.signature)}",
        models=[
            msgspec.structs.replace(
                model,
                tasks={**model.tasks, **rows.get(model.model, {})},
                latency=times.get(model.model, msgspec.UNSET),
            )
            for model in card.models
        ],
        notes=[*card.notes, *other.notes],
        documents=other.documents,
    )
    return decide_again(config, both)


def _nest_signature(signature: str) -> str:
    """A signature as one part of another signature, without the version of Callscore."""
    parts = parts_of(signature)
    return ",".join(f"{key}={value}" for key, value in parts.items() if key != VERSION)


def _tasks_in(result: ScoringResult) -> dict[str, None]:
    return {task: None for tallies in result.tallies.values() for task in tallies}


def _with_intervals(
    card: Scorecard, config: ScoreConfig, result: ScoringResult, spec: Spec
) -> Scorecard:
    from callscore.evaluate.intervals import (
        with_intervals,  # imports numpy, which nothing before needs
    )

    return with_intervals(
        card,
        {
            model.model: contributions_of(result.tallies[model.model], model.tasks)
            for model in card.models
        },
        config.catalog.formula,
        spec.benchmarks.criteria,
        about=f"future {spec.scores[spec.tasks[0]].unit}s",
        decide=config.decide,
    )


def contributions_of(
    tallies: Mapping[str, TaskTally], tasks: Mapping[str, TaskScore]
) -> ModelContributions:
    """The contributions of a model's calls by task, if they were recorded.

    Undecided calls of a task that is scored by its worst case are at their worst (C-137).
    """
    return {
        task: tally.contributions.at_worst()
        if task in tasks and tasks[task].bounded
        else tally.contributions
        for task, tally in tallies.items()
        if tally.contributions is not None
    }


def contributions_by_model(
    results: Sequence[ScoringResult], card: Scorecard
) -> Mapping[str, Contributions]:
    """The contributions of every model in memory, from the tallies of calls and scenarios."""
    found: dict[str, dict[str, TaskContributions]] = {}
    tasks = {model.model: model.tasks for model in card.models}
    for result in results:
        for model, of_model in result.tallies.items():
            known = contributions_of(of_model, tasks.get(model, {}))
            found.setdefault(model, {}).update({t: kept.whole() for t, kept in known.items()})
    return found


def final_weights(config: ScoreConfig, result: ScoringResult) -> FinalWeights:
    """The weights of the Final Score, over the tasks with cases in the data        C-82

    The user's own weights are about the tasks of calls; scenarios are one task.
    """
    ran = _tasks_in(result)
    return FinalWeights(
        spec=config.catalog.spec_with(ran),
        settings=config.catalog.settings_of(config.catalog.suites_with(ran)[0]),
        tasks=result.tasks,
        custom={} if result.scenarios else config.weights,
    )


class CardContext(NamedTuple):
    """What the columns of all models share."""

    spec: Spec
    final: FinalWeights
    floors: Mapping[str, Floor]
    origins: Mapping[str, str]
    measured_by: Mapping[str, str]


def _model_score(
    model: str, tallies: Mapping[str, TaskTally], config: ScoreConfig, context: CardContext
) -> ModelScore:
    catalog, settings = config.catalog, context.final.settings
    scored = {
        task: score_open_task(
            catalog.formula(task), tallies[task], catalog.settings_of(catalog.suite_of(task))
        )
        for task in context.spec.tasks
        if task in tallies
    }
    tasks = {
        task: with_floor(entry.score, context.floors.get(task), catalog.formula(task))
        for task, entry in scored.items()
    }
    if context.measured_by:
        tasks = {name: with_measure_names(task, context) for name, task in tasks.items()}
    benchmarks = score_benchmarks(
        context.spec.benchmarks,
        {task: tally.benchmarks for task, tally in tallies.items()},
        settings,
        is_covered=_is_covered(tallies, settings),
    )
    return ModelScore(
        model=model,
        tasks=tasks,
        benchmarks=benchmarks,
        final=final_score(context.final, tasks, benchmarks),
        cost=model_cost(tallies, config.workload, config.cost_per_1000.get(model)),
        blockers=[blocker for entry in scored.values() for blocker in entry.blockers],
        calls=count_distinct([tally.call_keys for tally in tallies.values()]),
        blocked_calls=len(set[int]().union(*(tally.blocked_keys for tally in tallies.values()))),
        origin=context.origins.get(model, ""),
    )


def _of_scenarios(
    model: ModelScore, scores: Mapping[str, ScenarioScore], catalog: Catalog
) -> ModelScore:
    """A model with the times of its scenarios, and the range of undecided values        C-141"""
    tasks = {name: with_range(task, catalog.formula(name)) for name, task in model.tasks.items()}
    latency = scores[model.model].latency or msgspec.UNSET
    return msgspec.structs.replace(model, tasks=tasks, latency=latency)


def share_estimates(models: Sequence[ModelScore]) -> list[ModelScore]:
    """The models of a card: a row that is an estimate for one is one for all        C-125, C-141

    Values that await a verdict are a matter of the data. A model that answers nothing has none, and
    would otherwise be the only official one.
    """
    rows = {
        slug
        for model in models
        for task in model.tasks.values()
        for slug, metric in task.metrics.items()
        if metric.approximate
    }
    return [_with_estimates(model, rows) for model in models] if rows else [*models]


def _with_estimates(model: ModelScore, rows: Collection[str]) -> ModelScore:
    tasks = {
        name: msgspec.structs.replace(
            task,
            official=False,
            metrics={
                slug: msgspec.structs.replace(metric, approximate=True) if slug in rows else metric
                for slug, metric in task.metrics.items()
            },
        )
        if any(slug in rows for slug in task.metrics)
        else task
        for name, task in model.tasks.items()
    }
    final = msgspec.structs.replace(
        model.final,
        official=model.final.official and all(tasks[name].official for name in model.final.weights),
    )
    return msgspec.structs.replace(model, tasks=tasks, final=final)


def _is_covered(tallies: Mapping[str, TaskTally], settings: ScoreSettings) -> bool:
    """Whether enough cases were evaluated for the benchmarks to be official        C-124"""
    return all(
        not tally.not_run
        and holds(1 - tally.errors / tally.cases, ">=", settings.coverage_required)
        for tally in tallies.values()
        if tally.cases
    )


def is_estimate(model: ModelScore) -> bool:
    """Whether a value of this model comes from a built-in substitute        C-125"""
    return model.benchmarks.approximate or any(
        metric.approximate for task in model.tasks.values() for metric in task.metrics.values()
    )


def _judging(config: ScoreConfig, result: ScoringResult, judge_runner: JudgeRunner) -> Judging:
    related = [model for model in result.tallies if judge_runner.is_related(model)]
    return judging_of(judge_runner, related, intervals=config.intervals)


def _judge_notes(result: ScoringResult, judge_runner: JudgeRunner) -> list[str]:
    judges = ", ".join(judge_runner.models)
    return [
        *judge_runner.failure_notes(),
        *sorted(judge_runner.caveats),
        *judge_runner.comparison_notes(),
        *judge_runner.answered_by.notes(),
        *(
            f"judge_overlap: {model} was judged by a model of its own family ({judges})"
            for model in result.tallies
            if judge_runner.is_related(model)
        ),
    ]


def _leak_notes(leaks: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
    """One line for each model and kind of leak."""
    return [
        f"{model}: {kind.replace('_', ' ')} in the answers to "
        f"{len(cases)} {'case' if len(cases) == 1 else 'cases'}, which must not be written "
        f"down: {', '.join(cases[:LEAKS_SHOWN])}{', …' if len(cases) > LEAKS_SHOWN else ''}"
        for (model, kind), cases in sorted(leaks.items())
    ]


def _config_notes(config: ScoreConfig, suites: Sequence[Suite]) -> list[str]:
    """Notes on settings that change what a result means, and on custom weights        C-82"""
    notes = []
    if config.settings:
        notes += [note for suite in suites for note in config.catalog.settings_of(suite).notes]
    if config.weights:
        weights = ", ".join(f"{task} {weight:g}" for task, weight in config.weights.items())
        notes.append(f"custom weights of the Final Score: {weights}")
    return notes


def _notes(result: ScoringResult) -> list[str]:
    warnings = [w for score in result.scenarios.values() for w in score.warnings]
    notes = [*dict.fromkeys(warnings)]
    notes += [*(SKIPPED + problem for problem in result.skipped), *result.contradicted]
    if result.leaks:
        notes += _leak_notes(result.leaks)
    if result.unused_verdicts:
        notes.append(
            f"verdicts that were not used: {result.unused_verdicts}; they name a model or a run "
            "without an output, a metric of another task, or an item that does not exist"
        )
    if result.by_code:
        notes.append(f"records of metrics that code computes: {result.by_code}; they were not used")
    if result.uncited:
        cited = "their citations are neither fields nor found"
        notes.append(f"{NOT_CITED} in {result.uncited} scores of a judge: {cited}; they count")
    return notes + [
        f"{model}, {task}: {tally.missing_runs} of {tally.most_runs * tally.evaluated} runs have "
        "no answer; their cases are the mean of the other runs"
        for model, tallies in result.tallies.items()
        for task, tally in tallies.items()
        if tally.missing_runs > 0
    ]


def _task_notes(
    models: Sequence[ModelScore], result: ScoringResult, catalog: Catalog, spec: Spec
) -> Iterator[str]:
    """What the tasks say about their rows."""
    tasks = catalog.tasks()
    for name in spec.tasks:
        tallies = {model: of[name] for model, of in result.tallies.items() if name in of}
        if tallies:
            yield from tasks[name].notes(models, tallies)


def with_measure_names(score: TaskScore, context: CardContext) -> TaskScore:
    """A task score whose rows name what compared texts in place of LaBSE or mUSE        C-68"""
    named = {
        slug: msgspec.structs.replace(metric, measured_by=context.measured_by[slug])
        for slug, metric in score.metrics.items()
        if metric.value is not None and slug in context.measured_by
    }
    if not named:
        return score
    return msgspec.structs.replace(score, metrics={**score.metrics, **named})
