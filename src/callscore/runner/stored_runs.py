"""Stored runs: the eval file that a run was made with."""

from __future__ import annotations

import os
from pathlib import Path

from callscore.config.config import EvalConfig, load_eval
from callscore.core.errors import UsageError
from callscore.store.address import StoreAddress
from callscore.store.run_records import RunRecord


def config_of_run(
    record: RunRecord, store: StoreAddress, eval_file: Path | None = None
) -> EvalConfig:
    """The eval file of a run as it is now, redacting as the run did."""
    redact = None
    if record.header.redact:
        from callscore.config.redaction import decode_option

        redact = decode_option(record.header.redact, store)
    return load_eval(eval_file or _eval_file(record, store), store, redact)


def _eval_file(record: RunRecord, store: StoreAddress) -> Path:
    named = record.header.eval_file
    if not named:
        raise UsageError(f"run {record.id}: its store does not name the eval file; expected --eval")
    path = Path(os.path.normpath(store.parent / named))
    if not path.exists():
        raise UsageError(
            f"run {record.id}: {path}: no such file; expected --eval with the eval file of the run"
        )
    return path
