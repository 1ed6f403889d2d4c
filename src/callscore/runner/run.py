"""A run from start to end: open it, preflight, request and score, close it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
)
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from callscore.core.batch import BatchJob
from callscore.core.case import Failed, Reply
from callscore.core.errors import StoreError, UsageError
from callscore.core.race import RaceCard
from callscore.core.run import OnEvent, RunStatus, RunSummary, Work
from callscore.core.scenarios import Json
from callscore.core.scorecard import Scorecard
from callscore.core.task import SCENARIO
from callscore.engine import loop
from callscore.engine.limits import SharedLimits
from callscore.engine.loop import Shutdown
from callscore.engine.workers import generate
from callscore.engine.workload import EngineOptions, PlannedModel, Workload
from callscore.evaluate.judge_client import Billing, JudgeCalls
from callscore.providers.addresses import is_local_server
from callscore.runner.cases import CaseStream, work_of, work_of_step
from callscore.runner.events import billing_events, scoring_events
from callscore.runner.preflight import (
    Preflight,
    PreflightFailed,
    Trial,
    cost_of,
    preflight,
    trials_of,
)
from callscore.runner.prepare import ModelHandle, PreparedRun
from callscore.runner.replies import RunReplies
from callscore.runner.scoring import RunScoring
from callscore.runner.scoring_process import scoring_process
from callscore.store.address import as_option, open_store
from callscore.store.protocol import RunLedger, SharedRun, Store
from callscore.store.run_records import Failure, RunRecord

if TYPE_CHECKING:
    from callscore.providers.tools import ToolProvider
    from callscore.runner.race import OpenRace, RaceRun
    from callscore.runner.shared_work import SharedSending

NextRound = Callable[[RunSummary], Workload | None]
"""The requests of the next round, after the planned ones; None if there are no more."""


class RunResult(msgspec.Struct, frozen=True):
    """The result of a run: its summary, and the scores if it was not interrupted."""

    run_id: int
    summary: RunSummary
    preflights: Sequence[Preflight]
    card: Scorecard | None = None
    """The scores of calls and scenarios."""
    notes: Sequence[str] = ()
    """Notes on the models; the card has them too."""
    failures: Sequence[Failure] = ()
    """The most frequent cause of failed calls of every model."""
    jobs: Sequence[BatchJob] = ()
    """The jobs that are still running at batch APIs, or whose results are not collected."""
    scored_again: RunRecord | None = None
    """The stored run, if it was scored again."""

    @property
    def documents(self) -> Mapping[str, Json]:
        """By model, the result file of its scenarios (document 001)."""
        found = msgspec.UNSET if self.card is None else self.card.documents
        return {} if found is msgspec.UNSET else found

    @property
    def has_only_scenarios(self) -> bool:
        """Whether the scorecard has no row of calls."""
        models = self.card.models if self.card is not None else ()
        return {task for model in models for task in model.tasks} == {SCENARIO}


class _Interrupted(Exception):
    """The run ended early; the results file is not written."""

    def __init__(self, ran: RunResult) -> None:
        self.ran = ran


class _Job(NamedTuple):
    """An open run, and everything it needs."""

    plan: Workload
    trials: Sequence[Trial]
    ledger: RunLedger
    scoring: RunScoring
    next_round: NextRound | None
    emit: OnEvent
    spent_usd: Callable[[], float]
    """What the run has spent so far, in all sessions."""
    record_race: Callable[[RaceCard], None]
    """Keeps the state of a race."""
    helpers: Sequence[ModelHandle] = ()
    """What answers in conversations besides the models."""
    tools: ToolProvider | None = None
    """The tools among them, if their servers are tried before anything is spent."""
    race: RaceRun | None = None
    """The race, if there is one."""
    sharing: Sharing | None = None
    """How the run is shared with workers on other machines, if its store allows that; a run with
    jobs at batch APIs is not."""


class Sharing(NamedTuple):
    """A run that other workers may join."""

    shared: SharedRun
    sending: SharedSending
    cases: Sequence[str]
    """The ids of the cases that are divided into chunks; none in a race."""
    budget_usd: float | None
    nodes: Callable[[OnEvent, Shutdown], AbstractAsyncContextManager[None]]
    """The nodes of a cluster that send, too, as long as this is open."""


def run_prepared(prepared: PreparedRun, on_event: OnEvent) -> RunResult:
    """Request every model, store every reply, score the stored replies."""
    cases = CaseStream(prepared.sources)
    process = scoring_process(prepared)
    plan = plan_of(prepared, cases)
    plan.check()
    options = _engine_options(prepared, prepared.budget_usd)
    options.check()
    start_race = _start_of_race(prepared) if prepared.options.race else None
    try:
        with process or nullcontext(), _open_run(prepared) as run:
            store, ledger = run.store, run.ledger
            emit = billing_events(ledger, on_event)
            account = Billing(options, ledger.id, emit)
            calls = JudgeCalls(ledger, account) if prepared.config.scoring.is_judged else None
            replies = RunReplies(store, ledger.id, prepared.models, prepared.config.repeats)
            with (
                ExitStack() as stack,
                RunScoring(prepared, replies, calls, cases, process) as scoring,
                (
                    nullcontext()
                    if start_race is None
                    else start_race(scoring, JudgeCalls(ledger, account))
                ) as race,
            ):
                job = _Job(
                    plan=plan.with_spending(store.run(ledger.id).spent_usd),
                    trials=_trials(prepared, store, calls, cases),
                    ledger=ledger,
                    scoring=scoring,
                    next_round=_next_rounds(prepared, store, ledger.id),
                    emit=emit,
                    spent_usd=lambda: store.run(ledger.id).spent_usd,
                    record_race=lambda found: store.record_race(ledger.id, found),
                    helpers=prepared.helpers,
                    tools=prepared.tools if prepared.helpers else None,
                    race=race,
                    sharing=_sharing(prepared, ledger, stack) if ledger.shared else None,
                )
                preflights, summary = loop.run(lambda stop: _carry_out(job, stop))
                failures = store.failures(ledger.id)
                jobs = [job for job in ledger.jobs.jobs(ledger.id) if job.state != "collected"]
                ran = RunResult(ledger.id, summary, preflights, failures=failures, jobs=jobs)
                if summary.status == "interrupted":
                    raise _Interrupted(ran)
                ran = _add_card(ran, scoring, race)
                store.record_race(ledger.id, None if ran.card is None else ran.card.race)
                run.status = summary.status
                return ran
    except _Interrupted as interrupted:
        return interrupted.ran


def _start_of_race(prepared: PreparedRun) -> OpenRace:
    """How a race begins; only then its libraries are loaded."""
    from callscore.runner.race import prepare_race

    return prepare_race(prepared)


async def _carry_out(job: _Job, stop: Shutdown) -> tuple[Sequence[Preflight], RunSummary]:
    """The order of a run: preflight, request and score concurrently, then further rounds."""
    plan, scoring = job.plan, job.scoring
    following: asyncio.Task[bool] | None = None
    try:
        # 1. One small request each: nothing is spent on cases if a model does not reply.
        preflights = await _try_out(job, stop)
        if preflights:
            plan = plan.with_spending(plan.options.already_spent_usd + cost_of(preflights))
        if stop.requested:
            return preflights, RunSummary("interrupted", {})
        # 2. Each case is judged and scored when all its replies have arrived, on the same budget.
        limits = None if scoring.calls is None else _shared_limits(plan, scoring.calls)
        if job.sharing is not None:
            limits = await _share(job.sharing, plan, limits)
        if job.race is not None:
            return preflights, _mark_unanswered(await _run_race(job, job.race, plan, limits, stop))
        following = asyncio.create_task(scoring.follow(stop, limits))
        # 3. Requests are sent to the models; a reply is durable before it is used.
        emit = scoring_events(job.emit, scoring, job.ledger)
        for_models = _limits_of_models(plan, limits)
        if job.sharing is not None and for_models is not None and is_live(plan):
            async with job.sharing.nodes(emit, stop):
                summary = await job.sharing.sending.send(plan, emit, stop, for_models)
        else:
            summary = await _send(plan, job.ledger, emit, stop, for_models)
        # 4. Requests that depend on those replies follow in rounds.
        if job.next_round is not None:
            while summary.status == "complete" and (more := job.next_round(summary)) is not None:
                round_summary = await _send(more, job.ledger, emit, stop, for_models)
                summary = summary.merge(round_summary)
        scoring.replies.end()
        summary = _with_judging(summary, scoring, judged=await following)
        return preflights, _mark_unanswered(summary)
    finally:
        if following is not None:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        planned = [model.provider for model in plan.models.values()]
        helpers = [helper.provider for helper in job.helpers]
        tried = [trial.provider for trial in job.trials]
        for provider in dict.fromkeys([*planned, *helpers, *tried]):
            await provider.close()


async def _try_out(job: _Job, stop: Shutdown) -> Sequence[Preflight]:
    """Ask every model and judge once, and start every server of tools once; raises ConfigError."""
    if job.tools is not None:
        await job.tools.check_servers()
    if not job.trials:
        return ()
    return await preflight(job.plan, job.trials, stop, job.ledger.charge_preflight, job.emit)


def _sharing(prepared: PreparedRun, ledger: RunLedger, stack: ExitStack) -> Sharing:
    """How other workers may join the run, until the stack is closed."""
    from callscore.runner.shared_work import SharedSending

    sending = stack.enter_context(closing(SharedSending(prepared, ledger, is_holder=True)))
    nodes = stack.enter_context(_nodes(prepared, ledger.id))
    cases = () if prepared.options.race else prepared.survey.ids
    assert ledger.shared is not None  # checked by the caller
    return Sharing(ledger.shared, sending, cases, prepared.budget_usd, nodes)


@contextmanager
def _nodes(
    prepared: PreparedRun, run_id: int
) -> Iterator[Callable[[OnEvent, Shutdown], AbstractAsyncContextManager[None]]]:
    """The nodes of the cluster, if the run has one; raises UsageError, MissingExtra."""
    address = prepared.options.cluster
    if address is None:
        yield lambda _, __: nullcontext()
        return
    from callscore.processes.ray_workers import node_workers
    from callscore.runner.nodes import NodeJob, NodeWork, nodes_at_work

    store, eval_file = prepared.config.store, prepared.config.path
    with node_workers(address, NodeJob) as workers:
        given = NodeWork(run_id, as_option(store), eval_file.absolute())
        yield partial(nodes_at_work, workers, given)


async def _share(sharing: Sharing, plan: Workload, own: SharedLimits | None) -> SharedLimits:
    """Offer the run to other workers; returns the limits of all of them.

    A run with jobs at batch APIs is not offered: only its rates are those of all workers.
    """
    from callscore.runner.shared_work import shared_limits

    if not is_live(plan):
        return (own or plan.options.shared_limits())._replace(rates=sharing.shared.rates)
    models = list(plan.models) if sharing.cases else []
    await sharing.shared.divide(models, sharing.cases, sharing.budget_usd)
    return shared_limits(sharing.shared, sharing.budget_usd)


def is_live(plan: Workload) -> bool:
    """Whether no model is asked in batches."""
    return all(model.spec.mode == "live" for model in plan.models.values())


async def _send(
    plan: Workload, ledger: RunLedger, emit: OnEvent, stop: Shutdown, limits: SharedLimits | None
) -> RunSummary:
    """Send the requests of a workload, live or in batches."""
    if is_live(plan):
        return await generate(plan, ledger, emit, stop, limits)
    from callscore.engine.batches import send
    from callscore.engine.model_batches import RunJobs

    jobs = RunJobs(ledger.id, ledger.jobs)
    return await send(plan, ledger, jobs, emit, stop, limits)


async def _run_race(
    job: _Job, race: RaceRun, plan: Workload, limits: SharedLimits | None, stop: Shutdown
) -> RunSummary:
    """Send and score round by round; then score all replies for the scorecard."""
    for_models = _limits_of_models(plan, limits)

    helpers = _planned(job.helpers)

    async def send_round(models: Mapping[str, PlannedModel], emit: OnEvent) -> RunSummary:
        part = Workload(models, plan.options).with_spending(job.spent_usd())
        return await _send(part, job.ledger, emit, stop, for_models)

    race.judge_calls.begin(stop, limits)
    models = {**plan.models, **helpers}
    summary = await race.carry_out(models, send_round, job.emit, stop, job.record_race)
    job.scoring.replies.end()
    judged = await job.scoring.follow(stop, limits)
    status = summary.status if judged else "interrupted"
    return RunSummary(status, summary.models, race.judge_calls.summaries())


def _limits_of_models(plan: Workload, limits: SharedLimits | None) -> SharedLimits | None:
    """The limits that models share with judges; without a budget if none applies to them."""
    if limits is not None and plan.options.budget_usd is None:
        return limits.without_budget()
    return limits


def _shared_limits(plan: Workload, calls: JudgeCalls) -> SharedLimits:
    """One budget and the same pauses for models and judges."""
    spent = plan.options.already_spent_usd
    options = msgspec.structs.replace(calls.billing.options, already_spent_usd=spent)
    return options.shared_limits()


def _with_judging(summary: RunSummary, scoring: RunScoring, *, judged: bool) -> RunSummary:
    """The summary with the judges included."""
    if scoring.calls is None:
        return summary
    status = summary.status
    if not judged:
        status = "interrupted"
    elif scoring.calls.out_of_budget and status == "complete":
        status = "budget"
    return RunSummary(status, summary.models, scoring.calls.summaries())


def _mark_unanswered(summary: RunSummary) -> RunSummary:
    """Set the status `unanswered` if every request failed."""
    models = summary.models.values()
    silent = any(model.failed for model in models) and not any(model.answered for model in models)
    if summary.status != "complete" or not silent:
        return summary
    return msgspec.structs.replace(summary, status="unanswered")


class _RunStatus:
    """An open run in its store, and its status when it is closed."""

    def __init__(self, store: Store, ledger: RunLedger) -> None:
        self.store, self.ledger = store, ledger
        self.status: RunStatus = "interrupted"


@contextmanager
def _open_run(prepared: PreparedRun) -> Iterator[_RunStatus]:
    """The resumed run, or a new one; closed with its current status."""
    with open_store(prepared.config.store) as store:
        header, resume = prepared.header, prepared.options.resume
        if resume:
            from callscore.runner.changes import change_since, describe_change

            change = change_since(prepared, store, header)
            if change is not None and not prepared.options.accept_changed:
                raise UsageError(f"{describe_change(change)}; --yes starts the new run")
            resume = change is None
        run = _RunStatus(store, store.open_run(header, resume=resume))
        failed, unused = "", False
        try:
            yield run
        except PreflightFailed:
            unused = True
            raise
        except StoreError as error:
            failed = str(error)  # says what is lost
            raise
        finally:
            try:
                run.ledger.end(run.status)
            except StoreError as error:
                later = str(error)
                raise StoreError(later if failed in later else f"{failed}; {later}") from None
            if unused:
                run.ledger.drop()


def _next_rounds(prepared: PreparedRun, store: Store, run_id: int) -> NextRound | None:
    """Rounds of requests that depend on earlier replies, if there are any."""

    def stored_replies(model: str, case_id: str) -> Mapping[int, Reply | Failed]:
        return store.replies_to(run_id, case_id).get(model, {})

    names = [model.spec.name for model in prepared.models]
    follow_ups = [
        found
        for source in prepared.sources
        if (found := source.follow_ups(names, stored_replies, prepared.config.repeats))
    ]
    if not follow_ups:
        return None
    known = frozenset(prepared.survey.ids)
    models = {model.spec.name: model for model in (*prepared.models, *prepared.helpers)}
    options = _engine_options(prepared, prepared.model_budget_usd)

    def next_round(summary: RunSummary) -> Workload | None:
        stopped = frozenset(name for name, model in summary.models.items() if model.stopped)
        works: dict[str, list[Work]] = {}
        for step in chain.from_iterable(each.next_round(stopped) for each in follow_ups):
            asked = work_of_step(models[step.model].provider, step)
            works.setdefault(step.model, []).extend(asked)
        if not any(works.values()):
            return None
        added = sum(work.case_id not in known for of_model in works.values() for work in of_model)
        if added:
            store.add_work(run_id, added)
        planned = {
            name: PlannedModel(model.spec, model.provider, work, len(work))
            for name, model in models.items()
            if (work := works.get(name))
        }
        plan = Workload(planned, options)
        return plan.with_spending(store.run(run_id).spent_usd)

    return next_round


def _add_card(ran: RunResult, scoring: RunScoring, race: RaceRun | None = None) -> RunResult:
    card, notes = scoring.card(), scoring.notes()
    card = msgspec.structs.replace(card, notes=[*card.notes, *notes])
    card = race.add_to_card(card, ran.summary.status) if race is not None else card
    return msgspec.structs.replace(ran, card=card, notes=notes)


def check_data(prepared: PreparedRun, record: RunRecord) -> None:
    """Refuse to score a stored run with other data."""
    if record.header.dataset_hash != prepared.survey.digest:
        raise UsageError(
            f"run {record.id} was made with other data than {prepared.config.path} has now, "
            "or with another --limit; expected the same data and --limit"
        )


def rescore(prepared: PreparedRun, run_id: int) -> RunResult:
    """Score a stored run again; nothing is sent."""
    with open_store(prepared.config.store, only_reading=True) as store:
        record = store.run(run_id)
        check_data(prepared, record)
        config = prepared.config
        replies = RunReplies(store, run_id, prepared.models, config.repeats, config.store)
        replies.end()
        cases = CaseStream(prepared.sources)
        with ExitStack() as stack:
            calls: JudgeCalls | None = None
            if prepared.config.scoring.is_judged:
                answers = stack.enter_context(store.open_cache())
                calls = JudgeCalls(answers, Billing(sends=False))
            scoring = stack.enter_context(RunScoring(prepared, replies, calls, cases))
            if calls is not None and not loop.run(scoring.follow):
                return RunResult(run_id, RunSummary("interrupted", {}), ())
            ran = RunResult(run_id, RunSummary("complete", {}), (), scored_again=record)
            ran = _add_card(ran, scoring)
            if ran.card is not None and record.race is not None:
                from callscore.runner.race_card import restore_race

                card = restore_race(ran.card, record.race, prepared.config.scoring)
                ran = msgspec.structs.replace(ran, card=card)
            return ran


def _engine_options(prepared: PreparedRun, budget_usd: float | None) -> EngineOptions:
    attempts = prepared.config.attempts
    return EngineOptions(
        budget_usd=budget_usd,
        attempt_s=attempts.timeout_s,
        case_s=attempts.case_timeout_s,
        max_attempts=attempts.most,
    )


def _planned(helpers: Sequence[ModelHandle]) -> Mapping[str, PlannedModel]:
    """What answers in conversations besides the models, without work."""
    return {
        helper.spec.name: PlannedModel(helper.spec, helper.provider, (), 0) for helper in helpers
    }


def plan_of(prepared: PreparedRun, cases: CaseStream) -> Workload:
    """The requests of a run that depend on no reply."""
    repeats = prepared.config.repeats
    at_once = prepared.survey.ids
    options = _engine_options(prepared, prepared.model_budget_usd)
    if prepared.helpers:
        Workload(_planned(prepared.helpers), options).check()
    for source in prepared.sources:
        if source.waiting:
            at_once = [case for case in at_once if case not in source.waiting]
    return Workload(
        {
            model.spec.name: PlannedModel(
                model.spec,
                model.provider,
                work_of(model.spec.name, model.provider, cases.reader(), repeats),
                prepared.total(model, at_once),
                is_local=model.spec.base_url is not None and is_local_server(model.spec.base_url),
            )
            for model in prepared.models
        },
        options,
    )


def _trials(
    prepared: PreparedRun, store: Store, calls: JudgeCalls | None, cases: CaseStream
) -> Sequence[Trial]:
    """The preflight requests; none if they are not wanted, or if no model or judge is online."""
    judges = [client.planned for client in calls.clients] if calls is not None else []
    online = judges or any(model.online for model in prepared.models)
    if not online or not prepared.options.preflight:
        return ()
    return trials_of(prepared, store, judges, cases)
