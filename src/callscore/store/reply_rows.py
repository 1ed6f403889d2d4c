"""Replies in a journal: as bytes with a checksum, indexed by key, many in one commit."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import msgspec

from callscore.core.case import Reply, ToolCall
from callscore.core.run import CachedReply, RunItem
from callscore.store.connection import UnreadableRow, map_sqlite_errors, transaction

MAX_KEYS = 200_000
"""With more replies than this there is no index; every lookup goes to the file."""
SHORT_BYTES = 8
MOST_PER_STATEMENT = 64
"""Rows in one statement: SQLite of before 2020 binds at most 999 values."""


class _Insert(NamedTuple):
    """An INSERT for any number of rows.

    The thread releases the interpreter's lock for every statement, and while the event loop is
    busy gets it back only after milliseconds: one statement per row would double the commit.
    """

    into: str
    row: str
    otherwise: str = ""

    def execute(self, connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> int:
        """Insert the rows in order; returns how many were written."""
        written = 0
        for at in range(0, len(rows), MOST_PER_STATEMENT):
            part = rows[at : at + MOST_PER_STATEMENT]
            values = ", ".join([self.row] * len(part))
            statement = f"{self.into} VALUES {values}{self.otherwise}"
            written += connection.execute(statement, [*chain.from_iterable(part)]).rowcount
        return written


# The first reply is kept even if another is paid for later, unless it is damaged.
_ANSWER = _Insert(
    "INSERT INTO answers (key, reply, cost_usd, attempts, checksum)",
    "(?, ?, ?, ?, ?)",
    " ON CONFLICT (key) DO UPDATE SET reply = excluded.reply, cost_usd = excluded.cost_usd,"
    " attempts = excluded.attempts, checksum = excluded.checksum"
    " WHERE checksum(answers.key, answers.reply) != answers.checksum",
)
_ITEM = _Insert(
    "INSERT INTO items (run_id, case_id, model, run, task, key, error, paid)",
    "(?, ?, ?, ?, ?, ?, ?, ?)",
    " ON CONFLICT (run_id, case_id, model, run) DO UPDATE SET"
    " key = excluded.key, error = excluded.error, paid = max(paid, excluded.paid)"
    " WHERE items.error IS NOT NULL",
)
UNCERTAIN = "UPDATE runs SET uncertain_usd = uncertain_usd + ? WHERE id = ?"
_JUDGED = _Insert("INSERT OR REPLACE INTO judge_answers (key, run_id)", "(?, ?)")

AnswerRow = tuple[bytes, bytes, float | None, int, int]
ItemRow = tuple[int, str, str, int, str, bytes, str | None, int]
JudgedRow = tuple[bytes, int]
"""The reply of a judge, and the run that paid for it."""
UncertainRow = tuple[float, int]
"""The possible cost of a lost attempt, and the run that made it."""


class _StoredReply(msgspec.Struct, omit_defaults=True):
    """The fields of a reply; new ones are appended with a default, so that old journals can be
    read.
    """

    text: Any
    """Text or bytes: MessagePack distinguishes them."""
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    model: str | None = None
    asked_as: str | None = None
    latency_ms: float | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_StoredReply).decode


def to_bytes(reply: Reply) -> bytes:
    """The reply in MessagePack."""
    return _encode(
        _StoredReply(
            reply.text,
            reply.finish_reason,
            reply.input_tokens,
            reply.output_tokens,
            reply.cost_usd,
            tuple(reply.tool_calls),
            reply.model,
            reply.asked_as,
            reply.latency_ms,
        )
    )


def from_bytes(raw: bytes) -> Reply:
    """The reply in these bytes; raises Unreadable."""
    try:
        fields = _decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TypeError) as error:
        raise UnreadableRow(f"an answer cannot be read: {error}") from None
    cost = fields.cost_usd
    if not isinstance(fields.text, str | bytes) or not (cost is None or 0 <= cost < math.inf):
        raise UnreadableRow("an answer is not text, or its cost is not an amount of money")
    return Reply(
        fields.text,
        fields.finish_reason,
        fields.input_tokens,
        fields.output_tokens,
        fields.cost_usd,
        fields.tool_calls,
        fields.model,
        fields.asked_as,
        fields.latency_ms,
    )


def item_row(run_id: int, item: RunItem) -> ItemRow:
    """An item of a run as the values of its row."""
    return (
        run_id,
        item.case_id,
        item.model,
        item.run,
        item.task,
        item.key,
        item.error,
        int(item.paid),
    )


def answer_row(stored: CachedReply) -> AnswerRow:
    """A reply as the values of its row, with the checksum."""
    reply = to_bytes(stored.reply)
    return (stored.key, reply, stored.cost_usd, stored.attempts, checksum(stored.key, reply))


def checksum(key: bytes, raw: bytes) -> int:
    """A checksum that detects a reply that has changed since it was stored."""
    return crc32(raw, crc32(key))


class KeyIndex:
    """Shortened keys of all replies. Several keys may share one, so a hit is only a maybe.

    A lookup in the file is expensive: after each commit of the writer the reader must read its
    pages again, and nearly all lookups find nothing.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        """Read within a write transaction, so that no key is added meanwhile."""
        self._last_id = last_id(connection)
        self._short: set[bytes] | None = None
        if self._last_id <= MAX_KEYS:
            rows = connection.execute(f"SELECT substr(key, 1, {SHORT_BYTES}) FROM answers")
            self._short = set(chain.from_iterable(rows))

    def lacks(self, key: bytes) -> bool:
        """Whether there is certainly no reply; False if a lookup is needed."""
        return self._short is not None and key[:SHORT_BYTES] not in self._short

    def add(self, key: bytes) -> None:
        """Add the key of a reply that is being written."""
        if self._short is not None:
            self._short.add(key[:SHORT_BYTES])
            if len(self._short) > MAX_KEYS:
                self._short = None

    def update(self, before: int, after: int) -> None:
        """Compare the last ids around a commit: other processes may have written since."""
        if before != self._last_id:
            self._short = None
        self._last_id = after


def last_id(connection: sqlite3.Connection) -> int:
    """The id of the newest reply."""
    return int(connection.execute("SELECT ifnull(max(id), 0) FROM answers").fetchone()[0])


class Rows(NamedTuple):
    """The rows of one caller."""

    answer: AnswerRow | None = None
    item: ItemRow | None = None
    judged: JudgedRow | None = None
    uncertain: UncertainRow | None = None


class RowWriter:
    """Writes rows to a journal, one transaction per call."""

    def __init__(self, connection: sqlite3.Connection, path: Path, keys: KeyIndex) -> None:
        self._connection = connection
        self._path = path
        self._keys = keys
        connection.create_function("checksum", 2, checksum, deterministic=True)
        self.superseded = False
        """Whether a row was not written because an earlier one exists."""

    def write(self, rows: Sequence[Rows]) -> None:
        """Write the rows; raises StoreError."""
        if not rows:  # the caller only waits for earlier rows
            return
        parts = (
            (_ITEM, [row.item for row in rows if row.item is not None]),
            (_ANSWER, [row.answer for row in rows if row.answer is not None]),
            (_JUDGED, [row.judged for row in rows if row.judged is not None]),
        )
        uncertain = [row.uncertain for row in rows if row.uncertain is not None]
        with map_sqlite_errors(self._path), transaction(self._connection):
            before = last_id(self._connection)
            for insert, part in parts:
                if insert.execute(self._connection, part) != len(part):
                    self.superseded = True
            if uncertain:
                self._connection.executemany(UNCERTAIN, uncertain)
            after = last_id(self._connection)
        self._keys.update(before, after)
