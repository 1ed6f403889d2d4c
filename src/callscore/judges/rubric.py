"""Rubrics and prompts: files, whose hash stands in the signature of every judged result (C-126).

A rubric holds one question, the words that may answer it from the most lenient to the strictest,
what each word must quote, and items with known answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal

import msgspec

from callscore.core.judging import Question

Place = Literal["turn", "field", "answer", "claim"]
"""Where a quote may come from: the call, the reference, the answer itself, or the item's claim."""

CANNOT_TELL = "cannot_tell"
ABSTAINING = "The material allows no decision, or you do not read the language."
AGAINST = "{against}"

Side = Literal["expected_outcome", "model_output"]
"""Whose field a verdict rests on."""


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item with its word, shown to the judge; `against` may also be the passage it rests on."""

    text: str
    verdict: str
    against: str = ""


class Canary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item with a known answer, mixed in among the others.

    `{turn}` becomes words of the call, `{answer}` words of what the other items of the rubric are
    held against, where that comes from the answer; then it is held against the same.

    An answer with any other word shows that the judge does not read, or obeys somebody else.
    Those with `right` catch a judge that condemns everything, the others one that passes it.
    """

    right: bool
    text: str
    verdicts: Sequence[str]
    against: str = ""


class Rubric(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One question to a judge, as its file holds it."""

    name: str
    metric: str
    """What the framework calls the metrics it serves."""
    asks: Sequence[str]
    """The metrics it serves, by their slugs."""
    question: str
    """It says what an item's claim is."""
    compare_with: str
    """What the claim is compared with; `{against}` becomes the text that it is held against."""
    against_from: Literal["", "reference", "answer"]
    words: Mapping[str, str]
    """Each word with its anchor, from the most lenient to the strictest."""
    alike: Sequence[Sequence[str]]
    """Words that count the same: two judges that differ only there do not disagree."""
    second_opinion: Sequence[str]
    """Words that may decide a gate alone."""
    vain: str
    """The word for a text without content; empty where the text is not the answer's."""
    examples: Sequence[Example]
    canaries: Sequence[Canary]
    evidence: Mapping[str, Sequence[Place]] = {}
    """Words that need a quote, and where from."""
    of_case: bool = False
    """Whether it is asked once a case, of the reference alone, before any answer is seen."""
    rests_on: Mapping[str, Sequence[Side]] = {}
    """Words that must name the field they rest on, and on which side."""
    compare_alone: str = ""
    """What the claim is compared with where it is held against no text."""
    config: Sequence[str] | None = None
    """The keys of the config that it can use; all where none is named."""
    answer: Sequence[str] | None = None
    """The keys of an answer that it looks at; all where none is named."""
    ordinal: bool = False
    """Whether the words are steps of one scale, at equal distances."""

    def strictness(self, word: str) -> int:
        """The place of a word among its rubric's, the strictest last."""
        return self._order[word]

    def counts_as(self, word: str) -> str:
        """The word that stands for all those that count the same."""
        return next((group[0] for group in self.alike if word in group), word)

    def worth(self, word: str) -> float:
        """1 for the best word down to 0 for the worst, where they are steps; else 1 or 0.

        Abstaining is worth nothing.
        """
        steps = [step for step in self.words if step != CANNOT_TELL]
        if word not in steps:
            return 0.0
        if self.ordinal:
            return 1 - steps.index(word) / (len(steps) - 1)
        return float(self.counts_as(word) == self.counts_as(steps[0]))

    def anchor(self, word: str) -> str:
        """What a word means."""
        return self.words[word] or ABSTAINING

    def compared(self, against: str) -> str:
        """What a claim is compared with, in words."""
        if not against and self.compare_alone:
            return self.compare_alone
        return self.compare_with.replace(AGAINST, against)

    @cached_property
    def _order(self) -> Mapping[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def serves(self, metric: str, offered: Sequence[str]) -> bool:
        """Whether it asks about this metric, with no other words than are offered."""
        return metric in self.asks and self.words.keys() <= set(offered)


class Library(msgspec.Struct, frozen=True, dict=True):
    """All rubrics and prompts of a judge; `digest` changes with any character of any file."""

    rubrics: Mapping[str, Rubric]
    prompts: Mapping[str, str]
    digest: str

    def rubric_for(self, question: Question) -> Rubric | None:
        """The rubric that serves a question; None where there is none."""
        asked = question.metric, tuple(question.offered)
        if asked not in self._serving:
            self._serving[asked] = next(
                (r for r in self.rubrics.values() if r.serves(*asked)), None
            )
        return self._serving[asked]

    @cached_property
    def _serving(self) -> dict[tuple[str, Sequence[str]], Rubric | None]:
        """The rubrics that were looked for; metrics and their words come from code, and are few."""
        return {}


def library_of(files: Mapping[str, bytes]) -> Library:
    """The rubrics (`*.toml`) and prompts (`*.md`) among these files, by name."""
    digest = hashlib.blake2b(digest_size=16)
    rubrics: dict[str, Rubric] = {}
    prompts: dict[str, str] = {}
    for name in sorted(files):
        digest.update(b"%s\0%d\0%s" % (name.encode(), len(files[name]), files[name]))
        stem, _, kind = name.rpartition(".")
        if kind == "toml":
            rubric = msgspec.toml.decode(files[name], type=Rubric)
            rubrics[rubric.name] = rubric
        else:
            prompts[stem] = files[name].decode()
    return Library(rubrics, prompts, digest.hexdigest())


@lru_cache(maxsize=1)
def shipped_files() -> Mapping[str, bytes]:
    """The files that come with the package."""
    here = resources.files(__package__)
    return {
        file.name: file.read_bytes()
        for file in (*_files(here / "rubrics"), *_files(here / "prompts"))
    }


@lru_cache(maxsize=1)
def shipped() -> Library:
    """The library that comes with the package."""
    return library_of(shipped_files())


def _files(folder: Traversable) -> Iterable[Traversable]:
    return (entry for entry in folder.iterdir() if entry.name.endswith((".toml", ".md")))
