"""Questions to the user. The terminal, or an option such as `--trust-config`, answers them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

AskUser = Callable[[str], bool | None]
"""Asks the user a question: True, False, or None if there is no user to ask."""


def _no_answer(question: str) -> bool | None:
    return None


_ask_user: ContextVar[AskUser] = ContextVar("ask_user", default=_no_answer)


def consent(question: str) -> bool | None:
    """The user's answer to a question; None if there is no user to ask."""
    return _ask_user.get()(question)


def answer_yes(question: str) -> bool | None:
    """Answer yes: for a trusted config."""
    return True


@contextmanager
def ask_user_with(ask_user: AskUser) -> Iterator[None]:
    """Within this block, pass questions to `ask_user`."""
    token = _ask_user.set(ask_user)
    try:
        yield
    finally:
        _ask_user.reset(token)


def trust_every_config() -> AbstractContextManager[None]:
    """Within this block, answer yes to every question: the config is trusted."""
    return ask_user_with(answer_yes)
