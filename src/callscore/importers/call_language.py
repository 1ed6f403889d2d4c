"""The language of a call: as a BCP 47 tag, and detected from its words if the file names none."""

from __future__ import annotations

import re

import msgspec

from callscore.importers.conversation import Conversation

_TAG = re.compile(r"([A-Za-z]{2,3})((?:-[A-Za-z0-9]{2,8})*)")
_NAMES = {
    "arabic": "ar", "bengali": "bn", "chinese": "zh", "czech": "cs", "danish": "da", "dutch": "nl",
    "english": "en", "finnish": "fi", "french": "fr", "german": "de", "greek": "el",
    "hebrew": "he", "hindi": "hi", "hungarian": "hu", "indonesian": "id", "italian": "it",
    "japanese": "ja", "korean": "ko", "malay": "ms", "norwegian": "no", "polish": "pl",
    "portuguese": "pt", "romanian": "ro", "russian": "ru", "spanish": "es", "swedish": "sv",
    "tamil": "ta", "telugu": "te", "thai": "th", "turkish": "tr", "ukrainian": "uk", "urdu": "ur",
    "vietnamese": "vi",
}  # fmt: skip
_NO_LANGUAGE = frozenset(("", "und", "mul", "multi", "auto", "unknown", "none", "default"))
MIN_LETTERS = 25
MIN_MARGIN = 10.0
"""How much likelier (as a logarithm) the language must be than the next."""
SAMPLE = 4_000
"""Characters of a call that decide on its language."""


def normalise_language(lang: str | None) -> str | None:
    """The tag in the usual form: `en_us` becomes `en-US`; None if it names no language."""
    text = (lang or "").strip().replace("_", "-")
    if text.casefold() in _NO_LANGUAGE:
        return None
    if text.casefold() in _NAMES:
        return _NAMES[text.casefold()]
    match = _TAG.fullmatch(text)
    if match is None:
        return None
    parts = [match[1].lower()]
    for part in match[2].split("-")[1:]:
        if len(part) == 4 and part.isalpha():
            parts.append(part.title())
        else:
            parts.append(part.upper() if len(part) == 2 else part.lower())
    return "-".join(parts)


def with_language(call: Conversation) -> Conversation:
    """The call with a normalised language, else with the one that is detected, and a note."""
    named = normalise_language(call.lang)
    if named is not None:
        return call if named == call.lang else msgspec.structs.replace(call, lang=named)
    notes = list(call.notes)
    if call.lang:
        notes.append(f"{call.lang!r} is not the tag of a language; it is left out")
    found = detect_language(" ".join(turn.text for turn in call.turns))
    if found is not None:
        notes.append(f"language detected from the words: {found}")
    return msgspec.structs.replace(call, lang=found, notes=notes)


def detect_language(text: str) -> str | None:
    """The language of a text; None if it is too short, not clear, or nothing can detect it."""
    sample = text[:SAMPLE]
    if sum(map(str.isalpha, sample)) < MIN_LETTERS:
        return None
    try:
        from py3langid import langid  # slow to import, and most files name their language
    except ImportError:
        return None
    (best, score), (_, next_score) = langid.rank(sample)[:2]
    return str(best) if score - next_score >= MIN_MARGIN else None
