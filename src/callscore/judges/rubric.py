"""Rubrics and prompts: files whose hash is part of the signature of every judged result (C-126).

A rubric has one question, the words that may answer it from the most lenient to the strictest, what
each word must quote, and items with known answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Literal, NamedTuple

import msgspec

from callscore.core.judging import Question

Place = Literal["turn", "field", "answer", "claim"]
"""The source of a quote: the call, the reference, the output, or the item's claim."""

CANNOT_TELL = "cannot_tell"
ABSTAINING = "The material allows no decision, or you do not read the language."
AGAINST = "{against}"

Side = Literal["expected_outcome", "model_output"]
"""The side whose field a verdict relies on."""


class Example(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item with its verdict, shown to the judge; `against` may also be the supporting
    passage.
    """

    text: str
    verdict: str
    against: str = ""
    expected_outcome_field: str = "none"
    """The field that the filled example cites."""
    model_output_field: str = "none"


class Canary(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item with a known answer among the others, as a template.

    Its placeholders become words of the case and words that occur nowhere in it, drawn for
    each request (`canaries.py`).

    A wrong verdict on a canary shows that the judge does not read, cannot do the task, or obeys an
    injection. Those with `right` detect a judge that fails everything, the others one that passes
    everything.
    """

    right: bool
    text: str
    verdicts: Sequence[str]
    against: str = ""


class Rubric(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """One question to a judge, as in its file."""

    name: str
    metric: str
    """The framework's name of the metrics it serves."""
    asks: Sequence[str]
    """The slugs of the metrics it serves."""
    question: str
    """It explains the item's claim."""
    compare_with: str
    """What the claim is compared with; `{against}` becomes the text."""
    against_from: Literal["", "reference", "answer"]
    words: Mapping[str, str]
    """Each word with its definition, from the most lenient to the strictest."""
    alike: Sequence[Sequence[str]]
    """Words that count the same: two judges that differ only there agree."""
    second_opinion: Sequence[str]
    """Words that may decide a gate on their own."""
    vain: str
    """The word for a text without content; empty if the text is not the output's."""
    examples: Sequence[Example]
    canaries: Sequence[Canary]
    evidence: Mapping[str, Sequence[Place]] = {}
    """Words that need a quote, and where from."""
    of_case: bool = False
    """Whether it is asked once per case, about the reference alone, before any output is seen."""
    rests_on: Mapping[str, Sequence[Side]] = {}
    """Words that must name the field they rely on, and its side."""
    compare_alone: str = ""
    """What the claim is compared with if there is no text."""
    config: Sequence[str] | None = None
    """The config keys that it uses; all if None."""
    answer: Sequence[str] | None = None
    """The output keys that it uses; all if None."""
    ordinal: bool = False
    """Whether the words are equidistant steps of one scale."""

    def strictness(self, word: str) -> int:
        """The index of a word in its rubric, strictest last."""
        return self._order[word]

    def counts_as(self, word: str) -> str:
        """The word that represents all words that count the same as this one."""
        return next((group[0] for group in self.alike if word in group), word)

    def worth(self, word: str) -> float:
        """1 for the best word down to 0 for the worst, if they are steps; else 1 or 0.

        Abstaining is worth nothing.
        """
        steps = [step for step in self.words if step != CANNOT_TELL]
        if word not in steps:
            return 0.0
        if self.ordinal:
            return 1 - steps.index(word) / (len(steps) - 1)
        return float(self.counts_as(word) == self.counts_as(steps[0]))

    def definition(self, word: str) -> str:
        """The definition of a word."""
        return self.words[word] or ABSTAINING

    def comparison(self, against: str) -> str:
        """What a claim is compared with, as the prompt says it."""
        if not against and self.compare_alone:
            return self.compare_alone
        return self.compare_with.replace(AGAINST, against)

    @cached_property
    def _order(self) -> Mapping[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def serves(self, metric: str, offered: Sequence[str]) -> bool:
        """Whether it serves this metric, with only the words that are offered."""
        return metric in self.asks and self.words.keys() <= set(offered)


class Library(msgspec.Struct, frozen=True, dict=True):
    """All rubrics and prompts of a judge; `digest` changes with any character of any file."""

    rubrics: Mapping[str, Rubric]
    prompts: Mapping[str, str]
    digest: str

    def with_rubrics(self, rubrics: Iterable[Rubric]) -> Library:
        """The same library with more rubrics; the digest of their suite covers them."""
        added = {rubric.name: rubric for rubric in rubrics}
        return msgspec.structs.replace(self, rubrics={**self.rubrics, **added})

    def rubric_for(self, question: Question) -> Rubric | None:
        """The rubric for a question; None if there is none."""
        asked = question.metric, tuple(question.offered)
        if asked not in self._by_metric:
            self._by_metric[asked] = next(
                (r for r in self.rubrics.values() if r.serves(*asked)), None
            )
        return self._by_metric[asked]

    @cached_property
    def _by_metric(self) -> dict[tuple[str, Sequence[str]], Rubric | None]:
        """Cache of the rubrics by metric and words."""
        return {}


def parse_rubric(raw: bytes) -> Rubric:
    """The rubric in a TOML file; raises msgspec.MsgspecError or ValueError."""
    return msgspec.toml.decode(raw, type=Rubric)


def parse_library(files: Mapping[str, bytes]) -> Library:
    """Parse the rubrics (`*.toml`) and prompts (`*.md`) among files by name."""
    digest = hashlib.blake2b(digest_size=16)
    rubrics: dict[str, Rubric] = {}
    prompts: dict[str, str] = {}
    for name in sorted(files):
        digest.update(b"%s\0%d\0%s" % (name.encode(), len(files[name]), files[name]))
        stem, _, kind = name.rpartition(".")
        if kind == "toml":
            rubric = parse_rubric(files[name])
            rubrics[rubric.name] = rubric
        else:
            prompts[stem] = files[name].decode()
    return Library(rubrics, prompts, digest.hexdigest())


@lru_cache(maxsize=1)
def built_in_files() -> Mapping[str, bytes]:
    """The files of the rubrics and prompts that are part of the package, by name."""
    here = resources.files(__package__)
    return {
        file.name: file.read_bytes()
        for file in (*_files(here / "rubrics"), *_files(here / "prompts"))
    }


@lru_cache(maxsize=1)
def built_in_library() -> Library:
    """The rubrics and prompts that are part of the package."""
    return parse_library(built_in_files())


def _files(folder: Traversable) -> Iterable[Traversable]:
    return (entry for entry in folder.iterdir() if entry.name.endswith((".toml", ".md")))


class Settled(NamedTuple):
    """The place of the verdict that counts, and whether most agree with it."""

    place: int
    is_majority: bool


def settle(rubric: Rubric, words: Sequence[str]) -> Settled:
    """The first word with which more than half agree; without one, the strictest."""
    counted = [rubric.counts_as(word) for word in words]
    for place, word in enumerate(counted):
        if counted.count(word) * 2 > len(counted):
            return Settled(place, True)
    strictest = max(range(len(words)), key=lambda place: rubric.strictness(words[place]))
    return Settled(strictest, False)
