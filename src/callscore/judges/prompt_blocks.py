"""The delimited blocks of a request to a judge: the case, the answer, and what encloses them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from json.encoder import encode_basestring, encode_basestring_ascii
from random import Random
from string import ascii_lowercase
from typing import Any

from callscore.core.case import Turn
from callscore.core.judging import JudgeRequest
from callscore.judges.evidence import leaves_of
from callscore.judges.rubric import Rubric

NONCE_BYTES, NONCE_LETTERS = 16, 28
"""14 pairs of 26 letters hold the 128 bits of the hash: no text has the nonce by chance (C-103)."""
LONGEST_TEXT = 20_000
"""Characters of a text that a judge reads; an output may be very long."""
CUT = " [the rest was cut]"
_KEY = b"callscore judge"
_LETTERS = "BCDFGHKLMNPRSTVW"
"""No vowels, so that no id is a word; no rare letters, which cost more tokens."""
_ID_LENGTH = 4

encode_json = json.JSONEncoder(default=str, check_circular=False).encode
"""A value as ASCII JSON, the content for `fingerprint` and `nonce`."""
_PAIRS = ["".join(reversed(pair)) for pair in product(ascii_lowercase, repeat=2)]
_DANGEROUS = re.compile(
    # A character class comes first, so that `re` skips all other characters quickly.
    r"[\[~<>`"
    "\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e01ef]"
    r"(?:(?<![\[~])|(?<=\[)(?=/?[A-Z]{3,})|(?<=~)(?=~~))"
)


def escape_text(text: str) -> str:
    """A text as one JSON string on one line, with every control character escaped."""
    if len(text) > LONGEST_TEXT:
        text = text[:LONGEST_TEXT] + CUT
    return _DANGEROUS.sub(_escape, encode_basestring(text))


def block(name: str, mark: str, lines: Iterable[str]) -> str:
    """Lines of data between two unpredictable tags."""
    return "\n".join((f"<{name}-{mark}>", *lines, f"</{name}-{mark}>"))


def encode_lines(lines: Iterable[str]) -> str:
    """Like `encode_json`, for a list of texts."""
    return f"[{', '.join(map(encode_basestring_ascii, lines))}]"


def fingerprint(*content: str) -> bytes:
    """A keyed hash of `encode_json` content, from which ids and orders are drawn.

    A text that contains the nonce of its own request would have to contain its own hash.
    """
    data = f"[{', '.join(content)}]".encode()
    return hashlib.blake2b(data, digest_size=NONCE_BYTES, key=_KEY).digest()


def nonce(*content: str) -> str:
    """The fingerprint as letters: fewer tokens than digits, and no fewer bits."""
    number = int.from_bytes(fingerprint(*content))
    letters = ""
    for _ in range(NONCE_LETTERS // 2):
        number, place = divmod(number, len(_PAIRS))
        letters += _PAIRS[place]
    return letters


def item_ids(number: int, random: Random, taken: str) -> list[str]:
    """Distinct ids of four letters that do not occur in the text `taken`."""
    ids: dict[str, None] = {}
    draw, kinds = random.random, len(_LETTERS)
    while len(ids) < number:
        made = ""
        for _ in range(_ID_LENGTH):
            made += _LETTERS[int(draw() * kinds)]
        if made not in taken:
            ids[made] = None
    return list(ids)


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000  # JSON has no escape beyond four digits: a surrogate pair
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


WIDEST_LINE = 160
"""Characters; longer values are split over several lines."""
LONGEST_NUMBER = 40
_IDS = ("sentence_id", "source_id")
"""Keys that refer to a sentence of the call."""
LONGEST_SHOWN = 100_000
"""Characters of an output that a judge is shown."""
SHORTENED = ((200, 5_000), (100, 1_000), (50, 200), (10, 100))
"""Entries and characters that are kept of every part of a longer output, step by step."""
_ONE_WORD = re.compile(r"[A-Za-z_]{1,20}")


def case_blocks(
    judge_request: JudgeRequest, rubrics: Iterable[Rubric]
) -> Mapping[str, Sequence[str]]:
    """The blocks of the case by name; the same for the outputs of all models."""
    spoken = {turn.text for turn in judge_request.turns}
    expected = _drop_turn_texts(judge_request.expected_outcome, spoken)
    return {
        "transcript": list(turn_lines(judge_request.turns)),
        "expected_outcome": json_lines(_drop_joined_text(expected)),
        "config": json_lines(_select_keys(judge_request.config, _keys(r.config for r in rubrics))),
    }


def answer_lines(judge_request: JudgeRequest, rubrics: Iterable[Rubric]) -> Sequence[str]:
    """The parts of the output that the rubrics use; all of it if it has none of them."""
    spoken = {turn.text for turn in judge_request.turns}
    part = _select_keys(judge_request.model_output, _keys(rubric.answer for rubric in rubrics))
    return shortened_lines(_drop_turn_texts(part or judge_request.model_output, spoken))


def shortened_lines(value: Any) -> list[str]:
    """An output as lines; a very long one is shortened."""
    lines = json_lines(value)
    for entries, characters in SHORTENED:
        if sum(map(len, lines)) <= LONGEST_SHOWN:
            break
        value = _shorten(value, entries, characters)
        lines = json_lines(value)
    return lines


def _shorten(value: Any, entries: int, characters: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= characters else value[:characters] + CUT
    if isinstance(value, Mapping):
        kept = dict(list(value.items())[:entries])
        return {
            key[:characters]: _shorten(inner, entries, characters) for key, inner in kept.items()
        }
    if isinstance(value, (list, tuple)):
        return [_shorten(inner, entries, characters) for inner in value[:entries]]
    return value


def turn_lines(turns: Sequence[Turn]) -> Iterator[str]:
    """Number, speaker, time and text of every turn."""
    for number, turn in enumerate(turns, start=1):
        time = "" if turn.start is None else f", {_clock(turn.start)}"
        yield f"Turn {number}{_speaker(turn.speaker)}{time}: {escape_text(turn.text)}"


def json_lines(value: Any) -> list[str]:
    """A JSON value as lines, with every control character escaped."""
    # Exact types before general ones: nearly everything comes from JSON.
    if isinstance(value, str):
        return [escape_text(value)]
    if type(value) is int:
        return [str(value)[:LONGEST_NUMBER]]
    if isinstance(value, (list, tuple)):
        opening, closing = "[]"
        entries = [json_lines(inner) for inner in value]
    elif isinstance(value, (dict, Mapping)):
        opening, closing = "{}"
        entries = [json_lines(inner) for inner in value.values()]
        for key, entry in zip(value, entries, strict=True):
            entry[0] = f"{_key(key)}: {entry[0]}"
    else:
        return [json.dumps(value, default=str)[:LONGEST_NUMBER]]
    if sum(map(len, entries)) == len(entries):  # each on one line
        line = f"{opening}{', '.join([entry[0] for entry in entries])}{closing}"
        if len(line) <= WIDEST_LINE:
            return [line]
    lines = [opening]
    for entry in entries:
        lines += [f"  {line}" for line in entry]
        lines[-1] += ","
    lines[-1] = lines[-1][:-1]
    return [*lines, closing]


@lru_cache(maxsize=1024)  # the cases of a task have the same keys
def _key(key: object) -> str:
    return escape_text(str(key))


def _keys(named: Iterable[Sequence[str] | None]) -> Collection[str] | None:
    """All keys that are named; None if a rubric may use everything."""
    keys: set[str] = set()
    for names in named:
        if names is None:
            return None
        keys.update(names)
    return keys


def _select_keys(value: Any, keys: Collection[str] | None) -> Any:
    if keys is None or not isinstance(value, Mapping):
        return value
    return {key: inner for key, inner in value.items() if key in keys}


def _drop_turn_texts(value: Any, spoken: Collection[str]) -> Any:
    """Drop the texts of turns from entries about a sentence, which refer to it by id."""
    shown = str(value)  # far cheaper than a copy of a value without such entries
    return _without_texts(value, spoken) if any(key in shown for key in _IDS) else value


def _without_texts(value: Any, spoken: Collection[str]) -> Any:
    if isinstance(value, str):
        return value
    if isinstance(value, (dict, Mapping)):
        repeats = spoken if any(key in value for key in _IDS) else ()
        return {
            key: _without_texts(inner, spoken)
            for key, inner in value.items()
            if not (isinstance(inner, str) and inner in repeats)
        }
    if isinstance(value, (list, tuple)):
        return [_without_texts(inner, spoken) for inner in value]
    return value


def _drop_joined_text(expected: Mapping[str, Any]) -> Mapping[str, Any]:
    """Drop a text that only joins other texts of the reference: a translation and its sentences."""
    texts = [text for text in expected.values() if isinstance(text, str)]
    longest = max(texts, key=len, default="")
    if not longest:
        return expected
    rest = longest
    for other in sorted(leaves_of(expected), key=len, reverse=True):
        if other and other != longest:
            rest = rest.replace(other, "")
    if any(char.isalnum() for char in rest):
        return expected
    return {key: value for key, value in expected.items() if value != longest}


def _speaker(name: str | None) -> str:
    """A role as a bare word; anything longer is quoted like any other text."""
    if name is None:
        return ""
    return f", {name if _ONE_WORD.fullmatch(name) else escape_text(name)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}:{rest:02d}"
