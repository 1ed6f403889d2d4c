"""What scored cases add up to, in the fixed order of blocks (`core/blocks.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec

from callscore.core.blocks import BLOCK, BlockSize
from callscore.evaluate.case_steps import JudgedItems
from callscore.evaluate.spilled_cases import spill
from callscore.scorecard.tally import TaskTally
from callscore.stats.contributions import CaseContributions

Tallies = dict[str, dict[str, TaskTally]]
"""By model, then by task."""


class Sums(msgspec.Struct):
    """The sums of some cases."""

    tallies: Tallies = msgspec.field(default_factory=dict)
    leaks: dict[tuple[str, str], list[str]] = msgspec.field(default_factory=dict)
    """The cases with a leak, by model and kind."""
    judged: dict[str, dict[str, JudgedItems]] = msgspec.field(default_factory=dict)
    """By model and metric, what a judging model decided."""
    uncited: Counter[str] = msgspec.field(default_factory=Counter)
    """By model, scores of whole metrics whose citation is neither a field nor found (C-100)."""

    def __iadd__(self, other: Sums) -> Sums:
        """Add the sums of later cases, which must not be used afterwards."""
        for model, tallies in other.tallies.items():
            of_model = self.tallies.setdefault(model, {})
            for task, tally in tallies.items():
                if task in of_model:
                    of_model[task] += tally
                else:
                    of_model[task] = tally
        for key, cases in other.leaks.items():
            self.leaks.setdefault(key, []).extend(cases)
        for model, metrics in other.judged.items():
            for metric, items in metrics.items():
                self.add_judged(model, metric, items)
        self.uncited.update(other.uncited)
        return self

    def add_judged(self, model: str, metric: str, items: JudgedItems) -> None:
        """Add what a judging model decided about one reply."""
        of_model = self.judged.setdefault(model, {})
        of_model[metric] = of_model.get(metric, JudgedItems(0)) + items

    def of_model(self, model: str) -> Sums:
        """The part of one model, without the contributions of its cases, which do not add up."""
        tallies = {
            task: msgspec.structs.replace(tally, contributions=None)
            for task, tally in self.tallies.get(model, {}).items()
        }
        return Sums(
            {model: tallies},
            {key: cases for key, cases in self.leaks.items() if key[0] == model},
            {model: self.judged[model]} if model in self.judged else {},
            Counter({model: self.uncited[model]}),
        )


class BlockSums:
    """The sums of all cases so far: added one by one in a sub-block, which then joins its block."""

    def __init__(
        self, size: BlockSize = BLOCK, on_sub_block: Callable[[Sums], None] | None = None
    ) -> None:
        """`on_sub_block` receives every complete sub-block before it joins its block."""
        self._size, self._on_sub_block = size, on_sub_block
        self._cases = 0
        """Cases in the current block."""
        self._total: Sums | None = None
        self._block: Sums | None = None
        self.current = Sums()
        """The current sub-block."""

    @property
    def room(self) -> int:
        """How many cases the current sub-block still takes."""
        return self._size.sub_block - self._cases % self._size.sub_block

    def count(self, cases: int) -> None:
        """Note that cases were added to the current sub-block, no more than it takes."""
        self._cases += cases
        if self._cases % self._size.sub_block == 0:
            self._end_sub_block()
        if self._cases == self._size.cases:
            self._end_block()

    def contributions(self, model: str, task: str) -> CaseContributions | None:
        """Those of the current block: they are in the order of cases, and not added twice."""
        tally = self._block and self._block.tallies.get(model, {}).get(task)
        return tally.contributions if tally else None

    def _end_sub_block(self) -> None:
        if self._on_sub_block is not None:
            self._on_sub_block(self.current)
        if self._block is None:
            self._block = self.current
        else:
            self._block += self.current
        self.current = Sums()

    def _end_block(self) -> None:
        if self._block is not None:
            self.join(self._block)
        self._block, self._cases = None, 0

    def join_sub_block(self, sub_block: Sums, cases: int) -> None:
        """Add the next sub-block, which must not be used afterwards."""
        self.current = sub_block
        self.count(cases)

    def join(self, block: Sums) -> None:
        """Add the next block, which must not be used afterwards."""
        if self._total is None:
            self._total = block
        else:
            self._total += block
        for tallies in self._total.tallies.values():
            for tally in tallies.values():
                spill(tally)

    def finish(self) -> Sums:
        """The sums of all cases; the last block may have fewer cases than others."""
        if self._cases % self._size.sub_block:
            self._end_sub_block()
        self._end_block()
        return self._total or Sums()
