"""Runs with `mode: batch` against a vendor's stub, in this process or in one that can be killed.

python batch_runs.py ARGUMENT …   runs the command line; vendors are polled at once, and with
DIE_AFTER=N in the environment it kills itself after it has stored N replies of a job
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from batch_vendors import VENDORS, Vendor
from callscore.config.config import load_eval
from callscore.core.batch import BatchJob
from callscore.core.run import Event, JobNews
from callscore.engine import batch_job
from callscore.runner.prepare import RunOptions, prepare
from callscore.runner.run import RunResult, run_prepared
from callscore.store.address import open_store
from callscore.store.run_records import RunRecord
from eval_files import cases_file, eval_file, remote_model
from stub_servers import serving

AT_ONCE = batch_job.Timing(first_poll_s=0.0, poll_s=0.0, lost_s=0.0)
"""Waits for nothing; a job that a vendor does not list does not exist."""


class Clock:
    """A wall clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def now(self) -> float:
        return self.seconds


@contextmanager
def timing(clock: Clock | None = None, **changes: Any) -> Iterator[None]:
    """Poll at once; with a clock, the times until a job is lost are as usual."""
    before = batch_job.TIMING
    if clock is not None:
        changes = {"lost_s": before.lost_s, "now": clock.now, "elapsed": clock.now, **changes}
    batch_job.TIMING = msgspec.structs.replace(AT_ONCE, **changes)
    try:
        yield
    finally:
        batch_job.TIMING = before


class Eval(NamedTuple):
    """An eval file in a folder, and the vendor that it asks."""

    folder: Path
    vendor: Vendor
    file: Path

    def run(self, *, resume: bool = False, **options: Any) -> tuple[RunResult, list[str]]:
        """Run it in this process; also what was said about jobs."""
        news: list[str] = []

        def on_event(event: Event) -> None:
            if isinstance(event, JobNews) and event.text:
                news.append(event.text)

        settings = RunOptions(resume=resume, **options)
        with closing(prepare(load_eval(self.file), settings)) as prepared:
            return run_prepared(prepared, on_event), news

    def record(self) -> RunRecord:
        """The newest run in the store."""
        with open_store(load_eval(self.file).store) as store:
            return store.runs()[0]

    def jobs(self) -> Sequence[BatchJob]:
        """The jobs in the store that are not deleted."""
        with open_store(load_eval(self.file).store) as store:
            return store.batch_jobs().jobs()

    @property
    def store(self) -> Path:
        store = load_eval(self.file).store
        assert isinstance(store, Path)
        return store


@contextmanager
def evaluating(
    folder: Path, vendor: Vendor, cases: int = 3, *, extra: Any = None, **model: Any
) -> Iterator[Eval]:
    """An eval file with one model in batch mode behind a stub."""
    with serving(vendor) as stub:
        cases_file(folder, cases)
        provider = next(name for name, kind in VENDORS.items() if isinstance(vendor, kind))
        entry = remote_model(stub.url, **{"provider": provider, "mode": "batch", **model})
        yield Eval(folder, vendor, eval_file(folder, [entry], **(extra or {})))


def die_after(replies: int) -> None:
    """Kill this process when it has stored so many replies of a job."""
    from callscore.engine.model_batches import ModelBatches

    store, stored = ModelBatches.store, []
    batch_job.STORED_AT_ONCE = 1

    async def store_and_die(self: ModelBatches, *args: Any) -> None:
        await store(self, *args)
        stored.append(args)
        if len(stored) == replies:
            os.kill(os.getpid(), signal.SIGKILL)

    ModelBatches.store = store_and_die  # type: ignore[method-assign,assignment]


if __name__ == "__main__":
    from callscore.__main__ import main

    batch_job.TIMING = AT_ONCE
    if "DIE_AFTER" in os.environ:
        die_after(int(os.environ["DIE_AFTER"]))
    sys.argv = ["callscore", *sys.argv[1:]]
    main()
