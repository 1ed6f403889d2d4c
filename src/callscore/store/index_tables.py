"""The tables of the index of scored answers, and what is written to them in one transaction."""

from __future__ import annotations

import sqlite3
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

from callscore.core.events import BY_PERSON
from callscore.store.index_rows import (
    FAST,
    CaseRow,
    Encoded,
    Scoring,
    SubBlock,
    SumRow,
    VerdictRow,
)
from callscore.store.results_filter import LAST

SCHEMA = 7
"""Raised with every change of tables or of what rows hold: another index is replaced."""
DECIDED, OPEN = "word != ''", "word = ''"
QUEUES = {
    "disputed": "disputed",
    "gates": f"gate AND {DECIDED}",
    "injection": "injection",
    "open": OPEN,
}
"""What the verdicts of a queue have in common."""
UNREVIEWED = f"instr(author, '{BY_PERSON}') != 1"
"""A verdict that no person gave; indexes of queues have no others, so that a page reads none."""
TABLES = """
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
    scoring INTEGER NOT NULL, first INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (scoring, first)
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
CREATE INDEX verdicts_disputed ON verdict_items (scoring, number) WHERE {disputed};
CREATE INDEX verdicts_at_gates ON verdict_items (scoring, number) WHERE {gates};
CREATE INDEX verdicts_injected ON verdict_items (scoring, number) WHERE {injection};
CREATE INDEX verdicts_open ON verdict_items (scoring, number) WHERE {open};
CREATE TABLE verdict_counts (
    scoring INTEGER NOT NULL, metric TEXT NOT NULL, model TEXT NOT NULL,
    disputed INTEGER NOT NULL, gate INTEGER NOT NULL, injection INTEGER NOT NULL,
    has_word INTEGER NOT NULL, by_person INTEGER NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (scoring, metric, model, disputed, gate, injection, has_word, by_person)
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
""".format_map({queue: f"{wanted} AND {UNREVIEWED}" for queue, wanted in QUEUES.items()})
OF_SCORING = (
    *("cases", "cells", "views", "call_texts", "verdict_items", "contributions"),
    *("verdict_counts", "sub_blocks", "sums"),
)
OF_CASE = "scoring = ? AND number >= ? AND number < ?"
MOST_VERDICTS = 1 << 20
"""Of one case: verdicts are numbered by their case, so that one case can be replaced."""
VIEWS_TOGETHER = 32_768
"""Bytes of neighbouring cases that are compressed together: what zlib looks back at."""


def drop(connection: sqlite3.Connection, scorings: Sequence[int]) -> None:
    """Delete scorings with all their rows."""
    for number in scorings:
        for table in OF_SCORING:
            connection.execute(f"DELETE FROM {table} WHERE scoring = ?", (number,))
        connection.execute("DELETE FROM scorings WHERE id = ?", (number,))


def add_texts(connection: sqlite3.Connection, scoring: int, texts: Sequence[str]) -> dict[str, int]:
    """The numbers of some texts; the cases of a call are neighbours, and share one."""
    first = connection.execute("SELECT ifnull(max(id), 0) + 1 FROM call_texts").fetchone()[0]
    found = {text: number for number, text in enumerate(dict.fromkeys(texts), first)}
    connection.executemany(
        "INSERT INTO call_texts (id, scoring, folded) VALUES (?, ?, ?)",
        [(number, scoring, text.casefold()) for text, number in found.items()],
    )
    return found


def add_views(connection: sqlite3.Connection, scoring: int, cases: Sequence[CaseRow]) -> None:
    """Add cases with their answers; neighbours share a row, as one alone compresses badly."""
    rows: list[tuple[int, int, bytes]] = []
    together: list[bytes] = []
    size = first = 0
    for case in cases:
        if not together:
            first, size = case.place, 0
        together.append(case.view)
        size += len(case.view)
        if size >= VIEWS_TOGETHER or case is cases[-1]:
            rows.append((scoring, first, _pack(together)))
            together = []
    connection.executemany("INSERT INTO views VALUES (?, ?, ?)", rows)


def _pack(views: Sequence[bytes]) -> bytes:
    """Cases in JSON, one per line."""
    return zlib.compress(b"\n".join(views), FAST)


def unpack_views(raw: bytes) -> list[bytes]:
    """The cases that share a row."""
    return zlib.decompress(raw).split(b"\n")


def views_at(connection: sqlite3.Connection, scoring: int, place: int) -> tuple[int, list[bytes]]:
    """The first place and the cases of the row that has this place, if there is one."""
    row = connection.execute(
        "SELECT first, body FROM views WHERE scoring = ? AND first <= ?"
        " ORDER BY first DESC LIMIT 1",
        (scoring, place),
    ).fetchone()
    return (place, []) if row is None else (row[0], unpack_views(row[1]))


