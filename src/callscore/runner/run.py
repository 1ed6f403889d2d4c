"""A run from start to end: check everything, ask, keep, score what was kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.errors import UsageError
from callscore.core.run import Completed, Event, OnEvent, RunStatus, RunSummary, Uncertain, Work
from callscore.core.scorecard import Scorecard
from callscore.engine.workload import EngineOptions, PlannedModel, Workload
from callscore.evaluate.judge_client import Billing, JudgeCalls
from callscore.providers.nearness import is_nearby
from callscore.report.numbers import show_count, show_money
from callscore.runner.changes import Changed, changed_since
from callscore.runner.estimate import Estimate, JudgedAnswers, estimate, estimate_judging
from callscore.runner.loop import IdleWork, PreflightFailed, ask_all, judge_all
from callscore.runner.models import ModelHandle, price_of
from callscore.runner.preflight import JUDGED, Preflight, Trial, small_prompt
from callscore.runner.prepare import Prepared
from callscore.runner.prompts import work_of
from callscore.runner.scoring import RunScoring
from callscore.runner.tee import SharedStream
from callscore.store.journal import Journal, OpenRun
from callscore.store.run_records import Failure, RunHeader, RunRecord

if TYPE_CHECKING:
    from callscore.runner.scenarios import ScenarioScore


class RunResult(msgspec.Struct, frozen=True):
    """What a run leaves: how it went, and the scores where it was not interrupted."""

    run_id: int
    summary: RunSummary
    preflights: Sequence[Preflight]
    card: Scorecard | None = None
    orchestration: Mapping[str, ScenarioScore] = {}
    notes: Sequence[str] = ()
    """What a reader must know about the models; the card has them, too."""
    failures: Sequence[Failure] = ()
    """Why calls failed, the most frequent cause of every model."""
    scored_again: RunRecord | None = None
    """The stored run, where nothing was asked."""


def dry_run(prepared: Prepared) -> list[Estimate]:
    """What the run would come to; answers that are already in the store cost nothing."""
    store = prepared.config.store
    if not store.exists():
        return _estimate(prepared, None)
    with Journal(store, only_reading=True) as journal:
        return _estimate(prepared, journal)


def _estimate(prepared: Prepared, journal: Journal | None) -> list[Estimate]:
    config, subjects = prepared.config, prepared.subjects
    found = estimate(
        prepared.models,
        subjects,
        config.repeats,
        lambda key: journal is not None and journal.stored(key) is not None,
    )
    judge, benchmarks = config.scoring.judge, config.scoring.benchmarks
    if isinstance(judge, tuple):
        judges = [msgspec.structs.replace(spec, price=price_of(spec)) for spec in judge]
        longest = [one.most_output_tokens // (one.calls - one.already_paid or 1) for one in found]
        answers = JudgedAnswers(
            len(prepared.models) * config.repeats, max(longest, default=0), benchmarks
        )
        found += estimate_judging(judges, answers, subjects)
    return found


def _header(prepared: Prepared) -> RunHeader:
    config = prepared.config
    return RunHeader(
        name=config.name,
        config_hash=f"{config.fingerprint}/{prepared.options.limit or 'all'}",
        dataset_hash=prepared.survey.digest,
        total=sum(_total(prepared, model) for model in prepared.models),
        eval_file=_relative_to_store(config.path, config.store),
    )


def _relative_to_store(path: Path, store: Path) -> str:
    """A path that still leads to the file where both were moved together."""
    try:
        return os.path.relpath(path.absolute(), store.absolute().parent)
    except ValueError:  # on another drive
        return str(path.absolute())


def changes(prepared: Prepared) -> Changed | None:
    """What resuming would pay again, where the file or the data are not as they were."""
    store = prepared.config.store
    if not store.exists():
        return None
    with Journal(store, only_reading=True) as journal:
        return changed_since(prepared, journal, _header(prepared))


def told_of(changed: Changed) -> str:
    """The same in words."""
    run, cost = changed.record, changed.again_most_usd
    price = "at an unknown price" if cost is None else f"for up to {show_money(cost)}"
    again = f"{show_count(changed.again, 'answer')} would be paid for again {price}"
    return (
        f"run {run.id} of {run.header.name!r} is unfinished ({run.answered}/{run.header.total} "
        f"answered), and {changed.what} since it began: in a new run "
        f"{again if changed.again else 'no answer would be paid for again'}, and "
        f"{show_count(changed.new, 'request')} asked for the first time"
    )


class _Interrupted(Exception):
    """The run ended early; leaves the results file unwritten on its way out."""

    def __init__(self, ran: RunResult) -> None:
        self.ran = ran


def run_prepared(prepared: Prepared, on_event: OnEvent) -> RunResult:
    """Ask every model, keep every answer, score what was kept."""
    plan = _plan(prepared)
    plan.check()
    header, resume = _header(prepared), prepared.options.resume
    with Journal(prepared.config.store) as journal:
        if resume and (changed := changed_since(prepared, journal, header)) is not None:
            if not prepared.options.accept_changed:
                raise UsageError(f"{told_of(changed)}; --yes begins that run")
            resume = False
        ledger = journal.open_run(header, resume=resume)
        held = _Held(ledger)
        on_event = _also_kept(ledger, on_event)
        payer = Billing(_engine_options(prepared), ledger.id, on_event)
        calls = JudgeCalls(ledger.answers, payer)
        try:
            with held, RunScoring(prepared, journal, ledger.id, calls) as scoring:
                calls.check()
                plan = _counting(plan, journal.run(ledger.id).spent_usd)
                first = _first(prepared, journal, calls) if prepared.options.preflight else []
                told = _also_scored(ledger, scoring, on_event)
                following = _following(prepared, journal, ledger.id)
                beside = IdleWork(scoring.catch_up, scoring.judging, following)
                preflights, summary = ask_all(plan, ledger, first, told, beside)
                summary = _noticing_silence(summary)
                ran = RunResult(
                    ledger.id, summary, preflights, failures=journal.failures(ledger.id)
                )
                if summary.status == "interrupted":
                    raise _Interrupted(ran)
                ran = _scored(ran, scoring)
                held.status = summary.status
                return ran
        except _Interrupted as interrupted:
            return interrupted.ran


def _noticing_silence(summary: RunSummary) -> RunSummary:
    """A run in which every call failed is not complete: nothing was answered."""
    models = summary.models.values()
    silent = any(model.failed for model in models) and not any(model.answered for model in models)
    if summary.status != "complete" or not silent:
        return summary
    return msgspec.structs.replace(summary, status="unanswered")


def _following(
    prepared: Prepared, journal: Journal, run_id: int
) -> Callable[[RunSummary], Workload | None] | None:
    """Round after round of the pass in which models see their own history, where one is wanted."""
    if prepared.config.scenario_settings.history != "own" or not prepared.sets:
        return None
    from callscore.runner.free_runs import FreeRuns

    def stored(model: str, case_id: str) -> Mapping[int, Reply | Failed]:
        return journal.answers_to(run_id, case_id).get(model, {})

    free = FreeRuns(prepared.sets, prepared.models, prepared.config.repeats, stored)

    def next_round(summary: RunSummary) -> Workload | None:
        stopped = frozenset(name for name, model in summary.models.items() if model.stopped)
        works = free.next_round(stopped)
        if not works:
            return None
        journal.add_work(run_id, sum(map(len, works.values())))
        plan = Workload(
            {
                model.spec.name: PlannedModel(model.spec, model.provider, found, len(found))
                for model in prepared.models
                if (found := works.get(model.spec.name))
            },
            _plan_options(prepared),
        )
        return _counting(plan, journal.run(run_id).spent_usd)

    return next_round


class _Held:
    """A run in our hands: whatever happens, it is let go with the status it has by then."""

    def __init__(self, ledger: OpenRun) -> None:
        self._ledger = ledger
        self.status: RunStatus = "interrupted"

    def __enter__(self) -> None:
        """The run is held since it was opened."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ledger.end(self.status)
        if isinstance(error, PreflightFailed):
            self._ledger.drop()


