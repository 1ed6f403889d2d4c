"""`callscore purge`: delete stored runs and their texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from callscore.cli.console import say
from callscore.cli.options import STORE

if TYPE_CHECKING:
    from callscore.store.address import StoreAddress
    from callscore.store.run_records import RunRecord


@click.command()
@click.argument("run_ids", metavar="[RUN]...", nargs=-1, type=int)
@click.option(
    "--store",
    type=STORE,
    help="The store; by default .callscore/runs.db in the current folder.",
)
@click.option("--all", "every", is_flag=True, help="All runs.")
@click.option(
    "--older-than",
    type=click.IntRange(min=0),
    metavar="DAYS",
    help="Runs that started more than DAYS days ago.",
)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
def purge(
    run_ids: tuple[int, ...],
    store: StoreAddress | None,
    every: bool,
    older_than: int | None,
    yes: bool,
) -> None:
    """Delete runs and the replies that no other run uses.

    The pages of the file are overwritten and released, so that it has no text of these runs. A
    later run pays for deleted replies again. With --all, or if no run is left, the redacted copies
    of the data next to the store are deleted too. Copies elsewhere (backups, reports, results) are
    not deleted. In a PostgreSQL store the tables are rewritten (VACUUM FULL), and other processes
    wait for them.
    """
    from callscore.config.score import DEFAULT_STORE
    from callscore.core.errors import UsageError
    from callscore.report.numbers import show_count
    from callscore.store.address import is_written, open_store, purge_store, require_store

    path = store or DEFAULT_STORE
    if sum((bool(run_ids), every, older_than is not None)) != 1:
        raise UsageError("expected run ids, --all, or --older-than DAYS")
    if not (every and copies_of(path).is_dir()):
        require_store(path)
    chosen = list(run_ids)
    if not chosen and is_written(path):
        with open_store(path, only_reading=True) as opened:
            chosen = [run.id for run in opened.runs() if every or _is_older(run, older_than or 0)]
    if not chosen:
        say(f"{path}: no such run")
    else:
        shown = show_count(len(chosen), "run")
        if not yes:
            click.confirm(f"Delete {shown} and their replies from {path}?", abort=True)
        done = purge_store(path, chosen)
        replies = "reply" if done.replies == 1 else "replies"
        freed = f"{done.bytes_freed:,} bytes freed"
        say(f"{path}: deleted {shown} and {done.replies} {replies}, {freed}")
        if not isinstance(path, Path):
            say("The server's write-ahead log, its replicas and backups still have the texts.")
    copies = remove_unused_copies(path, every=every)
    if copies:
        say(f"{copies_of(path)}: deleted {show_count(copies, 'redacted copy')}")


def copies_of(store: StoreAddress) -> Path:
    """The folder of redacted copies next to a store."""
    from callscore.config.config import REDACTED

    return store.parent / REDACTED


def remove_unused_copies(store: StoreAddress, *, every: bool) -> int:
    """Delete the redacted copies if `every` run was, or none is left; how many there were."""
    from callscore.config.redaction import remove_copies
    from callscore.store.address import open_store

    if not copies_of(store).is_dir():
        return 0
    if not every and store.exists():
        with open_store(store, only_reading=True) as opened:
            if opened.runs():
                return 0
    return remove_copies(copies_of(store))


def _is_older(run: RunRecord, days: int) -> bool:
    return datetime.fromisoformat(run.started_at) < datetime.now(UTC) - timedelta(days=days)


class PurgeAfterRun:
    """Deletes a run with its replies when everything has been written, if that is wanted.

    What an earlier run of this kind left when it was killed is deleted as well, before and after.
    """

    def __init__(self, store: StoreAddress, *, wanted: bool) -> None:
        self._store = store
        self._wanted = wanted

    def __enter__(self) -> PurgeAfterRun:
        if self._wanted:
            self._purge()
        return self

    def __exit__(self, *_: object) -> None:
        if self._wanted:
            self._purge()
            remove_unused_copies(self._store, every=False)

    def _purge(self) -> None:
        """Delete every run that is not to be stored and that no living process holds."""
        store = self._store
        if not store.exists() or (isinstance(store, Path) and not store.stat().st_size):
            return
        from callscore.store.address import open_store, purge_store

        with open_store(self._store, only_reading=True) as opened:
            ended = [
                run.id for run in opened.runs() if run.header.unstored and run.status != "running"
            ]
        if ended:
            purge_store(self._store, ended)
