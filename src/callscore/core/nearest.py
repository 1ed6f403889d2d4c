"""Suggestions for names that do not exist."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name most similar to this one, ignoring case; None if none is similar"""
    from difflib import get_close_matches  # needed for error messages only

    by_form = {other.casefold(): other for other in known}
    found = get_close_matches(name.casefold(), by_form, n=1, cutoff=likeness)
    return by_form[found[0]] if found else None


def similar_key_hint(missing: str, found: Iterable[str]) -> str:
    """A hint for the error about a missing key if a similar one is present; else empty"""
    near = nearest(missing, found)
    return f"there is {near!r}, did you mean {missing}? " if near else ""
