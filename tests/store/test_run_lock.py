from __future__ import annotations

import msgspec
import pytest

from callscore.store.run_records import Holder, has_ended, this_process

ME = this_process()
GONE_PID = 2**22 + 1
"""Beyond the largest number a process can have on Linux."""


def test_this_process_is_alive() -> None:
    assert not has_ended(ME)


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({"pid": GONE_PID}, True),
        ({"started": "another process with the same number"}, True),
        ({"boot_id": "before the last start of the machine"}, True),
        ({"host": "elsewhere"}, False),
        ({"host": "elsewhere", "pid": GONE_PID}, False),
        ({"since": "2001-01-01T00:00:00+00:00"}, False),
        ({"pid": 1, "started": ""}, True),
    ],
)
def test_who_has_certainly_ended(change: dict[str, object], gone: bool) -> None:
    assert has_ended(msgspec.structs.replace(ME, **change)) is gone


def test_a_holder_reads_as_a_sentence() -> None:
    holder = Holder(12, "desk", "b", "s", "2026-01-02T03:04:05+00:00")
    assert str(holder) == "process 12 on desk since 2026-01-02T03:04:05+00:00"
