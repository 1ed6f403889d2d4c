"""Language tags, as far as this package needs them."""

from __future__ import annotations


def base_language(lang: str | None) -> str:
    """The language of a tag without script and region (`zh` of `zh-TW`); empty if there is no tag.

    Romanised text is treated as a language of its own: `hi-Latn` stays as it is.
    """
    tag = (lang or "").strip().replace("_", "-").lower()
    return tag if tag.endswith("-latn") else tag.partition("-")[0]
