"""The index of scored answers: an SQLite file next to a store, which may be deleted at any time.

Each scoring of a run has a number of its own. Its rows become visible when it is finished, and
replace those of the scoring before; so readers never see half of one, and two processes may write.
Who deletes the file while others have it open gives them an empty one.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any

from callscore.core.errors import ReadTooSlow, StoreError
from callscore.store.address import StoreAddress
from callscore.store.connection import (
    connect,
    create_private,
    is_damage,
    is_writable,
    map_sqlite_errors,
    transaction,
)
from callscore.store.index_rows import (
    CaseRow,
    CellRow,
    Change,
    Encoded,
    FoundCase,
    ListedCase,
    Scoring,
    SubBlock,
    SumRow,
    VerdictRow,
    VerdictsWanted,
)
from callscore.store.index_tables import (
    DECIDED,
    MOST_VERDICTS,
    OF_CASE,
    OPEN,
    QUEUES,
    SCHEMA,
    TABLES,
    UNREVIEWED,
    add_sums,
    add_texts,
    add_verdicts,
    add_views,
    case_values,
    complete,
    count_verdicts,
    drop,
    replace_case,
    unpack_views,
    verdict_row,
    views_at,
)
from callscore.store.results_filter import CaseFilter, condition_of, order_of
from callscore.store.run_records import decode_holder, encode_holder, has_ended, this_process

SUFFIX = "-index"
_INDEX_OF = {
    "disputed": "verdicts_disputed",
    "gates": "verdicts_at_gates",
    "injection": "verdicts_injected",
    "open": "verdicts_open",
}
STEPS = 1_000
"""Of SQLite's machine, between two looks at the time of a search."""
_CASE_COLUMNS = "case_id, call_id, task, lang, tags, turns, gold, marks"


def index_path(store: StoreAddress) -> Path:
    """Where the index of a store is: next to a file; of a database, in its local folder."""
    if isinstance(store, Path):
        return store.with_name(f"{store.name}{SUFFIX}")
    return store.parent / f"{store.database_digest}{SUFFIX}"


def remove_index(store: StoreAddress) -> None:
    """Delete the index of a store, with everything that it says about calls."""
    remove_files(index_path(store))


def remove_files(path: Path) -> None:
    """Delete an SQLite file with the files next to it."""
    for end in ("", "-wal", "-shm"):
        path.with_name(f"{path.name}{end}").unlink(missing_ok=True)


