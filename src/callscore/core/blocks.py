"""Blocks of cases: the order in which everything is added up, for one process and for many.

Cases are added one by one inside a sub-block; sub-blocks join in order to a block, and blocks join
in order. The boundaries depend on the data only. So the sums are equal to the last digit however
many processes score the blocks, and one sub-block can be added up again on its own.
"""

from __future__ import annotations

from typing import NamedTuple


class BlockSize(NamedTuple):
    """How many consecutive selected cases are added up together."""

    sub_block: int = 256
    """Cases that are added one by one."""
    sub_blocks: int = 16
    """Sub-blocks that join to a block: the unit of work of a process."""

    @property
    def cases(self) -> int:
        """Cases of a block."""
        return self.sub_block * self.sub_blocks


BLOCK = BlockSize()
"""4,096 cases; only tests use another size."""

MOST_PARTS = 32
"""Of what is sorted or counted a part at a time."""


def part_size(number: int, at_once: int) -> int:
    """max(at_once, number / MOST_PARTS)

    Each part is found by reading everything: without a limit, the time would grow with the square.
    """
    return max(at_once, -(-number // MOST_PARTS))
