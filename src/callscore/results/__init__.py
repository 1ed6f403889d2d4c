"""The results of stored runs: the index of scored answers, and what screens and reports read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from callscore.results.stored_results import StoredResults
    from callscore.store.address import StoreAddress


def open_results(store: StoreAddress, eval_file: Path | None = None) -> StoredResults:
    """The results of a store; raises UsageError if there is no such store.

    `eval_file`: that of its runs, if the store does not name it or the file was moved.
    """
    from callscore.results.stored_results import StoredResults  # loads SQLite and the suites

    return StoredResults(store, eval_file)
