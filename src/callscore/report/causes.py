"""Why answers lose points, in words: what could not be read, and what many answers do wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from callscore.core.scorecard import Scorecard, TaskScore
from callscore.report.safe_text import plain

MAX_NAME_LENGTH = 40
COMMON, FEWEST = 0.1, 2
"""The share and the number of answers from which a fault is common; the JSON has every count."""

MALFORMED: Mapping[str, str] = {
    "truncated": "were cut off by the token limit: raise max_tokens",
    "truncated_json": "ended within the JSON: raise max_tokens",
    "repetition": "repeat themselves until they are cut off; a higher max_tokens does not help",
    "prose_around_json": "had text around the JSON",
    "content_filter": "were stopped by the provider's content filter",
    "refusal": "were refusals",
    "empty": "were empty",
    "structure": "did not have the requested keys",
    "copied_example": 'copy an example ("...") and do not have the requested keys',
    "not_json": "were not JSON",
    "not_an_object": "were JSON, but not an object",
    "duplicate_key": "had a key twice",
}
"""Why answers could not be read, by cause."""

COMMON_FAULTS: Mapping[str, str] = {
    "copied_example": 'copy an example of the prompt ("...") instead of a text',
    "max_score_differs": "change the scale of a question (max_score)",
    "equal_marks": "give every question the same mark, where people did not",
    "null_marks": "leave a mark null that people gave",
    "copied_list": "report the whole configured list as detected",
}
"""Faults that answers have in common, by flag; the most serious first."""


class Cause(NamedTuple):
    """What went wrong with many answers of one model to one task."""

    keyword: str
    text: str
    share: float


def state_causes(card: Scorecard, most: int) -> Sequence[Cause]:
    """Return the causes of the card, unreadable answers first; at most `most` of each kind."""
    malformed, common = list(_malformed_answers(card)), list(_common_faults(card))
    return [*_largest(malformed, most), *_largest(common, most)]


def _largest(causes: Sequence[Cause], most: int) -> Sequence[Cause]:
    """Return the causes with the largest shares, in the order of the card."""
    kept = sorted(causes, key=lambda cause: -cause.share)[:most]
    return [cause for cause in causes if cause in kept]


def _malformed_answers(card: Scorecard) -> Iterator[Cause]:
    """Say how many answers could not be read, with the remedy for the most frequent cause."""
    for subject, score in _scored_tasks(card):
        if not score.malformed:
            continue
        cause, number = max(score.malformed.items(), key=lambda entry: entry[1])
        why = MALFORMED.get(cause, cause.replace("_", " "))
        text = f"{subject}: {number} of {score.answers} answers {why}."
        yield Cause("MALFORMED", text, _share(number, score))


def _common_faults(card: Scorecard) -> Iterator[Cause]:
    """Say what many readable answers do wrong, with counts."""
    for subject, score in _scored_tasks(card):
        counts = {flag: score.flags.get(flag, 0) for flag in COMMON_FAULTS}
        common = {
            flag: number
            for flag, number in counts.items()
            if number >= FEWEST and _share(number, score) >= COMMON
        }
        if not common:
            continue
        listed = [f"{number} {COMMON_FAULTS[flag]}" for flag, number in common.items()]
        listed[0] = listed[0].replace(" ", f" of {score.answers} answers ", 1)
        largest = max(common.values())
        yield Cause("CAUSE", f"{subject}: {'; '.join(listed)}.", _share(largest, score))


def _scored_tasks(card: Scorecard) -> Iterator[tuple[str, TaskScore]]:
    for model in card.models:
        for task, score in model.tasks.items():
            yield f"{plain(model.model, MAX_NAME_LENGTH)}, {task}", score


def _share(number: int, score: TaskScore) -> float:
    return number / score.answers if score.answers else 0.0
