"""Joins words with times and speakers to turns, for systems that return words only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import msgspec

from callscore.importers.conversation import RawTurn

MAX_PAUSE = 1.5
"""Seconds after which words without a speaker begin another turn."""


class TimedWord(msgspec.Struct, frozen=True):
    """A word or punctuation mark of a speech recogniser."""

    text: str
    speaker: str
    start: float | None
    end: float | None
    confidence: float | None = None
    attached: bool = False
    """Whether it follows the previous word without a space, as punctuation does."""


def join_words(words: Iterable[TimedWord], source: str) -> Iterator[RawTurn]:
    """One turn for consecutive words of one speaker; without speakers, up to a pause."""
    current: list[TimedWord] = []
    for word in words:
        if current and not word.attached and _begins_turn(word, current[-1], current[0].speaker):
            yield _turn(current, source)
            current = []
        current.append(word)
    if current:
        yield _turn(current, source)


def _begins_turn(word: TimedWord, last: TimedWord, speaker: str) -> bool:
    if word.speaker != speaker:
        return True
    if speaker or word.start is None or last.end is None:
        return False
    return word.start - last.end > MAX_PAUSE


def _turn(words: list[TimedWord], source: str) -> RawTurn:
    text = "".join(word.text if word.attached else f" {word.text}" for word in words)
    known = [word.confidence for word in words if word.confidence is not None]
    ends = [word.end for word in words if word.end is not None]
    return RawTurn(
        words[0].speaker,
        text,
        start=next((word.start for word in words if word.start is not None), None),
        end=ends[-1] if ends else None,
        confidence=round(math.fsum(known) / len(known), 4) if known else None,
        source=source,
    )
