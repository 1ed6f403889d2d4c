"""The facts of a summary: a pure function of the summary alone, the same for every reader (C-60).

Fabrication-Free Rate, Faithfulness and the Hallucination benchmark all count over this list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from callscore.core.case import JsonObject
from callscore.metrics.text import n2
from callscore.suites.calls.emptiness import PLACEHOLDERS, is_empty

_MAY_BREAK = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]?\s|[\n\u3002\uff01\uff1f\u0964\u0965]")
_BREAK = re.compile(
    r"""
      \n
    | (?<=[\u3002\uff01\uff1f\u0964\u0965])        # full stops that need no space after them
    | (?: (?<=[.!?\u2026]) | (?<=[.!?\u2026]["'\u201d\u2019)\]]) )
      (?<!\b[^\W\d_]\.)                            # not after an initial, nor after "p.m."
      (?<!\b(?i:mr|ms|dr|st|rs|vs)\.)
      (?<!\b(?i:mrs|inc|ltd|tel|ext)\.)
      (?: (?<!\b(?i:no)\.) | (?!\s\d) )            # "No. 5" is a number, "no. Five" is not
      \s
    """,
    re.VERBOSE,
)


class Claim(msgspec.Struct, frozen=True, gc=False):
    """One thing that a summary says.

    `item` names it in questions and verdicts, `field` says where it stands, and `form` is the
    text under N2, by which two claims are the same.
    """

    item: str
    text: str
    field: str
    form: str


def claims(summary: JsonObject) -> tuple[Claim, ...]:
    """The purpose, each sentence of each highlight, each filled field; each once        C-60"""
    found: dict[str, Claim] = {}
    for field, text in _statements(summary):
        form = n2(text)
        if form not in found and form and form not in PLACEHOLDERS:
            found[form] = Claim(f"claim:{len(found) + 1}", text, field, form)
    return tuple(found.values())


def sentences(text: str) -> list[str]:
    """The sentences of a text; abbreviations and numbers do not end one"""
    if _MAY_BREAK.search(text) is None:
        return [text.strip()]
    return [part.strip() for part in _BREAK.split(text)]


def _statements(summary: JsonObject) -> Iterator[tuple[str, str]]:
    purpose = summary.get("call_purpose")
    if isinstance(purpose, str):
        yield "call_purpose", purpose.strip()
    highlights = summary.get("highlights")
    if isinstance(highlights, list):
        for index, highlight in enumerate(highlights):
            if isinstance(highlight, str):
                for sentence in sentences(highlight):
                    yield f"highlights[{index}]", sentence
    fields = summary.get("call_extracted_info")
    if isinstance(fields, dict):
        for name, value in fields.items():
            if not is_empty(value):
                yield f"call_extracted_info.{name}", f"{name}: {_written(value)}"


def _written(value: Any) -> str:
    """A field's value as text, so that 140, 140.0 and "140" are the same fact."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
