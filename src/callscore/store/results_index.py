"""The index of scored answers: an SQLite file next to a store, which may be deleted at any time.

Each scoring of a run has a number of its own. Its rows become visible when it is finished, and
replace those of the scoring before; so readers never see half of one, and two processes may write.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from callscore.core.errors import StoreError
from callscore.core.reviews import BY_PERSON
from callscore.store.address import StoreAddress
from callscore.store.connection import (
    connect,
    create_private,
    is_writable,
    map_sqlite_errors,
    transaction,
)
from callscore.store.results_filter import LAST, CaseFilter, condition_of, order_of
from callscore.store.run_records import decode_holder, encode_holder, has_ended, this_process

SUFFIX = "-index"
SCHEMA = 5
"""Raised with every change of the tables: an index of another schema is replaced."""
_TABLES = """
CREATE TABLE scorings (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, fingerprint TEXT NOT NULL,
    finished INTEGER NOT NULL DEFAULT 0, holder BLOB, edition INTEGER NOT NULL DEFAULT 0,
    events INTEGER NOT NULL DEFAULT 0, head BLOB, card BLOB, kept BLOB, people BLOB
);
CREATE INDEX scorings_of_run ON scorings (run, finished);
CREATE TABLE cases (
    scoring INTEGER NOT NULL, place INTEGER NOT NULL, case_id TEXT NOT NULL,
    folded_id TEXT NOT NULL, call_id TEXT NOT NULL, task TEXT NOT NULL, lang TEXT NOT NULL,
    tags TEXT NOT NULL, turns INTEGER NOT NULL, gold TEXT NOT NULL, marks INTEGER NOT NULL,
    worst REAL NOT NULL, best REAL NOT NULL, apart REAL NOT NULL, text INTEGER NOT NULL,
    PRIMARY KEY (scoring, place)
) WITHOUT ROWID;
CREATE INDEX cases_by_id ON cases (scoring, case_id);
CREATE INDEX cases_by_worst ON cases (scoring, worst, place);
CREATE INDEX cases_by_best ON cases (scoring, best, place);
CREATE INDEX cases_by_spread ON cases (scoring, apart, place);
CREATE TABLE cells (
    scoring INTEGER NOT NULL, place INTEGER NOT NULL, model TEXT NOT NULL, status TEXT NOT NULL,
    score REAL, reps INTEGER NOT NULL, same INTEGER NOT NULL, cost_usd REAL,
    reasons TEXT NOT NULL, flags TEXT NOT NULL, measured TEXT NOT NULL,
    PRIMARY KEY (scoring, place, model)
) WITHOUT ROWID;
CREATE TABLE views (
    scoring INTEGER NOT NULL, place INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (scoring, place)
);
CREATE TABLE call_texts (
    id INTEGER PRIMARY KEY, scoring INTEGER NOT NULL, folded TEXT NOT NULL
);
CREATE INDEX call_texts_of_scoring ON call_texts (scoring);
CREATE TABLE verdict_items (
    scoring INTEGER NOT NULL, number INTEGER NOT NULL, place INTEGER NOT NULL,
    case_id TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL, rep INTEGER NOT NULL,
    metric TEXT NOT NULL, item TEXT NOT NULL, word TEXT NOT NULL, author TEXT NOT NULL,
    disputed INTEGER NOT NULL, gate INTEGER NOT NULL, breached INTEGER NOT NULL,
    injection INTEGER NOT NULL,
    PRIMARY KEY (scoring, number)
) WITHOUT ROWID;
CREATE TABLE contributions (
    scoring INTEGER NOT NULL, model TEXT NOT NULL, body BLOB NOT NULL,
    is_current INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (scoring, model)
);
CREATE TABLE sub_blocks (
    scoring INTEGER NOT NULL, model TEXT NOT NULL, number INTEGER NOT NULL,
    replies BLOB NOT NULL, PRIMARY KEY (scoring, model, number)
);
CREATE TABLE sums (
    scoring INTEGER NOT NULL, model TEXT NOT NULL, level INTEGER NOT NULL,
    number INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (scoring, model, level, number)
);
CREATE TABLE run_records (run INTEGER PRIMARY KEY, progress TEXT NOT NULL, record BLOB NOT NULL);
"""
_OF_SCORING = (
    *("cases", "cells", "views", "call_texts", "verdict_items", "contributions"),
    *("sub_blocks", "sums"),
)
MOST_VERDICTS = 1 << 20
"""Of one case: verdicts are numbered by their case, so that one case can be replaced."""
_CASE_COLUMNS = "case_id, call_id, task, lang, tags, turns, gold, marks"


class Scoring(NamedTuple):
    """A finished scoring of a run."""

    id: int
    run: int
    fingerprint: str
    head: bytes
    """What lists and filters need, encoded by `results`."""
    edition: int = 0
    """How often it was changed."""
    events: int = 0
    """The number of the last event that it reckons with."""


class CellRow(NamedTuple):
    """The answers of one model to a case, its repeats folded."""

    model: str
    status: str
    score: float | None
    reps: int
    same: int
    cost_usd: float | None
    reasons: str
    """A list as JSON, as are `flags`."""
    flags: str
    measured: str
    """By metric, the mean over repeats, as JSON; `score` is the score."""


class VerdictRow(NamedTuple):
    """A verdict on one item of an answer; one without a word is open."""

    place: int
    case_id: str
    task: str
    model: str
    rep: int
    metric: str
    item: str
    word: str
    author: str
    disputed: bool
    gate: bool
    breached: bool
    injection: bool


class CaseRow(NamedTuple):
    """One case with its cells, as it is written."""

    place: int
    case_id: str
    call_id: str
    task: str
    lang: str
    tags: str
    turns: int
    gold: str
    marks: int
    mean: float | None
    """The mean score of all models."""
    spread: float
    text: str
    """What was said, to be searched."""
    cells: Sequence[CellRow]
    view: bytes
    verdicts: Sequence[VerdictRow]


class Encoded(NamedTuple):
    """What belongs to a scoring as a whole, encoded by `results`."""

    card: bytes
    kept: bytes
    """What a change of its verdicts starts from; empty if it must be scored again."""
    people: bytes
    """The verdicts of people that it was scored with."""
    contributions: Mapping[str, bytes]
    """By model; of a change, those that it replaces."""


class SubBlock(NamedTuple):
    """The measured replies of one model to a sub-block of cases."""

    model: str
    number: int
    replies: bytes


class SumRow(NamedTuple):
    """What the replies of one model add up to: in a sub-block, in a block, or in all."""

    model: str
    level: int
    number: int
    body: bytes


class Change(NamedTuple):
    """Rows that take the place of others in a scoring."""

    cases: Sequence[CaseRow] = ()
    sub_blocks: Sequence[SubBlock] = ()
    sums: Sequence[SumRow] = ()


class FoundCase(NamedTuple):
    """One case, as it is read."""

    value: float
    """What it is sorted by."""
    place: int
    case_id: str
    call_id: str
    task: str
    lang: str
    tags: str
    turns: int
    gold: str
    marks: int


class VerdictsWanted(NamedTuple):
    """Which verdicts of a scoring."""

    queue: str = "all"
    metric: str = ""
    model: str = ""
    by: str = ""
    unreviewed: bool = False


def index_path(store: StoreAddress) -> Path:
    """Where the index of a store is: next to a file; of a database, in its local folder."""
    if isinstance(store, Path):
        return store.with_name(f"{store.name}{SUFFIX}")
    return store.parent / f"{store.database_digest}{SUFFIX}"


def remove_index(store: StoreAddress) -> None:
    """Delete the index of a store, with everything that it says about calls."""
    path = index_path(store)
    for part in (path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))):
        part.unlink(missing_ok=True)


class ResultsIndex:
    """The index of one store; may be used by several threads."""

    def __init__(self, path: Path | None) -> None:
        """Without a path it is kept in memory, for a store that cannot be written."""
        self.path = path or Path(":memory:")
        self.is_kept = path is not None
        self._lock = RLock()
        self._connection = self._open(path)

    def _open(self, path: Path | None) -> sqlite3.Connection:
        if path is None:
            connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            connection.executescript(_TABLES)
            return connection
        create_private(path)
        connection = connect(path, sqlite3.Connection)
        try:
            with map_sqlite_errors(path):
                # All of it can be computed again: a power cut may cost the last commits.
                connection.execute("PRAGMA synchronous = NORMAL")
                with transaction(connection):
                    self._create(connection)
        except StoreError:
            connection.close()
            raise
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version == SCHEMA:
            return
        names = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        for (name,) in names:
            connection.execute(f'DROP TABLE "{name}"')
        for statement in _TABLES.split(";"):
            if statement.strip():
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {SCHEMA}")

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, map_sqlite_errors(self.path):
            yield self._connection

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock, map_sqlite_errors(self.path), transaction(self._connection):
            yield self._connection

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._reading() as connection:
            return connection.execute(query, values).fetchall()

    # Writing

    def begin(self, run: int = 0) -> int:
        """Start a scoring; returns its number. Removes what ended processes have left."""
        with self._writing() as connection:
            left = connection.execute("SELECT id, holder FROM scorings WHERE finished = 0")
            ended = [number for number, raw in left.fetchall() if has_ended(decode_holder(raw))]
            _drop(connection, ended)
            cursor = connection.execute(
                "INSERT INTO scorings (run, fingerprint, holder) VALUES (?, '', ?)",
                (run, encode_holder(this_process())),
            )
            return int(cursor.lastrowid or 0)

    def add(self, scoring: int, cases: Sequence[CaseRow]) -> None:
        """Add some cases to a scoring."""
        with self._writing() as connection:
            texts = _add_texts(connection, scoring, [case.text for case in cases])
            connection.executemany(
                "INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [_case_values(scoring, case, texts[case.text]) for case in cases],
            )
            connection.executemany(
                "INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(scoring, case.place, *cell) for case in cases for cell in case.cells],
            )
            connection.executemany(
                "INSERT INTO views VALUES (?, ?, ?)",
                [(scoring, case.place, case.view) for case in cases],
            )
            _add_verdicts(connection, scoring, cases)

    def add_sums(
        self, scoring: int, sub_blocks: Sequence[SubBlock], sums: Sequence[SumRow]
    ) -> None:
        """Add sub-blocks and sums to a scoring."""
        with self._writing() as connection:
            _add_sums(connection, scoring, sub_blocks, sums)

    def finish(self, scoring: Scoring, whole: Encoded, data: str) -> None:
        """Let a scoring take the place of the one before.

        It is dropped if that one has the same `data`, with which its fingerprint begins, and
        reckons with later events.
        """
        with self._writing() as connection:
            newer = connection.execute(
                "SELECT 1 FROM scorings WHERE finished = 1 AND run = ? AND events > ?"
                " AND substr(fingerprint, 1, ?) = ?",
                (scoring.run, scoring.events, len(data), data),
            ).fetchone()
            if newer is not None:
                _drop(connection, [scoring.id])
                return
            _complete(connection, scoring, whole)
            older = connection.execute(
                "SELECT id FROM scorings WHERE finished = 1 AND id < ?1 AND run ="
                " (SELECT run FROM scorings WHERE id = ?1)",
                (scoring.id,),
            )
            _drop(connection, [number for (number,) in older.fetchall()])

    def change(self, scoring: Scoring, whole: Encoded, change: Change) -> bool:
        """Change a finished scoring; False if it was changed or replaced since it was read."""
        with self._writing() as connection:
            found = connection.execute(
                "SELECT edition FROM scorings WHERE id = ? AND finished = 1", (scoring.id,)
            ).fetchone()
            if found is None or found[0] != scoring.edition:
                return False
            for case in change.cases:
                _replace_case(connection, scoring.id, case)
            _add_sums(connection, scoring.id, change.sub_blocks, change.sums)
            connection.executemany(
                "UPDATE contributions SET is_current = 0 WHERE scoring = ? AND model = ?",
                [(scoring.id, one.model) for one in change.sub_blocks],
            )
            _complete(connection, scoring._replace(edition=scoring.edition + 1), whole)
            return True

    def drop(self, scoring: int) -> None:
        """Remove a scoring."""
        with self._writing() as connection:
            _drop(connection, [scoring])

    def keep_record(self, run: int, progress: str, record: bytes) -> None:
        """Keep what a list shows of a run that has ended."""
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO run_records VALUES (?, ?, ?)", (run, progress, record)
            )

    # Reading

    def kept_records(self) -> dict[tuple[int, str], bytes]:
        """What lists show of runs, by run and its progress."""
        rows = self._rows("SELECT run, progress, record FROM run_records")
        return {(run, progress): bytes(record) for run, progress, record in rows}

    def newest(self, run: int) -> Scoring | None:
        """The finished scoring of a run; None if there is none."""
        rows = self._rows(
            "SELECT id, run, fingerprint, head, edition, events FROM scorings"
            " WHERE run = ? AND finished = 1 ORDER BY id DESC LIMIT 1",
            (run,),
        )
        return Scoring(*rows[0]) if rows else None

    def all_newest(self) -> dict[int, Scoring]:
        """By run, its finished scoring."""
        rows = self._rows(
            "SELECT id, run, fingerprint, head, edition, events FROM scorings WHERE finished = 1"
        )
        return {row[1]: Scoring(*row) for row in sorted(rows)}

    def is_building(self, run: int) -> bool:
        """Whether a living process writes a scoring of the run."""
        rows = self._rows("SELECT holder FROM scorings WHERE run = ? AND finished = 0", (run,))
        return any(not has_ended(decode_holder(raw)) for (raw,) in rows)

    def card(self, scoring: int) -> bytes:
        """The scorecard and what belongs to it, encoded by `results`."""
        rows = self._rows("SELECT card FROM scorings WHERE id = ?", (scoring,))
        return bytes(rows[0][0]) if rows else b""

    def view(self, scoring: int, place: int) -> bytes | None:
        """A case with its answers; None if there is none at this place."""
        rows = self._rows(
            "SELECT body FROM views WHERE scoring = ? AND place = ?", (scoring, place)
        )
        return bytes(rows[0][0]) if rows else None

    def views(self, scoring: int, after: int, most: int) -> list[tuple[int, bytes]]:
        """The next cases after a place, each with its place."""
        rows = self._rows(
            "SELECT place, body FROM views WHERE scoring = ? AND place > ? ORDER BY place LIMIT ?",
            (scoring, after, most),
        )
        return [(place, bytes(body)) for place, body in rows]

    def contributions(self, scoring: int, model: str) -> bytes | None:
        """What the calls of a model add to its scores, encoded by `results`."""
        rows = self._rows(
            "SELECT body FROM contributions WHERE scoring = ? AND model = ?", (scoring, model)
        )
        return bytes(rows[0][0]) if rows else None

    def stale_models(self, scoring: int) -> list[str]:
        """The models whose contributions are older than their values."""
        rows = self._rows(
            "SELECT model FROM contributions WHERE scoring = ? AND NOT is_current", (scoring,)
        )
        return [model for (model,) in rows]

    def kept(self, scoring: int) -> tuple[bytes, bytes]:
        """What a change of verdicts starts from, and the verdicts of people now."""
        rows = self._rows("SELECT kept, people FROM scorings WHERE id = ?", (scoring,))
        return (bytes(rows[0][0]), bytes(rows[0][1])) if rows else (b"", b"")

    def replies_kept(self, scoring: int, model: str, number: int) -> bytes:
        """The replies of a model to a sub-block."""
        rows = self._rows(
            "SELECT replies FROM sub_blocks WHERE scoring = ? AND model = ? AND number = ?",
            (scoring, model, number),
        )
        return bytes(rows[0][0])

    def sums(self, scoring: int, model: str, level: int, first: int, end: int) -> list[bytes]:
        """The sums of a model on a level, from `first` to before `end`."""
        rows = self._rows(
            "SELECT body FROM sums WHERE scoring = ? AND model = ? AND level = ?"
            " AND number >= ? AND number < ? ORDER BY number",
            (scoring, model, level, first, end),
        )
        return [bytes(raw) for (raw,) in rows]

    def places(self, scoring: int) -> list[tuple[str, int]]:
        """The id and the place of every case, in the order of places."""
        rows = self._rows("SELECT case_id, place FROM cases WHERE scoring = ?", (scoring,))
        return sorted(rows, key=lambda row: row[1])

    def place_of(self, scoring: int, case_id: str) -> int | None:
        """The place of a case by its id."""
        rows = self._rows(
            "SELECT place FROM cases WHERE scoring = ? AND case_id = ?", (scoring, case_id)
        )
        return int(rows[0][0]) if rows else None

    def select(
        self, scoring: int, chosen: CaseFilter, after: tuple[float, int] | None, most: int
    ) -> list[FoundCase]:
        """The next cases of a filter, in its order."""
        return self._ordered(scoring, chosen, after, most, backwards=False)

    def before(self, scoring: int, chosen: CaseFilter, key: tuple[float, int]) -> FoundCase | None:
        """The case before a key in the order of a filter."""
        found = self._ordered(scoring, chosen, key, 1, backwards=True)
        return found[0] if found else None

    def _ordered(
        self,
        scoring: int,
        chosen: CaseFilter,
        key: tuple[float, int] | None,
        most: int,
        *,
        backwards: bool,
    ) -> list[FoundCase]:
        where, values = condition_of(scoring, chosen)
        order, order_values = order_of(chosen)
        sign, way = ("<", "DESC") if backwards else (">", "ASC")
        if key is not None and order == "place":
            where, values = f"{where} AND place {sign} ?", [*values, key[1]]
        elif key is not None:
            where = f"{where} AND ({order}, place) {sign} (?, ?)"
            values = [*values, *order_values, *key]
        rows = self._rows(
            f"SELECT {order}, place, {_CASE_COLUMNS} FROM cases WHERE {where}"
            f" ORDER BY {order} {way}, place {way} LIMIT ?",
            [*order_values, *values, *order_values, most],
        )
        return [FoundCase(*row) for row in rows]

    def count(
        self, scoring: int, chosen: CaseFilter, until: tuple[float, int] | None = None
    ) -> int:
        """How many cases a filter selects, all or up to a key."""
        where, values = condition_of(scoring, chosen)
        if until is not None:
            order, order_values = order_of(chosen)
            where = f"{where} AND ({order}, place) <= (?, ?)"
            values = [*values, *order_values, *until]
        return int(self._rows(f"SELECT count(*) FROM cases WHERE {where}", values)[0][0])

    def value_of(self, scoring: int, chosen: CaseFilter, place: int) -> float | None:
        """What a case is sorted by; None if the filter does not select it."""
        where, values = condition_of(scoring, chosen)
        order, order_values = order_of(chosen)
        rows = self._rows(
            f"SELECT {order} FROM cases WHERE {where} AND place = ?",
            [*order_values, *values, place],
        )
        return float(rows[0][0]) if rows else None

    def cells(self, scoring: int, places: Sequence[int]) -> list[tuple[int, CellRow]]:
        """The cells of some cases, each with its place."""
        marks = ", ".join("?" * len(places))
        rows = self._rows(
            "SELECT place, model, status, score, reps, same, cost_usd, reasons, flags, measured"
            f" FROM cells WHERE scoring = ? AND place IN ({marks})",
            [scoring, *places],
        )
        return [(row[0], CellRow(*row[1:])) for row in rows]

    def verdicts(
        self, scoring: int, wanted: VerdictsWanted, after: int, most: int
    ) -> tuple[list[tuple[int, VerdictRow]], int]:
        """The next verdicts, each with its number, and how many there are in all."""
        where = "scoring = ?"
        values: list[Any] = [scoring]
        queues = {
            "disputed": " AND disputed",
            "gates": " AND gate AND word != ''",
            "injection": " AND injection",
            "open": " AND word = ''",
        }
        where += queues.get(wanted.queue, " AND word != ''")
        for column, value in (("metric", wanted.metric), ("model", wanted.model)):
            if value:
                where, values = f"{where} AND {column} = ?", [*values, value]
        if wanted.by:
            where, values = f"{where} AND instr(author, ?) = 1", [*values, wanted.by]
        if wanted.unreviewed:
            where, values = f"{where} AND instr(author, ?) != 1", [*values, BY_PERSON]
        total = int(self._rows(f"SELECT count(*) FROM verdict_items WHERE {where}", values)[0][0])
        rows = self._rows(
            f"SELECT * FROM verdict_items WHERE {where} AND number > ? ORDER BY number LIMIT ?",
            [*values, after, most],
        )
        found = [
            (row[1], VerdictRow(*row[2:11], *(bool(value) for value in row[11:]))) for row in rows
        ]
        return found, total

    def verdicts_of_case(self, scoring: int, place: int) -> list[VerdictRow]:
        """The verdicts on the answers to a case."""
        first = place * MOST_VERDICTS
        rows = self._rows(
            "SELECT * FROM verdict_items WHERE scoring = ? AND number >= ? AND number < ?"
            " ORDER BY number",
            (scoring, first, first + MOST_VERDICTS),
        )
        return [VerdictRow(*row[2:11], *(bool(value) for value in row[11:])) for row in rows]


def open_index(store: StoreAddress) -> ResultsIndex:
    """The index of a store; in memory if its folder cannot be written."""
    path = index_path(store)
    if isinstance(store, Path) and not is_writable(store):
        return ResultsIndex(None)
    try:
        return ResultsIndex(path)
    except StoreError:
        # It is damaged, or another program wrote it: nothing in it is precious.
        try:
            remove_index(store)
            return ResultsIndex(path)
        except (OSError, StoreError):
            return ResultsIndex(None)


def _drop(connection: sqlite3.Connection, scorings: Sequence[int]) -> None:
    for number in scorings:
        for table in _OF_SCORING:
            connection.execute(f"DELETE FROM {table} WHERE scoring = ?", (number,))
        connection.execute("DELETE FROM scorings WHERE id = ?", (number,))


def _add_texts(
    connection: sqlite3.Connection, scoring: int, texts: Sequence[str]
) -> dict[str, int]:
    """The numbers of some texts; the cases of a call are neighbours, and share one."""
    found: dict[str, int] = {}
    for text in dict.fromkeys(texts):
        cursor = connection.execute(
            "INSERT INTO call_texts (scoring, folded) VALUES (?, ?)", (scoring, text.casefold())
        )
        found[text] = int(cursor.lastrowid or 0)
    return found


def _add_verdicts(connection: sqlite3.Connection, scoring: int, cases: Sequence[CaseRow]) -> None:
    connection.executemany(
        "INSERT INTO verdict_items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (scoring, case.place * MOST_VERDICTS + number, *row)
            for case in cases
            for number, row in enumerate(case.verdicts)
        ],
    )


def _add_sums(
    connection: sqlite3.Connection,
    scoring: int,
    sub_blocks: Sequence[SubBlock],
    sums: Sequence[SumRow],
) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO sub_blocks VALUES (?, ?, ?, ?)",
        [(scoring, *one) for one in sub_blocks],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO sums VALUES (?, ?, ?, ?, ?)", [(scoring, *one) for one in sums]
    )


def _replace_case(connection: sqlite3.Connection, scoring: int, case: CaseRow) -> None:
    """Replace what the verdicts on a case change: its text and its tags stay."""
    worst, best, apart = _orders(case)
    connection.execute(
        "UPDATE cases SET marks = ?, worst = ?, best = ?, apart = ?"
        " WHERE scoring = ? AND place = ?",
        (case.marks, worst, best, apart, scoring, case.place),
    )
    connection.executemany(
        "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(scoring, case.place, *cell) for cell in case.cells],
    )
    connection.execute(
        "UPDATE views SET body = ? WHERE scoring = ? AND place = ?",
        (case.view, scoring, case.place),
    )
    first = case.place * MOST_VERDICTS
    connection.execute(
        "DELETE FROM verdict_items WHERE scoring = ? AND number >= ? AND number < ?",
        (scoring, first, first + MOST_VERDICTS),
    )
    _add_verdicts(connection, scoring, [case])


def _complete(connection: sqlite3.Connection, scoring: Scoring, whole: Encoded) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO contributions VALUES (?, ?, ?, 1)",
        [(scoring.id, model, body) for model, body in whole.contributions.items()],
    )
    connection.execute(
        "UPDATE scorings SET finished = 1, holder = NULL, run = ?, fingerprint = ?, head = ?,"
        " edition = ?, events = ?, card = ?, kept = ?, people = ? WHERE id = ?",
        (*scoring[1:], whole.card, whole.kept, whole.people, scoring.id),
    )


def _orders(case: CaseRow) -> tuple[float, float, float]:
    """What a case is sorted by: worst, best, spread."""
    if case.mean is None:
        return LAST, LAST, -case.spread
    return case.mean, -case.mean, -case.spread


def _case_values(scoring: int, case: CaseRow, text: int) -> tuple[Any, ...]:
    return (
        scoring,
        case.place,
        case.case_id,
        case.case_id.casefold(),
        *case[2:9],
        *_orders(case),
        text,
    )
