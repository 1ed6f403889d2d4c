"""Writes what can still be read of a damaged journal to a new one (R-16)."""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from callscore.core.errors import StoreError, UsageError
from callscore.store.batch_jobs import RELEASE_FINISHED
from callscore.store.connection import (
    BUSY_S,
    UnreadableRow,
    connect,
    connect_for_reading,
    create_private,
    damage_error,
    is_writable,
    log_of,
    map_sqlite_errors,
    migrate,
    transaction,
)
from callscore.store.events import COLUMNS
from callscore.store.recovery.sqlite_pages import (
    FRAME_HEADER,
    MAGIC,
    WAL_HEADER,
    JournalPages,
    SqliteRow,
    Value,
    log_frames,
)
from callscore.store.reply_rows import checksum
from callscore.store.run_records import parse_race, relative_to_store

Shape = tuple[type | tuple[type, ...], ...]

_ID = _NOTHING = type(None)
"""An INTEGER PRIMARY KEY is not part of the record: it is the row id."""
_ANSWERS: Shape = (_ID, bytes, bytes, (int, float, _NOTHING), int, int)
_RUNS: Shape = (_ID, str, str, str, int, str, str, (str, _NOTHING), (bytes, _NOTHING))
_HOLDER = len(_RUNS) - 1
_ITEMS: Shape = (_ID, int, str, str, int, str, bytes, (str, _NOTHING), int)
_PAID_BY: Shape = (int, bytes)
"""The index of judge replies by run. The table itself looks like the index of replies."""
_JOBS: Shape = (_ID, str, int, str, str, bytes)
_JOB_ITEMS: Shape = (bytes, str, str, int, str, (int, float))
"""Jobs at batch APIs and the requests that they have in flight."""
_EVENTS: Shape = (
    *(_ID, str, str, str, bytes, (int, _NOTHING), (bytes, _NOTHING)),
    *(bytes, bytes),
)
_ANSWER = (
    "INSERT OR REPLACE INTO answers (id, key, reply, cost_usd, attempts, checksum)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)
# No process holds a run of a salvaged journal: it can be resumed.
_RUN = (
    "INSERT OR REPLACE INTO runs (id, name, config_hash, dataset_hash, total, status, started_at,"
    " finished_at, preflight_usd, uncertain_usd, eval_file, race, redact, unstored)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_ITEM = (
    "INSERT OR REPLACE INTO items (seq, run_id, case_id, model, run, task, key, error, paid)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_JOB = (
    "INSERT OR REPLACE INTO batch_jobs (id, token, run_id, model, state, job)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)
_JOB_ITEM = (
    "INSERT OR REPLACE INTO batch_items (key, token, case_id, run, task, most_usd)"
    " VALUES (?, ?, ?, ?, ?, ?)"
)
_EVENT = f"INSERT OR REPLACE INTO events ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
_JUDGED = "INSERT OR REPLACE INTO judge_answers (run_id, key) VALUES (?, ?)"
_ORPHANS = (
    "DELETE FROM items WHERE run_id NOT IN (SELECT id FROM runs)"
    " OR error IS NULL AND key NOT IN (SELECT key FROM answers)",
    "DELETE FROM judge_answers WHERE run_id NOT IN (SELECT id FROM runs)"
    " OR key NOT IN (SELECT key FROM answers)",
    "DELETE FROM batch_jobs WHERE run_id NOT IN (SELECT id FROM runs)",
    RELEASE_FINISHED,
)


class SalvageResult(msgspec.Struct, frozen=True):
    """The number of replies, runs, items and events that were salvaged."""

    answers: int
    lost_answers: int
    """Replies with an id below the highest that are missing; there may have been later ones."""
    runs: int
    items: int
    judge_answers: int
    """Replies of judges for which the paying run is known."""
    events: int = 0
    """Decisions of people; those with a number below the highest may be missing."""


def salvage(damaged: Path, target: Path) -> SalvageResult:
    """Write every intact reply of a damaged journal, and what is left of its runs, to a new file.

    The damaged file is only read. A reply is taken if its checksum is correct; an item, and the
    payer of a judge's reply, if run and reply were found.
    """
    if target.exists():
        raise UsageError(f"{target}: exists; expected the name of a new file")
    create_private(target)
    with closing(connect(target, sqlite3.Connection)) as connection, map_sqlite_errors(target):
        migrate(connection, target)
        with transaction(connection):
            for row in JournalPages(damaged).rows():
                _take(connection, row)
            _move_eval_files(connection, damaged, target)
            for statement in _ORPHANS:
                connection.execute(statement)
        answers, highest = connection.execute(
            "SELECT count(*), ifnull(max(id), 0) FROM answers"
        ).fetchone()
        runs, items, judged, events = connection.execute(
            "SELECT (SELECT count(*) FROM runs), (SELECT count(*) FROM items),"
            " (SELECT count(*) FROM judge_answers), (SELECT count(*) FROM events)"
        ).fetchone()
    return SalvageResult(answers, highest - answers, runs, items, judged, events)


def holds_records(path: Path) -> bool:
    """Whether a file contains any row of a journal."""
    return any(
        _fits(values, shape)
        for rowid, values in JournalPages(path).rows()
        if rowid is not None
        for shape in (_ANSWERS, _ITEMS, _RUNS, _EVENTS)
    )


def _take(connection: sqlite3.Connection, row: SqliteRow) -> None:
    """Insert a row; later versions replace earlier ones."""
    rowid, values = row
    if rowid is None:
        if _fits(values, _PAID_BY):
            connection.execute(_JUDGED, values)
    elif _fits(values, _ANSWERS):
        _, key, reply, *_, expected = values
        if isinstance(key, bytes) and isinstance(reply, bytes) and checksum(key, reply) == expected:
            connection.execute(_ANSWER, (rowid, *values[1 : len(_ANSWERS)]))
    elif _fits(values, _ITEMS):
        connection.execute(_ITEM, (rowid, *values[1 : len(_ITEMS)]))
    elif _fits(values, _RUNS):
        connection.execute(_RUN, (rowid, *values[1:_HOLDER], *_later_columns(values)))
    elif _fits(values, _EVENTS):
        # a body that does not match its digest is kept: `faults` shows it
        connection.execute(_EVENT, (rowid, *values[1 : len(_EVENTS)]))
    elif _fits(values, _JOBS):
        connection.execute(_JOB, (rowid, *values[1 : len(_JOBS)]))
    elif _fits(values, _JOB_ITEMS):
        connection.execute(_JOB_ITEM, values[: len(_JOB_ITEMS)])


def _later_columns(values: Sequence[Value]) -> list[Value]:
    """The columns of a run that earlier schema versions lack: costs, eval file, race, redaction."""
    later = [*values[len(_RUNS) :], *[None] * 6][:6]
    *costs, eval_file, race, redact, unstored = later
    return [
        *(usd if isinstance(usd, (int, float)) else 0.0 for usd in costs),
        eval_file if isinstance(eval_file, str) else "",
        race if isinstance(race, bytes) and _is_race(race) else None,
        redact if isinstance(redact, str) else "",
        1 if unstored == 1 else 0,
    ]


def _is_race(raw: bytes) -> bool:
    try:
        return parse_race(raw) is not None
    except UnreadableRow:
        return False


def _move_eval_files(connection: sqlite3.Connection, damaged: Path, target: Path) -> None:
    """Make the paths of eval files relative to the folder of the new journal."""
    named = connection.execute("SELECT id, eval_file FROM runs WHERE eval_file != ''").fetchall()
    moved = [
        (relative_to_store(damaged.parent / eval_file, target), run_id)
        for run_id, eval_file in named
    ]
    connection.executemany("UPDATE runs SET eval_file = ? WHERE id = ?", moved)


def _fits(values: Sequence[Value], shape: Shape) -> bool:
    """Whether a record has the shape of a table's rows; columns of later versions may follow."""
    return len(values) >= len(shape) and all(map(isinstance, values, shape))


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
