"""The facts of a summary: a pure function of the summary alone, independent of the judge (C-60).

Fabrication-Free Rate, Faithfulness and the Hallucination benchmark all count over this list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from callscore.core.case import JsonObject
from callscore.metrics.text import n2
from callscore.suites.calls.items import is_empty
from callscore.suites.calls.structure import split_sentences


class Claim(msgspec.Struct, frozen=True, gc=False):
    """One statement of a summary.

    `item` names it in questions and verdicts, `field` is its path, and `form` is the
    text under N2, by which two claims are equal.
    """

    item: str
    text: str
    field: str
    form: str


def claims(summary: JsonObject) -> tuple[Claim, ...]:
    """The purpose, each sentence of each highlight, each filled field; each once        C-60"""
    found: dict[str, Claim] = {}
    for part, place, text in _statements(summary):
        form = n2(text)
        if form not in found:
            field = part.format(place)
            found[form] = Claim(f"claim:{len(found) + 1}", text, field, form)
    return tuple(found.values())


def claim_forms(summary: JsonObject) -> frozenset[str]:
    """The claims of a summary under N2, as code compares them        C-60"""
    return frozenset([n2(text) for _, _, text in _statements(summary)])


def _statements(summary: JsonObject) -> Iterator[tuple[str, object, str]]:
    """The part of the summary, the path in it, and the text there; empty texts are left out."""
    purpose = summary.get("call_purpose")
    if isinstance(purpose, str) and not is_empty(purpose):
        yield "call_purpose", "", purpose.strip()
    highlights = summary.get("highlights")
    if isinstance(highlights, list):
        for index, highlight in enumerate(highlights):
            if isinstance(highlight, str):
                for sentence in split_sentences(highlight):
                    if not is_empty(sentence):
                        yield "highlights[{}]", index, sentence
    fields = summary.get("call_extracted_info")
    if isinstance(fields, dict):
        for name, value in fields.items():
            if not is_empty(value):
                yield "call_extracted_info.{}", name, f"{name}: {_field_text(value)}"


def _field_text(value: Any) -> str:
    """A field's value as text, so that 140, 140.0 and "140" are the same fact."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    import json  # imported here, because nearly every value is a text

    return json.dumps(value, ensure_ascii=False, sort_keys=True)
