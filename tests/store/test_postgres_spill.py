"""Paid replies on this machine that a database does not have yet."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from callscore.core.errors import StoreError
from callscore.store.postgres.rows import Paid
from callscore.store.postgres.spill import Spill, left_behind
from callscore.store.postgres.url import read_url

PAID = Paid((b"key", b"reply", 0.5, 1, 7), worker=1, run_id=3, most_usd=1.0)


def test_replies_for_one_database_are_never_written_to_another(tmp_path: Path) -> None:
    one, other = (read_url(f"postgresql://u@localhost/{name}", tmp_path) for name in ("a", "b"))
    spill = Spill(one)
    spill.add([PAID])
    assert list(left_behind(one)) == []  # its process is alive
    spill.close()
    assert list(left_behind(other)) == []
    assert list(left_behind(one)) == [(spill.path, [PAID])]


def test_a_full_disk_is_an_error_and_leaves_no_torn_reply(tmp_path: Path) -> None:
    url = read_url("postgresql://u@localhost/a", tmp_path)
    long = Paid((b"other", bytes(10_000), 0.5, 1, 7), worker=1, run_id=3, most_usd=1.0)
    spill = Spill(url)
    spill.add([PAID])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, limits[1]))  # a short write, then none
    try:
        with pytest.raises(StoreError, match=r"unwritten-.*: cannot be written: File too large; "):
            spill.add([long])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert spill.unwritten == 1
    spill.add([long])
    spill.close()
    assert list(left_behind(url)) == [(spill.path, [PAID, long])]
