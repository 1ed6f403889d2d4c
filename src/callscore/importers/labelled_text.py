"""Plain text with speaker labels, in the forms that people and tools write.

`Agent: …`, `[00:12] Customer: …`, `Speaker 1 (00:12): …`, `**Agent:** …`, `AGENT - …`, and a line
of its own with a name and a time (`Priya Shah  0:03`) before the words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from callscore.core.errors import DataError
from callscore.importers.conversation import (
    MAX_TURNS,
    CallDetails,
    ImportContext,
    ImportIterator,
    RawTurn,
    SkippedPart,
    build_conversation,
    role_of,
)
from callscore.importers.source_file import Source
from callscore.importers.times import parse_clock, parse_date

_TIME = (
    r"(?:\d{4}-\d{2}-\d{2}[T ])?\d{1,3}(?::\d{2}){1,2}(?:[.,]\d{1,6})?(?:\s?[AaPp]\.?[Mm]\b\.?|Z)?"
)
_NAME = r"[^\W_][^:：\n\[\](){}<>*|]{0,39}?"
_RANGE = rf"(?P<before>{_TIME})(?:[ ]?(?:-->|-|–)[ ]?(?P<until>{_TIME}))?"
_BEFORE = (
    r"(?P<bullet>[-•*][ ]|\d{1,3}\.[ ])?(?:>{2,3}[ ]?)?"
    rf"(?:[\[(]?{_RANGE}[\])]?[ ]?[-–|]?[ ]?)?"
)
_COLON = re.compile(
    rf"""{_BEFORE}
    (?P<bold>\*\*|__|\*)?(?P<label>{_NAME})[ ]?(?:\([^()\d]{{1,40}}\)[ ]?)?
    (?:[\[(](?P<after>{_TIME})[\])][ ]?)?
    (?:(?P=bold))?[ ]?[:：][ ]?(?:\*\*|__|\*)?(?:(?<=[\s*_：])|$)(?P<text>.*)""",
    re.VERBOSE,
)
_DASH = re.compile(rf"{_BEFORE}(?P<label>{_NAME})[ ][-–—][ ](?P<text>.*)")
_BRACKETS = re.compile(rf"{_BEFORE}[\[(](?P<label>{_NAME})[\])]:?(?:[ ]|$)(?P<text>.*)")
_HEADING = re.compile(
    rf"(?:\*\*|__)?(?:(?P<label>{_NAME})(?:\*\*|__)?[ |,–-]{{0,5}}[\[(]?(?P<after>{_TIME})[\])]?"
    rf"|[\[(]?{_RANGE}[\])]?[ ](?P<late>{_NAME}))(?:\*\*|__)?"
)
_SPEAKER_NUMBER = re.compile(
    r"(?:speaker|spk|sprecher|locuteur|hablante|화자|spk_|s|channel|participant)[\s_-]*\d+"
    r"|(?:speaker|participant)[\s_-]+[a-h]",
    re.IGNORECASE,
)
MIN_LABELLED_SHARE = 0.4
"""The least share of lines with a speaker label."""
MIN_SHARE_OF_ROLES = 0.1
"""The same, if the labels are the words of two roles: turns can have many lines."""
MAX_LABEL_WORDS = 4
MAX_LINES = 3 * MAX_TURNS
"""The most lines of a text: a turn may have a heading and an empty line after it."""
MAX_SPEAKERS = 20
"""More labels than this are the keys of a config, not speakers."""


Form = Literal["colon", "dash", "brackets", "heading"]


class LabelledLine(msgspec.Struct, frozen=True):
    """A line that may begin with a speaker label: what it says if the label counts."""

    form: Form
    label: str
    text: str
    start: float | None
    end: float | None
    style: tuple[bool, bool, bool] = (False, False, False)
    """Whether it follows a bullet, begins with a capital, and has only capitals."""


def split_label(line: str) -> LabelledLine | None:
    """The label of a line in any of its forms; None if the line has none."""
    line = " ".join(line.split())  # so that no pattern has to search in runs of spaces
    forms: Sequence[tuple[Form, re.Match[str] | None]] = (
        ("dash", _DASH.match(line)),
        ("colon", _COLON.match(line)),
        ("brackets", _BRACKETS.match(line)),
    )
    for form, match in forms:
        if match is not None and (found := _labelled(form, match, match["text"])) is not None:
            return found
    match = _HEADING.fullmatch(line)
    found = None if match is None else _labelled("heading", match, "")
    if match is None or found is None:
        return None
    is_name = names_role(found.label) if match["late"] else _looks_like_name(found.label)
    return found if is_name else None


def _labelled(form: Form, match: re.Match[str], text: str) -> LabelledLine | None:
    parts = match.groupdict()
    label = (parts["label"] or parts.get("late") or "").strip(" \t*#-–>_,|")
    if not label or len(label.split()) > MAX_LABEL_WORDS:
        return None
    if form == "dash" and not (label.isupper() or names_role(label)):
        return None
    start = _parse_time(parts.get("before") or parts.get("after"))
    style = (bool(parts.get("bullet")), label[0].isupper(), label.isupper())
    return LabelledLine(form, label, text.strip(), start, _parse_time(parts.get("until")), style)


def _parse_time(text: str | None) -> float | None:
    """The seconds of a clock time or a date, in 24 hours or with AM and PM."""
    if text is None:
        return None
    clock = text.strip(" .").upper().replace(".M", "M")
    half = clock[-2:] if clock.endswith("M") else ""
    seconds = parse_clock(clock.removesuffix(half))
    if seconds is None:
        return parse_date(text.strip())
    return seconds % 43_200 + (43_200 if half == "PM" else 0) if half else seconds


def names_role(label: str) -> bool:
    """Whether a label is the word of a role, or a numbered speaker."""
    return role_of(label) is not None or _SPEAKER_NUMBER.fullmatch(label) is not None


def count_labels(lines: Iterable[LabelledLine | None], known: Collection[str] = ()) -> set[str]:
    """The labels that count: words of roles, labels that recur, and `known` ones.

    A sentence can have a colon, too (`One thing: it blinks red`). So a label that occurs once is
    no speaker, unless the other speakers of the call have names and it looks like one.
    """
    found = [line for line in lines if line is not None]
    styles = {line.style for line in found if names_role(line.label)}
    is_labelled_by_role = len({line.label for line in found if names_role(line.label)}) > 1
    times: dict[Form, Counter[str]] = {"colon": Counter(), "dash": Counter(), "brackets": Counter()}
    for line in found:
        # lists of facts (`- Price: 40`) in a call whose speakers are roles
        if not is_labelled_by_role or line.style in styles:
            times["colon" if line.form == "heading" else line.form][line.label] += 1
    given = {name.casefold() for name in known}
    colon, dash, brackets = times["colon"], times["dash"], times["brackets"]
    roles = {label for label in colon if names_role(label) or label.casefold() in given}
    for marked in (dash, brackets):
        words = {label for label in marked if names_role(label) or label.casefold() in given}
        roles |= words if sum(marked[label] for label in words) > 1 else set()
    names = {
        label
        for label, count in colon.items()
        if count >= (2 if _looks_like_name(label) else 3) and label not in roles
    }
    names |= {label for label, count in dash.items() if count > 1}
    named = {label for label in brackets if _looks_like_name(label)}
    if any(brackets[label] > 1 for label in named):
        names |= named
    if names and not roles:
        names |= {label for label in colon if _looks_like_name(label)}
    return roles | names


def _looks_like_name(label: str) -> bool:
    """Whether no word begins with a small letter, and it is neither a remark nor a sound."""
    return label.casefold() not in _REMARKS and not any(word[0].islower() for word in label.split())


_REMARKS = frozenset((
    "note", "ps", "question", "answer", "warning", "update", "example", "tip", "reminder",
    "first", "second", "third", "also", "so", "ok", "okay", "yes", "no", "total", "subject", "re",
    "date", "time", "duration", "summary", "topic", "address", "email", "password", "account",
    "order", "number", "name", "option", "step", "result", "reason", "hinweis", "frage",
    "antwort", "nota", "remarque", "music", "laughter", "laughs", "laughing", "applause",
    "inaudible", "unintelligible", "crosstalk", "silence", "noise", "pause", "sighs", "beep",
    "hold", "foreign", "background",
))  # fmt: skip
"""Words before a colon or in brackets that name no speaker: remarks, fields and sounds."""


def is_labelled_text(source: Source) -> bool:
    """Whether the file is text with speaker labels."""
    if source.is_archive or source.json is not None or _is_nested(source.yaml):
        return False
    return has_speaker_labels(source.text) and len(_labels_at_starts(source.text)) > 1


def _labels_at_starts(text: str) -> list[str]:
    """The labels of the first lines, each as often as it occurs."""
    return [one.label for line in text.split("\n")[:400] if (one := split_label(line)) is not None]


def _is_nested(value: Any) -> bool:
    """Whether a YAML value has objects in objects, as no transcript has."""
    items = value if isinstance(value, list) else [value]
    members = [one for item in items if isinstance(item, dict) for one in item.values()]
    return any(isinstance(one, dict | list) for one in members)


def has_speaker_labels(text: str) -> bool:
    """Whether enough lines begin with a label that counts, or follow a line with only a label."""
    lines = [line for line in text.split("\n", 400)[:400] if line.strip()]
    found = [split_label(line) for line in lines]
    counting = count_labels(found)
    labelled = [line for line in found if line is not None and line.label in counting]
    named = [one for one in labelled if names_role(one.label) or _looks_like_name(one.label)]
    labels = {line.label for line in labelled}
    if not named or len(labels) > MAX_SPEAKERS:
        return False
    share = MIN_LABELLED_SHARE
    if len({role_of(label) for label in labels} - {None}) > 1:
        share = MIN_SHARE_OF_ROLES
    headings = sum(not line.text for line in named)
    return len(named) >= share * (len(lines) - headings)


def read_labelled_text(source: Source, context: ImportContext) -> ImportIterator:
    """Read the call of a text; a line without a label continues the previous turn."""
    number = source.text.count("\n") + 1
    if number > MAX_LINES:
        raise DataError(
            f"has {number:,} lines; expected one call of at most {MAX_LINES:,}", place=source.name
        )
    turns: list[RawTurn] = []
    for turn in labelled_turns(source.text, context.roles):
        if isinstance(turn, SkippedPart):
            yield SkippedPart(f"{source.name}: {turn.where}", turn.why)
        else:
            turns.append(turn)
    yield from build_conversation("text", turns, CallDetails(), context)


def labelled_turns(text: str, known: Collection[str] = ()) -> Iterator[RawTurn | SkippedPart]:
    """The turns of a text with speaker labels; the lines before the first are skipped."""
    lines = text.split("\n")
    found = [split_label(line) for line in lines]
    counting = count_labels(found, known)
    current: RawTurn | None = None
    for number, (line, parts) in enumerate(zip(lines, found, strict=True), start=1):
        if not line.strip():
            continue
        if parts is None or parts.label not in counting:
            if current is None:
                yield SkippedPart(f"line {number}", "is before the first speaker label")
            else:
                text = f"{current.text} {line.strip()}"
                current = msgspec.structs.replace(current, text=text)
            continue
        if current is not None:
            yield current
        current = RawTurn(parts.label, parts.text, parts.start, parts.end, source=f"line {number}")
    if current is not None:
        yield current
