"""Paid replies on this machine that a database does not have yet."""

from __future__ import annotations

from pathlib import Path

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
