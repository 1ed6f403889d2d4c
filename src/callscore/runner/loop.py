"""The parts of a run that await: preflight; then the engine, and beside it the judges."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.errors import ConfigError
from callscore.core.run import OnEvent, RunSummary, Stopping
from callscore.engine import loop
from callscore.engine.run import generate
from callscore.engine.shared_limits import SharedLimits
from callscore.engine.shutdown import Shutdown
from callscore.engine.workload import Workload
from callscore.evaluate.judge_client import JudgeCalls
from callscore.runner.preflight import Preflight, Trial, preflight
from callscore.store.journal import OpenRun

BETWEEN_S = 0.004

Asked = tuple[Sequence[Preflight], RunSummary]


class Judging(NamedTuple):
    """What is put to judges, begun while models still answer, and who carries out the calls."""

    examine: Callable[[asyncio.Event], Coroutine[Any, Any, None]]
    """Is given what is set when all models have answered."""
    calls: JudgeCalls


class IdleWork(NamedTuple):
    """What goes on while the models are asked."""

    meanwhile: Callable[[], None]
    """Called now and then: short work for the time that answers take."""
    judging: Judging | None = None
    following: Callable[[RunSummary], Workload | None] | None = None
    """What is asked when all that is planned has been: a plan after the other, until None."""


def ask_all(
    plan: Workload,
    ledger: OpenRun,
    first: Sequence[Trial],
    on_event: OnEvent,
    beside: IdleWork,
) -> Asked:
    """Ask the models and judges in `first` whether they answer at all; then carry out the plan."""
    return loop.run(lambda stop: _ask_all(_Session(plan, ledger, on_event, stop), first, beside))


class _Session(NamedTuple):
    plan: Workload
    ledger: OpenRun
    on_event: OnEvent
    stop: Shutdown


async def _ask_all(session: _Session, first: Sequence[Trial], beside: IdleWork) -> Asked:
    plan, ledger, _, stop = session
    helper = asyncio.create_task(_now_and_then(beside.meanwhile))
    try:
        trials = list(_affordable(plan, first))
        found = await _unless_stopped(preflight(trials, plan.options.attempt_s), stop)
        preflights = [
            one.priced(trial.spec.price) for one, trial in zip(found, trials, strict=False)
        ]
        plan = _charged(plan, ledger, preflights)
        _refuse(preflights)
        if stop.requested:
            return preflights, RunSummary("interrupted", {})
        summary = await _generate_and_judge(session._replace(plan=plan), beside.judging)
        if beside.following is not None:
            summary = await _go_on(session, summary, beside.following)
        if helper.done():
            helper.result()  # raises what went wrong beside: something is not scored
        return preflights, summary
    finally:
        await _ended(helper)
        planned = [model.provider for model in plan.models.values()]
        tried = [trial.provider for trial in first]
        for provider in dict.fromkeys([*planned, *tried]):
            await provider.close()


async def _go_on(
    session: _Session, summary: RunSummary, following: Callable[[RunSummary], Workload | None]
) -> RunSummary:
    """Carry out the plans that depend on what was answered before."""
    while summary.status == "complete" and (plan := following(summary)) is not None:
        later = await generate(plan, session.ledger, session.on_event, session.stop)
        summary = summary.followed_by(later)
    return summary


async def _generate_and_judge(session: _Session, judging: Judging | None) -> RunSummary:
    """Models and judges at the same time, on one budget, pausing together."""
    plan, ledger, on_event, stop = session
    if judging is None:
        return await generate(plan, ledger, on_event, stop)
    calls, answered = judging.calls, asyncio.Event()
    spent_usd = plan.options.already_spent_usd
    options = msgspec.structs.replace(calls.payer.options, already_spent_usd=spent_usd)
    shared_limits = SharedLimits.of(options)
    judged = asyncio.create_task(_judge_all(judging, answered, stop, shared_limits))
    try:
        if plan.options.budget_usd is None:
            shared_limits = shared_limits.without_budget()
        summary = await generate(plan, ledger, on_event, stop, shared_limits)
        answered.set()
        status = summary.status
        if not await judged:
            status = "interrupted"
        elif calls.out_of_budget and status == "complete":
            status = "budget"
        return RunSummary(status, summary.models, calls.summaries())
    finally:
        await _ended(judged)


def judge_all(judging: Judging) -> bool:
    """Put what is open to the judges where no model is asked; False if interrupted."""

    async def judge(stop: Shutdown) -> bool:
        answered = asyncio.Event()
        answered.set()
        return await _judge_all(judging, answered, stop)

    return loop.run(judge)


async def _judge_all(
    judging: Judging,
    answered: asyncio.Event,
    stop: Shutdown,
    shared_limits: SharedLimits | None = None,
) -> bool:
    """False where an interrupt came first.

    What is in the air then is waited for and kept, as models are.
    """
    calls = judging.calls
    calls.begin(stop, shared_limits)
    work = asyncio.create_task(judging.examine(answered))
    others = [asyncio.create_task(stop.wait())]
    try:
        await asyncio.wait((work, *others), return_when=asyncio.FIRST_COMPLETED)
        ended = work.done()
        if not ended:
            options, under_way = calls.payer.options, len(calls.client.sending)
            patience_s = stop.patience_s(options)
            calls.emit_progress()
            calls.payer.on_event(Stopping(under_way, patience_s))
            grace = stop.grace(patience_s)
            others += [asyncio.create_task(calls.idle()), asyncio.create_task(grace)]
            await asyncio.wait((work, *others[1:]), return_when=asyncio.FIRST_COMPLETED)
    finally:
        await _ended(work, *others)
    calls.emit_progress()
    if not work.cancelled():
        work.result()
    return ended


async def _ended(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _affordable(plan: Workload, first: Sequence[Trial]) -> Iterator[Trial]:
    """The models whose small request fits into what is left of the budget, whatever it costs."""
    budget, spent = plan.options.budget_usd, plan.options.already_spent_usd
    for trial in first:
        price = trial.spec.price
        if budget is not None and price is not None:
            call = trial.provider.request(trial.prompt, 1)
            spent += price.of(call.input_tokens, call.max_output_tokens)
            if spent > budget:
                return
        yield trial


def _charged(plan: Workload, ledger: OpenRun, preflights: Sequence[Preflight]) -> Workload:
    """Write down what the small requests cost; the plan has so much less to spend."""
    cost = math.fsum(found.cost_usd or 0.0 for found in preflights)
    if not cost:
        return plan
    ledger.charge_preflight(cost)
    spent = plan.options.already_spent_usd + cost
    options = msgspec.structs.replace(plan.options, already_spent_usd=spent)
    return msgspec.structs.replace(plan, options=options)


async def _now_and_then(work: Callable[[], None]) -> None:
    while True:
        await asyncio.sleep(BETWEEN_S)
        work()


async def _unless_stopped(
    asking: Coroutine[Any, Any, list[Preflight]], stop: Shutdown
) -> list[Preflight]:
    """What the models said; nothing where an interrupt came first."""
    asked, stopped = asyncio.create_task(asking), asyncio.create_task(stop.wait())
    await asyncio.wait((asked, stopped), return_when=asyncio.FIRST_COMPLETED)
    await _ended(asked, stopped)
    return [] if asked.cancelled() else asked.result()


class PreflightFailed(ConfigError):
    """A model or judge does not answer at all; nothing was asked about cases."""


def _refuse(preflights: Sequence[Preflight]) -> None:
    failed = [
        f"{found.model}: {found.failure.message}"
        for found in preflights
        if found.failure is not None
    ]
    if failed:
        raise PreflightFailed(
            "preflight failed, nothing was spent on cases: "
            + "; ".join(failed)
            + " (--no-preflight goes on without asking first)"
        )
