"""What takes longer than a page should wait: computed once, in a thread, and kept for a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock, Thread
from typing import Generic, TypeVar

T = TypeVar("T")
KEPT = 8
PATIENCE_S = 2.0
"""How long a page waits before it says that something is being computed."""


class Computations(Generic[T]):
    """Results by what they depend on; only the newest are kept."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: OrderedDict[object, Future[T]] = OrderedDict()

    def get(self, key: object, compute: Callable[[], T]) -> Future[T]:
        """The result with this key, computed once by a thread of its own."""
        with self._lock:
            future = self._found.get(key)
            if future is None:
                future = self._found[key] = Future()
                Thread(target=_fill, args=(future, compute), daemon=True).start()
                while len(self._found) > KEPT:
                    self._found.popitem(last=False)
            self._found.move_to_end(key)
        return future

    def is_known(self, key: object) -> bool:
        """Whether the result with this key is there."""
        with self._lock:
            future = self._found.get(key)
        return future is not None and future.done()


def _fill(future: Future[T], compute: Callable[[], T]) -> None:
    try:
        future.set_result(compute())
    except BaseException as error:
        future.set_exception(error)
