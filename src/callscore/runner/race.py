"""The race of a run: sends calls in rounds until the decision is certain (STATS §4)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import msgspec

from callscore.core.errors import UsageError
from callscore.core.run import (
    Event,
    ModelSummary,
    OnEvent,
    Progress,
    RaceRound,
    RunStatus,
    RunSummary,
    Work,
)
from callscore.core.scorecard import Scorecard
from callscore.core.task import SCENARIO
from callscore.engine.workload import PlannedModel
from callscore.evaluate.case_steps import MeasuredCase, MeasuredReply
from callscore.evaluate.judge_client import JudgeCalls
from callscore.evaluate.judge_setup import open_judge_runner
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.scorecards import decide_again
from callscore.report.race_text import race_notes
from callscore.runner.cases import CasePrompt, work_of
from callscore.runner.prepare import PreparedRun
from callscore.runner.race_card import ModelAccount, describe_changes, make_race_card
from callscore.runner.race_observations import (
    Runs,
    collect_gates,
    observe_call,
    observe_case,
    observe_score,
)
from callscore.runner.race_pool import RacePool
from callscore.runner.scoring import RunScoring, run_until_stopped
from callscore.stats.race import Race, RaceRules

if TYPE_CHECKING:
    from callscore.engine.loop import Shutdown

WorkByModel = Mapping[str, Sequence[Work]]
SendRound = Callable[[Mapping[str, PlannedModel], OnEvent], Awaitable[RunSummary]]
"""Sends the requests of a round, by model, and reports progress to a callback."""


class _Rounds:
    """Sends rounds, and adds up their summaries and progress."""

    def __init__(
        self, models: Mapping[str, PlannedModel], send_round: SendRound, emit: OnEvent
    ) -> None:
        self._models, self._send_round, self._emit = models, send_round, emit
        self._total: RunSummary | None = None

    async def send(self, work_by_model: WorkByModel) -> RunSummary:
        """Send the requests of one round; returns its summary."""
        planned = {
            name: msgspec.structs.replace(self._models[name], work=work, total=len(work))
            for name, work in work_by_model.items()
        }
        summary = await self._send_round(planned, self._emit_total)
        self._total = summary if self._total is None else self._total.merge(summary)
        return summary

    def summary(self, status: RunStatus) -> RunSummary:
        """The summary of all rounds."""
        return RunSummary(status, self._total.models if self._total is not None else {})

    def _emit_total(self, event: Event) -> None:
        """Emit an event; progress includes the earlier rounds."""
        if isinstance(event, Progress) and self._total is not None:
            earlier = self._total.models.get(event.model)
            event = event if earlier is None else _add_earlier(event, earlier)
        self._emit(event)


def _add_earlier(event: Progress, earlier: ModelSummary) -> Progress:
    done = earlier.answered + earlier.failed
    return msgspec.structs.replace(
        event,
        done=event.done + done,
        total=event.total + done,
        failed=event.failed + earlier.failed,
        cached=event.cached + earlier.cached,
        spend_usd=event.spend_usd + earlier.spend_usd,
        unpriced=event.unpriced + earlier.unpriced,
    )


class RaceRun:
    """Runs a race over the case files of a run."""

    def __init__(
        self,
        pool: RacePool,
        scoring: RunScoring,
        judge_runner: JudgeRunner | None,
        judge_calls: JudgeCalls,
    ) -> None:
        prepared = pool.prepared
        self.judge_calls = judge_calls
        self._pool = pool
        self._schedule = pool.schedule
        self._prepared = prepared
        self._scoring = scoring
        self._judge_runner = judge_runner
        self._config = prepared.config.race
        scoring_config = prepared.config.scoring
        self._gates = collect_gates(
            sorted(pool.schedule.sizes), scoring_config.catalog, pool.reference_items
        )
        self._rules = RaceRules(
            alpha=self._config.alpha,
            margin=self._config.margin,
            clear_margin=scoring_config.decide.margin,
            gates=self._gates.rates,
            call_gates=self._gates.calls,
            tolerance=scoring_config.checked_settings().call_gate_tolerance,
        )
        models = [model.spec.name for model in prepared.models]
        self._race = Race(pool.schedule, models, self._rules)
        self._prompts: dict[str, list[CasePrompt]] = {}
        """By call or scenario, the prompts of the current round."""
        self._accounts = {
            model.spec.name: ModelAccount(prepared.total(model)) for model in prepared.models
        }
        self._scored_tasks: set[str] = set()
        """Tasks with a scored or failed reply."""
        self._unscored_tasks: dict[str, Sequence[str]] = {}
        """By task, the metrics without a value in a reply without a score."""

    async def carry_out(
        self,
        models: Mapping[str, PlannedModel],
        send_round: SendRound,
        emit: OnEvent,
        stop: Shutdown,
    ) -> RunSummary:
        """Send rounds until the race stops, the budget is spent, or the run is interrupted."""
        rounds = _Rounds(models, send_round, emit)
        while missing := self._race.missing_calls():
            before = self._race.state()
            round_summary = await rounds.send(self._plan_round(missing))
            if round_summary.status != "complete":
                return rounds.summary(round_summary.status)
            for name, model in round_summary.models.items():
                if model.stopped:
                    self._race.withdraw(name)
            if not await run_until_stopped(self._score_round(missing), self.judge_calls, stop):
                return rounds.summary("interrupted")
            if self.judge_calls.out_of_budget:
                return rounds.summary("budget")
            self._race.advance()
            self._emit_round(emit, describe_changes(before, self._race.state()))
        remaining = self._remaining_of_invalid()
        last = await rounds.send(remaining) if remaining else None
        self._add_costs_of(remaining)
        return rounds.summary("complete" if last is None else last.status)

    def _emit_round(self, emit: OnEvent, changes: Sequence[str]) -> None:
        state = self._race.state()
        emit(
            RaceRound(
                state.blocks,
                len(self._schedule.blocks),
                state.racing,
                changes,
                sum(account.sent for account in self._accounts.values()),
                sum(account.total for account in self._accounts.values()),
                sum(self._accounts[model].left for model in state.eliminated),
            )
        )

    def _plan_round(self, missing: Mapping[str, Sequence[str]]) -> dict[str, list[Work]]:
        self._prompts = {
            call: self._pool.cases(call) for calls in missing.values() for call in calls
        }
        return {
            model: self._work_of_model(
                model, [prompt for call in calls for prompt in self._prompts[call]]
            )
            for model, calls in missing.items()
        }

    def _work_of_model(self, model: str, prompts: Sequence[CasePrompt]) -> list[Work]:
        handle = next(m for m in self._prepared.models if m.spec.name == model)
        works = list(work_of(model, handle.provider, prompts, self._prepared.config.repeats))
        self._accounts[model].sent += len(works)
        return works

    def _remaining_of_invalid(self) -> dict[str, list[Work]]:
        """The remaining requests of invalid models, if they are to be finished."""
        if not (self._config.finish_invalid or self._prepared.options.finish_invalid):
            return {}
        state = self._race.state()
        remaining = {}
        for model, eliminated in state.eliminated.items():
            if eliminated.why in ("call_gate", "rate_gate"):
                blocks = self._schedule.blocks[state.read[model] :]
                calls = [call for block in blocks for call in block.calls]
                calls += self._schedule.others
                prompts = [prompt for call in calls for prompt in self._pool.cases(call)]
                remaining[model] = self._work_of_model(model, prompts)
        return {model: works for model, works in remaining.items() if works}

    def _add_costs_of(self, work_by_model: WorkByModel) -> None:
        for model, works in work_by_model.items():
            for case_id in dict.fromkeys(work.case_id for work in works):
                replies = self._scoring.replies.of_model(model, case_id)
                self._accounts[model].add_all(replies.values())

    async def _score_round(self, missing: Mapping[str, Sequence[str]]) -> None:
        """Score the calls of the round and add them to the race."""
        if self._pool.has_scenarios:
            await self._score_scenarios(missing)
            return
        by_id = {prompt.case.id: prompt for prompts in self._prompts.values() for prompt in prompts}
        models = {
            prompt.case.id: [m for m, calls in missing.items() if call in calls]
            for call, prompts in self._prompts.items()
            for prompt in prompts
        }
        measured = await asyncio.gather(
            *(self._measure(prompt, models[case_id]) for case_id, prompt in by_id.items())
        )
        by_case = dict(zip(by_id, measured, strict=True))
        repeats = self._prepared.config.repeats
        mean = self._pool.about == "future"
        for model, calls in missing.items():
            for call in calls:
                cases = []
                for prompt in self._prompts[call]:
                    runs = by_case[prompt.case.id].replies.get(model, ())
                    cases.append(observe_case(prompt.case.task, runs, repeats, self._gates))
                    self._add_runs(model, runs, prompt.case.task)
                self._race.observe(model, call, observe_call(cases, mean=mean))
        self._check_scores()

    async def _score_scenarios(self, missing: Mapping[str, Sequence[str]]) -> None:
        """Score the scenarios of the round and add them to the race."""
        scores = await self._scoring.scenario_scores(missing, self._judge_runner)
        mean = self._pool.about == "future"
        for model, scenarios in missing.items():
            for scenario in scenarios:
                cases = [observe_score(SCENARIO, score) for score in scores[model, scenario]]
                self._race.observe(model, scenario, observe_call(cases, mean=mean))
                for prompt in self._prompts[scenario]:
                    replies = self._scoring.replies.of_model(model, prompt.case.id)
                    self._accounts[model].add_all(replies.values())

    async def _measure(self, prompt: CasePrompt, models: Sequence[str]) -> MeasuredCase:
        assert prompt.indexed is not None  # of a case file
        replies = {model: self._scoring.replies.of_model(model, prompt.case.id) for model in models}
        answered = {model: runs for model, runs in replies.items() if runs}
        return await self._scoring.measure_case(prompt.indexed, answered, self._judge_runner)

    def _add_runs(self, model: str, runs: Runs, task: str) -> None:
        """Add the cost of the runs, and note whether the task has a score."""
        account = self._accounts[model]
        for run in runs:
            if isinstance(run, MeasuredReply):
                account.add(run.parsed.reply)
                score = run.scored.score
                if score.status == "incomplete":
                    self._unscored_tasks[task] = score.reasons
                else:
                    self._scored_tasks.add(task)

    def _check_scores(self) -> None:
        """Raise UsageError if a task has no score at all: a race could not decide anything."""
        for task in sorted(self._unscored_tasks.keys() - self._scored_tasks):
            raise UsageError(
                f"race: no reply of {task} has a score after the first round, so nothing can be "
                f"decided: {', '.join(self._unscored_tasks[task])} have no value; expected a "
                "judge, verdicts, or other tasks"
            )

    def add_to_card(self, card: Scorecard, status: str) -> Scorecard:
        """Add the result of the race to a scorecard, as a section and as notes."""
        race = make_race_card(
            self._race.state(),
            self._schedule,
            self._rules,
            self._config.seed,
            self._accounts,
            status,
        )
        card = msgspec.structs.replace(card, race=race, notes=[*race_notes(race), *card.notes])
        return decide_again(self._prepared.config.scoring, card)


OpenRace = Callable[[RunScoring, JudgeCalls], AbstractContextManager[RaceRun]]


def prepare_race(prepared: PreparedRun) -> OpenRace:
    """Order the calls before anything is sent; raises UsageError if no race is possible."""
    pool = RacePool(prepared)

    @contextmanager
    def open_race(scoring: RunScoring, judge_calls: JudgeCalls) -> Iterator[RaceRun]:
        # A separate judge: its verdicts are counted once, when the scorecard is made.
        if not prepared.config.scoring.is_judged:
            yield RaceRun(pool, scoring, None, judge_calls)
            return
        with open_judge_runner(prepared.config.scoring, judge_calls) as judge_runner:
            judge_runner.embedder = scoring.embedder
            yield RaceRun(pool, scoring, judge_runner, judge_calls)

    return open_race
