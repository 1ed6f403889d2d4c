"""Words with times and speakers joined to turns, for systems that write no turns themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from callscore.importers.conversation import RawTurn


class TimedWord(msgspec.Struct, frozen=True):
    """One word or punctuation mark of a recogniser."""

    text: str
    speaker: str
    start: float | None
    end: float | None
    confidence: float | None = None
    attached: bool = False
    """Punctuation: joined to the word before it without a blank."""


def turns_of_words(words: Iterable[TimedWord], source: str) -> Iterator[RawTurn]:
    """Consecutive words of one speaker as one turn."""
    held: list[TimedWord] = []
    for word in words:
        if held and word.speaker != held[0].speaker and not word.attached:
            yield _turn(held, source)
            held = []
        held.append(word)
    if held:
        yield _turn(held, source)


def _turn(words: list[TimedWord], source: str) -> RawTurn:
    text = "".join(word.text if word.attached else f" {word.text}" for word in words)
    known = [word.confidence for word in words if word.confidence is not None]
    ends = [word.end for word in words if word.end is not None]
    return RawTurn(
        words[0].speaker,
        text,
        start=next((word.start for word in words if word.start is not None), None),
        end=ends[-1] if ends else None,
        confidence=round(sum(known) / len(known), 4) if known else None,
        source=source,
    )
