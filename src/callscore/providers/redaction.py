"""Makes text from a provider safe to store and print: no secret, one short line."""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

GONE = "[redacted]"
LONGEST = 300
MAX_READ = 4_000
"""Characters of a body that are considered. Secrets are removed before the text is cut, so that no
part of a key is left at its end."""

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
_BACKSLASHES = r"\\{1,4}"
_URL_SAFE = str.maketrans("+/", "-_")
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def without_secrets(text: str, secrets: Sequence[str]) -> str:
    """The text without the given secrets, plain or encoded as JSON, URL or base64."""
    for secret in secrets:
        if len(secret) < _SHORTEST_SECRET:
            continue
        if secret in text:
            text = text.replace(secret, GONE)
        if "\\u00" in text or "%" in text or "\\/" in text:
            text = _escaped_pattern(secret).sub(GONE, text)
        for written in _in_base64(secret):
            if written in text:
                text = text.replace(written, GONE)
    return text


@lru_cache(maxsize=64)
def _escaped_pattern(secret: str) -> re.Pattern[str]:
    """Matches the secret with any of its characters escaped, at any depth of JSON in JSON."""
    return re.compile(
        "".join(
            rf"(?:(?:{_BACKSLASHES})?{re.escape(char)}|{_BACKSLASHES}u00{code:02x}|%{code:02x})"
            for char, code in zip(secret, secret.encode("latin-1", "replace"), strict=True)
        ),
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _in_base64(secret: str) -> Sequence[str]:
    """The base64 characters that depend on the secret alone, at each of three offsets."""
    found: dict[str, None] = {}
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret.encode()).decode()
        own = encoded[-(-before * 8 // 6) : (before + len(secret)) * 8 // 6]
        found |= {own: None, own.translate(_URL_SAFE): None}
    return tuple(found)


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """The text without the given secrets and without anything that looks like a key."""
    text = without_secrets(text, secrets)
    for shape, instead in _SHAPES:
        text = shape.sub(instead, text)
    return text


def excerpt(text: str, secrets: Sequence[str] = ()) -> str:
    """One redacted line of at most 300 characters, without control and bidi characters."""
    line = redact(" ".join(text[:MAX_READ].split()), secrets)
    line = "".join("\ufffd" if unicodedata.category(c) in _UNSEEN else c for c in line)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"
