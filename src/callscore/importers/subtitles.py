"""Subtitles: WebVTT, SRT, SBV and ASS; `<v …>`, `Agent: …`, `(Agent) …` name the speakers."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

import msgspec

from callscore.core.errors import DataError
from callscore.importers.conversation import (
    CallDetails,
    ImportContext,
    ImportIterator,
    RawTurn,
    build_conversation,
)
from callscore.importers.labelled_text import count_labels, split_label
from callscore.importers.source_file import Source
from callscore.importers.times import parse_clock

MAX_PAUSE = 2.0
"""Seconds after which a cue without a speaker no longer continues the turn before it."""
ROLLING_SHARE = 0.3
"""The least share of cues that repeat a line of the cue before, if captions roll."""
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]*)>")
_TAG = re.compile(r"</?(?:[cibu]|ruby|rt|lang|v|font)(?:[.\s][^>]*)?>|<\d[\d:.]*>|\{\\[^{}]*\}")
_CLOCK = r"(?:\d{1,3}:)?\d{1,2}:\d{2}[.,]\d{1,3}"
_TIMES = re.compile(rf"\s*({_CLOCK})\s*-->\s*({_CLOCK})(?:\s.*)?")
_SBV_TIMES = re.compile(r"\s*(\d{1,2}:\d{2}:\d{2}\.\d{3}),(\d{1,2}:\d{2}:\d{2}\.\d{3})\s*")
_ASS_LINE = re.compile(
    r"Dialogue:[^,]*,\s*([\d:.]+)\s*,\s*([\d:.]+)\s*,[^,]*,([^,]*),[^,]*,[^,]*,[^,]*,[^,]*,(.*)"
)
_SPEAKER_CHANGE = re.compile(r"(?:-|–|—|>{2,3})\s?(?=\S)")


class Cue(msgspec.Struct, frozen=True):
    """The lines that are shown from one time to another."""

    number: int
    start: float
    end: float
    lines: Sequence[str]


class _Spoken(NamedTuple):
    """A turn of a cue, and whether another speaker may begin with it."""

    turn: RawTurn
    changes: bool


def is_subtitles(source: Source) -> bool:
    """Whether the file begins with `WEBVTT`, or has a time range of SRT or SBV near the start."""
    if source.is_archive or source.json is not None:
        return False
    head = source.text[:2000]
    return head.lstrip().startswith(("WEBVTT", "[Script Info]")) or any(
        _TIMES.fullmatch(line) or _SBV_TIMES.fullmatch(line) for line in head.split("\n")
    )


def read_subtitles(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a subtitle file; a cue can have several speakers."""
    if source.text.lstrip().startswith("[Script Info]"):
        turns = _ass_turns(source.text, context.roles)
        yield from build_conversation("ass", turns, CallDetails(), context)
        return
    is_vtt = source.text.lstrip().startswith("WEBVTT")
    cues = list(_cues(source.text.split("\n"), is_vtt=is_vtt))
    if not cues:
        raise DataError("has no cue with a time and a text", place=source.name)
    unrolled = _unroll(cues)
    notes = [] if unrolled is cues else ["rolling captions: repeated lines were removed"]
    lines = [split_label(line) for cue in unrolled for line in _speech(cue)]
    labels = count_labels(lines, context.roles)
    spoken = (turn for cue in unrolled for turn in _cue_turns(cue, labels))
    is_sbv = any(_SBV_TIMES.fullmatch(line) for line in source.text[:2000].split("\n"))
    name = "webvtt" if is_vtt else "sbv" if is_sbv else "srt"
    details = CallDetails(notes=notes)
    yield from build_conversation(name, _join_turns(spoken), details, context)


def _ass_turns(text: str, known: Collection[str]) -> Iterator[RawTurn]:
    """One turn per `Dialogue` line; its `Name` is the speaker, else a label that counts."""
    lines = [_ASS_LINE.match(line.strip()) for line in text.split("\n")]
    said = {
        number: _plain(match[4].replace("\\N", " ").replace("\\n", " "))
        for number, match in enumerate(lines, start=1)
        if match is not None
    }
    labels = count_labels(map(split_label, said.values()), known)
    for number, words in said.items():
        match = lines[number - 1]
        assert match is not None  # one of `said`
        label, found = match[3].strip(), split_label(words)
        if not label and found is not None and found.label in labels:
            label, words = found.label, found.text
        times = (parse_clock(match[1]), parse_clock(match[2]))
        yield RawTurn(label, words, *times, source=f"line {number}")


