"""Sources of reports that read the index of a stored run instead of scoring it again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from callscore.evaluate.block_scoring import ONE_PROCESS, Workers
from callscore.export.sources import run_source
from callscore.report.source import ReportSource
from callscore.results import open_results
from callscore.store.address import StoreAddress


@contextmanager
def indexed_source(
    run_id: int,
    store: StoreAddress,
    eval_file: Path | None = None,
    workers: Workers = ONE_PROCESS,
) -> Iterator[ReportSource]:
    """The source of a stored run, from its index; the run is scored once if the index is stale.

    A store that cannot be written keeps no index: its run is scored each time.
    """
    with closing(open_results(store, eval_file)) as results:
        if results.keeps_index:
            if not results.is_fresh(run_id):
                results.refresh(run_id, workers)
            yield results.source(run_id)
            return
    with run_source(run_id, store, eval_file, workers) as source:
        yield source
