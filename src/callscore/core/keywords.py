"""Keyword arguments of the Python API: an unknown one is refused, and the closest one suggested."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from callscore.core.nearest import nearest

P = ParamSpec("P")
T = TypeVar("T")


def names_nearest(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator: an unknown keyword raises a TypeError that suggests the closest one."""

    @wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> T:
        code = function.__code__
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        for name in options:
            if name not in known:
                raise TypeError(_unknown(function.__name__, name, known))
        return function(*args, **options)

    return checked


def _unknown(function: str, name: str, known: tuple[str, ...]) -> str:
    near = nearest(name, known, likeness=0.5)
    hint = f"did you mean {near}?" if near else f"expected one of {', '.join(known)}"
    return f"{function}() has no option {name!r}; {hint}"
