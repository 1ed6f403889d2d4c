"""Data in a prompt: text that cannot close its block, hide, or pass for an instruction (C-103).

Every text is one JSON string on one line. Everything that could end a block, switch a chat
template, or be invisible to a person is written as an escape.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from itertools import product
from json.encoder import encode_basestring, encode_basestring_ascii
from random import Random
from string import ascii_lowercase

NONCE_BYTES, NONCE_LETTERS = 16, 28
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
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
