"""Finds names of people by a model: the protocol, and its implementation with spaCy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from callscore.core.errors import MissingExtra, UsageError

PERSON_LABELS = frozenset({"PERSON", "PER"})
"""The labels of spaCy pipelines for people."""


class NameModel(Protocol):
    """Finds the names of people in a text."""

    def names(self, text: str) -> Iterable[tuple[int, int]]:
        """The start and end of every name."""
        ...


class SpacyNameModel:
    """A spaCy pipeline with an entity recogniser, installed by the user."""

    def __init__(self, pipeline: str) -> None:
        try:
            import spacy
        except ImportError:
            raise MissingExtra(
                "finding names by a model needs spaCy: pip install 'callscore[names]', then a "
                "pipeline, such as `python -m spacy download en_core_web_sm`"
            ) from None
        try:
            self._pipeline: Any = spacy.load(pipeline)
        except OSError:
            raise UsageError(
                f"spaCy has no pipeline {pipeline!r}; expected one that is installed, "
                "such as en_core_web_sm"
            ) from None

    def names(self, text: str) -> Iterable[tuple[int, int]]:
        """The spans that the pipeline labels as people."""
        entities = self._pipeline(text).ents
        return [(one.start_char, one.end_char) for one in entities if one.label_ in PERSON_LABELS]