class ResultsIndex:
    """The index of one store; may be used by several threads."""

    def __init__(self, path: Path | None, most_s: float | None = None) -> None:
        """Without a path it is kept in memory, for a store that cannot be written.

        `most_s`: how long a search may take, by default as long as it needs.
        """
        self._most_s = most_s
        self.path = path or Path(":memory:")
        self.is_kept = path is not None
        self._lock = RLock()
        self._begun: set[int] = set()
        """The scorings that are being written; they end in the file in which they began."""
        self._connection = self._open(path)
        self._file = self._found()

    def _found(self) -> tuple[int, int] | None:
        """Which file is at the path; None if there is none."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _follow(self) -> None:
        """Open the file that is at the path now, if the one that is open was deleted."""
        if self.is_kept and not self._begun and self._found() != self._file:
            self._connection.close()
            self._connection = self._open(self.path)
            self._file = self._found()

    def _open(self, path: Path | None) -> sqlite3.Connection:
        if path is None:
            connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
            connection.executescript(TABLES)
            return connection
        if not path.exists():
            remove_files(path)  # the log of a file that was deleted is not that of the next one
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
        for statement in TABLES.split(";"):
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
            self._follow()
            try:
                yield self._connection
            except sqlite3.DatabaseError as error:
                if not (self.is_kept and is_damage(error)):
                    raise
                remove_files(self.path)
                raise StoreError(
                    f"{self.path}: was damaged and is deleted; try again: the run is scored again"
                ) from None

    @contextmanager
    def _writing(self, last_of: int = 0) -> Iterator[sqlite3.Connection]:
        """A transaction; `last_of` is the scoring whose writing ends with it."""
        with self._lock, map_sqlite_errors(self.path):
            self._follow()
            try:
                with transaction(self._connection):
                    yield self._connection
            finally:
                self._begun.discard(last_of)

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._reading() as connection:
            return connection.execute(query, values).fetchall()

    def _search(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """The rows of a query that may look at every case; raises ReadTooSlow."""
        if self._most_s is None:
            return self._rows(query, values)
        with self._reading() as connection:
            until = time.monotonic() + self._most_s
            connection.set_progress_handler(lambda: time.monotonic() >= until, STEPS)
            try:
                return connection.execute(query, values).fetchall()
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_INTERRUPT:
                    raise
                raise ReadTooSlow(
                    f"The search was stopped, as it took longer than {self._most_s:g} seconds. "
                    "Narrow it: choose a task or a language, or search in ids only."
                ) from None
            finally:
                connection.set_progress_handler(None, STEPS)

    # Writing

    def begin(self, run: int = 0) -> int:
        """Start a scoring; returns its number. Removes what ended processes have left."""
        with self._writing() as connection:
            left = connection.execute("SELECT id, holder FROM scorings WHERE finished = 0")
            ended = [number for number, raw in left.fetchall() if has_ended(decode_holder(raw))]
            drop(connection, ended)
            cursor = connection.execute(
                "INSERT INTO scorings (run, fingerprint, holder) VALUES (?, '', ?)",
                (run, encode_holder(this_process())),
            )
            number = int(cursor.lastrowid or 0)
            self._begun.add(number)
            return number

    def add(self, scoring: int, cases: Sequence[CaseRow]) -> None:
        """Add some cases to a scoring."""
        with self._writing() as connection:
            texts = add_texts(connection, scoring, [case.text for case in cases])
            connection.executemany(
                "INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [case_values(scoring, case, texts[case.text]) for case in cases],
            )
            connection.executemany(
                "INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(scoring, case.place, *cell) for case in cases for cell in case.cells],
            )
            add_views(connection, scoring, cases)
            add_verdicts(connection, scoring, cases)

    def add_sums(
        self, scoring: int, sub_blocks: Sequence[SubBlock], sums: Sequence[SumRow]
    ) -> None:
        """Add sub-blocks and sums to a scoring."""
        with self._writing() as connection:
            add_sums(connection, scoring, sub_blocks, sums)

    def finish(self, scoring: Scoring, whole: Encoded, data: str) -> None:
        """Let a scoring take the place of the one before.

        It is dropped if that one has the same `data`, with which its fingerprint begins, and
        reckons with later events.
        """
        with self._writing(scoring.id) as connection:
            newer = connection.execute(
                "SELECT 1 FROM scorings WHERE finished = 1 AND run = ? AND events > ?"
                " AND substr(fingerprint, 1, ?) = ?",
                (scoring.run, scoring.events, len(data), data),
            ).fetchone()
            if newer is not None:
                drop(connection, [scoring.id])
                return
            count_verdicts(connection, scoring.id)
            complete(connection, scoring, whole)
            older = connection.execute(
                "SELECT id FROM scorings WHERE finished = 1 AND id < ?1 AND run ="
                " (SELECT run FROM scorings WHERE id = ?1)",
                (scoring.id,),
            )
            drop(connection, [number for (number,) in older.fetchall()])

    def change(self, scoring: Scoring, whole: Encoded, change: Change) -> bool:
        """Change a finished scoring; False if it was changed or replaced since it was read."""
        with self._writing() as connection:
            found = connection.execute(
                "SELECT edition FROM scorings WHERE id = ? AND finished = 1", (scoring.id,)
            ).fetchone()
            if found is None or found[0] != scoring.edition:
                return False
            for case in change.cases:
                replace_case(connection, scoring.id, case)
            add_sums(connection, scoring.id, change.sub_blocks, change.sums)
            connection.executemany(
                "UPDATE contributions SET is_current = 0 WHERE scoring = ? AND model = ?",
                [(scoring.id, one.model) for one in change.sub_blocks],
            )
            complete(connection, scoring._replace(edition=scoring.edition + 1), whole)
            return True

    def drop(self, scoring: int) -> None:
        """Remove a scoring."""
        with self._writing(scoring) as connection:
            drop(connection, [scoring])

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
        """A case with its answers, in JSON; None if there is none at this place."""
        first, views = self.views_at(scoring, place)
        return views[place - first] if place - first < len(views) else None

    def views_at(self, scoring: int, place: int) -> tuple[int, list[bytes]]:
        """The cases that share a row with the one at a place, and the first of their places."""
        with self._reading() as connection:
            return views_at(connection, scoring, place)

    def views(self, scoring: int, after: int) -> tuple[int, list[bytes]] | None:
        """The next cases that share a row, after a place, and the first of their places."""
        rows = self._rows(
            "SELECT first, body FROM views WHERE scoring = ? AND first > ? ORDER BY first LIMIT 1",
            (scoring, after),
        )
        return (rows[0][0], unpack_views(rows[0][1])) if rows else None

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
        rows = self._search(
            f"SELECT {order}, place, {_CASE_COLUMNS} FROM cases WHERE {where}"
            f" ORDER BY {order} {way}, place {way} LIMIT ?",
            [*order_values, *values, *order_values, most],
        )
        return [FoundCase(row[0], row[1], ListedCase(*row[2:])) for row in rows]

    def count(
        self, scoring: int, chosen: CaseFilter, until: tuple[float, int] | None = None
    ) -> int:
        """How many cases a filter selects, all or up to a key."""
        where, values = condition_of(scoring, chosen)
        if until is not None:
            order, order_values = order_of(chosen)
            where = f"{where} AND ({order}, place) <= (?, ?)"
            values = [*values, *order_values, *until]
        return int(self._search(f"SELECT count(*) FROM cases WHERE {where}", values)[0][0])

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
        where = f"scoring = ? AND {QUEUES.get(wanted.queue, DECIDED)}"
        counted = where.replace(DECIDED, "has_word").replace(OPEN, "NOT has_word")
        values: list[Any] = [scoring]
        for column, value in (("metric", wanted.metric), ("model", wanted.model)):
            if value:
                where, values = f"{where} AND {column} = ?", [*values, value]
                counted = f"{counted} AND {column} = ?"
        if wanted.unreviewed:
            counted = f"{counted} AND NOT by_person"
        count = f"SELECT ifnull(sum(number), 0) FROM verdict_counts WHERE {counted}"
        of_count = values
        if wanted.unreviewed:
            where = f"{where} AND {UNREVIEWED}"
        if wanted.by:
            where, values = f"{where} AND instr(author, ?) = 1", [*values, wanted.by]
            count, of_count = f"SELECT count(*) FROM verdict_items WHERE {where}", values
        total = int(self._search(count, of_count)[0][0])
        # Without the name SQLite reads every verdict to find the few of a queue.
        is_indexed = wanted.unreviewed and wanted.queue in _INDEX_OF
        by = f" INDEXED BY {_INDEX_OF[wanted.queue]}" if is_indexed else ""
        rows = self._search(
            f"SELECT * FROM verdict_items{by} WHERE {where} AND number > ? ORDER BY number LIMIT ?",
            [*values, after, most],
        )
        return [(row[1], verdict_row(row)) for row in rows], total

    def verdicts_of_case(self, scoring: int, place: int) -> list[VerdictRow]:
        """The verdicts on the answers to a case."""
        first = place * MOST_VERDICTS
        rows = self._rows(
            f"SELECT * FROM verdict_items WHERE {OF_CASE} ORDER BY number",
            (scoring, first, first + MOST_VERDICTS),
        )
        return [verdict_row(row) for row in rows]


def open_index(store: StoreAddress, most_s: float | None = None) -> ResultsIndex:
    """The index of a store; in memory if its folder cannot be written."""
    path = index_path(store)
    if isinstance(store, Path) and not is_writable(store):
        return ResultsIndex(None, most_s)
    try:
        return ResultsIndex(path, most_s)
    except StoreError:
        # It is damaged, or another program wrote it: nothing in it is precious.
        try:
            remove_index(store)
            return ResultsIndex(path, most_s)
        except (OSError, StoreError):
            return ResultsIndex(None, most_s)
