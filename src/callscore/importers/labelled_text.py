"""Plain text with speaker labels: `Agent: …`, `[00:12] Customer: …`, `Speaker 1 (00:12): …`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from callscore.importers.conversation import ImportIterator, RawTurn, SkippedPart
from callscore.importers.conversation_builder import CallDetails, ImportContext, build_conversation
from callscore.importers.roles import role_of
from callscore.importers.source import Source
from callscore.importers.times import parse_clock

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
MIN_LABELLED_SHARE = 0.4
"""The least share of lines with a speaker label."""
MAX_LABEL_WORDS = 4


def is_labelled_text(source: Source) -> bool:
    """Whether the file is text with speaker labels."""
    if source.is_archive or source.json is not None:
        return False
    return has_speaker_labels(source.text)


def has_speaker_labels(text: str) -> bool:
    """Whether enough lines begin with a label, and one is a role, numbered or repeated."""
    lines = [line for line in text.split("\n")[:400] if line.strip()]
    labels = [label for line in lines if (label := _label(line)) is not None]
    if not labels or len(labels) < MIN_LABELLED_SHARE * len(lines):
        return False
    named = any(role_of(label) or _SPEAKER_NUMBER.fullmatch(label) for label in labels)
    return named or len(set(labels)) < len(labels)


def read_labelled_text(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a text; a line without a label continues the previous turn."""
    turns: list[RawTurn] = []
    for turn in labelled_turns(source.text):
        if isinstance(turn, SkippedPart):
            yield SkippedPart(f"{source.name}: {turn.where}", turn.why)
        else:
            turns.append(turn)
    yield from build_conversation("text", turns, CallDetails(), context)


def labelled_turns(text: str) -> Iterator[RawTurn | SkippedPart]:
    """The turns of a text with speaker labels; the lines before the first are skipped."""
    current: RawTurn | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        parts = _LINE.match(line)
        label = _label(line)
        if parts is None or label is None:
            if current is None:
                yield SkippedPart(f"line {number}", "is before the first speaker label")
            else:
                joined = f"{current.text} {line.strip()}"
                current = RawTurn(
                    current.label, joined, current.start, current.end, source=current.source
                )
            continue
        if current is not None:
            yield current
        time = parts["before"] or parts["after"]
        until = parts["until"]
        current = RawTurn(
            label,
            parts["text"],
            parse_clock(time) if time else None,
            parse_clock(until) if until else None,
            source=f"line {number}",
        )
    if current is not None:
        yield current


def _label(line: str) -> str | None:
    """The speaker label of a line; None if the text before the colon is too long for one."""
    match = _LINE.match(line)
    if match is None:
        return None
    label = match["label"].strip(" \t*#-–>")
    if not label or len(label.split()) > MAX_LABEL_WORDS:
        return None
    return label
