"""JSON inside a text, as models answer: its values are redacted, its structure stays."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_START = re.compile(r"\s*(?:```(?:json)?\s*)?[\[{]")
_FIELD = re.compile(r'"[^"\\\n]{1,80}"\s*:')
_TOKEN = re.compile(r'"(?:[^"\\]|\\.|\\\Z)*+(?:"|\Z)|(?<![\w.+-])\d{5,19}(?![\w.])', re.DOTALL)
"""A string, which the end of the text may cut off, or a long number."""
_COLON = re.compile(r"\s*:")


def is_json(text: str) -> bool:
    """Whether the text is, or begins like, a JSON object or array with fields."""
    return _START.match(text) is not None and _FIELD.search(text) is not None


def redact_json(text: str, redact: Callable[[str, Any], Any]) -> str:
    """The text with each value replaced by `redact(key, value)`; everything else to the letter.

    A text that is cut off or has faults is read as far as its strings can be read.
    """
    key = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal key
        written = match[0]
        try:
            value = json.loads(written, strict=False)
        except ValueError:  # an escape that is none, or leading zeros
            value = written.strip('"')
        if isinstance(value, str) and _COLON.match(text, match.end()):
            key = value
            return written
        redacted = redact(key, value)
        if redacted == value:
            return written
        shown = json.dumps(redacted, ensure_ascii=False)
        is_cut_off = match.end() == len(text) and not (len(written) > 1 and written[-1] == '"')
        return shown.removesuffix('"') if is_cut_off and isinstance(value, str) else shown

    return _TOKEN.sub(replace, text)


def as_words(key: str) -> str:
    """A key as a label: `cardNumber` and `card_number` are "card number:"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]+", " ", key) + ":"
