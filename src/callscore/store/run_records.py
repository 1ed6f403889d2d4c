"""Runs in a journal: config, progress, cost, and the process that holds them."""

from __future__ import annotations

import math
import os
import socket
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from callscore.core.errors import UsageError
from callscore.core.race import RaceCard
from callscore.core.run import RunStatus
from callscore.store.address import StoreAddress
from callscore.store.connection import UnreadableRow

StoredStatus = RunStatus | Literal["running", "broken off"]
"""`broken off`: the process ended without recording a status; the run can be resumed."""

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_STARTED_FIELD = 19
"""The field of /proc/<pid>/stat after the name, counted from zero: the start of the process, in
ticks."""
_OF_RUN = (
    "SELECT runs.id, runs.name, config_hash, dataset_hash, total, status, started_at, finished_at,"
    " holder,"
    " (SELECT count(*) FROM items WHERE run_id = runs.id AND error IS NULL),"
    " (SELECT count(*) FROM items WHERE run_id = runs.id AND error IS NOT NULL),"
    " preflight_usd + (SELECT total(cost_usd) FROM items JOIN answers USING (key)"
    "   WHERE run_id = runs.id AND paid = 1),"
    " (SELECT count(*) FROM items JOIN answers USING (key)"
    "   WHERE run_id = runs.id AND paid = 1 AND cost_usd IS NULL),"
    " (SELECT total(cost_usd) FROM judge_answers JOIN answers USING (key)"
    "   WHERE run_id = runs.id),"
    " uncertain_usd, eval_file, race, redact, unstored"
    " FROM runs"
)
_UNFINISHED = (
    "SELECT id, dataset_hash, holder FROM runs"
    " WHERE name = ? AND config_hash = ? AND status != 'complete' ORDER BY id DESC"
)
_NEWEST_UNFINISHED = (
    f"{_OF_RUN} WHERE name = ? AND status != 'complete' ORDER BY config_hash = ? DESC,"
    " dataset_hash = ? DESC, runs.id DESC LIMIT 1"
)
_GO_ON = (
    "UPDATE runs SET status = 'running', finished_at = NULL, total = ?, holder = ? WHERE id = ?"
)


class Holder(msgspec.Struct, frozen=True):
    """The process that holds a run; it may have ended without releasing it."""

    pid: int
    host: str
    boot_id: str
    started: str
    """Distinguishes a process from a later one with the same number."""
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host} since {self.since}"


encode_holder = msgspec.msgpack.Encoder().encode
_decode_holder = msgspec.msgpack.Decoder(Holder).decode
_decode_race = msgspec.json.Decoder(RaceCard).decode


class RunHeader(msgspec.Struct, frozen=True):
    """What identifies a run."""

    name: str
    config_hash: str
    dataset_hash: str
    total: int
    """Pieces of work, over all models and repeats."""
    eval_file: str = ""
    """The eval file of the run, relative to the folder of the store."""
    redact: str = ""
    """The options of `--redact`, as JSON; empty if the eval file decides."""
    unstored: bool = False
    """Whether the run is deleted when it ends (`--no-store-text`)."""


class RunRecord(msgspec.Struct, frozen=True):
    """One run, for lists and for scoring."""

    id: int
    header: RunHeader
    status: StoredStatus
    started_at: str
    finished_at: str | None
    holder: Holder | None
    answered: int
    failed: int
    cost_usd: float
    """The known part of what this run paid to the models under test, including its preflight."""
    unpriced: int
    """Replies of unknown cost."""
    judge_usd: float = 0.0
    """The known part of what this run paid to judges."""
    uncertain_usd: float = 0.0
    """The most that may still be billed for lost attempts."""
    race: RaceCard | None = None
    """The `race` section of its scorecard, if it was a race."""
    paid_again_usd: float = 0.0
    """The part of the cost for requests that were sent again after their worker was lost."""

    @property
    def spent_usd(self) -> float:
        """What counts against a budget: models, judges, and what may still be billed."""
        return self.cost_usd + self.judge_usd + self.uncertain_usd

    @property
    def coverage(self) -> float | None:
        """answered / total; None for a run without work"""
        return self.answered / self.header.total if self.header.total else None


class Failure(msgspec.Struct, frozen=True):
    """Why requests to a model failed, and how many failed for this reason."""

    model: str
    why: str
    number: int


def all_runs(connection: sqlite3.Connection) -> list[RunRecord]:
    """Every run, newest first."""
    return [record_of(row) for row in connection.execute(f"{_OF_RUN} ORDER BY runs.id DESC")]