def _also_kept(ledger: OpenRun, on_event: OnEvent) -> OnEvent:
    """Writes down what attempts may be billed with, of models and of judges."""

    def told(event: Event) -> None:
        if isinstance(event, Uncertain):
            ledger.may_be_billed(event.usd)
        on_event(event)

    return told


def _also_scored(ledger: OpenRun, scoring: RunScoring, on_event: OnEvent) -> OnEvent:
    """Hands answers to scoring as they come."""

    def told(event: Event) -> None:
        if isinstance(event, Completed):
            scoring.take(event, superseded=ledger.superseded)
        on_event(event)

    return told


def _counting(plan: Workload, spent_usd: float) -> Workload:
    """The plan, with what the run has spent before counted against its budget."""
    options = msgspec.structs.replace(plan.options, already_spent_usd=spent_usd)
    return msgspec.structs.replace(plan, options=options)


def _scored(ran: RunResult, scoring: RunScoring) -> RunResult:
    card, orchestration = scoring.card(), scoring.scenarios()
    notes = scoring.notes()
    if card is not None:
        card = msgspec.structs.replace(card, notes=[*card.notes, *notes])
    return msgspec.structs.replace(ran, card=card, orchestration=orchestration, notes=notes)


def rescore(prepared: Prepared, run_id: int) -> RunResult:
    """Score a stored run again; nothing is sent."""
    store = prepared.config.store
    if not store.exists():
        raise UsageError(f"{store}: no such store; expected one that `callscore run` has written")
    with Journal(store, only_reading=True) as journal:
        record = journal.run(run_id)
        if record.header.dataset_hash != prepared.survey.digest:
            raise UsageError(
                f"run {run_id} was made with other data than {prepared.config.path} names now, "
                "or with another --limit"
            )
        with (
            journal.open_answers() as answers,
            RunScoring(
                prepared, journal, run_id, JudgeCalls(answers, Billing(sends=False))
            ) as scoring,
        ):
            if scoring.judging is not None and not judge_all(scoring.judging):
                return RunResult(run_id, RunSummary("interrupted", {}), ())
            ran = RunResult(run_id, RunSummary("complete", {}), (), scored_again=record)
            return _scored(ran, scoring)


