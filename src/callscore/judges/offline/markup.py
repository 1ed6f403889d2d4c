"""Removes Markdown, list markers and blank lines from a text."""

from __future__ import annotations

import re

from callscore.metrics.facts.lexicon import lexicon

_OPENING = re.compile(r"^[ \t]*(?:(?:[-*•–—·▪◦]|#{1,6})[ \t]+)*", re.MULTILINE)
_MARKER = re.compile(
    r"^[ \t]*(?:\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})\)|(?:\d{1,3}|[a-z]|[ivx]{1,5})[.:])"
    r"(?:[ \t]+|$)(?:([^\W\d_]+))?",
    re.MULTILINE,
)
"""The number of a line: `1.`, `2)`, `(a)`, `iv.`"""
_MARKER_INSIDE = re.compile(r"(?<=\s)\((?:\d{1,2}|[a-z]|[ivx]{1,4})\)\s")
# Bounded, and from the beginning of a run only: a flood of marks must cost no more than reading it.
_EMPHASIS = re.compile(
    r"((?<!\*)\*{1,3}|(?<!_)_{2,3}|(?<!`)`{1,3}|(?<!~)~~)(?=\S)(.{1,500}?)(?<=\S)\1"
)
_BLANK = re.compile(r"(?<!\s)\s*\n\s*")


def strip_markup(text: str) -> str:
    """The words of a text, one line each, without bullets, headings and emphasis"""
    bare = _MARKER_INSIDE.sub("", _MARKER.sub(_drop_marker, _OPENING.sub("", text)))
    return _BLANK.sub("\n", _EMPHASIS.sub(r"\2", bare)).strip()


def _drop_marker(found: re.Match[str]) -> str:
    """The line without its number; "14. April" and "3. Mai" are dates"""
    following = found[1] or ""
    return found[0] if following.casefold() in lexicon(None).months else following
