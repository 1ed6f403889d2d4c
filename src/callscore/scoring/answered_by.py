"""Who answered: the names that providers gave, held against the model that was asked for (R-26)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal

from callscore.core.patterns import late_pattern
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain

MOST_NAMES = 20
"""Names told apart a model, the first by alphabet; a provider may invent more of them."""
NAMES_SHOWN = 3
LONGEST_NAME = 80

NOBODY: Mapping[str, str] = {}

Kinship = Literal["same", "version", "other"]

_NOT_IN_A_NAME = late_pattern(r"[^\w.:/@+-]")
"""What might pass for another part of a signature."""
_VERSION = late_pattern(
    r"[-@:_](?:latest|(?:preview-|exp-|v)?(?:\d{4}-\d{2}-\d{2}|\d{2}-\d{2}(?:-\d{4})?|\d{3,8}))$"
)


def kinship(asked: str, answered: str) -> Kinship:
    """Whether a name is the one asked for, a dated version of it, or another model.

    Aliases are answered under dated names (`gpt-4o` as `gpt-4o-2024-08-06`); two different dates
    are two models. What stands before the last `/` says where a model is, not which.
    """
    asked_base, asked_version = _parts(asked)
    base, version = _parts(answered)
    if base != asked_base:
        return "other"
    if version == asked_version:
        return "same"
    return "other" if asked_version and version else "version"


def _parts(name: str) -> tuple[str, str]:
    bare = name.strip().casefold().rpartition("/")[2]
    found = _VERSION.search(bare)
    if found is None:
        return bare, ""
    version = found[0][1:]
    return bare[: found.start()], "" if version == "latest" else version


class AnsweredBy:
    """Counts under which names the answers of every model came, in whatever order they come."""

    def __init__(self, asked: Mapping[str, str] = NOBODY) -> None:
        """`asked` holds the provider's name of each model that is asked over a network."""
        self._asked: dict[str, str] = {}
        self._names: dict[str, Counter[str]] = {}
        for model, name in asked.items():
            self.expect(model, name)

    def expect(self, model: str, asked: str) -> None:
        """One more model, and the provider's name of it."""
        self._asked[model] = asked
        self._names[model] = Counter()

    def count(self, model: str, answered: str | None) -> None:
        """Take note of the name that came with an answer, where one came."""
        names = self._names.get(model)
        if names is None or not answered:
            return
        names[answered] += 1
        if len(names) > MOST_NAMES:
            del names[max(names)]

    def identity(self, model: str) -> tuple[str, ...]:
        """The names, other than the one asked for, that make this model the one it is (R-26)."""
        names, asked = self._names.get(model, ()), self._asked.get(model, "")
        others = sorted(name for name in names if kinship(asked, name) != "same")
        return tuple(_NOT_IN_A_NAME.sub("_", plain(name, LONGEST_NAME)) for name in others)

    def identities(self) -> tuple[str, ...]:
        """Those of all models."""
        return tuple(name for model in self._asked for name in self.identity(model))

    def notes(self) -> list[str]:
        """One note a model whose answers came under another name than it was asked for."""
        return [note for model in self._names for note in self.notes_on(model)]

    def notes_on(self, model: str) -> list[str]:
        """The note on one model, where there is one."""
        note = self._note(model, self._names[model]) if model in self._names else None
        return [] if note is None else [note]

    def _note(self, model: str, names: Counter[str]) -> str | None:
        asked = self._asked[model]
        kinds = {name: kinship(asked, name) for name in sorted(names)}
        others = [name for name in kinds if kinds[name] == "other"]
        versions = [name for name in kinds if kinds[name] == "version"]
        subject = f"{plain(model)}: asked for {plain(asked, LONGEST_NAME)}"
        if others:
            return f"{subject}, answered by another model: {_listed(others, names)}"
        if len(versions) > 1:
            return f"{subject}, answered by several versions of it: {_listed(versions, names)}"
        return f"{subject}, answered by {_listed(versions, names)}" if versions else None


def _listed(shown: list[str], names: Counter[str]) -> str:
    parts = [
        f"{plain(name, LONGEST_NAME)} ({show_count(names[name], 'answer')})"
        for name in shown[:NAMES_SHOWN]
    ]
    more = len(shown) - NAMES_SHOWN
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")
