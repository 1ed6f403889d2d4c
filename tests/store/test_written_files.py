"""Files that are written: whole, never over an input, never in place of a device."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from callscore.core.errors import StoreError, UsageError
from callscore.store import files
from callscore.store.files import atomic_write, check_targets
from command_server import NEVER_S


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()
    with atomic_write(pipe) as file:
        file.write(b"new")
    reader.join(NEVER_S)
    assert read == [b"new"]
    assert pipe.is_fifo()


def test_a_folder_is_not_written_to(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"), atomic_write(tmp_path):
        pass


def test_an_input_is_not_written_over_by_whatever_name(tmp_path: Path) -> None:
    cases, link = tmp_path / "cases.jsonl", tmp_path / "link.jsonl"
    cases.write_text("{}")
    link.symlink_to(cases)
    for name in (cases, link, tmp_path / ".." / tmp_path.name / "cases.jsonl"):
        with pytest.raises(UsageError, match="is read by this command"):
            check_targets((None, name), (cases,))


def test_two_options_do_not_write_one_file(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    with pytest.raises(UsageError, match="is written by two options"):
        check_targets((target, target), ())
    nowhere = Path(os.devnull)
    check_targets((nowhere, nowhere), (nowhere,))


def test_who_may_read_a_new_file_is_for_the_umask_to_say(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        with atomic_write(tmp_path / "results.jsonl") as file:
            file.write(b"{}")
    finally:
        os.umask(before)
    assert (tmp_path / "results.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_file_that_was_closed_to_others_stays_so(tmp_path: Path) -> None:
    target = tmp_path / "results.jsonl"
    target.write_text("old")
    target.chmod(0o640)
    with atomic_write(target) as file:
        file.write(b"new")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("new", 0o640)


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="every file has a name here")
def test_r25_a_file_that_is_being_written_has_no_name_to_leave_behind(tmp_path: Path) -> None:
    with atomic_write(tmp_path / "results.jsonl") as file:
        file.write(b"{}")
        file.flush()
        assert list(tmp_path.iterdir()) == []
    assert [found.name for found in tmp_path.iterdir()] == ["results.jsonl"]
    assert (tmp_path / "results.jsonl").read_bytes() == b"{}"


def test_where_every_file_has_a_name_it_is_written_under_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_O_TMPFILE", 0)
    check_targets((tmp_path / "results.jsonl",), ())
    with atomic_write(tmp_path / "results.jsonl") as file:
        file.write(b"{}")
    assert [found.name for found in tmp_path.iterdir()] == ["results.jsonl"]