def verdict_row(row: Sequence[Any]) -> VerdictRow:
    """A verdict as it is read."""
    return VerdictRow(*row[2:11], *(bool(value) for value in row[11:]))


def add_verdicts(connection: sqlite3.Connection, scoring: int, cases: Sequence[CaseRow]) -> None:
    """Add the verdicts on some cases."""
    connection.executemany(
        "INSERT INTO verdict_items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (scoring, case.place * MOST_VERDICTS + number, *row)
            for case in cases
            for number, row in enumerate(case.verdicts)
        ],
    )


def count_verdicts(connection: sqlite3.Connection, scoring: int) -> None:
    """Count the verdicts of a scoring once: to count those of a large run takes long."""
    connection.execute(
        "INSERT INTO verdict_counts SELECT scoring, metric, model, disputed, gate, injection,"
        " word != '', instr(author, ?) = 1, count(*) FROM verdict_items WHERE scoring = ?"
        " GROUP BY 2, 3, 4, 5, 6, 7, 8",
        (BY_PERSON, scoring),
    )


def _change_counts(
    connection: sqlite3.Connection, scoring: int, rows: Sequence[VerdictRow], sign: int
) -> None:
    """Count more verdicts, or take them away."""
    counts = Counter(
        (
            *(row.metric, row.model, row.disputed, row.gate, row.injection),
            *(row.word != "", row.author.startswith(BY_PERSON)),
        )
        for row in rows
    )
    connection.executemany(
        "INSERT INTO verdict_counts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET number = number + excluded.number",
        [(scoring, *key, sign * number) for key, number in counts.items()],
    )


def add_sums(
    connection: sqlite3.Connection,
    scoring: int,
    sub_blocks: Sequence[SubBlock],
    sums: Sequence[SumRow],
) -> None:
    """Add sub-blocks and sums, or replace those that there are."""
    connection.executemany(
        "INSERT OR REPLACE INTO sub_blocks VALUES (?, ?, ?, ?)",
        [(scoring, *one) for one in sub_blocks],
    )
    connection.executemany(
        "INSERT OR REPLACE INTO sums VALUES (?, ?, ?, ?, ?)", [(scoring, *one) for one in sums]
    )


def replace_case(connection: sqlite3.Connection, scoring: int, case: CaseRow) -> None:
    """Replace what the verdicts on a case change: its text and its tags stay."""
    worst, best, apart = orders(case)
    connection.execute(
        "UPDATE cases SET marks = ?, worst = ?, best = ?, apart = ?"
        " WHERE scoring = ? AND place = ?",
        (case.head.marks, worst, best, apart, scoring, case.place),
    )
    connection.executemany(
        "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(scoring, case.place, *cell) for cell in case.cells],
    )
    at, views = views_at(connection, scoring, case.place)
    views[case.place - at] = case.view
    connection.execute(
        "UPDATE views SET body = ? WHERE scoring = ? AND first = ?", (_pack(views), scoring, at)
    )
    first = case.place * MOST_VERDICTS
    numbers = (scoring, first, first + MOST_VERDICTS)
    before = connection.execute(f"SELECT * FROM verdict_items WHERE {OF_CASE}", numbers)
    _change_counts(connection, scoring, [verdict_row(row) for row in before.fetchall()], -1)
    connection.execute(f"DELETE FROM verdict_items WHERE {OF_CASE}", numbers)
    add_verdicts(connection, scoring, [case])
    _change_counts(connection, scoring, case.verdicts, 1)


def complete(connection: sqlite3.Connection, scoring: Scoring, whole: Encoded) -> None:
    """Write what belongs to a scoring as a whole; it becomes visible."""
    connection.executemany(
        "INSERT OR REPLACE INTO contributions VALUES (?, ?, ?, 1)",
        [(scoring.id, model, body) for model, body in whole.contributions.items()],
    )
    connection.execute(
        "UPDATE scorings SET finished = 1, holder = NULL, run = ?, fingerprint = ?, head = ?,"
        " edition = ?, events = ?, card = ?, kept = ?, people = ? WHERE id = ?",
        (*scoring[1:], whole.card, whole.kept, whole.people, scoring.id),
    )


def orders(case: CaseRow) -> tuple[float, float, float]:
    """What a case is sorted by: worst, best, spread."""
    if case.mean is None:
        return LAST, LAST, -case.spread
    return case.mean, -case.mean, -case.spread


def case_values(scoring: int, case: CaseRow, text: int) -> tuple[Any, ...]:
    """A row of `cases`."""
    return (
        scoring,
        case.place,
        case.head.case_id,
        case.head.case_id.casefold(),
        *case.head[1:],
        *orders(case),
        text,
    )
