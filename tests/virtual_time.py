"""An event loop whose clock jumps to the next timer, so that no test waits."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _SkippingSelector(selectors.DefaultSelector):
    """Does not wait: adds the timeout to the clock instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, selector: _SkippingSelector) -> None:
        super().__init__(selector)
        self._impatient = selector

    def time(self) -> float:
        return self._impatient.now


def run_in_virtual_time(main: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=lambda: _VirtualLoop(_SkippingSelector())) as runner:
        return runner.run(main)
