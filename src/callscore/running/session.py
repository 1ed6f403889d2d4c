"""The parts of a run that await: preflight and the engine; then the judges."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.errors import ConfigError
from callscore.core.run_words import OnEvent, RunSummary
from callscore.engine import loop
from callscore.engine.plan import Plan
from callscore.engine.run import generate
from callscore.engine.stopping import Stop
from callscore.running.models import Reached
from callscore.running.preflight import PROMPT, Preflight, preflight
from callscore.scoring.judge_calls import JudgeCalls
from callscore.store.journal import OpenRun

PREFLIGHT_TIMEOUT_S = 30.0
BETWEEN_S = 0.004

Asked = tuple[Sequence[Preflight], RunSummary]


def ask_all(
    plan: Plan,
    ledger: OpenRun,
    first: Mapping[str, Reached],
    on_event: OnEvent,
    meanwhile: Callable[[], None],
) -> Asked:
    """Ask the models and judges in `first` whether they answer at all; then carry out the plan.

    `meanwhile` is called now and then: short work for the time that answers take.
    """
    return loop.run(lambda stop: _ask_all(_Session(plan, ledger, on_event, stop), first, meanwhile))


class _Session(NamedTuple):
    plan: Plan
    ledger: OpenRun
    on_event: OnEvent
    stop: Stop


async def _ask_all(
    session: _Session, first: Mapping[str, Reached], meanwhile: Callable[[], None]
) -> Asked:
    plan, ledger, on_event, stop = session
    beside = asyncio.create_task(_now_and_then(meanwhile))
    try:
        timeout = min(PREFLIGHT_TIMEOUT_S, plan.options.attempt_s)
        providers = {name: model.provider for name, model in _affordable(plan, first)}
        found = await _unless_stopped(preflight(providers, timeout), stop)
        preflights = [one.priced(first[one.model].spec.price) for one in found]
        plan = _charged(plan, ledger, preflights)
        _refuse(preflights)
        if stop.asked:
            return preflights, RunSummary("interrupted", {})
        summary = await generate(plan, ledger, on_event, stop)
        if beside.done():
            beside.result()  # raises what went wrong beside: something is not scored
        return preflights, summary
    finally:
        beside.cancel()
        await asyncio.gather(beside, return_exceptions=True)
        planned = [model.provider for model in plan.models.values()]
        tried = [model.provider for model in first.values()]
        for provider in dict.fromkeys([*planned, *tried]):
            await provider.close()


def judge_all(
    examine: Callable[[], Coroutine[Any, Any, None]], calls: JudgeCalls, spent_usd: float
) -> bool:
    """Put what is open to the judges; False where an interrupt came first.

    What is in the air then may still be answered and kept, within the grace of the engine.
    """
    return loop.run(lambda stop: _judge_all(examine, calls, spent_usd, stop))


async def _judge_all(
    examine: Callable[[], Coroutine[Any, Any, None]],
    calls: JudgeCalls,
    spent_usd: float,
    stop: Stop,
) -> bool:
    calls.begin(stop, spent_usd)
    work, asked = asyncio.create_task(examine()), asyncio.create_task(stop.wait())
    tasks = [work, asked]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    ended = work.done()
    if not ended:
        tasks.append(asyncio.create_task(calls.idle()))
        tasks.append(asyncio.create_task(stop.grace(calls.payer.options.grace_s)))
        await asyncio.wait((work, *tasks[2:]), return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    if not work.cancelled():
        work.result()
    return ended


def _affordable(plan: Plan, first: Mapping[str, Reached]) -> Iterator[tuple[str, Reached]]:
    """The models whose small request fits into what is left of the budget, whatever it costs."""
    budget, spent = plan.options.budget_usd, plan.options.already_spent_usd
    for name, model in first.items():
        price = model.spec.price
        if budget is not None and price is not None:
            call = model.provider.call(PROMPT, 1)
            spent += price.of(call.input_tokens, call.max_output_tokens)
            if spent > budget:
                return
        yield name, model


def _charged(plan: Plan, ledger: OpenRun, preflights: Sequence[Preflight]) -> Plan:
    """Write down what the small requests cost; the plan has so much less to spend."""
    cost = sum(found.cost_usd or 0.0 for found in preflights)
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
    asking: Coroutine[Any, Any, list[Preflight]], stop: Stop
) -> list[Preflight]:
    """What the models said; nothing where an interrupt came first."""
    asked, stopped = asyncio.create_task(asking), asyncio.create_task(stop.wait())
    await asyncio.wait((asked, stopped), return_when=asyncio.FIRST_COMPLETED)
    for task in (asked, stopped):
        task.cancel()
    await asyncio.gather(asked, stopped, return_exceptions=True)
    return [] if asked.cancelled() else asked.result()


def _refuse(preflights: Sequence[Preflight]) -> None:
    failed = [
        f"{found.model}: {found.failure.message}"
        for found in preflights
        if found.failure is not None
    ]
    if failed:
        raise ConfigError(
            "preflight failed, nothing was spent on cases: "
            + "; ".join(failed)
            + " (--no-preflight goes on without asking first)"
        )
