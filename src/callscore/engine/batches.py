"""Carries out a workload in which models are asked by their batch APIs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from callscore.core.run import Ledger, OnEvent, RunSummary
from callscore.engine.limits import SharedLimits
from callscore.engine.loop import Shutdown
from callscore.engine.model_batches import ModelBatches, RunJobs, Session, worst_status
from callscore.engine.workers import generate
from callscore.engine.workload import Workload

T = TypeVar("T")


async def send(
    plan: Workload,
    ledger: Ledger,
    jobs: RunJobs,
    on_event: OnEvent,
    stop: Shutdown,
    shared_limits: SharedLimits | None = None,
) -> RunSummary:
    """Carry out a workload: models with `mode: batch` by jobs, all others request by request."""
    batches = [model for model in plan.models.values() if model.spec.mode == "batch"]
    if not batches:
        return await generate(plan, ledger, on_event, stop, shared_limits)
    plan.check()
    limits = shared_limits or plan.options.shared_limits()
    live = {name: model for name, model in plan.models.items() if model.spec.mode == "live"}
    session = Session(plan.options, ledger, jobs, limits, on_event, stop)
    parts = [ModelBatches(model, session).carry_out() for model in batches]
    if live:
        parts.append(generate(Workload(live, plan.options), ledger, on_event, stop, limits))
    found = await _all_or_none(parts)
    await ledger.settle()
    models = {name: summary for part in found for name, summary in part.models.items()}
    status = worst_status([part.status for part in found])
    return RunSummary(status, {name: models[name] for name in plan.models})


async def _all_or_none(parts: Iterable[Awaitable[T]]) -> list[T]:
    """The results of all parts; if one raises, the others are cancelled."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
