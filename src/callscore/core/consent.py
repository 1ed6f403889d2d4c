"""Questions to the user. The terminal, or an option such as `--trust-config`, answers them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

Asked = Callable[[str], bool | None]
"""True, False, or None if there is no user to ask."""


def _no_answer(question: str) -> bool | None:
    return None


_asked: ContextVar[Asked] = ContextVar("asked", default=_no_answer)


def consent(question: str) -> bool | None:
    """The user's answer to a question; None if there is no user to ask."""
    return _asked.get()(question)


def yes(question: str) -> bool | None:
    """Answer yes: for a trusted config."""
    return True


@contextmanager
def answered_by(asked: Asked) -> Iterator[None]:
    """Within this block, pass questions to `asked`."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)


def trusted() -> AbstractContextManager[None]:
    """Within this block, answer yes to every question: the config is trusted."""
    return answered_by(yes)
