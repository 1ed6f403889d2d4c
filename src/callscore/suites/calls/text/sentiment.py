"""The model's labels and the expected ones, sentence by sentence (C-50, C-51, C-53)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from callscore.metrics.classification import Pair
from callscore.metrics.text import n2
from callscore.suites.calls.text.measures import CLASSES
from callscore.suites.calls.text.reference import LabelledSentence

LEAST_SIMILARITY = 80.0
"""Below this similarity in percent a sentence is a different one."""
TOLERATED_SHARE = 0.10
"""With a larger share of different sentences, the model has resegmented the call (C-50)."""

Items = Mapping[str, Mapping[str, Any]]


def label_pairs(
    sentences: Mapping[str, LabelledSentence], items: Items, flags: set[str]
) -> list[Pair]:
    """(expected, given) for every sentence with an expected label; None if none was given."""
    pairs: list[Pair] = []
    for key, sentence in sentences.items():
        expected = sentence.label
        if expected is None:
            continue
        item = items.get(key)
        if item is None:
            flags.add("missing_item")
            pairs.append((expected, None))
            continue
        given = item.get("label")
        if given != expected and given not in CLASSES:
            given = _normalise_label(given, flags)
        pairs.append((expected, given))
    return pairs


def _normalise_label(given: object, flags: set[str]) -> str | None:
    """One of the three written otherwise, another word (wrong), or None (missing)  C-51, C-53"""
    if not isinstance(given, str):
        flags.add("bad_scalar")
        return None
    label = n2(given)
    if label and label not in CLASSES:
        flags.add("unknown_label")
    return label or None


def is_resegmented(sentences: Mapping[str, LabelledSentence], items: Items) -> bool:
    """Whether over 10 % of the sentences read differently under the same id        C-50"""
    tolerated = TOLERATED_SHARE * len(items)
    changed: list[tuple[str | None, object]] = []
    for key, item in items.items():
        expected, given = sentences[key].text, item.get("text")
        if given != expected:
            changed.append((expected, given))
    if len(changed) <= tolerated:
        return False
    return sum(_is_other_sentence(expected, given) for expected, given in changed) > tolerated


def _is_other_sentence(expected: str | None, given: object) -> bool:
    if expected is None or not isinstance(given, str):
        return False
    # only needed by replies that do not repeat the text
    from rapidfuzz.fuzz import ratio

    return ratio(n2(expected), n2(given)) < LEAST_SIMILARITY