def find_run(connection: sqlite3.Connection, run_id: int) -> RunRecord | None:
    """A run by its number; None if it does not exist."""
    row = connection.execute(f"{_OF_RUN} WHERE runs.id = ?", (run_id,)).fetchone()
    return None if row is None else record_of(row)


def progress_of_runs(connection: sqlite3.Connection) -> dict[int, str]:
    """By run, newest first, a text that changes with its progress; counts nothing."""
    newest = connection.execute("SELECT max(seq) FROM items").fetchone()[0]
    rows = connection.execute(
        "SELECT id, status, started_at, finished_at, total FROM runs ORDER BY id DESC"
    )
    return {
        number: "/".join(map(str, (status, *parts, *([newest] if status == "running" else []))))
        for number, status, *parts in rows
    }


def find_unfinished_run(connection: sqlite3.Connection, header: RunHeader) -> RunRecord | None:
    """The unfinished run of this name that is most similar to this one."""
    sought = (header.name, header.config_hash, header.dataset_hash)
    row = connection.execute(_NEWEST_UNFINISHED, sought).fetchone()
    return None if row is None else record_of(row)


def take_run(connection: sqlite3.Connection, header: RunHeader, *, resume: bool) -> int:
    """The number of the run to work on, now held by this process (within a transaction)."""
    unfinished = connection.execute(_UNFINISHED, (header.name, header.config_hash)).fetchall()
    for run_id, _, holder in unfinished:
        _refuse_if_held(run_id, header.name, holder)
    if not (resume and unfinished):
        return _new_run(connection, header)
    run_id, dataset_hash, _ = unfinished[0]
    if dataset_hash != header.dataset_hash:
        raise UsageError(
            f"run {run_id} of {header.name!r}: the data has changed since it began; start a new "
            "run instead (replies to unchanged requests are stored and cost nothing)"
        )
    connection.execute(_GO_ON, (header.total, encode_holder(this_process()), run_id))
    return int(run_id)


def hold_run(connection: sqlite3.Connection, run_id: int) -> None:
    """Hold a run by this process (within a transaction)."""
    row = connection.execute("SELECT name, holder FROM runs WHERE id = ?", (run_id,)).fetchone()
    _refuse_if_held(run_id, row[0], row[1])
    held = (encode_holder(this_process()), run_id)
    connection.execute("UPDATE runs SET status = 'running', holder = ? WHERE id = ?", held)


def end_run(connection: sqlite3.Connection, run_id: int, status: RunStatus) -> None:
    """Record how a run ended, and release it."""
    connection.execute(
        "UPDATE runs SET status = ?, finished_at = ?, holder = NULL WHERE id = ?",
        (status, now(), run_id),
    )


def drop_run(connection: sqlite3.Connection, run_id: int) -> None:
    """Delete a run without results and cost."""
    connection.execute(
        "DELETE FROM runs WHERE id = ?1 AND preflight_usd = 0 AND uncertain_usd = 0"
        " AND NOT EXISTS (SELECT 1 FROM items WHERE run_id = ?1)"
        " AND NOT EXISTS (SELECT 1 FROM judge_answers WHERE run_id = ?1)",
        (run_id,),
    )


def failures_of(connection: sqlite3.Connection, run_id: int) -> list[Failure]:
    """The most frequent cause of failure of every model."""
    rows = connection.execute(
        "SELECT model, error, count(*) FROM items WHERE run_id = ? AND error IS NOT NULL"
        " GROUP BY model, error ORDER BY count(*) DESC, error",
        (run_id,),
    )
    found: dict[str, Failure] = {}
    for model, error, number in rows:
        found.setdefault(str(model), Failure(str(model), str(error), number))
    return [found[model] for model in sorted(found)]


def add_work(connection: sqlite3.Connection, run_id: int, pieces: int) -> None:
    """Add work that was not known when the run began."""
    connection.execute("UPDATE runs SET total = total + ? WHERE id = ?", (pieces, run_id))


def charge_preflight(connection: sqlite3.Connection, run_id: int, usd: float) -> None:
    """Add what a run has paid for its preflight."""
    connection.execute(
        "UPDATE runs SET preflight_usd = preflight_usd + ? WHERE id = ?", (usd, run_id)
    )


