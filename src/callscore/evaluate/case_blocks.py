"""Where the blocks of the selected cases are in the case files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from callscore.config.score import ScoreConfig
from callscore.core.blocks import BLOCK, BlockSize
from callscore.store.files import BEGIN, Block, LineStart, path_of
from callscore.store.remote_files import shown


class CaseBlock(NamedTuple):
    """A block of selected cases: which lines of the files it has        `core/blocks.py`"""

    start: LineStart
    first: int
    """The position of its first case among all cases of the files."""
    end: int
    """The position after its last line; lines in between that are not selected are checked."""
    seen: Mapping[str, int]
    """By task, the selected cases before it."""
    place: str
    """Its lines, as messages name them."""


class BlockPlan:
    """Where the blocks of selected cases begin, noted while all cases are read once."""

    def __init__(self, config: ScoreConfig, size: BlockSize = BLOCK) -> None:
        self._sources = config.case_sources
        self._tasks = frozenset(config.tasks)
        self._limit = config.limit
        self._size = size.cases
        self._starts: list[tuple[LineStart, int, Mapping[str, int]]] = []
        self._seen: Counter[str] = Counter()
        self.selected = 0
        """The number of selected cases."""
        self._end: int | None = None
        """The position after the last case, if a limit is reached."""

    def add_all(self, source: int, block: Block, tasks: Sequence[str], position: int) -> None:
        """Note the cases on consecutive lines; `position` is that of the first."""
        chosen = [task for task in tasks if task in self._tasks] if self._tasks else tasks
        begin, after = self.selected, self.selected + len(chosen)
        is_within = begin % self._size and begin // self._size == (after - 1) // self._size
        if is_within and (self._limit is None or after <= self._limit - 1):
            self._seen.update(chosen)
            self.selected = after
            return
        number, offset = block.number, block.offset
        for place, (task, raw) in enumerate(zip(tasks, block.lines, strict=True), position):
            self.add(task, LineStart(source, number, offset), place)
            number, offset = number + 1, offset + len(raw)

    def add(self, task: str, line: LineStart, position: int) -> None:
        """Note one case."""
        if self._end is not None or (self._tasks and task not in self._tasks):
            return
        if self.selected % self._size == 0:
            self._starts.append((line, position, dict(self._seen)))
        self._seen[task] += 1
        self.selected += 1
        if self.selected == self._limit:
            self._end = position + 1

    def blocks(self, positions: int) -> Iterator[CaseBlock]:
        """Every block, in order; the first one begins with the first line."""
        starts = [(BEGIN, 0, self._starts[0][2]), *self._starts[1:]]
        for (start, first, seen), after in zip_longest(starts, starts[1:]):
            end = after[1] if after is not None else self._end or positions
            yield CaseBlock(start, first, end, seen, self._name(start, after and after[0]))

    def _name(self, start: LineStart, after: LineStart | None) -> str:
        names = [shown(path_of(source)) for source in self._sources]
        first = f"{names[start.source]}:{start.number}"
        if after is None:
            return f"{first} to the end of {names[-1]}"
        if after.number == 1:
            return f"{first} to the end of {names[after.source - 1]}"
        return f"{first} to {names[after.source]}:{after.number - 1}"
