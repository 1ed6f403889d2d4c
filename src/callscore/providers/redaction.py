"""Text from a provider, made safe to store and print: no secret, one line, not long."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

GONE = "[redacted]"
LONGEST = 300
READ_AT_MOST = 4_000
"""Characters of a body that are looked at. Redaction comes before the cut, so that no part of a
key is left at the end of the excerpt."""

_SHORTEST_SECRET = 6
_SHAPES = (
    (re.compile(r"://[^/\s@]{1,300}@"), f"://{GONE}@"),
    (re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"',;]+"), rf"\1 {GONE}"),
    (
        re.compile(
            r"(?i)\b((?:x-|x-goog-)?api[-_]?key|authorization|x-amz-security-token|password|secret)"
            r"(\"?'?\s?[:=]\s?\"?'?)(?!\[redacted)(?!bearer|basic)[^\s\"',;&}]+"
        ),
        rf"\1\2{GONE}",
    ),
    (re.compile(r"(?i)([?&](?:key|token|sig|signature|access_token)=)[^&\s\"']+"), rf"\1{GONE}"),
    (re.compile(r"\b(?:sk|pk|rk|xai|pplx|nvapi|gsk|hf|ghp|gho|r8|key)[-_][\w-]{12,}"), GONE),
    (re.compile(r"\bAIza[\w-]{20,}"), GONE),
    (re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{12,}"), GONE),
    (re.compile(r"\bABSK[\w+/=]{20,}"), GONE),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w.-]+"), GONE),
)
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """The text without the given secrets and without anything shaped like a key."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, GONE)
    for shape, instead in _SHAPES:
        text = shape.sub(instead, text)
    return text


def excerpt(text: str, secrets: Sequence[str] = ()) -> str:
    """One redacted line of at most 300 characters, without control or direction marks."""
    line = redact(" ".join(text[:READ_AT_MOST].split()), secrets)
    line = "".join("\ufffd" if unicodedata.category(c) in _UNSEEN else c for c in line)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