def record_race(
    connection: sqlite3.Connection, run_id: int, race: RaceCard | msgspec.UnsetType | None
) -> None:
    """Store the result of a race; None or UNSET if the run was not a race."""
    raw = msgspec.json.encode(race) if isinstance(race, RaceCard) else None
    connection.execute("UPDATE runs SET race = ? WHERE id = ?", (raw, run_id))


def _refuse_if_held(run_id: int, name: str, raw: bytes | None) -> None:
    if raw is None:
        return
    holder = decode_holder(raw)
    if not has_ended(holder):
        raise UsageError(
            f"run {run_id} of {name!r} is held by {holder}; wait for it, or stop that process"
        )


def _new_run(connection: sqlite3.Connection, header: RunHeader) -> int:
    cursor = connection.execute(
        "INSERT INTO runs"
        " (name, config_hash, dataset_hash, total, eval_file, redact, unstored, status,"
        " started_at, holder) VALUES (?, ?, ?, ?, ?, ?, ?, 'running', ?, ?)",
        (
            header.name,
            header.config_hash,
            header.dataset_hash,
            header.total,
            header.eval_file,
            header.redact,
            header.unstored,
            now(),
            encode_holder(this_process()),
        ),
    )
    return int(cursor.lastrowid or 0)


def record_of(
    row: tuple[object, ...], *, is_held: bool = True, paid_again_usd: float = 0.0
) -> RunRecord:
    """The run in a row of the query for runs; raises UnreadableRow.

    `is_held`: whether its holder may be alive, as far as the store knows.
    """
    number, name, config_hash, dataset_hash, total, status, started, finished, raw = row[:9]
    holder = decode_holder(raw) if isinstance(raw, bytes) else None
    if status == "running" and (holder is None or not is_held or has_ended(holder)):
        status = "broken off"
    fields = {
        "id": number,
        "header": {
            "name": name,
            "config_hash": config_hash,
            "dataset_hash": dataset_hash,
            "total": total,
            "eval_file": row[15],
            "redact": row[17],
            "unstored": bool(row[18]),
        },
        "status": status,
        "started_at": started,
        "finished_at": finished,
        "holder": holder,
        "answered": row[9],
        "failed": row[10],
        "cost_usd": row[11],
        "unpriced": row[12],
        "judge_usd": row[13],
        "uncertain_usd": row[14],
        "race": parse_race(row[16]),
        "paid_again_usd": paid_again_usd,
    }
    try:
        record = msgspec.convert(fields, RunRecord)
    except msgspec.ValidationError as error:
        raise UnreadableRow(f"run {number} cannot be read: {error}") from None
    if not 0 <= record.spent_usd < math.inf:
        raise UnreadableRow(f"the cost of run {number} is not an amount of money")
    return record


def decode_holder(raw: bytes) -> Holder:
    """The holder in these bytes; raises UnreadableRow."""
    try:
        return _decode_holder(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        raise UnreadableRow(f"the holder of a run cannot be read: {error}") from None


def parse_race(raw: object) -> RaceCard | None:
    """The stored `race` section of a run; None if the run was not a race."""
    try:
        return None if raw is None else _decode_race(raw)  # type: ignore[arg-type]
    except (msgspec.MsgspecError, UnicodeDecodeError, TypeError) as error:
        raise UnreadableRow(f"the race of a run cannot be read: {error}") from None


def relative_to_store(path: Path, store: StoreAddress) -> str:
    """A path that stays valid if the file and the store are moved together."""
    try:
        return os.path.relpath(path.absolute(), store.absolute().parent)
    except ValueError:  # on another drive
        return str(path.absolute())


def this_process() -> Holder:
    """This process as a holder."""
    pid = os.getpid()
    return Holder(pid, socket.gethostname(), _boot_id(), _start_time(pid), now())


def has_ended(holder: Holder) -> bool:
    """Whether the holder has certainly ended; unknown on another machine."""
    if holder.host != socket.gethostname():
        return False
    if holder.boot_id != _boot_id():
        return True
    try:
        os.kill(holder.pid, 0)
    except (ProcessLookupError, OverflowError):  # an impossible process number
        return True
    except PermissionError:
        return False
    return holder.started != _start_time(holder.pid)


def now() -> str:
    """The wall clock, for display; never used in calculations."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _boot_id() -> str:
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _start_time(pid: int) -> str:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name is in brackets and may contain brackets and spaces.
    fields = status.rpartition(")")[2].split()
    return fields[_STARTED_FIELD] if len(fields) > _STARTED_FIELD else ""
