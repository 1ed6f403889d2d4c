"""What somebody may have meant by a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that is most like this one, case aside; None where none is like it"""
    from difflib import get_close_matches  # only a mistake needs it

    by_form = {other.casefold(): other for other in known}
    found = get_close_matches(name.casefold(), by_form, n=1, cutoff=likeness)
    return by_form[found[0]] if found else None


def instead_of(missing: str, found: Iterable[str]) -> str:
    """What to say of a missing key where another is nearly the same; else empty"""
    near = nearest(missing, found)
    return f"there is {near!r}, did you mean {missing}? " if near else ""
