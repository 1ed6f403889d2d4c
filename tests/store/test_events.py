"""What people decide, in every store: appended in a chain, refused if another person was faster."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from callscore.core.errors import DataError, StoreError
from callscore.core.events import EventConflict, EventHead, Events, Fault, subject_of
from callscore.store.address import StoreAddress, open_store, purge_store
from callscore.store.journal import Journal
from callscore.store.protocol import Store
from callscore.store.recovery.salvage import salvage
from command_server import NEVER_S
from run_cases import HEADER, cached_reply_for, item_for, work_for

CALL, OTHER = subject_of("call 1"), subject_of("call 2")
WRITES = 40
WRITER = """
import sys
from pathlib import Path
from callscore.core.events import EventConflict, subject_of
from callscore.store.address import open_store, read_address

with open_store(read_address(sys.argv[1], Path("."))) as store, store.events() as events:
    print("ready", flush=True)
    sys.stdin.readline()
    conflicts = 0
    for number in range(int(sys.argv[3])):
        subject = subject_of(f"call {number}")
        try:
            events.append("verdict", subject, {"word": sys.argv[2]}, sys.argv[2], prior=0)
        except EventConflict:
            conflicts += 1
    print(conflicts)
"""


@pytest.fixture
def events(store: Store) -> Iterator[Events]:
    with store.events() as opened:
        yield opened


def test_events_are_kept_in_their_order_with_author_and_text(
    events: Events, address: StoreAddress
) -> None:
    first = events.append("verdict", CALL, {"word": "yes"}, "Ada", prior=0)
    second = events.append("comment", OTHER, {"text": "ह ✓"}, "Bo")
    third = events.append("verdict", CALL, {"word": "no"}, "Bo", prior=first.seq)
    with open_store(address, only_reading=True) as store, store.events() as later:
        assert later.since() == [first, second, third]
        assert later.since(1, "verdict") == [third]
        assert later.since(0, None, 2) == [first, second]
        assert later.head() == EventHead(3, third.chain)
        assert later.since(2)[0].read(dict[str, str]) == {"word": "no"}
        assert later.faults() == []
        with pytest.raises(StoreError, match="read-only"):
            later.append("comment", CALL, {}, "Ada")


def test_an_event_on_what_others_have_changed_meanwhile_is_refused_with_both_texts(
    events: Events,
) -> None:
    theirs = events.append("verdict", CALL, {"word": "yes"}, "Ada", prior=0)
    with pytest.raises(EventConflict, match="event 1 of Ada") as refused:
        events.append("verdict", CALL, {"word": "no"}, "Bo", prior=0)
    assert refused.value.newest == theirs
    assert refused.value.body == b'{"word":"no"}'
    assert events.head().seq == 1
    blind = events.append("verdict", CALL, {"word": "no"}, "Bo", prior=0, blind=True)
    assert blind.seq == 2
    with pytest.raises(EventConflict, match="event 2 of Bo"):
        events.append("verdict", CALL, {"word": "maybe"}, "Bo", prior=0, blind=True)
    assert events.append("comment", CALL, {}, "Bo", prior=0).seq == 3  # of another kind


def test_a_text_can_be_deleted_and_the_chain_holds(events: Events) -> None:
    for number in range(3):
        events.append("verdict", CALL, {"word": str(number)}, "Ada")
    events.blank([2])
    assert [event.body for event in events.since()] == [b'{"word":"0"}', None, b'{"word":"2"}']
    assert events.faults() == []
    with pytest.raises(DataError, match="event 2: its text was deleted"):
        events.since()[1].read(dict[str, str])


def test_two_processes_lose_no_event_and_exactly_one_is_first_on_each_subject(
    store: Store, address: StoreAddress
) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(address), name, str(WRITES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name in ("Ada", "Bo")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    said = [writer.communicate(timeout=NEVER_S)[0] for writer in writers]
    assert sum(map(int, said)) == WRITES
    with store.events() as events:
        assert [event.seq for event in events.since()] == list(range(1, WRITES + 1))
        assert len({event.subject for event in events.since()}) == WRITES
        assert events.faults() == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("DELETE FROM events WHERE seq = 2", [Fault(2, "missing")]),
        ("DELETE FROM events WHERE seq = 3", [Fault(3, "missing")]),
        ("UPDATE events SET body = x'7b7d' WHERE seq = 2", [Fault(2, "text altered")]),
        ("UPDATE events SET author = 'Eve' WHERE seq = 2", [Fault(2, "altered")]),
        ("UPDATE events SET digest = x'00' WHERE seq = 1", None),
    ],
)
def test_a_change_behind_the_log_is_found(
    tmp_path: Path, change: str, expected: list[Fault] | None
) -> None:
    path = tmp_path / "runs.db"
    with Journal(path) as journal, journal.events() as events:
        for number in range(3):
            events.append("verdict", CALL, {"word": str(number)}, "Ada")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    with Journal(path) as journal, journal.events() as events:
        found = events.faults()
    assert found == (expected or [Fault(1, "text altered"), Fault(1, "altered")])


def reviewed(store: Store) -> None:
    """Two runs with an answer each; both answers are reviewed."""
    for number in (1, 2):
        run = store.open_run(msgspec.structs.replace(HEADER, name=f"run {number}"))
        asyncio.run(run.keep(item_for(number, paid=True), cached_reply_for(number)))
        run.end("complete")
    with store.events() as events:
        for number in (1, 2):
            key = work_for(number).request.key
            events.append("verdict", CALL, {"reply": key.hex(), "word": "no"}, "Ada")
        events.append("comment", b"", {"text": "a note"}, "Ada")


def test_purging_a_run_deletes_the_texts_on_its_answers_only(
    store: Store, address: StoreAddress
) -> None:
    reviewed(store)
    store.close()
    purge_store(address, [1])
    with open_store(address) as later, later.events() as events:
        assert [event.body is None for event in events.since()] == [True, False, False]
        assert events.faults() == []


def test_salvage_keeps_the_events(tmp_path: Path) -> None:
    path, new = tmp_path / "runs.db", tmp_path / "new.db"
    with Journal(path) as journal:
        reviewed(journal)
        with journal.events() as events:
            before = events.since()
    assert salvage(path, new).events == 3
    with Journal(new) as journal, journal.events() as events:
        assert events.since() == before
        assert events.faults() == []
        assert events.append("comment", b"", {}, "Bo").seq == 4


def test_parts_of_a_subject_cannot_be_confused() -> None:
    assert subject_of("ab", "c") != subject_of("a", "bc")
    assert subject_of("a") == subject_of(b"a")
    assert len(subject_of()) == len(sha256().digest())
