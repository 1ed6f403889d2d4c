"""The conditions of a page of cases, as SQLite runs them."""

from __future__ import annotations

import sqlite3

import pytest

from callscore.store.index_tables import TABLES
from callscore.store.results_filter import CaseFilter, condition_of

CASE = (
    "INSERT INTO cases VALUES"
    " (1, :place, :id, :id, :id, 'qa', 'en', '[]', 1, '', 0, 1.0, 1.0, 0.0, :place)"
)


def work_of_search(number: int, search: str) -> int:
    """What SQLite does, in thousands of its instructions, to find one of so many calls."""
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    places = range(1, number + 1)
    connection.executemany(CASE, [{"place": place, "id": f"call-{place}"} for place in places])
    texts = [(place, f"the caller says {place} times nothing") for place in places]
    connection.executemany("INSERT INTO call_texts VALUES (?, 1, ?)", texts)
    ticks = []
    connection.set_progress_handler(lambda: ticks.append(1), 1000)
    where, values = condition_of(1, CaseFilter(text=f"says {number} times", search=search))
    found = connection.execute(f"SELECT place FROM cases WHERE {where}", values).fetchall()
    connection.close()
    assert found == [(number,)]
    return len(ticks)


@pytest.mark.parametrize("search", ["transcript", "any"])
def test_a_search_reads_every_text_once(search: str) -> None:
    assert work_of_search(4000, search) < 5 * work_of_search(1000, search)