def _cues(lines: Sequence[str], *, is_vtt: bool) -> Iterator[Cue]:
    """The cues of a file; what is outside them (numbers, ids, notes, styles) has no text."""
    times = [_TIMES.fullmatch(line) or _SBV_TIMES.fullmatch(line) for line in lines]
    begins = [at for at, match in enumerate(times) if match is not None]
    for number, (at, until) in enumerate(pairwise([*begins, len(lines)]), start=1):
        text = _cue_text(lines[at + 1 : until], is_vtt=is_vtt, is_last=until == len(lines))
        match = times[at]
        assert match is not None  # one of `begins`
        start, end = (parse_clock(time) for time in match.groups())
        if start is not None and end is not None and text:
            yield Cue(number, start, end, text)


def _cue_text(lines: Sequence[str], *, is_vtt: bool, is_last: bool) -> list[str]:
    """The lines of a cue, without what belongs to the next: its number or id.

    WebVTT ends a cue with an empty line. Some SRT files have empty lines in a cue, others none
    between cues.
    """
    end = lines.index("") if "" in lines else len(lines)
    if not is_vtt and any(map(str.strip, lines[end + 1 : -1])):
        end = len(lines)
    if end == len(lines) and not is_last and lines[-1:] and lines[-1].strip().isdigit():
        end -= 1
    return [text for line in lines[:end] if (text := line.strip())]


def _unroll(cues: list[Cue]) -> list[Cue]:
    """The cues without the lines that rolling captions repeat; the same list if none roll."""
    repeats = [False] + [
        _plain(cue.lines[0]) == _plain(before.lines[-1])
        for before, cue in zip(cues, cues[1:], strict=False)
    ]
    if sum(repeats) < max(3, ROLLING_SHARE * len(cues)):
        return cues
    return [
        msgspec.structs.replace(cue, lines=cue.lines[1:] if repeated else cue.lines)
        for cue, repeated in zip(cues, repeats, strict=True)
        if len(cue.lines) > repeated
    ]


def _speech(cue: Cue) -> list[str]:
    """The lines of a cue without a voice tag, joined unless a dash or `>>` changes the speaker."""
    if any(map(_VOICE.search, cue.lines)):
        return []
    lines: list[str] = []
    for line in map(_plain, cue.lines):
        if line in ("-", "–"):
            continue
        if lines and _SPEAKER_CHANGE.match(line) is None and split_label(line) is None:
            lines[-1] = f"{lines[-1]} {line}"
        else:
            lines.append(line)
    return lines


def _cue_turns(cue: Cue, labels: Set[str]) -> Iterator[_Spoken]:
    """The turns of a cue: by voice tags, else by labels, else without a speaker."""
    where = f"cue {cue.number}"
    before, *voices = _VOICE.split("\n".join(cue.lines))
    if voices:
        for voice, text in zip(["", *voices[::2]], [before, *voices[1::2]], strict=True):
            turn = RawTurn(_plain(voice), _plain(text), cue.start, cue.end, source=where)
            if turn.label or turn.text:
                yield _Spoken(turn, bool(turn.label))
        return
    spoken: _Spoken | None = None
    for line in _speech(cue):
        found = split_label(line)
        counts = found is not None and found.label in labels
        change = _SPEAKER_CHANGE.match(line)
        changes = change is not None
        if spoken is not None and not (counts or changes):
            text = f"{spoken.turn.text} {line}"
            spoken = _Spoken(msgspec.structs.replace(spoken.turn, text=text), spoken.changes)
            continue
        if spoken is not None:
            yield spoken
        label, text = (found.label, found.text) if found is not None and counts else ("", line)
        text = text[change.end() :] if change is not None and not counts else text
        spoken = _Spoken(RawTurn(label, text, cue.start, cue.end, source=where), changes or counts)
    if spoken is not None:
        yield spoken


def _plain(text: str) -> str:
    return html.unescape(_TAG.sub("", text)).strip()


def _join_turns(turns: Iterable[_Spoken]) -> Iterator[RawTurn]:
    """The turns, each joined with cues without a speaker that follow it without a pause."""
    current: RawTurn | None = None
    for turn, changes in turns:
        if current is not None and current.label and not changes and _follows(turn, current):
            text = f"{current.text} {turn.text}"
            current = msgspec.structs.replace(current, text=text, end=turn.end)
            continue
        if current is not None:
            yield current
        current = turn
    if current is not None:
        yield current


def _follows(turn: RawTurn, before: RawTurn) -> bool:
    """Whether a turn begins at most a short pause after another ends."""
    return (
        turn.start is not None and before.end is not None and turn.start - before.end <= MAX_PAUSE
    )
