"""Questions about a translation for judge and embedder, and how their verdicts count."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from callscore.core.judging import Item, Question, Verdicts
from callscore.suites.calls.translation.sentence_match import Rendered, Rendering, State
from callscore.suites.calls.translation.terms import (
    Handled,
    is_handled,
    lacking,
    may_be_inflected,
)

MEANING, FLUENCY = "translation.meaning", "translation.fluency"
PROPER_NOUNS, CRITICAL_FACTS = "translation.proper_nouns", "translation.critical_facts"

CANNOT_TELL = "cannot_tell"
ANCHORS: Mapping[str, float] = {
    "native": 1.0,
    "minor": 0.75,
    "noticeable": 0.5,
    "significant": 0.25,
    "incomprehensible": 0.0,
}
"""The framework's five anchors of fluency; no other value is accepted (C-69)."""
IDENTICAL, NATIVE = 1.0, ANCHORS["native"]
"""The similarity and the fluency of the human's own words (C-67, C-69)."""

KEEPING_FACTS = ("preserved", "altered", "omitted", CANNOT_TELL)
FINDING_OUTCOMES = ("outcome", "no_outcome", CANNOT_TELL)
"""Asked about the reference, once per case (C-74)."""
OUTCOME = "outcome:"

OFFERED: Mapping[str, tuple[str, ...]] = {
    MEANING: (),
    FLUENCY: (*ANCHORS, CANNOT_TELL),
    PROPER_NOUNS: ("same_name", "different_name", CANNOT_TELL),
    CRITICAL_FACTS: KEEPING_FACTS,
}
VALUES: Mapping[str, tuple[float, ...]] = {FLUENCY: tuple(ANCHORS.values())}


def similarity(rendering: Rendering, verdicts: Verdicts) -> float | None:
    """1 for the human's own words, 0 for no translation, else the cosine given        C-67"""
    if rendering.state is State.SAME:
        return IDENTICAL
    if rendering.state is not State.OTHER:
        return 0.0
    if not verdicts:
        return None
    given = verdicts.get(Item(MEANING, rendering.sentence.id), ())
    values = [v.value for v in given if v.value is not None and math.isfinite(v.value)]
    return min(values, default=None)


def fluency(rendering: Rendering, verdicts: Verdicts, flags: set[str]) -> float | None:
    """The anchor given to a translated sentence; the human's own words are native        C-69

    An abstention is not an anchor: the sentence still awaits one.
    """
    if rendering.state is State.SAME:
        return NATIVE
    if not verdicts:
        return None
    anchors = []
    for verdict in verdicts.get(Item(FLUENCY, rendering.sentence.id), ()):
        if verdict.verdict == CANNOT_TELL:
            flags.add("abstained")
        elif verdict.verdict is not None and verdict.verdict in ANCHORS:
            anchors.append(ANCHORS[verdict.verdict])
        elif verdict.value is not None and verdict.value in VALUES[FLUENCY]:
            anchors.append(verdict.value)
    return min(anchors, default=None)


def holds(verdicts: Verdicts, item: Item, good: str, flags: set[str]) -> bool | None:
    """Whether every verdict on an item is the good word; None if there is none.

    An abstention counts against the reply: names and facts are scored strictly.
    """
    words = [v.verdict for v in verdicts.get(item, ()) if v.verdict is not None]
    if CANNOT_TELL in words:
        flags.add("abstained")
    return all(word == good for word in words) if words else None


def is_same_name(noun: Handled, rendered: Rendered, verdicts: Verdicts, flags: set[str]) -> bool:
    """Found by code or accepted by a judge; without a judge an inflected name is wrong      C-72"""
    if is_handled(noun, rendered):
        return True
    accepted = holds(verdicts, Item(PROPER_NOUNS, noun.name), "same_name", flags)
    if accepted is None and may_be_inflected(noun, rendered):
        flags.add("maybe_inflected")
    return bool(accepted)


def sentence_questions(rendered: Rendered) -> Iterable[Question]:
    """A similarity and an anchor for every sentence that differs from the human's."""
    for key, rendering in rendered.by_id.items():
        if rendering.state is State.OTHER:
            text, human = rendering.text, rendering.sentence.translation
            yield Question(MEANING, key, text, human, OFFERED[MEANING])
            yield Question(FLUENCY, key, text, human, OFFERED[FLUENCY])


def name_questions(nouns: Sequence[Handled], rendered: Rendered) -> Iterable[Question]:
    """Every name that may be inflected; one that is missing needs no judge."""
    for noun in nouns:
        if not is_handled(noun, rendered) and may_be_inflected(noun, rendered):
            form, sentence = lacking(noun, rendered)[0]
            yield Question(PROPER_NOUNS, noun.name, sentence, form, OFFERED[PROPER_NOUNS])
