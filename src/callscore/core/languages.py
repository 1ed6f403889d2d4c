"""Language tags: in folder names, and without script and region."""

from __future__ import annotations

import re
from pathlib import Path

UNKNOWN_LANGUAGE = "und"
LANGUAGE = re.compile(r"[A-Za-z]{2}(?:-[A-Za-z]{2,4})?")


def language_of(folder: Path) -> str:
    """The last part of the path that looks like a language tag."""
    parts = reversed(folder.resolve().parts[-3:])
    return next((part for part in parts if LANGUAGE.fullmatch(part)), UNKNOWN_LANGUAGE)


def base_language(lang: str | None) -> str:
    """The language of a tag without script and region (`zh` of `zh-TW`); empty if there is no tag.

    Romanised text is treated as a language of its own: `hi-Latn` stays as it is.
    """
    tag = (lang or "").strip().replace("_", "-").lower()
    return tag if tag.endswith("-latn") else tag.partition("-")[0]
