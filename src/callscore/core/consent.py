"""Questions that only the user can answer: whoever has a terminal, or an option, answers them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Asked = Callable[[str], bool | None]
"""Yes, no, or None where nobody is there to be asked."""


def _nobody(question: str) -> bool | None:
    return None


_asked: ContextVar[Asked] = ContextVar("asked", default=_nobody)


def consent(question: str) -> bool | None:
    """What the user says to a question; None where nobody can be asked."""
    return _asked.get()(question)


def yes(question: str) -> bool | None:
    """The answer of a user who trusts a config."""
    return True


@contextmanager
def answered_by(asked: Asked) -> Iterator[None]:
    """Within this block questions are put to `asked`."""
    token = _asked.set(asked)
    try:
        yield
    finally:
        _asked.reset(token)
