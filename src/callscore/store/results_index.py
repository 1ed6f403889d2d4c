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
SCHEMA = 3
"""Raised with every change of the tables: an index of another schema is replaced."""
_TABLES = """
CREATE TABLE scorings (
    id INTEGER PRIMARY KEY AUTOINCREMENT, run INTEGER NOT NULL, fingerprint TEXT NOT NULL,
    finished INTEGER NOT NULL DEFAULT 0, holder BLOB, head BLOB, card BLOB
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
    id INTEGER PRIMARY KEY, scoring INTEGER NOT NULL, place INTEGER NOT NULL,
    case_id TEXT NOT NULL, task TEXT NOT NULL, model TEXT NOT NULL, rep INTEGER NOT NULL,
    metric TEXT NOT NULL, item TEXT NOT NULL, word TEXT NOT NULL, author TEXT NOT NULL,
    disputed INTEGER NOT NULL, gate INTEGER NOT NULL, breached INTEGER NOT NULL,
    injection INTEGER NOT NULL
);
CREATE INDEX verdict_items_of_scoring ON verdict_items (scoring, id);
CREATE TABLE contributions (
    scoring INTEGER NOT NULL, model TEXT NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (scoring, model)
);
CREATE TABLE run_records (run INTEGER PRIMARY KEY, progress TEXT NOT NULL, record BLOB NOT NULL);
CREATE TABLE people (
    run INTEGER NOT NULL, case_id TEXT NOT NULL, model TEXT NOT NULL, rep INTEGER NOT NULL,
    lines BLOB NOT NULL, PRIMARY KEY (run, case_id, model, rep)
);
"""
_OF_SCORING = ("cases", "cells", "views", "call_texts", "verdict_items", "contributions")
_CASE_COLUMNS = "case_id, call_id, task, lang, tags, turns, gold, marks"


class Scoring(NamedTuple):
    """A finished scoring of a run."""

    id: int
    run: int
    fingerprint: str
    head: bytes
    """What lists and filters need, encoded by `results`."""


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
            connection.executemany(
                "INSERT INTO verdict_items VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(scoring, *row) for case in cases for row in case.verdicts],
            )

    def finish(self, scoring: Scoring, card: bytes, contributions: Mapping[str, bytes]) -> None:
        """Let a scoring take the place of the one before; `contributions` are those by model."""
        with self._writing() as connection:
            connection.executemany(
                "INSERT INTO contributions VALUES (?, ?, ?)",
                [(scoring.id, model, body) for model, body in contributions.items()],
            )
            connection.execute(
                "UPDATE scorings SET finished = 1, holder = NULL, run = ?, fingerprint = ?,"
                " head = ?, card = ? WHERE id = ?",
                (scoring.run, scoring.fingerprint, scoring.head, card, scoring.id),
            )
            older = connection.execute(
                "SELECT id FROM scorings WHERE finished = 1 AND id < ?1 AND run ="
                " (SELECT run FROM scorings WHERE id = ?1)",
                (scoring.id,),
            )
            _drop(connection, [number for (number,) in older.fetchall()])

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

    def set_people(self, run: int, case_id: str, model: str, rep: int, lines: bytes) -> None:
        """Keep what people say about a reply, as lines of a verdicts file; empty: nothing."""
        key = (run, case_id, model, rep)
        with self._writing() as connection:
            connection.execute(
                "DELETE FROM people WHERE run = ? AND case_id = ? AND model = ? AND rep = ?", key
            )
            if lines:
                connection.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?)", (*key, lines))

    # Reading

    def people(self, run: int) -> dict[tuple[str, str, int], bytes]:
        """By case, model and repeat, what people say about replies of a run."""
        rows = self._rows(
            "SELECT case_id, model, rep, lines FROM people WHERE run = ?"
            " ORDER BY case_id, model, rep",
            (run,),
        )
        return {(case_id, model, rep): bytes(lines) for case_id, model, rep, lines in rows}

    def kept_records(self) -> dict[tuple[int, str], bytes]:
        """What lists show of runs, by run and its progress."""
        rows = self._rows("SELECT run, progress, record FROM run_records")
        return {(run, progress): bytes(record) for run, progress, record in rows}

    def newest(self, run: int) -> Scoring | None:
        """The finished scoring of a run; None if there is none."""
        rows = self._rows(
            "SELECT id, run, fingerprint, head FROM scorings WHERE run = ? AND finished = 1"
            " ORDER BY id DESC LIMIT 1",
            (run,),
        )
        return Scoring(*rows[0]) if rows else None

    def all_newest(self) -> dict[int, Scoring]:
        """By run, its finished scoring."""
        rows = self._rows("SELECT id, run, fingerprint, head FROM scorings WHERE finished = 1")
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
        total = int(self._rows(f"SELECT count(*) FROM verdict_items WHERE {where}", values)[0][0])
        rows = self._rows(
            f"SELECT * FROM verdict_items WHERE {where} AND id > ? ORDER BY id LIMIT ?",
            [*values, after, most],
        )
        found = [
            (row[0], VerdictRow(*row[2:11], *(bool(value) for value in row[11:]))) for row in rows
        ]
        return found, total


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


def _case_values(scoring: int, case: CaseRow, text: int) -> tuple[Any, ...]:
    none = case.mean is None
    return (
        scoring,
        case.place,
        case.case_id,
        case.case_id.casefold(),
        *case[2:9],
        LAST if none else case.mean,
        LAST if none else -(case.mean or 0.0),
        -case.spread,
        text,
    )
