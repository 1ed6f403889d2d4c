"""Judges and scores scenarios: those of a run, and those recorded in files."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.core.judging import Judge, Judging, Verdict
from callscore.core.run import JudgeSpec
from callscore.core.scenarios import (
    GivenVerdict,
    Json,
    OpenStep,
    OutputsScorer,
    RaceScorer,
    RecordedOutputs,
    ScenarioPart,
    ScenarioRows,
    ScenarioScore,
    ScenarioScorer,
    ScenarioSinks,
    StepVerdicts,
)
from callscore.core.scorecard import Scorecard
from callscore.core.task import SCENARIO, Floor
from callscore.core.verdict_rules import WHOLE
from callscore.evaluate.case_steps import JudgedItems
from callscore.evaluate.given_verdicts import verdict_record
from callscore.evaluate.labels import LabelSummary, StepLabels, is_judged, no_label
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.evaluate.worklist import open_items
from callscore.scorecard.metric_score import merge_strata
from callscore.store.address import StoreAddress
from callscore.store.scenario_files import SCENARIO_FILES
from callscore.store.verdict_records import VerdictRecord, read_verdict
from callscore.store.worklists import OpenItem, verdict_lines
from callscore.suites.registry import scenario_suite

if TYPE_CHECKING:
    from callscore.evaluate.judging import JudgeRunner

NO_SINKS = ScenarioSinks()
VerdictsByPart = Mapping[ScenarioPart, StepVerdicts]
OnJudged = Callable[[OutputsScorer, VerdictsByPart], None]
"""Receives the scorer of recorded outputs, and what a judge decided about them."""


def read_step_verdicts(paths: Sequence[Path]) -> list[GivenVerdict]:
    """The verdicts on steps in these files; verdicts on other metrics are ignored."""
    return [given for given, _, _ in _step_verdicts(paths)]


def read_step_labels(paths: Sequence[Path], elsewhere: Collection[str]) -> list[GivenVerdict]:
    """The labels on steps in these files, without those on the cases `elsewhere`."""
    found = []
    for given, record, place in _step_verdicts(paths):
        if record.item == WHOLE or record.approximate:
            raise no_label(record, record.metric, place)
        if record.case_id not in elsewhere:
            found.append(given)
    return found


def _step_verdicts(paths: Sequence[Path]) -> Iterator[tuple[GivenVerdict, VerdictRecord, str]]:
    """The verdicts on steps, each as in its file, with its place."""
    suite = scenario_suite()
    for line in verdict_lines(paths):
        record = read_verdict(line)
        if record.metric != suite.verdict_metric:
            continue
        if record.verdict not in suite.verdict_words:
            raise DataError(
                f"{record.verdict!r}; expected one of {', '.join(suite.verdict_words)}",
                field="verdict",
                place=line.place,
            )
        verdict = Verdict(
            record.metric,
            str(record.item),
            record.verdict,
            by=record.by,
            approximate=record.approximate,
        )
        judged = is_judged([verdict], asked_now=False)
        given = GivenVerdict(record.case_id, record.run, record.model, verdict, judged)
        yield given, record, line.place


async def judge_open_steps(scorer: ScenarioScorer, judge_runner: JudgeRunner) -> VerdictsByPart:
    """Ask the judge all open questions, one request per step and run (C-115)."""
    try:
        return {
            part: await _judge_steps(list(scorer.open_steps(part)), judge_runner, part.model)
            for part in scorer.parts
        }
    finally:
        await judge_runner.close()


async def judge_scenarios(
    scorer: RaceScorer, calls: Mapping[str, Sequence[str]], judge_runner: JudgeRunner
) -> VerdictsByPart:
    """Ask the judge about some scenarios of each model; the judge stays open."""
    return {
        part: await _judge_steps(
            [
                step
                for call in calls.get(part.model, ())
                for step in scorer.open_steps_of(part, call)
            ],
            judge_runner,
            part.model,
        )
        for part in scorer.parts
    }


async def _judge_steps(
    steps: Sequence[OpenStep], judge_runner: JudgeRunner, model: str
) -> StepVerdicts:
    """Ask the judge about the open values of one model; some may stay open."""
    import asyncio

    from callscore.evaluate.judging import judging_of

    own = judge_runner.without_embedder()
    found = await asyncio.gather(*(own.ask(step.case, step.questions) for step in steps))
    verdicts = {
        (step.case.id, step.run, item.item): given[-1]
        for step, judged in zip(steps, found, strict=True)
        for item, given in judged.verdicts.items()
    }
    overlap = [model] if own.is_related(model) else []
    judge = own.judge_signature or "none"
    return StepVerdicts(verdicts, judge, msgspec.to_builtins(judging_of(own, overlap)))


def verdict_records(judged: VerdictsByPart) -> Iterator[VerdictRecord]:
    """The verdicts of the judge, as lines of a verdicts file."""
    for part, step_verdicts in judged.items():
        for (case_id, run, _), verdict in step_verdicts.verdicts.items():
            yield verdict_record(case_id, part.model, run, verdict)


def undecided_items(scorer: ScenarioScorer, judged: VerdictsByPart) -> Iterator[OpenItem]:
    """Items that neither code nor a file nor the judge has decided: a worklist for people."""
    for part in scorer.parts:
        known = judged[part].verdicts if part in judged else {}
        for step in scorer.open_steps(part):
            case_id = step.case.id
            left = [q for q in step.questions if (case_id, step.run, q.item) not in known]
            yield from open_items(case_id, part.model, step.run, left)


class OutputsJob(msgspec.Struct, frozen=True):
    """Recorded outputs to score, and the judge of the values that code cannot compare."""

    recorded: RecordedOutputs
    verdicts: Sequence[Path] = ()
    judge: str | Judge | tuple[JudgeSpec, ...] = "none"
    store: StoreAddress | None = None

    @property
    def files(self) -> list[Path]:
        """Every file that is read; none may be overwritten."""
        folders = (*self.recorded.outputs, *self.recorded.cards)
        return [*self.verdicts, *(path for folder in folders for path in folder.glob("*.json"))]


def jobs_by_model(job: OutputsJob) -> list[OutputsJob]:
    """One job per recorded model; raises DataError or UsageError if the outputs are unusable."""
    parts = scenario_suite().split_by_model(job.recorded, SCENARIO_FILES)
    return [msgspec.structs.replace(job, recorded=recorded) for recorded in parts]


def score_outputs(
    jobs: Sequence[OutputsJob],
    sinks: ScenarioSinks = NO_SINKS,
    on_verdict: Callable[[VerdictRecord], None] | None = None,
    on_judged: OnJudged | None = None,
) -> Scorecard:
    """The scorecard of recorded outputs, with one model per job."""
    from callscore.config.score import ScoreConfig
    from callscore.evaluate.scorecards import scorecard

    scores: dict[str, ScenarioScore] = {}
    for job in jobs:
        scores |= _score_job(job, sinks, on_verdict, on_judged)
    return scorecard(ScoreConfig(cases=()), scenario_tallies(scores), None)


def _score_job(
    job: OutputsJob,
    sinks: ScenarioSinks,
    on_verdict: Callable[[VerdictRecord], None] | None,
    on_judged: OnJudged | None,
) -> Mapping[str, ScenarioScore]:
    """Score every folder of the job; raises if a folder, a card or a verdict is unusable."""
    given = read_step_verdicts(job.verdicts)
    scorer = scenario_suite().open_outputs(job.recorded, given, SCENARIO_FILES)
    judged = _judge_outputs(job, scorer)
    if on_verdict is not None:
        for record in verdict_records(judged):
            on_verdict(record)
    if on_judged is not None:
        on_judged(scorer, judged)
    return scorer.scores(judged, sinks)


def _judge_outputs(job: OutputsJob, scorer: ScenarioScorer) -> VerdictsByPart:
    """Ask the judge of the job about the open values."""
    if job.judge == "none":
        return {}
    if job.recorded.mode == "compat":
        raise UsageError("compat scores like the public evaluator; expected verdicts, not a judge")
    import asyncio

    from callscore.config.score import ScoreConfig, default_embedder
    from callscore.evaluate.judge_setup import open_judge_runner

    config = ScoreConfig(
        cases=(), judge=job.judge, embedder=default_embedder(job.judge), store=job.store
    )
    with open_judge_runner(config) as judge_runner:
        return asyncio.run(judge_open_steps(scorer, judge_runner))


def scenario_tallies(
    scores: Mapping[str, ScenarioScore], labels: StepLabels | None = None
) -> ScoringResult:
    """The scenarios of every model as one task; a row is the mean of the languages."""
    metric = scenario_suite().verdict_metric
    return ScoringResult(
        tallies={model: {SCENARIO: merge_strata(score.tallies)} for model, score in scores.items()},
        dataset="+".join(dict.fromkeys(score.data for score in scores.values())),
        tasks={SCENARIO},
        judges=[*dict.fromkeys(score.judge for score in scores.values() if score.judge)],
        skipped=(),
        unused_verdicts=0,
        origins={model: score.origin for model, score in scores.items() if score.origin},
        scenarios=scores,
        floors=_floors(next(iter(scores.values()), None)),
        judged={
            model: {metric: JudgedItems(score.judged)}
            for model, score in scores.items()
            if score.judged
        },
        labels=None if labels is None else _summary_of(labels, metric, scores),
    )


def _summary_of(
    labels: StepLabels, metric: str, scores: Mapping[str, ScenarioScore]
) -> LabelSummary:
    """The labels, for the card; a label is used if a judge decided what it is about."""
    used = {(model, key) for model, score in scores.items() for key in score.labelled}
    given = {(model, key) for model, of_model in labels.by_model.items() for key in of_model}
    return LabelSummary(labels.digest, frozenset({metric}), len(given - used))


def _floors(score: ScenarioScore | None) -> Mapping[str, Floor]:
    """The floor of scenarios: a row is the mean of the languages, as that of a model    C-141"""
    found = [] if score is None else [floors for floors in score.floors if floors]
    if score is None or len(found) < len(score.tallies):
        return {}
    shared = [slug for slug in found[0] if all(slug in floors for floors in found)]
    rows = {slug: math.fsum(floors[slug] for floors in found) / len(found) for slug in shared}
    return {SCENARIO: Floor(None, scenario_suite().floor_strategy, rows)}


def read_documents(documents: Iterable[Json]) -> ScoringResult:
    """The scenarios in result files (document 001), added up again; raises DataError."""
    return scenario_tallies(dict(map(scenario_suite().read_result, documents)))


def restrict_to_language(tallied: ScoringResult, language: str) -> ScoringResult:
    """The tallies of one language only."""
    tallies = {
        model: {SCENARIO: score.tallies[language]} for model, score in tallied.scenarios.items()
    }
    return msgspec.structs.replace(tallied, tallies=tallies, scenarios={})


def add_documents(
    card: Scorecard,
    scores: Mapping[str, ScenarioScore],
    card_of_language: Callable[[str], Scorecard],
) -> Scorecard:
    """The scorecard with the result files of its scenarios, and what judging them took."""
    languages = dict.fromkeys(name for score in scores.values() for name in score.tallies)
    cards = {name: card if len(languages) == 1 else card_of_language(name) for name in languages}
    documents = {
        model: score.document(
            ScenarioRows(
                {name: cards[name].model(model).tasks[SCENARIO] for name in score.tallies},
                card.model(model).tasks[SCENARIO],
                card.intervals,
            )
        )
        for model, score in scores.items()
    }
    judging = combine_judging([each for score in scores.values() for each in score.judging])
    return msgspec.structs.replace(card, documents=documents, judging=judging)


def combine_judging(judgings: Sequence[Mapping[str, Any]]) -> Judging | None:
    """What judging took, added up over models and languages; None without a judge."""
    found = [msgspec.convert(raw, Judging) for raw in judgings]
    if not found:
        return None
    rejudged = sum(each.rejudged for each in found)
    flipped = math.fsum((each.flip_rate or 0.0) * each.rejudged for each in found)
    costs = [each.cost_usd for each in found]
    known = [cost for cost in costs if cost is not None]
    return msgspec.structs.replace(
        found[0],
        items=sum(each.items for each in found),
        requests=sum(each.requests for each in found),
        input_tokens=sum(each.input_tokens for each in found),
        output_tokens=sum(each.output_tokens for each in found),
        cost_usd=math.fsum(known) if len(known) == len(costs) else None,
        disputed=sum(each.disputed for each in found),
        rejudged=rejudged,
        flip_rate=flipped / rejudged if rejudged else None,
        failed=sum(each.failed for each in found),
        similarities=sum(each.similarities for each in found),
        overlap=list(dict.fromkeys(model for each in found for model in each.overlap)),
        flags=_sum_flags(each.flags for each in found),
        stored=sum(each.stored for each in found),
        verdicts=sum(each.verdicts or 0 for each in found),
        unusable=_sum_flags(each.unusable for each in found),
        answered_by=list(dict.fromkeys(name for each in found for name in each.answered_by)),
        flip_rate_ci95=found[0].flip_rate_ci95 if len(found) == 1 else msgspec.UNSET,
    )


def _sum_flags(counts: Iterator[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for flag, number in each.items():
            total[flag] = total.get(flag, 0) + number
    return dict(sorted(total.items()))
