"""The results of stored runs: the index of scored answers, and what screens and reports read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from callscore.evaluate.block_scoring import Workers
    from callscore.report.source import ReportSource
    from callscore.results.stored_results import StoredResults
    from callscore.store.address import StoreAddress


def open_results(store: StoreAddress, eval_file: Path | None = None) -> StoredResults:
    """The results of a store; raises UsageError if there is no such store.

    `eval_file`: that of its runs, if the store does not name it or the file was moved.
    """
    from callscore.results.stored_results import StoredResults  # loads SQLite and the suites

    return StoredResults(store, eval_file)


@contextmanager
def indexed_source(
    run_id: int, store: StoreAddress, eval_file: Path | None, workers: Workers
) -> Iterator[ReportSource]:
    """The source of a stored run, from its index; the run is scored once if the index is stale.

    Where no index can be written, as on a full disk, the run is scored each time.
    """
    from callscore.export.sources import run_source

    with closing(open_results(store, eval_file)) as results:
        if results.is_indexed(run_id, workers):
            yield results.source(run_id)
            return
    with run_source(run_id, store, eval_file, workers) as source:
        yield source
