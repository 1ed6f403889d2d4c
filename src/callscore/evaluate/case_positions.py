"""The position of every case by its id, in little memory for large data."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count

MANY = 1 << 16
"""With more cases, only a hash of each id is kept: 12 bytes instead of about 100."""
NO_LIMIT = 1 << 62


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
        self._hashes = array("q")
        self._order = array("I")
        """By rank of the hash, the position."""

    @property
    def is_exact(self) -> bool:
        """Whether the ids themselves are known, so that equal ones are found at once."""
        return not self._hashes

    def add(self, ids: Sequence[str]) -> bool:
        """Append cases; False, and nothing is added, if an id is known to be taken."""
        if self._hashes:
            self._hashes.extend(map(self._hash_of, ids))
            return True
        if len(set(ids)) < len(ids) or not self._exact.keys().isdisjoint(ids):
            return False
        self._exact.update(zip(ids, count(len(self._exact)), strict=False))
        if len(self._exact) > self._most:
            self._hashes.extend(map(self._hash_of, self._exact))
            self._exact = {}
        return True

    def finish(self) -> bool:
        """Prepare lookups; False if two cases have the same id or the same hash."""
        if not self._hashes:
            return True
        import numpy as np  # intervals of large data need it, too

        hashes = np.frombuffer(self._hashes, np.int64)
        order = np.argsort(hashes, kind="stable").astype(np.uint32)
        in_order = hashes[order]
        self._order.frombytes(order.data.cast("B"))
        self._hashes = array("q")
        del hashes, order  # the arrays may be large
        self._hashes.frombytes(in_order.data.cast("B"))
        return not bool((in_order[1:] == in_order[:-1]).any())

    def __getitem__(self, case_id: str) -> int:
        if self.is_exact:
            return self._exact[case_id]
        wanted = self._hash_of(case_id)
        at = bisect_left(self._hashes, wanted)
        if at == len(self._hashes) or self._hashes[at] != wanted:
            raise KeyError(case_id)
        return self._order[at]

    def __len__(self) -> int:
        return len(self._hashes) or len(self._exact)

    def __iter__(self) -> Iterator[str]:
        """The ids, if they are known."""
        return iter(self._exact)
