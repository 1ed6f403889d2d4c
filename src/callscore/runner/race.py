"""The race of a run: sends calls in rounds until the decision is certain (STATS §4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.case import Failed, Reply
from callscore.core.errors import UsageError
from callscore.core.race import RaceCard
from callscore.core.run import (
    Event,
    OnEvent,
    Progress,
    RaceRound,
    RunStatus,
    RunSummary,
    Work,
)
from callscore.core.scenarios import FollowUps, StoredReplies
from callscore.core.scorecard import Scorecard
from callscore.engine.workload import PlannedModel
from callscore.evaluate.judge_client import JudgeCalls
from callscore.evaluate.judge_setup import open_judge_runner
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.scorecards import decide_again
from callscore.report.race_text import race_name, race_notes
from callscore.runner.call_steps import step_requests, steps_of
from callscore.runner.cases import CasePrompt, work_of, work_of_step
from callscore.runner.prepare import PreparedRun
from callscore.runner.race_card import ModelAccount, describe_changes, make_race_card
from callscore.runner.race_observations import DrawnCalls, collect_gates, observe_call
from callscore.runner.race_pool import RacePool
from callscore.runner.scoring import RunScoring, ScoringPart, run_until_stopped
from callscore.stats.race import Race, RaceRules

if TYPE_CHECKING:
    from callscore.engine.loop import Shutdown

LEAST_BATCH = 200
"""The fewest requests of a round that is sent in batches: a job of ten takes as long."""
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
            event = event if earlier is None else event.after(earlier)
        self._emit(event)


def _least_round(prepared: PreparedRun, pool: RacePool) -> int:
    """The fewest blocks of a round: with a model in batches, those of LEAST_BATCH requests."""
    if all(model.spec.mode == "live" for model in prepared.models):
        return 1
    fewest = min(pool.requests(block.calls) for block in pool.schedule.blocks)
    return -(-LEAST_BATCH // max(1, fewest * prepared.config.repeats))


class Contest:
    """The race of all models over one source: its calls, drawn, scored and compared."""

    def __init__(self, prepared: PreparedRun, pool: RacePool, part: ScoringPart) -> None:
        self._prepared = prepared
        self._pool = pool
        self._schedule = pool.schedule
        self._part = part
        scoring = prepared.config.scoring
        race = prepared.config.race
        self._gates = collect_gates(
            sorted(pool.schedule.sizes), scoring.catalog, pool.reference_items
        )
        self._rules = RaceRules(
            alpha=race.alpha,
            margin=race.margin,
            clear_margin=scoring.decide.margin,
            least_round=_least_round(prepared, pool),
            gates=self._gates.rates,
            call_gates=self._gates.calls,
            tolerance=scoring.checked_settings().call_gate_tolerance,
        )
        self._handles = {model.spec.name: model for model in prepared.models}
        self._answering = {
            **self._handles,
            **{helper.spec.name: helper for helper in prepared.helpers},
        }
        """The models, and what answers in conversations besides them."""
        self._race = Race(pool.schedule, list(self._handles), self._rules)
        self._before = self._race.state()
        """As it was before the current round."""
        self._drawn = DrawnCalls({}, {}, self._gates)
        """The calls of the current round."""
        self._asked: Mapping[str, Sequence[str]] = {}
        """By model, the calls that were requested last."""
        self._all_asked: dict[str, set[str]] = {name: set() for name in self._handles}
        """By model, all calls that were requested."""
        self._second_pass: FollowUps | None = None
        self._accounts = {
            name: ModelAccount(prepared.total(model, pool.source.ids))
            for name, model in self._handles.items()
        }
        self._scored_tasks: set[str] = set()
        self._unscored_tasks: dict[str, Sequence[str]] = {}
        """By task, the metrics without a value in a reply without a score."""

    def plan_round(self) -> dict[str, list[Work]]:
        """The requests of the next round by model; empty if the race has stopped."""
        self._before = self._race.state()
        missing = self._race.missing_calls()
        prompts = {call: self._pool.cases(call) for calls in missing.values() for call in calls}
        self._drawn = DrawnCalls(missing, prompts, self._gates)
        self._ask(missing)
        return {
            model: self._work_of_model(
                model, [prompt for call in calls for prompt in prompts[call]]
            )
            for model, calls in missing.items()
        }

    def _ask(self, calls_by_model: Mapping[str, Sequence[str]]) -> None:
        self._asked = calls_by_model
        for model, calls in calls_by_model.items():
            self._all_asked[model].update(calls)

    def _work_of_model(self, model: str, prompts: Sequence[CasePrompt]) -> list[Work]:
        provider, repeats = self._handles[model].provider, self._prepared.config.repeats
        works = list(work_of(model, provider, prompts, repeats))
        self._accounts[model].sent += len(works)
        return works

    def plan_steps(self, depth: int, stored: StoredReplies) -> dict[str, list[Work]]:
        """The requests after `depth` others of the same call, by model; empty at the end."""
        if not self._pool.source.waiting:
            return {}
        planned: dict[str, list[Work]] = {}
        repeats = self._prepared.config.repeats
        for model, calls in self._asked.items():
            for call in calls:
                steps = steps_of(self._pool.cases(call))
                for found in step_requests(steps, depth, [model], stored, repeats):
                    work = work_of_step(self._handles[model].provider, found)
                    planned.setdefault(model, []).extend(work)
        for model, works in planned.items():
            self._accounts[model].sent += len(works)
        return planned

    def withdraw(self, model: str) -> None:
        """Take a model that cannot be asked any more out of the race."""
        self._race.withdraw(model)

    async def score_round(self, judge_runner: JudgeRunner | None) -> None:
        """Score the calls of the round and add them to the race."""
        observed = await self._part.observe(self._drawn, judge_runner)
        mean = self._pool.about == "future"
        for (model, call), found in observed.items():
            self._race.observe(model, call, observe_call(found.cases, mean=mean))
            self._accounts[model].add_all(found.replies)
            self._scored_tasks |= found.scored
            self._unscored_tasks.update(found.unscored)
        self._check_scores()

    def _check_scores(self) -> None:
        """Raise UsageError if a task has no score at all: a race could not decide anything."""
        for task in sorted(self._unscored_tasks.keys() - self._scored_tasks):
            raise UsageError(
                f"race: no reply of {task} has a score after the first round, so nothing can be "
                f"decided: {', '.join(self._unscored_tasks[task])} have no value; expected a "
                "judge, verdicts, or other tasks"
            )

    def advance(self) -> RaceRound:
        """Compare the models on what was scored; returns the news."""
        self._race.advance()
        state = self._race.state()
        return RaceRound(
            state.blocks,
            len(self._schedule.blocks),
            state.racing,
            describe_changes(self._before, state, self._pool.source.unit),
            sum(account.sent for account in self._accounts.values()),
            sum(account.total for account in self._accounts.values()),
            sum(self._accounts[model].left for model in state.eliminated),
            race_name(self._pool.source.unit),
        )

    def remaining_of_invalid(self) -> dict[str, list[Work]]:
        """The remaining requests of invalid models, if they are to be finished."""
        if not (self._prepared.config.race.finish_invalid or self._prepared.options.finish_invalid):
            return {}
        state = self._race.state()
        remaining, asked = {}, {}
        for model, eliminated in state.eliminated.items():
            if eliminated.why in ("call_gate", "rate_gate"):
                blocks = self._schedule.blocks[state.read[model] :]
                calls = [call for block in blocks for call in block.calls]
                calls += self._schedule.others
                prompts = [prompt for call in calls for prompt in self._pool.cases(call)]
                asked[model] = calls
                remaining[model] = self._work_of_model(model, prompts)
        self._ask(asked)
        return {model: works for model, works in remaining.items() if works}

    def begin_second_pass(self, stored: StoredReplies) -> None:
        """Prepare the pass in which models see their own history, if it is configured.

        No score depends on it, so it follows the race: models that were dropped have none.
        """
        source = self._pool.source
        if not source.waiting:  # else these requests were part of the race
            left_out = self._race.state().eliminated.keys() - self._asked.keys()
            models = [model for model in self._handles if model not in left_out]
            repeats = self._prepared.config.repeats
            self._second_pass = source.follow_ups(models, stored, repeats)

    def plan_second_pass(self) -> dict[str, list[Work]]:
        """The next step of every call that the model was asked in the race; empty at the end."""
        planned: dict[str, list[Work]] = {}
        for step in () if self._second_pass is None else self._second_pass.next_round(frozenset()):
            # Tools and users are asked only in conversations of calls that a model was asked.
            if step.case.call_id in self._all_asked.get(step.model, (step.case.call_id,)):
                work = work_of_step(self._answering[step.model].provider, step)
                planned.setdefault(step.model, []).extend(work)
        return planned

    def add_costs(self, model: str, replies: Iterable[Reply | Failed]) -> None:
        """Add replies that were paid after the race."""
        self._accounts[model].add_all(replies)

    def card(self, status: str) -> RaceCard:
        """The result, as a section of the scorecard."""
        return make_race_card(
            self._race.state(),
            self._pool,
            self._rules,
            self._prepared.config.race.seed,
            self._accounts,
            status,
        )


class RaceRun:
    """Runs one contest per source; each stops by itself, and the last one ends the run."""

    def __init__(
        self,
        contests: Sequence[Contest],
        scoring: RunScoring,
        judge_runner: JudgeRunner | None,
        judge_calls: JudgeCalls,
        config: ScoreConfig,
    ) -> None:
        self.judge_calls = judge_calls
        self._contests = contests
        self._scoring = scoring
        self._judge_runner = judge_runner
        self._config = config

    async def carry_out(
        self,
        models: Mapping[str, PlannedModel],
        send_round: SendRound,
        emit: OnEvent,
        stop: Shutdown,
        record: Callable[[RaceCard], None],
    ) -> RunSummary:
        """Send rounds until the race stops, the budget is spent, or the run is interrupted.

        `record` keeps the state of the race before each round, for who looks at the run.
        """
        rounds = _Rounds(models, send_round, emit)
        record(self.card(UNFINISHED))
        while planned := {
            contest: works for contest in self._contests if (works := contest.plan_round())
        }:
            round_summary = await self._send(rounds, _merge(planned.values()), planned)
            if round_summary.status != "complete":
                return rounds.summary(round_summary.status)
            for name, model in round_summary.models.items():
                if model.stopped:
                    for contest in self._contests:
                        contest.withdraw(name)
            if not await run_until_stopped(self._score(planned), self.judge_calls, stop):
                return rounds.summary("interrupted")
            if self.judge_calls.out_of_budget:
                return rounds.summary("budget")
            for contest in planned:
                emit(contest.advance())
            record(self.card(UNFINISHED))
        return rounds.summary(await self._send_rest(rounds))

    async def _send_rest(self, rounds: _Rounds) -> RunStatus:
        """Send what decides nothing: the rest of invalid models, then the pass with own history."""
        remaining = [(contest, contest.remaining_of_invalid()) for contest in self._contests]
        to_send = _merge(works for _, works in remaining)
        status: RunStatus = "complete"
        if to_send:
            status = (await self._send(rounds, to_send, self._contests)).status
        for contest, work_by_model in remaining:
            self._add_costs(contest, work_by_model)
        for contest in self._contests:
            contest.begin_second_pass(self._scoring.replies.of_model)
        while status == "complete" and (
            works := _merge(contest.plan_second_pass() for contest in self._contests)
        ):
            status = (await rounds.send(works)).status
        return status

    async def _send(
        self, rounds: _Rounds, works: WorkByModel, contests: Iterable[Contest]
    ) -> RunSummary:
        """Send requests, then those that depend on their replies, step by step."""
        summary = await rounds.send(works)
        depth = 1
        while summary.status == "complete" and (
            steps := _merge(
                contest.plan_steps(depth, self._scoring.replies.of_model) for contest in contests
            )
        ):
            summary = summary.merge(await rounds.send(steps))
            depth += 1
        return summary

    async def _score(self, contests: Iterable[Contest]) -> None:
        for contest in contests:
            await contest.score_round(self._judge_runner)

    def _add_costs(self, contest: Contest, work_by_model: WorkByModel) -> None:
        for model, works in work_by_model.items():
            for case_id in dict.fromkeys(work.case_id for work in works):
                contest.add_costs(model, self._scoring.replies.of_model(model, case_id).values())

    def card(self, status: str) -> RaceCard:
        """The result, as a section of the scorecard."""
        race, *others = [contest.card(status) for contest in self._contests]
        return msgspec.structs.replace(race, also=others) if others else race

    def add_to_card(self, card: Scorecard, status: str) -> Scorecard:
        """Add the result of the race to a scorecard, as a section and as notes."""
        race = self.card(status)
        card = msgspec.structs.replace(card, race=race, notes=[*race_notes(race), *card.notes])
        return decide_again(self._config, card)


def _merge(works: Iterable[WorkByModel]) -> dict[str, list[Work]]:
    """The requests of all contests by model."""
    merged: dict[str, list[Work]] = {}
    for work_by_model in works:
        for model, work in work_by_model.items():
            merged.setdefault(model, []).extend(work)
    return merged


UNFINISHED = "not finished"
"""Why a race has stopped that has not."""

OpenRace = Callable[[RunScoring, JudgeCalls], AbstractContextManager[RaceRun]]


def prepare_race(prepared: PreparedRun) -> OpenRace:
    """Order the calls before anything is sent; raises UsageError if no race is possible."""
    pools = [RacePool(prepared, source) for source in prepared.sources]
    config = prepared.config.scoring

    @contextmanager
    def open_race(scoring: RunScoring, judge_calls: JudgeCalls) -> Iterator[RaceRun]:
        contests = [
            Contest(prepared, pool, part) for pool, part in zip(pools, scoring.parts, strict=True)
        ]
        with ExitStack() as stack:
            for pool in pools:
                stack.callback(pool.close)
            judge_runner: JudgeRunner | None = None
            if config.is_judged:
                # A separate judge: its verdicts are counted once, when the scorecard is made.
                judge_runner = stack.enter_context(open_judge_runner(config, judge_calls))
                judge_runner.embedder = scoring.embedder
            yield RaceRun(contests, scoring, judge_runner, judge_calls, config)

    return open_race
