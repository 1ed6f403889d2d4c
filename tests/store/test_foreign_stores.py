"""Stores from elsewhere: crafted ones are refused in words, unwritable ones can be read."""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec
import pytest

from callscore.config.config import load_eval
from callscore.core.errors import StoreError
from callscore.runner.estimate import dry_run
from callscore.runner.prepare import RunOptions, prepare
from callscore.runner.run import rescore
from callscore.store.journal import Journal
from callscore.store.reply_rows import checksum
from commands import run
from eval_files import cases_file, eval_file

CASES = 3


def finished(folder: Path) -> tuple[Path, Path]:
    """An eval file that was run, and its store."""
    cases_file(folder, CASES)
    path = eval_file(folder, [{"name": "m", "provider": "simulated"}])
    assert run("run", path).returncode == 0
    return path, folder / ".callscore" / "runs.db"


def deep(levels: int) -> bytes:
    return b"\x81\xa4text" + b"\x91" * levels + b"\xc0"


REPLIES = {
    "no MessagePack": b"\xc1\xc1",
    "another shape": msgspec.msgpack.encode({"text": {"a": 1}}),
    "nested": deep(100_000),
    "a cost that is no number": msgspec.msgpack.encode({"text": "x", "cost_usd": math.nan}),
    "an endless cost": msgspec.msgpack.encode({"text": "x", "cost_usd": math.inf}),
    "a negative cost": msgspec.msgpack.encode({"text": "x", "cost_usd": -1.0}),
    "no text": msgspec.msgpack.encode({"text": 4}),
    "no UTF-8": b"\x81\xa4text\xa2\xff\xfe",
}


@pytest.mark.parametrize("kind", REPLIES)
def test_r16_an_answer_that_was_forged_is_refused_in_words(tmp_path: Path, kind: str) -> None:
    path, store = finished(tmp_path)
    with closing(sqlite3.connect(store)) as database, database:
        for (key,) in database.execute("SELECT key FROM answers").fetchall():
            forged = (REPLIES[kind], checksum(key, REPLIES[kind]), key)
            database.execute("UPDATE answers SET reply = ?, checksum = ? WHERE key = ?", forged)
    for options in (["--rescore", "1"], []):
        done = run("run", path, *options)
        assert done.returncode == 4, done.stderr
        assert "is damaged: an answer" in done.stderr


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE runs SET total = 'many'",
        "UPDATE runs SET status = 'excellent'",
        "UPDATE runs SET name = x'00ff'",
        "UPDATE runs SET status = 'running', holder = x'c1'",
        "UPDATE runs SET preflight_usd = 9e999",
        "UPDATE runs SET uncertain_usd = -5",
        "UPDATE items SET model = x'00ff'",
        "UPDATE answers SET attempts = 'x'",
    ],
)
def test_r16_no_row_ends_a_command_with_a_crash(tmp_path: Path, change: str) -> None:
    path, store = finished(tmp_path)
    with closing(sqlite3.connect(store)) as database, database:
        database.execute(change)
    codes = [run("runs", path).returncode, run("run", path, "--rescore", "1").returncode]
    codes += [run("run", path, "--resume").returncode]
    assert set(codes) <= {0, 4}
    assert 4 in codes


def test_a_holder_with_an_impossible_number_is_gone(tmp_path: Path) -> None:
    path, store = finished(tmp_path)
    holder = {"pid": 2**62, "host": os.uname().nodename, "boot_id": "", "started": "", "since": ""}
    with closing(sqlite3.connect(store)) as database, database:
        raw = msgspec.msgpack.encode(holder)
        database.execute("UPDATE runs SET status = 'running', holder = ?", (raw,))
    assert run("run", path, "--resume").returncode == 0


@contextmanager
def unwritable(folder: Path) -> Iterator[Path]:
    """A copy of a folder that this process, not being root for a while, can only read."""
    copy = Path(tempfile.mkdtemp(prefix="callscore-test-"))
    shutil.copytree(folder, copy / "project")
    copy.chmod(0o755)
    for path in copy.rglob("*"):
        path.chmod(0o555 if path.is_dir() else 0o444)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield copy / "project"
    finally:
        if is_root:
            os.seteuid(0)
        for path in copy.rglob("*"):
            path.chmod(0o755)
        shutil.rmtree(copy)


@pytest.mark.parametrize("has_log", [False, True])
def test_r05_a_store_that_cannot_be_written_is_listed_and_scored_again(
    tmp_path: Path, has_log: bool
) -> None:
    path, store = finished(tmp_path)
    # Python's own files may be root's alone: what is imported late is imported before.
    rescore(prepare(load_eval(path), RunOptions(), sending=False), 1)
    with closing(sqlite3.connect(store)) as database:
        if has_log:
            database.execute("PRAGMA wal_autocheckpoint = 0")
            database.execute("UPDATE runs SET name = 'in the log'")
            database.commit()
        with unwritable(tmp_path) as project:
            before = sorted(project.rglob("*"))
            there = project / ".callscore" / "runs.db"
            with Journal(there, only_reading=True) as journal:
                (record,) = journal.runs()
            assert record.header.name == ("in the log" if has_log else "trial")
            prepared = prepare(load_eval(project / path.name), RunOptions(), sending=False)
            assert dry_run(prepared)[0].already_paid == CASES
            ran = rescore(prepared, 1)
            assert ran.card is not None
            assert ran.card.models[0].tasks["qa"].n == CASES
            assert sorted(project.rglob("*")) == before
            with pytest.raises(StoreError, match="cannot be written"):
                Journal(there)


def test_r17_an_older_store_that_cannot_be_written_is_read_from_a_copy(tmp_path: Path) -> None:
    _, store = finished(tmp_path)
    with closing(sqlite3.connect(store)) as database:
        for column in ("uncertain_usd", "eval_file", "race", "redact", "unstored"):
            database.execute(f"ALTER TABLE runs DROP COLUMN {column}")
        for table in ("batch_jobs", "batch_items", "events"):
            database.execute(f"DROP TABLE {table}")
        database.execute("PRAGMA user_version = 3")
    with (
        unwritable(tmp_path) as project,
        Journal(project / ".callscore" / "runs.db", only_reading=True) as journal,
    ):
        assert journal.run(1).answered == CASES