def _engine_options(prepared: Prepared) -> EngineOptions:
    attempts = prepared.config.attempts
    return EngineOptions(
        budget_usd=prepared.budget_usd,
        attempt_s=attempts.timeout_s,
        case_s=attempts.case_timeout_s,
        max_attempts=attempts.most,
    )


def _plan_options(prepared: Prepared) -> EngineOptions:
    return msgspec.structs.replace(_engine_options(prepared), budget_usd=prepared.model_budget_usd)


def _plan(prepared: Prepared) -> Workload:
    repeats = prepared.config.repeats
    options = _plan_options(prepared)
    shared = SharedStream(prepared.subjects)
    return Workload(
        {
            model.spec.name: PlannedModel(
                model.spec,
                model.provider,
                work_of(model.spec.name, model.provider, shared.reader(), repeats),
                _total(prepared, model),
                is_nearby(model.spec),
            )
            for model in prepared.models
        },
        options,
    )


def _total(prepared: Prepared, model: ModelHandle) -> int:
    """Pieces of work; only a recording may have fewer than there are cases and repeats."""
    repeats = prepared.config.repeats
    if model.spec.provider != "replay":
        return prepared.survey.cases * repeats
    return sum(
        1 for _ in work_of(model.spec.name, model.provider, prepared.subjects.stream(), repeats)
    )


def _first(prepared: Prepared, journal: Journal, calls: JudgeCalls) -> list[Trial]:
    """Who is asked before anything is spent: online models with work left, and then judges."""
    wanting = [(model, _open_work(prepared, journal, model)) for model in prepared.models]
    trials = [
        Trial(model.spec, model.provider, small_prompt(work.request.prompt))
        for model, work in wanting
        if work is not None and model.online
    ]
    if any(work is not None for _, work in wanting):
        planned = [seat.planned for seat in calls.seats]
        trials += [Trial(judge.spec, judge.provider, small_prompt(JUDGED)) for judge in planned]
    return trials


def _open_work(prepared: Prepared, journal: Journal, model: ModelHandle) -> Work | None:
    """The first piece of work that is left to be asked."""
    name, repeats = model.spec.name, prepared.config.repeats
    work = work_of(name, model.provider, prepared.subjects.stream(), repeats)
    return next((piece for piece in work if journal.stored(piece.request.key) is None), None)
