"""A race in a run: rounds of calls in a seeded order, until the decision is certain (STATS §4)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.case import Reply
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
from callscore.engine.workload import PlannedModel
from callscore.evaluate.case_steps import MeasuredCase, MeasuredReply
from callscore.evaluate.judge_client import JudgeCalls
from callscore.evaluate.judge_setup import open_judge_runner
from callscore.evaluate.judging import JudgeRunner
from callscore.report.race_text import race_notes
from callscore.runner.cases import CasePrompt, work_of
from callscore.runner.prepare import Prepared
from callscore.runner.race_card import Account, news, race_card
from callscore.runner.race_outcomes import (
    Runs,
    call_outcome,
    case_outcome,
    gates_of,
)
from callscore.runner.scoring import RunScoring, unless_stopped
from callscore.scorecard.final import option_weights
from callscore.stats.blocks import About, Kind, schedule
from callscore.stats.race import Race, Rules
from callscore.store.files import LinesByKey

if TYPE_CHECKING:
    from callscore.engine.loop import Shutdown

Works = Mapping[str, Sequence[Work]]
Ask = Callable[[Mapping[str, PlannedModel], OnEvent], Awaitable[RunSummary]]
"""Carries out the requests of a round, by model; progress goes to whom it names."""


class RaceDraw:
    """The calls of a run in the order in which a race draws them; nothing is asked yet."""

    def __init__(self, prepared: Prepared) -> None:
        config = prepared.config
        assert prepared.case_files is not None  # `prepare` refuses a race without calls
        self.prepared = prepared
        self._files = prepared.case_files
        self.about: About = "future" if config.race.about == "future" else "pool"
        self._lines = LinesByKey(config.cases)
        self._number: dict[str, int] = {}
        tasks = self._index()
        weights = _weights(config.scoring, {task for of in tasks.values() for task in of})
        kinds = {call: self._kind(of, weights) for call, of in tasks.items()}
        kinds = {call: kind for call, kind in kinds.items() if kind}
        if not kinds:
            raise UsageError("race: no case of a task that counts in the Final; expected some")
        self.plan = schedule(kinds, weights, config.race.seed, self.about)
        if not self.plan.blocks:
            raise UsageError(
                "race: about: future needs calls that have every task, or calls of each task; "
                "expected about: pool, or other data"
            )

    def _index(self) -> dict[str, list[str]]:
        """The lines of the cases of every call, and its tasks."""
        tasks: dict[str, list[str]] = {}
        for asked in self._files.stream():
            case = asked.case
            assert asked.indexed is not None  # of a case file
            call = f"case/{case.id}" if case.call_id is None else f"call/{case.call_id}"
            number = self._number.setdefault(call, len(self._number))
            self._lines.add(number, asked.indexed.line)
            tasks.setdefault(call, []).append(case.task)
        return tasks

    def _kind(self, tasks: Sequence[str], weights: Mapping[str, float]) -> Kind:
        """The tasks of a call that count; about future calls, each once."""
        counted = [task for task in tasks if weights.get(task)]
        return tuple(sorted(set(counted) if self.about == "future" else counted))

    def cases(self, call: str) -> list[CasePrompt]:
        """The cases of one call, read again."""
        found = [self._files.read(line) for line in self._lines.lines(self._number[call])]
        return [asked for asked in found if asked.case.task in self.plan.weights]


def _weights(scoring: ScoreConfig, tasks: Collection[str]) -> Mapping[str, float]:
    """What the tasks count in the Final without benchmarks."""
    spec, custom = scoring.catalog.spec_with(tasks), scoring.weights or None
    return option_weights(spec, "b", scoring.checked_settings(), custom)


class _Rounds:
    """The rounds that were asked so far."""

    def __init__(self, models: Mapping[str, PlannedModel], ask: Ask, emit: OnEvent) -> None:
        self._models, self._ask, self._emit = models, ask, emit
        self._so_far: RunSummary | None = None

    async def ask(self, works: Works) -> RunSummary:
        """Carry out the requests of one round."""
        planned = {
            name: msgspec.structs.replace(self._models[name], work=found, total=len(found))
            for name, found in works.items()
        }
        part = await self._ask(planned, self._emit_sum)
        self._so_far = part if self._so_far is None else self._so_far.followed_by(part)
        return part

    def summary(self, status: RunStatus) -> RunSummary:
        """All rounds together."""
        return RunSummary(status, self._so_far.models if self._so_far is not None else {})

    def _emit_sum(self, event: Event) -> None:
        """Progress counts what earlier rounds have asked."""
        if isinstance(event, Progress) and self._so_far is not None:
            known = self._so_far.models.get(event.model)
            event = event if known is None else _added(event, known)
        self._emit(event)


def _added(event: Progress, known: ModelSummary) -> Progress:
    done = known.answered + known.failed
    return msgspec.structs.replace(
        event,
        done=event.done + done,
        total=event.total + done,
        failed=event.failed + known.failed,
        cached=event.cached + known.cached,
        spend_usd=event.spend_usd + known.spend_usd,
        unpriced=event.unpriced + known.unpriced,
    )


class RaceRun:
    """The race over the case files of a run."""

    def __init__(
        self,
        draw: RaceDraw,
        scoring: RunScoring,
        judge_runner: JudgeRunner | None,
        calls: JudgeCalls,
    ) -> None:
        prepared = draw.prepared
        self.calls = calls
        self._draw = draw
        self._plan = draw.plan
        self._prepared = prepared
        self._scoring = scoring
        self._judge_runner = judge_runner
        self._rules = prepared.config.race
        settings = prepared.config.scoring.checked_settings()
        self._gates = gates_of(sorted(draw.plan.sizes), prepared.config.scoring.catalog)
        self._race = Race(
            draw.plan,
            [model.spec.name for model in prepared.models],
            Rules(
                alpha=self._rules.alpha,
                margin=self._rules.margin,
                gates=self._gates.rates,
                call_gates=self._gates.calls,
                tolerance=settings.call_gate_tolerance,
            ),
        )
        self._calls: dict[str, list[CasePrompt]] = {}
        """The calls of the current round."""
        self._accounts = {
            model.spec.name: Account(prepared.total(model)) for model in prepared.models
        }
        self._scored: set[str] = set()
        """Tasks of which an answer has a score, or failed to get one."""
        self._without: dict[str, Sequence[str]] = {}
        """By task, the metrics without a value of an answer that has no score."""

    async def carry_out(
        self, models: Mapping[str, PlannedModel], ask: Ask, emit: OnEvent, stop: Shutdown
    ) -> RunSummary:
        """Round after round until the race stops, the budget is spent, or an interrupt comes."""
        rounds = _Rounds(models, ask, emit)
        while wanted := self._race.wanted():
            before = self._race.standing()
            part = await rounds.ask(self._works(wanted))
            if part.status != "complete":
                return rounds.summary(part.status)
            for model, of_model in part.models.items():
                if of_model.stopped:
                    self._race.withdraw(model)
            if not await unless_stopped(self._read_round(wanted), self.calls, stop):
                return rounds.summary("interrupted")
            if self.calls.out_of_budget:
                return rounds.summary("budget")
            self._race.advance()
            self._tell(emit, news(before, self._race.standing()))
        rest = self._rest_of_invalid()
        last = await rounds.ask(rest) if rest else None
        self._note_rest(rest)
        return rounds.summary("complete" if last is None else last.status)

    def _tell(self, emit: OnEvent, told: Sequence[str]) -> None:
        standing = self._race.standing()
        emit(
            RaceRound(
                standing.blocks,
                len(self._plan.blocks),
                standing.racing,
                told,
                sum(account.asked for account in self._accounts.values()),
                sum(account.total for account in self._accounts.values()),
                sum(self._accounts[model].left for model in standing.dropped),
            )
        )

    def _works(self, wanted: Mapping[str, Sequence[str]]) -> dict[str, list[Work]]:
        self._calls = {call: self._draw.cases(call) for calls in wanted.values() for call in calls}
        return {
            model: self._of_model(model, [a for call in calls for a in self._calls[call]])
            for model, calls in wanted.items()
        }

    def _of_model(self, model: str, asked: Sequence[CasePrompt]) -> list[Work]:
        handle = next(m for m in self._prepared.models if m.spec.name == model)
        works = list(work_of(model, handle.provider, asked, self._prepared.config.repeats))
        self._accounts[model].asked += len(works)
        return works

    def _rest_of_invalid(self) -> dict[str, list[Work]]:
        """What is left to ask invalid models, if they are to be finished."""
        if not (self._rules.finish_invalid or self._prepared.options.finish_invalid):
            return {}
        standing = self._race.standing()
        found = {}
        for model, dropped in standing.dropped.items():
            if dropped.why in ("call_gate", "rate_gate"):
                blocks = self._plan.blocks[standing.read[model] :]
                calls = [call for block in blocks for call in block.calls]
                asked = [asked for call in calls for asked in self._draw.cases(call)]
                found[model] = self._of_model(model, asked)
        return {model: works for model, works in found.items() if works}

    def _note_rest(self, rest: Works) -> None:
        for model, works in rest.items():
            for case_id in dict.fromkeys(work.case_id for work in works):
                for reply in self._scoring.replies.of_model(model, case_id).values():
                    if isinstance(reply, Reply):
                        self._accounts[model].add(reply)

    async def _read_round(self, wanted: Mapping[str, Sequence[str]]) -> None:
        """Score the calls of the round and hand them to the race."""
        cases = {asked.case.id: asked for asked_ in self._calls.values() for asked in asked_}
        models = {
            asked.case.id: [m for m, calls in wanted.items() if call in calls]
            for call, asked_ in self._calls.items()
            for asked in asked_
        }
        measured = await asyncio.gather(
            *(self._measured(asked, models[case_id]) for case_id, asked in cases.items())
        )
        by_case = dict(zip(cases, measured, strict=True))
        repeats = self._prepared.config.repeats
        for model, calls in wanted.items():
            for call in calls:
                found = []
                for asked in self._calls[call]:
                    runs = by_case[asked.case.id].replies.get(model, ())
                    found.append(case_outcome(asked.case.task, runs, repeats, self._gates))
                    self._note(model, runs, asked.case.task)
                mean = self._draw.about == "future"
                self._race.observe(model, call, call_outcome(found, mean=mean))
        self._refuse_unscored()

    async def _measured(self, asked: CasePrompt, models: Sequence[str]) -> MeasuredCase:
        assert asked.indexed is not None  # of a case file
        stored = {model: self._scoring.replies.of_model(model, asked.case.id) for model in models}
        answers = {model: runs for model, runs in stored.items() if runs}
        return await self._scoring.measured(asked.indexed, answers, self._judge_runner)

    def _note(self, model: str, runs: Runs, task: str) -> None:
        account = self._accounts[model]
        for run in runs:
            if isinstance(run, MeasuredReply):
                account.add(run.read.reply)
                score = run.scored.score
                if score.status == "incomplete":
                    self._without[task] = score.reasons
                else:
                    self._scored.add(task)

    def _refuse_unscored(self) -> None:
        """Without scores nothing can ever be decided: nothing more is spent on it."""
        for task in sorted(self._without.keys() - self._scored):
            raise UsageError(
                f"race: no answer of {task} has a score after the first round, so nothing can be "
                f"decided: {', '.join(self._without[task])} without a value; expected a judge, "
                "verdicts, or other tasks"
            )

    def on_card(self, card: Scorecard, status: str) -> Scorecard:
        """The scorecard with what the race decided, as a section and in words."""
        race = race_card(self._race.standing(), self._plan, self._rules, self._accounts, status)
        return msgspec.structs.replace(card, race=race, notes=[*race_notes(race), *card.notes])


StartRace = Callable[[RunScoring, JudgeCalls], AbstractContextManager[RaceRun]]


def prepare_race(prepared: Prepared) -> StartRace:
    """Draw the order of the calls, and refuse what cannot be raced, before anything is opened."""
    draw = RaceDraw(prepared)

    @contextmanager
    def start(scoring: RunScoring, calls: JudgeCalls) -> Iterator[RaceRun]:
        # A judge on an account of its own: what it says is counted once, where the card is made.
        if not prepared.config.scoring.is_judged:
            yield RaceRun(draw, scoring, None, calls)
            return
        with open_judge_runner(prepared.config.scoring, calls) as judge_runner:
            judge_runner.embedder = scoring.embedder
            yield RaceRun(draw, scoring, judge_runner, calls)

    return start
