"""Scores from the journal: while models still answer, and to the end when they have."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from callscore.app import opened_sinks
from callscore.core.case import Case, Failed, Reply
from callscore.core.run import Completed, ModelSpec, Work
from callscore.core.scorecard import CaseResult, Scorecard
from callscore.evaluate.judge_client import JudgeCalls
from callscore.evaluate.judge_setup import open_judge_runner
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.model_identity import AnsweredBy
from callscore.evaluate.reply_source import Answers
from callscore.evaluate.scorecards import scorecard
from callscore.evaluate.scorer import OnResult
from callscore.evaluate.scoring_pass import ScoringPass
from callscore.runner.loop import BETWEEN_S, Judging
from callscore.runner.models import ModelHandle
from callscore.runner.prepare import Prepared
from callscore.store.journal import Journal

if TYPE_CHECKING:
    from callscore.runner.scenario_outputs import OutputFolder
    from callscore.runner.scenario_replies import ScenarioReplies
    from callscore.runner.scenarios import Judged, ScenarioAnswers, ScenarioScore, StoredAnswers
    from callscore.runner.trajectories import Trajectories
    from callscore.suites.orchestration.records import StepRecord

CASES_TOGETHER = 8
"""So many cases are scored before the clock is looked at."""
SLICE_S = 0.002
"""How long scoring may keep the loop at a time: whoever waits for an answer waits for it, too."""
MOST_AT_HAND = 1_000
"""Answers kept in memory until their case is scored; of more, the journal tells."""


class JournalAnswers:
    """The answers of one run, from the journal."""

    def __init__(
        self, journal: Journal, run_id: int, models: Sequence[ModelHandle], repeats: int
    ) -> None:
        self._journal = journal
        self._run_id = run_id
        self._answers_a_case = len(models) * repeats
        self.models: Sequence[str] = [model.spec.name for model in models]
        self.labels: Mapping[str, str] = {
            model.spec.name: model.spec.provider for model in models if not model.online
        }
        self.answered_by = AnsweredBy(
            {model.spec.name: model.spec.model for model in models if model.online}
        )
        self._at_hand: dict[str, dict[str, dict[int, Reply | Failed]]] = {}
        self._number_at_hand = 0
        self._all_at_hand = True
        self._found: dict[str, Answers] = {}
        """Every answer to the cases that are about to be scored."""

    def take(self, work: Work, answer: Reply | Failed) -> None:
        """An answer that the journal gets, too: its case is scored without asking the journal."""
        if self._number_at_hand >= MOST_AT_HAND:
            self.look_into_the_journal()
        else:
            self._number_at_hand += 1
            self._at_hand.setdefault(work.case_id, {}).setdefault(work.model, {})[work.run] = answer

    def look_into_the_journal(self) -> None:
        """From now on not every answer is at hand."""
        self._all_at_hand = False

    def answers(self, position: int, case: Case) -> Answers:
        """Every answer to a case."""
        answers = self._found.pop(case.id, None) or self._kept(case.id) or self.to_case(case.id)
        self._number_at_hand -= _number(self._at_hand.pop(case.id, {}))
        for model, runs in answers.items():
            self._count(model, runs)
        return answers

    def of_model(self, model: str, case_id: str) -> Mapping[int, Reply | Failed]:
        """The answers of one model to the case of this id."""
        return self.to_case(case_id).get(model, {})

    def counted_of_model(self, model: str, case_id: str) -> Mapping[int, Reply | Failed]:
        """The same, when they are scored: under which name they came is counted once."""
        runs = self.of_model(model, case_id)
        self._count(model, runs)
        return runs

    def _count(self, model: str, runs: Mapping[int, Reply | Failed]) -> None:
        for reply in runs.values():
            if isinstance(reply, Reply):
                self.answered_by.count(model, reply.model, reply.asked_as)

    def to_case(self, case_id: str) -> Answers:
        """Every answer to the case of this id."""
        return self._journal.answers_to(self._run_id, case_id)

    def is_ready(self, case_id: str) -> bool:
        """Whether every answer to a case is there; if so, they are found for `answers`.

        A failure is one where it has just come; one in the journal may be asked again.
        """
        found = self._kept(case_id)
        if found is None and not self._all_at_hand:
            found = self.to_case(case_id)
            if _replies(found) != self._answers_a_case:
                found = None
        if found is not None:
            self._found[case_id] = found
        return found is not None

    def _kept(self, case_id: str) -> Answers | None:
        """The answers to a case, where all are at hand; no longer at hand then."""
        if _number(self._at_hand.get(case_id, {})) != self._answers_a_case:
            return None
        self._number_at_hand -= self._answers_a_case
        return self._at_hand.pop(case_id)

    def close(self) -> None:
        """The journal is closed by whoever opened it."""


def _number(found: Answers) -> int:
    return sum(map(len, found.values()))


def _replies(found: Answers) -> int:
    return sum(isinstance(reply, Reply) for runs in found.values() for reply in runs.values())


class RunScoring:
    """The scores of a run in the making; its files appear only if it is left in peace."""

    def __init__(
        self, prepared: Prepared, journal: Journal, run_id: int, calls: JudgeCalls
    ) -> None:
        self.calls = calls
        self._prepared = prepared
        self._source = JournalAnswers(journal, run_id, prepared.models, prepared.config.repeats)
        self._stack = ExitStack()

    def __enter__(self) -> RunScoring:
        config = self._prepared.config
        targets = self._prepared.options.targets
        self._outlets = self._stack.enter_context(opened_sinks(targets))
        self._tallying = None
        self._judged: Judged = {}
        self.exported: OutputFolder | None = None
        self._trajectories: Trajectories | None = None
        self._examiner = self._stack.enter_context(open_judge_runner(config.scoring, self.calls))
        if config.cases:
            config.scoring.check()
            sinks = msgspec.structs.replace(self._outlets, examiner=self._examiner)
            self._tallying = ScoringPass(config.scoring, sinks, self._source)
            self._stack.callback(self._tallying.close)
        if self._prepared.sets:
            from callscore.evaluate.step_verdicts import read_step_verdicts

            self._step_verdicts = read_step_verdicts(config.scoring.verdicts)
            self._open_scenario_files()
        return self

    def _open_scenario_files(self) -> None:
        options = self._prepared.options
        if options.export is not None:
            from callscore.runner.scenario_outputs import OutputFolder

            self.exported = OutputFolder(options.export, self._source.models)
        if options.trajectories is not None:
            from callscore.runner.trajectories import trajectories_in

            file = trajectories_in(options.trajectories)
            self._trajectories = self._stack.enter_context(file)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def take(self, outcome: Completed, *, superseded: bool) -> None:
        """Keep an answer at hand that was told of; a reply is durable by then.

        Where the journal may hold another one instead, that one counts.
        """
        if superseded:
            self._source.look_into_the_journal()
        elif self._tallying is not None:
            self._source.take(outcome.work, outcome.answer)

    def catch_up(self) -> None:
        """Score for a moment: cases to which every model has answered; the rest is for `card`.

        Where somebody judges there is nothing to do: cases are scored when they are judged.
        """
        tallying, until = self._tallying, time.monotonic() + SLICE_S
        if tallying is None:
            return
        while tallying.advance(self._source.is_ready, CASES_TOGETHER):
            if time.monotonic() >= until:
                return

    @property
    def judging(self) -> Judging | None:
        """What is put to judges; None where nobody judges."""
        examiner = self._examiner
        return None if examiner is None else Judging(partial(self._examine, examiner), self.calls)

    async def _examine(self, examiner: JudgeRunner, answered: asyncio.Event) -> None:
        """Cases as soon as all models have answered them, scenarios when all is `answered`."""
        if not isinstance(self._prepared.config.scoring.embedder, ModelSpec):
            examiner.until_quiet = answered.wait
        if self._tallying is not None:
            await self._tallying.examine_all(examiner, partial(self._until_ready, answered))
        if self._prepared.sets and examiner.judge is not None:
            from callscore.runner.scenarios import judge_scenarios

            await answered.wait()
            self._judged = await judge_scenarios(
                self._scenario_answers(self._source.of_model), examiner
            )

    async def _until_ready(self, answered: asyncio.Event, case_id: str) -> None:
        """What is no model judges in this process, and leaves the loop to the models until then."""
        asks_models = bool(self.calls.seats)
        await asyncio.sleep(0)
        while not answered.is_set() and not (asks_models and self._source.is_ready(case_id)):
            await asyncio.sleep(BETWEEN_S)

    def card(self) -> Scorecard | None:
        """The scorecard of the calls suite, where the run has cases."""
        if self._tallying is None:
            return None
        tallied = self._tallying.finish()
        card = scorecard(self._prepared.config.scoring, tallied, self._examiner)
        answered_by = self._source.answered_by
        models = [
            msgspec.structs.replace(model, answered_by=answered_by.identity(model.model))
            for model in card.models
        ]
        return msgspec.structs.replace(card, models=models)

    def notes(self) -> list[str]:
        """What a reader must know about the models; complete when everything is scored."""
        notes = [*self._prepared.notes, *self._source.answered_by.notes()]
        if self.exported is not None:
            notes += [f"not exported: {why}" for why in self.exported.left_out]
        if self._tallying is None and self._examiner is not None:
            notes += self._examiner.answered_by.notes()  # else the card has them
        return notes

    def scenarios(self) -> Mapping[str, ScenarioScore]:
        """The results of the orchestration suite, where the run has scenarios."""
        if not self._prepared.sets:
            return {}
        from callscore.runner.scenarios import Listeners, open_values, score_scenarios

        if self._outlets.on_verdict is not None:
            for (model, _), judged in self._judged.items():
                for record in judged.records(model):
                    self._outlets.on_verdict(record)
        on_result = _labelling(self._outlets.on_result, self._source.labels)
        answers = self._scenario_answers(self._source.counted_of_model)
        if self._outlets.on_open is not None:
            for item in open_values(self._scenario_answers(self._source.of_model), self._judged):
                self._outlets.on_open(item)
        listeners = Listeners(on_result, self._on_scenario, self._on_free, self._outlets.on_record)
        return score_scenarios(answers, self._judged, listeners)

    def _on_scenario(self, replies: ScenarioReplies, records: Sequence[StepRecord]) -> None:
        if self.exported is not None:
            self.exported.write(replies)
        if self._trajectories is not None:
            self._trajectories.write(replies, records)

    def _on_free(self, replies: ScenarioReplies, records: Sequence[StepRecord]) -> None:
        if self._trajectories is not None:
            self._trajectories.write(replies, records, "own")

    def _scenario_answers(self, of_model: StoredAnswers) -> ScenarioAnswers:
        from callscore.runner.scenarios import ScenarioAnswers

        prepared = self._prepared
        return ScenarioAnswers(
            prepared.sets,
            self._source.models,
            of_model,
            prepared.config.repeats,
            self._source.answered_by,
            self._step_verdicts,
            prepared.config.scenario_settings.mode,
            prepared.config.scenario_settings.history,
            prepared.departures,
        )


def _labelling(on_result: OnResult, labels: Mapping[str, str]) -> OnResult:
    """Results of a model that is none say so, each of them."""

    def labelled(result: CaseResult) -> None:
        label = labels.get(result.model)
        if label is not None:
            result = msgspec.structs.replace(result, flags=sorted({*result.flags, label}))
        on_result(result)

    return labelled
