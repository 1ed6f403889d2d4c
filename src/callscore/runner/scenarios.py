"""Scenarios in a run: judging, scores, and the files that only they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from callscore.core.case import Reply
from callscore.core.errors import UsageError
from callscore.core.scenarios import (
    RaceScorer,
    RunData,
    ScenarioCases,
    ScenarioSinks,
    StepView,
    StoredReplies,
)
from callscore.core.scorecard import CaseResult
from callscore.core.task import SCENARIO
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.labels import settle_step_labels
from callscore.evaluate.scenarios import (
    VerdictsByPart,
    judge_open_steps,
    judge_scenarios,
    read_step_labels,
    read_step_verdicts,
    scenario_tallies,
    undecided_items,
    verdict_records,
)
from callscore.evaluate.scorer import OnResult
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.runner.cases import ids_of_calls
from callscore.runner.race_observations import DrawnCalls, ObservedCall, observe_score
from callscore.runner.scenario_exports import (
    OutputFolder,
    Trajectories,
    output_directory,
    trajectories_in,
)
from callscore.runner.scoring import ScoringJob


class ScenarioScoring:
    """Judges and scores the scenarios of a run when all replies have arrived."""

    judge_is_noted = False

    def __init__(self, scenarios: ScenarioCases, job: ScoringJob) -> None:
        """Open the requested files."""
        self._scenarios = scenarios
        self._prepared = job.prepared
        self._replies = job.replies
        self._sinks = job.sinks
        scoring = job.prepared.config.scoring
        self._verdicts = read_step_verdicts(scoring.verdicts)
        given = read_step_labels(scoring.labels, ids_of_calls(job.prepared.sources))
        if given and job.prepared.config.scenario_settings.mode == "compat":
            raise UsageError("compat scores like the public evaluator; expected no labels")
        self._labels = settle_step_labels(given, job.replies.models)
        self._judged: VerdictsByPart = {}
        self._race_scorer: RaceScorer | None = None
        self._output_folder: OutputFolder | None = None
        self._trajectories: Trajectories | None = None
        options = job.prepared.options
        if options.export is not None:
            self._output_folder = OutputFolder(options.export, job.replies.models)
        if options.trajectories is not None:
            self._trajectories = job.stack.enter_context(trajectories_in(options.trajectories))

    async def score_complete_cases(self) -> None:
        """Nothing: the steps of a scenario are scored together."""

    async def judge(self, judge_runner: JudgeRunner) -> None:
        """Ask the judge all open questions when all replies have arrived."""
        if judge_runner.judge is None:
            return
        await self._replies.all_in.wait()
        self._judged = await judge_open_steps(
            self._open_scorer(self._replies.of_model), judge_runner
        )

    async def observe(
        self, drawn: DrawnCalls, judge_runner: JudgeRunner | None
    ) -> Mapping[tuple[str, str], ObservedCall]:
        """Every call with the score of its scenarios in each language."""
        scorer = self._race_scorer
        if scorer is None:
            scorer = self._race_scorer = self._open_scorer(self._replies.of_model)
        judged: VerdictsByPart = {}
        if judge_runner is not None and judge_runner.judge is not None:
            judged = await judge_scenarios(scorer, drawn.calls, judge_runner)
        return {
            (model, call): ObservedCall(
                [
                    observe_score(SCENARIO, score)
                    for part in scorer.parts
                    if part.model == model
                    for score in scorer.scores_of(part, call, judged.get(part))
                ],
                [
                    reply
                    for prompt in drawn.prompts[call]
                    for reply in self._replies.of_model(model, prompt.case.id).values()
                    if isinstance(reply, Reply)
                ],
            )
            for model, calls in drawn.calls.items()
            for call in calls
        }

    def finish(self) -> ScoringResult:
        """All scenarios added up; writes results, records, verdicts and open items."""
        sinks = self._sinks
        if sinks.on_verdict is not None:
            for record in verdict_records(self._judged):
                sinks.on_verdict(record)
        if sinks.on_open is not None:
            scorer = self._open_scorer(self._replies.of_model)
            for item in undecided_items(scorer, self._judged):
                sinks.on_open(item)
        scores = self._open_scorer(self._replies.of_model_for_scoring).scores(
            self._judged,
            ScenarioSinks(
                _label_results(sinks.on_result, self._replies.labels),
                sinks.on_record,
                None if self._output_folder is None else self._output_folder.write,
                None if self._trajectories is None else self._trajectories.write,
                None if self._prepared.options.on_step is None else self._emit_step,
            ),
        )
        added_up = scenario_tallies(scores, self._labels)
        return msgspec.structs.replace(added_up, judged_steps=self._judged)

    def _emit_step(self, view: StepView) -> None:
        """Pass a step on, labelled if its provider calls no model."""
        on_step = self._prepared.options.on_step
        assert on_step is not None  # checked by the caller
        label = self._replies.labels.get(view.model)
        if label is not None:
            answers = [
                msgspec.structs.replace(answer, result=_add_label(answer.result, label))
                for answer in view.answers
            ]
            view = msgspec.structs.replace(view, answers=answers)
        on_step(view)

    @property
    def notes(self) -> Sequence[str]:
        """Scenarios without an exported file, and why."""
        if self._output_folder is None:
            return []
        return [f"not exported: {why}" for why in self._output_folder.left_out]

    def _open_scorer(self, stored: StoredReplies) -> RaceScorer:
        prepared = self._prepared
        return self._scenarios.scorer(
            RunData(
                self._replies.models,
                stored,
                prepared.config.repeats,
                self._verdicts,
                self._replies.answered_by,
                self._protocol_differences,
                partial(output_directory, prepared.options.output_folder),
                self._replies.labels,
                {} if self._labels is None else self._labels.by_model,
            )
        )

    def _protocol_differences(self, model: str) -> Sequence[str]:
        prepared = self._prepared
        found = [
            str(departure) for departure in prepared.departures if departure.model in (None, model)
        ]
        if SCENARIO in prepared.config.prompts.get(model, {}):
            found.append("asked with custom prompts")
        return found


def _label_results(on_result: OnResult, labels: Mapping[str, str]) -> OnResult:
    """Mark the results of providers that are not real models."""

    def emit(result: CaseResult) -> None:
        label = labels.get(result.model)
        on_result(result if label is None else _add_label(result, label))

    return emit


def _add_label(result: CaseResult, label: str) -> CaseResult:
    return msgspec.structs.replace(result, flags=sorted({*result.flags, label}))
