"""Works on a run that another process holds, from this machine."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from callscore.core.errors import UsageError
from callscore.core.run import OnEvent, RunSummary
from callscore.engine import loop
from callscore.engine.loop import Shutdown
from callscore.runner.cases import CaseStream
from callscore.runner.events import billing_events
from callscore.runner.prepare import PreparedRun, RunOptions, prepare
from callscore.runner.run import plan_of
from callscore.runner.run_key import RunKey
from callscore.runner.shared_work import SharedSending, shared_limits
from callscore.runner.stored_runs import config_of_run
from callscore.store.address import StoreAddress, open_store
from callscore.store.postgres.store import PostgresStore


def open_shared_store(address: StoreAddress) -> PostgresStore:
    """The store of a run that workers share; raises UsageError if it is a file."""
    store = open_store(address)
    if not isinstance(store, PostgresStore):
        store.close()
        raise UsageError(
            f"{address}: is a file; expected a store that machines share: postgresql://…"
        )
    return store


def work(run_id: int, store: StoreAddress, eval_file: Path | None, on_event: OnEvent) -> RunSummary:
    """Work on a run with the eval file and the data of this machine; raises UsageError."""
    with open_shared_store(store) as opened:
        record = opened.run(run_id)
    config = config_of_run(record, store, eval_file)
    key = RunKey.parse(record.header.config_hash)
    options = RunOptions(limit=key.limit, weights=key.weights)
    with closing(prepare(config, options)) as prepared:
        return _work_on(prepared, run_id, on_event)


def _work_on(prepared: PreparedRun, run_id: int, on_event: OnEvent) -> RunSummary:
    """Send requests of a run until it has no open chunk, or until it is interrupted."""
    with open_shared_store(prepared.config.store) as store:
        store.check_joinable(run_id, prepared.header)
        budget_usd = store.budget_of(run_id)
        with store.join_run(run_id) as ledger:
            sending = SharedSending(prepared, ledger, is_holder=False)
            plan = plan_of(prepared, CaseStream(prepared.sources))
            limits = shared_limits(ledger, budget_usd)

            async def carry_out(stop: Shutdown) -> RunSummary:
                try:
                    return await sending.send(plan, billing_events(ledger, on_event), stop, limits)
                finally:
                    sending.close()
                    for model in plan.models.values():
                        await model.provider.close()

            return loop.run(carry_out)
