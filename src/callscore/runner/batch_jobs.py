"""The jobs that runs have left at batch APIs: which there are, and how to end them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from callscore.config.config import EvalConfig
from callscore.core.batch import BatchJob, batch_price
from callscore.core.errors import UsageError
from callscore.core.run import ModelSpec, OnEvent
from callscore.engine import loop
from callscore.engine.loop import Shutdown
from callscore.engine.model_batches import ModelBatches, RunJobs, Session
from callscore.engine.workload import EngineOptions, PlannedModel
from callscore.runner.prepare import ModelHandle, open_models
from callscore.runner.stored_runs import config_of_run
from callscore.store.address import StoreAddress, open_store
from callscore.store.protocol import RunLedger


class CancelResult(NamedTuple):
    """What was collected from the cancelled jobs of a run, and the jobs that have not ended yet."""

    replies: int
    cost_usd: float
    uncertain_usd: float
    left: Sequence[BatchJob]


def list_jobs(store: StoreAddress) -> Sequence[BatchJob]:
    """The jobs in a store that are not finished."""
    with open_store(store, only_reading=True) as opened:
        return opened.batch_jobs().jobs()


def cancel_jobs(
    run_id: int, store: StoreAddress, eval_file: Path | None, on_event: OnEvent
) -> CancelResult:
    """Cancel the jobs of a run, and collect what they have finished; nothing new is sent.

    Raises UsageError if a living process holds the run.
    """
    with open_store(store) as opened:
        before = opened.run(run_id)
        ledger = opened.hold_run(run_id)
        try:
            config = config_of_run(before, store, eval_file)
            models = _models_of(config, opened.batch_jobs().jobs(run_id))
            loop.run(lambda stop: _cancel(models, ledger, on_event, stop))
        finally:
            ledger.end("complete" if before.status == "complete" else "interrupted")
        after = opened.run(run_id)
        return CancelResult(
            after.answered - before.answered,
            after.cost_usd - before.cost_usd,
            after.uncertain_usd - before.uncertain_usd,
            [job for job in opened.batch_jobs().jobs(run_id) if job.state != "collected"],
        )


def _models_of(config: EvalConfig, jobs: Sequence[BatchJob]) -> Sequence[ModelHandle]:
    """The models of jobs, as the eval file describes them now."""
    wanted = {job.model for job in jobs}
    known: Mapping[str, ModelSpec] = {spec.name: spec for spec in config.models}
    for name in sorted(wanted - known.keys()):
        raise UsageError(f"{config.path}: has no model {name!r}, which has a batch job")
    specs = [spec for name, spec in known.items() if name in wanted]
    return open_models(msgspec.structs.replace(config, models=specs)) if specs else []


async def _cancel(
    models: Sequence[ModelHandle], ledger: RunLedger, on_event: OnEvent, stop: Shutdown
) -> None:
    options = EngineOptions()
    jobs = RunJobs(ledger.id, ledger.jobs)
    session = Session(options, ledger, jobs, options.shared_limits(), on_event, stop)
    try:
        for model in models:
            planned = PlannedModel(_in_batch(model.spec), model.provider, (), 0)
            await ModelBatches(planned, session).cancel()
    finally:
        for model in models:
            await model.provider.close()


def _in_batch(spec: ModelSpec) -> ModelSpec:
    """The model at the price of its jobs, whatever its mode is now."""
    if spec.mode == "batch":
        return spec
    price = None if spec.price is None else batch_price(spec.price)
    return msgspec.structs.replace(spec, mode="batch", price=price)
