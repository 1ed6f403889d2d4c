"""Language tags, as far as anybody here reads them."""

from __future__ import annotations


def base_language(lang: str | None) -> str:
    """The language of a tag without script and region: `zh` of `zh-TW`; empty where none is named.

    Romanised text is another language to whoever reads by script: `hi-Latn` stays whole.
    """
    tag = (lang or "").strip().replace("_", "-").lower()
    return tag if tag.endswith("-latn") else tag.partition("-")[0]
