"""The contributions of many cases of one task and one model, in a temporary file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from weakref import finalize

from callscore.processes.value_bytes import from_bytes, to_bytes
from callscore.scorecard.tally import TaskTally
from callscore.stats.contributions import CaseContributions, TaskContributions
from callscore.store.disk_list import DiskNumbers

CASES = 1 << 14
"""More are in a file."""


class SpilledCases:
    """Contributions that are appended, and read in parts; only the last cases are in memory."""

    def __init__(self, cases: CaseContributions) -> None:
        self._file = tempfile.TemporaryFile(prefix="callscore-")  # noqa: SIM115  see finalize
        finalize(self, self._file.close)
        self._places: list[tuple[int, int]] = []
        """Of each part in the file, its beginning and its length."""
        self._in_file = 0
        self._last = TaskContributions()
        self.has_labels = False
        for part in cases.parts():
            self.extend(part)

    def extend(self, other: TaskContributions) -> None:
        """Append cases."""
        self.has_labels = self.has_labels or other.has_labels
        self._last.extend(other)
        if len(self._last) > CASES:
            part = to_bytes(self._last)
            self._places.append((self._file.seek(0, 2), len(part)))
            self._file.write(part)
            self._in_file += len(self._last)
            self._last = TaskContributions()

    def __len__(self) -> int:
        return self._in_file + len(self._last)

    def parts(self) -> Iterator[TaskContributions]:
        """All cases in their order, as many at a time as are in memory."""
        for start, length in self._places:
            self._file.seek(start)
            part: TaskContributions = from_bytes(self._file.read(length))
            yield part
        if len(self._last):
            yield self._last

    def whole(self) -> TaskContributions:
        """The same cases in memory."""
        found = TaskContributions()
        for part in self.parts():
            found.extend(part)
        return found

    def at_worst(self) -> TaskContributions:
        """The same cases in memory, with undecided ones at their worst        C-137"""
        return self.whole().at_worst()

    def __reduce__(self) -> tuple[object, ...]:
        """Another process gets the cases themselves."""
        return _unchanged, (self.whole(),)


def _unchanged(cases: TaskContributions) -> TaskContributions:
    return cases


def spill(tally: TaskTally) -> None:
    """Move what a tally has of single cases to temporary files, if these are many."""
    kept = tally.contributions
    if isinstance(kept, TaskContributions) and len(kept) > CASES:
        tally.contributions = SpilledCases(kept)
    if not isinstance(tally.call_keys, DiskNumbers) and len(tally.call_keys) > CASES:
        tally.call_keys = DiskNumbers(tally.call_keys, CASES, "Q")
