"""One pass over the data for several models, as long as they come along together."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from callscore.runner.prompts import Asked, CaseSource

MOST_KEPT = 64
"""Cases that wait for slower models; one that falls further behind reads the data by itself."""


class SharedStream:
    """Reads each case once, and keeps it until every reader has had it."""

    def __init__(self, subjects: CaseSource) -> None:
        self._subjects = subjects
        self._source = subjects.stream()
        self._kept: deque[Asked] = deque()
        self._first = 0
        """The position of the first case that is kept."""
        self._had: list[int] = []
        """How many cases each reader has had."""

    def reader(self) -> Iterator[Asked]:
        """Every case with its prompt. All readers are made before the first one reads."""
        self._had.append(0)
        return self._read(len(self._had) - 1)

    def _read(self, reader: int) -> Iterator[Asked]:
        while (position := self._had[reader]) >= self._first:
            if position == self._first + len(self._kept) and not self._read_on():
                return
            asked = self._kept[position - self._first]
            self._had[reader] += 1
            if position == self._first and min(self._had) > position:
                self._drop()
            yield asked
        yield from islice(self._subjects.stream(), position, None)

    def _read_on(self) -> bool:
        asked = next(self._source, None)
        if asked is None:
            return False
        self._kept.append(asked)
        if len(self._kept) > MOST_KEPT:
            self._drop()
        return True

    def _drop(self) -> None:
        self._kept.popleft()
        self._first += 1
