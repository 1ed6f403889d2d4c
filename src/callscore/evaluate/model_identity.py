"""Which model replied, and how the schema was enforced, as the replies report it (R-26)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Literal

from callscore.core.lazy import lazy_regex
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain

MOST_NAMES = 20
"""The most names per model, in alphabetical order; a provider may invent more of them."""
NAMES_SHOWN = 3
LONGEST_NAME = 80

_SCHEMA_ENFORCEMENT: Mapping[str, str] = {
    "json": "as JSON without a schema",
    "tool": "through a tool that the model must call",
    "auto": "through a tool that the model may call",
    "none": "by the prompt alone",
}
"""How the schema was enforced if the API refused its own structured output."""

NO_MODELS: Mapping[str, str] = {}

NameMatch = Literal["same", "version", "file", "other"]

_NOT_IN_A_NAME = lazy_regex(r"[^\w.:/@+-]")
"""Characters that could be mistaken for another part of a signature."""
_VERSION = lazy_regex(
    r"[-@:_](?:latest|(?:preview-|exp-|v)?(?:\d{4}-\d{2}-\d{2}|\d{2}-\d{2}(?:-\d{4})?|\d{3,8}))$"
)
_FOLDER = lazy_regex(r"^(?:[/\\~]|[A-Za-z]:[/\\]).*[/\\](?=.)")
"""The folder of a file on the server; it stays out of cards and signatures."""
_WEIGHTS = lazy_regex(r"\.(?:gguf|ggml|bin|safetensors|onnx|llamafile)$", re.IGNORECASE)


def match_model(asked: str, answered: str) -> NameMatch:
    """Whether a name is the one asked for, a dated version of it, a file of weights, or another
    model.

    Aliases are answered under dated names (`gpt-4o` as `gpt-4o-2024-08-06`); two different dates
    are two models. The part before the last `/` says where a model is, not which.
    """
    asked_base, asked_version = _parts(asked)
    base, version = _parts(answered)
    if base != asked_base:
        # local servers report the file they serve, whatever the request names
        return "file" if _WEIGHTS.search(answered) else "other"
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


class ModelIdentities:
    """Counts the model names in the replies of each model, in any order."""

    def __init__(self, asked: Mapping[str, str] = NO_MODELS) -> None:
        """`asked` has the provider's name of each model that is requested over a network."""
        self._asked: dict[str, str] = {}
        self._names: dict[str, Counter[str]] = {}
        self._forms: dict[str, Counter[str]] = {}
        for model, name in asked.items():
            self.expect(model, name)

    def expect(self, model: str, asked: str) -> None:
        """Add a model and the provider's name for it."""
        self._asked[model] = asked
        self._names[model] = Counter()
        self._forms[model] = Counter()

    def count(self, model: str, answered: str | None, asked_as: str | None = None) -> None:
        """Count the model name of a reply, if any, and how its schema was enforced."""
        names = self._names.get(model)
        if names is None:
            return
        if asked_as is not None and asked_as in _SCHEMA_ENFORCEMENT:
            self._forms[model][asked_as] += 1
        if not answered:
            return
        names[_FOLDER.sub("", answered)] += 1
        if len(names) > MOST_NAMES:
            del names[max(names)]

    def join(self, other: ModelIdentities) -> None:
        """Add the counts of other replies."""
        for counts, more in ((self._names, other._names), (self._forms, other._forms)):
            for model, found in more.items():
                counts.setdefault(model, Counter()).update(found)
        for names in self._names.values():
            while len(names) > MOST_NAMES:
                del names[max(names)]

    def identity(self, model: str) -> tuple[str, ...]:
        """The names other than the requested one, for the model's identity (R-26)."""
        names, asked = self._names.get(model, ()), self._asked.get(model, "")
        others = sorted(name for name in names if match_model(asked, name) != "same")
        return tuple(_NOT_IN_A_NAME.sub("_", plain(name, LONGEST_NAME)) for name in others)

    def identities(self) -> tuple[str, ...]:
        """The identities of all models."""
        return tuple(name for model in self._asked for name in self.identity(model))

    def notes(self) -> list[str]:
        """Notes on models that replied under another name or whose API refused a schema."""
        return [note for model in self._names for note in self.notes_on(model)]

    def notes_on(self, model: str) -> list[str]:
        """The notes on one model, if any."""
        if model not in self._names:
            return []
        notes = (self._note(model, self._names[model]), self._note_on_forms(model))
        return [note for note in notes if note is not None]

    def _note_on_forms(self, model: str) -> str | None:
        forms = self._forms[model]
        listed = [
            f"{show_count(forms[form], 'answer')} {words}"
            for form, words in _SCHEMA_ENFORCEMENT.items()
            if forms[form]
        ]
        if not listed:
            return None
        return f"{plain(model)}: its API refused the schema of the answer; asked for " + ", ".join(
            listed
        )

    def _note(self, model: str, names: Counter[str]) -> str | None:
        asked = self._asked[model]
        kinds = {name: match_model(asked, name) for name in sorted(names)}
        others = [name for name in kinds if kinds[name] == "other"]
        versions = [name for name in kinds if kinds[name] == "version"]
        files = [name for name in kinds if kinds[name] == "file"]
        subject = f"{plain(model)}: asked for {plain(asked, LONGEST_NAME)}"
        if others:
            return f"{subject}, answered by another model: {_list_names(others, names)}"
        if len(versions) > 1:
            return f"{subject}, answered by several versions of it: {_list_names(versions, names)}"
        if files:
            return f"{subject}, answered from the file {_list_names(files, names)}"
        return f"{subject}, answered by {_list_names(versions, names)}" if versions else None


def _list_names(shown: list[str], names: Counter[str]) -> str:
    parts = [
        f"{plain(name, LONGEST_NAME)} ({show_count(names[name], 'answer')})"
        for name in shown[:NAMES_SHOWN]
    ]
    more = len(shown) - NAMES_SHOWN
    return ", ".join(parts) + (f" and {more} more" if more > 0 else "")
