"""Detects damage when a journal is opened, before SQLite touches the file (R-16)."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

from callscore.core.errors import StoreError
from callscore.store.connection import (
    BUSY_S,
    connect_for_reading,
    damage_error,
    is_writable,
    log_of,
    map_sqlite_errors,
)
from callscore.store.recovery.salvage import holds_records
from callscore.store.recovery.sqlite_pages import FRAME_HEADER, MAGIC, WAL_HEADER, log_frames

CHECKED_BYTES = 64_000_000
"""Up to this size all pages are checked whenever a journal is opened; it takes 0.2 seconds."""
CHECKS = 3
SQLITE = b"SQLite format 3\0"

_WORD = 0xFFFFFFFF


def check_intact(path: Path) -> None:
    """Raise StoreError if log or pages are damaged; neither is changed.

    A large file is trusted if its log shows that it was closed properly.
    """
    _check_kind(path)
    has_log = _check_log(path)
    if has_log or path.stat().st_size <= CHECKED_BYTES:
        with map_sqlite_errors(path), closing(_connect_read_only(path)) as connection:
            verdict = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
        if verdict != "ok":
            raise damage_error(path, " ".join(verdict.split()))


def _check_kind(path: Path) -> None:
    """Raise StoreError if the file never was a journal: then there is nothing to salvage."""
    with path.open("rb") as file:
        beginning = file.read(len(SQLITE))
    if beginning and beginning != SQLITE and not holds_records(path):
        raise StoreError(
            f"{path}: is not a Callscore store; expected a new file, or one that a run has written"
        )


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """A connection that cannot write: any other would merge the log into the file when closed."""
    if not is_writable(path):
        return connect_for_reading(path, sqlite3.Connection)
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_S)


def _check_log(path: Path) -> bool:
    """Raise StoreError if the log has lost commits in its middle; returns whether there is a log.

    SQLite reads a log up to the first incomplete frame and drops the rest, as it must after a loss
    of power, when the last transaction may be incomplete. But if a later transaction has ended, the
    frame was complete once, and something has changed the log since.
    """
    log = log_of(path)
    found: list[str | None] = []
    for _ in range(CHECKS):
        # Another process may be writing: what changes before the next check is not damage.
        try:
            wal = log.read_bytes()
        except FileNotFoundError:
            return False
        found.append(_log_fault(wal))
        if found[-1] is None:
            return bool(wal)
    if found[0] is not None and len(set(found)) == 1:
        raise damage_error(path, found[0])
    return True


def _log_fault(wal: bytes) -> str | None:
    """What is wrong with a log; None if it can be read, or was never written to disk."""
    if len(wal) < WAL_HEADER.size or not any(wal[: WAL_HEADER.size]):
        return None
    header = WAL_HEADER.unpack_from(wal)
    order = ">" if header[0] & 1 else "<"
    sums = _checksum(wal[:24], (0, 0), order)
    if header[0] not in MAGIC or sums != header[6:]:
        return "the beginning of its log cannot be read"
    commits = _commits_behind_a_break(wal, sums, order)
    if not commits:
        return None
    count = "a commit" if commits == 1 else f"{commits} commits"
    return f"{count} behind a broken place of its log"


def _commits_behind_a_break(wal: bytes, sums: tuple[int, int], order: str) -> int:
    """The number of transactions after the first incomplete frame, without its own."""
    page_bytes = WAL_HEADER.unpack_from(wal)[2]
    whole, commits = True, 0
    for frame in log_frames(wal):
        if whole:
            body = frame.offset + FRAME_HEADER.size
            sums = _checksum(wal[frame.offset : frame.offset + 8], sums, order)
            sums = _checksum(wal[body : body + page_bytes], sums, order)
            whole = sums == FRAME_HEADER.unpack_from(wal, frame.offset)[4:]
        if not whole:
            commits += frame.commits
    return max(0, commits - 1)


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _WORD
        second = (second + odd + first) & _WORD
    return first, second
