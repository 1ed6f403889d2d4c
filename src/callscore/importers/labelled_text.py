"""Plain text with speaker labels: `Agent: …`, `[00:12] Customer: …`, `Speaker 1 (00:12): …`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from callscore.importers.assemble import Context, Details, assemble
from callscore.importers.conversation import Imported, RawTurn, Skipped
from callscore.importers.roles import role_of
from callscore.importers.source import Source
from callscore.importers.times import clock_seconds

_TIME = r"\d{1,3}(?::\d{2}){1,2}(?:[.,]\d{1,3})?"
_LINE = re.compile(
    rf"""\s*
    (?:[\[(]?(?P<before>{_TIME})(?:\s*(?:-->|-|–)\s*(?P<until>{_TIME}))?[\])]?\s*[-–|]?\s*)?
    (?P<label>[^\W_][^:：\n\[\](){{}}<>]{{0,39}}?)\s*
    (?:[\[(](?P<after>{_TIME})[\])]\s*)?
    [:：](?:\s+|$)(?P<text>.*)""",
    re.VERBOSE,
)
_SPEAKER_NUMBER = re.compile(
    r"(?:speaker|spk|sprecher|locuteur|hablante|화자|spk_|s)[\s_-]*\d+", re.I
)
LEAST_SHARE = 0.4
"""Of the lines of a transcript, how many begin with a speaker."""
MOST_WORDS = 4


def is_labelled_text(source: Source) -> bool:
    """Enough lines begin with a speaker, and one of the speakers speaks again."""
    if source.is_archive or source.json is not None:
        return False
    return looks_labelled(source.text)


def looks_labelled(text: str) -> bool:
    """Whether a text reads as a labelled transcript."""
    lines = [line for line in text.split("\n")[:400] if line.strip()]
    labels = [found for line in lines if (found := _label(line)) is not None]
    if not labels or len(labels) < LEAST_SHARE * len(lines):
        return False
    named = any(role_of(label) or _SPEAKER_NUMBER.fullmatch(label) for label in labels)
    return named or len(set(labels)) < len(labels)


def read_labelled_text(source: Source, context: Context) -> Imported:
    """The call of a text; a line without a label belongs to the turn before it."""
    turns: list[RawTurn] = []
    for found in labelled_turns(source.text):
        if isinstance(found, Skipped):
            yield Skipped(f"{source.name}: {found.where}", found.why)
        else:
            turns.append(found)
    yield from assemble("text", turns, Details(), context)


def labelled_turns(text: str) -> Iterator[RawTurn | Skipped]:
    """The turns of a labelled text, and the lines before the first of them."""
    held: RawTurn | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        parts = _LINE.match(line)
        label = _label(line)
        if parts is None or label is None:
            if held is None:
                yield Skipped(f"line {number}", "precedes the first speaker")
            else:
                joined = f"{held.text} {line.strip()}"
                held = RawTurn(held.label, joined, held.start, held.end, source=held.source)
            continue
        if held is not None:
            yield held
        time = parts["before"] or parts["after"]
        until = parts["until"]
        held = RawTurn(
            label,
            parts["text"],
            clock_seconds(time) if time else None,
            clock_seconds(until) if until else None,
            source=f"line {number}",
        )
    if held is not None:
        yield held


def _label(line: str) -> str | None:
    """The speaker that a line begins with; None for prose with a colon in it."""
    found = _LINE.match(line)
    if found is None:
        return None
    label = found["label"].strip(" \t*#-–>")
    if not label or len(label.split()) > MOST_WORDS:
        return None
    return label
