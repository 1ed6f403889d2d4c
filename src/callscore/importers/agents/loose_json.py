"""Parts of decoded JSON whose shape is not certain: what has another one counts as empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def as_object(value: Any) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def objects_in(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list; none if the value is none."""
    return [one for one in as_list(value) if isinstance(one, Mapping)]


def as_number(value: Any) -> float | None:
    """The value if it is a number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def as_word(value: Any) -> str:
    """The value if it is a text, else an empty one; for words that are looked up."""
    return value if isinstance(value, str) else ""
