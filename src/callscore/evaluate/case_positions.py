"""The position of every case by its id, in little memory for large data."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise

from callscore.store.disk_list import DiskNumbers, sort_numbers

MANY = 1 << 16
"""With more cases, a hash of each id is kept in a temporary file: in memory it takes 100 bytes."""
NO_LIMIT = 1 << 62
STEP = 512
"""Every how many hashes, in ascending order, one is in memory."""


class CasePositions(Mapping[str, int]):
    """The positions of cases in their files.

    With more than `most` cases it finds them by the hash of their id. If two ids have the same
    hash, `finish` says so; an unknown id may still have the hash of a known one, so the id on a
    line that was found this way is compared when the line is read.
    """

    def __init__(self, most: int = MANY, hash_of: Callable[[str], int] = hash) -> None:
        self._most = most
        self._hash_of = hash_of
        self._exact: dict[str, int] = {}
        self._hashed: _HashedPositions | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the ids themselves are known, so that equal ones are found at once."""
        return self._hashed is None

    def add(self, ids: Sequence[str]) -> bool:
        """Append cases; False, and nothing is added, if an id is known to be taken."""
        if self._hashed is not None:
            self._hashed.add(map(self._hash_of, ids))
            return True
        if len(set(ids)) < len(ids) or not self._exact.keys().isdisjoint(ids):
            return False
        self._exact.update(zip(ids, count(len(self._exact)), strict=False))
        if len(self._exact) > self._most:
            self._hashed = _HashedPositions(map(self._hash_of, self._exact))
            self._exact = {}
        return True

    def finish(self) -> bool:
        """Prepare lookups; False if two cases have the same id or the same hash."""
        return self._hashed is None or self._hashed.finish()

    def __getitem__(self, case_id: str) -> int:
        if self._hashed is None:
            return self._exact[case_id]
        found = self._hashed.find(self._hash_of(case_id))
        if found is None:
            raise KeyError(case_id)
        return found

    def __len__(self) -> int:
        return len(self._exact) if self._hashed is None else len(self._hashed)

    def __iter__(self) -> Iterator[str]:
        """The ids, if they are known."""
        return iter(self._exact)


class _HashedPositions:
    """The positions of cases by the hash of their id, in temporary files."""

    def __init__(self, hashes: Iterable[int]) -> None:
        self._hashes = DiskNumbers(hashes)
        """By position."""
        self._in_order = self._order = DiskNumbers()
        """The same in ascending order, and their positions."""
        self._steps = array("q")
        self._last = 0
        """The position that was found last: files mostly name cases in their order."""

    def __len__(self) -> int:
        return len(self._hashes)

    def add(self, hashes: Iterable[int]) -> None:
        """Append cases."""
        self._hashes.extend(hashes)

    def finish(self) -> bool:
        """Prepare lookups; False if two hashes are equal."""
        self._in_order, self._order = sort_numbers(self._hashes, range(len(self)))
        for at in range(0, len(self), STEP):
            some = self._in_order[at : at + STEP + 1]
            if any(one == other for one, other in pairwise(some)):
                return False
            self._steps.append(some[0])
        return True

    def find(self, wanted: int) -> int | None:
        """The position of a hash; None if there is no such hash."""
        for likely in range(self._last, min(self._last + 2, len(self))):
            if self._hashes[likely] == wanted:
                self._last = likely
                return likely
        begin = STEP * max(0, bisect_right(self._steps, wanted) - 1)
        some = self._in_order[begin : begin + STEP]
        at = bisect_left(some, wanted)
        if at == len(some) or some[at] != wanted:
            return None
        (self._last,) = self._order[begin + at : begin + at + 1]
        return self._last
