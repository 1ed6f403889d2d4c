"""Text without its layout: marks of Markdown and blank lines say nothing."""

from __future__ import annotations

import re

_OPENING = re.compile(r"^[ \t]*(?:(?:[-*•]|#{1,6})[ \t]+)*", re.MULTILINE)
"""Numbers stay: "14. April" is no list."""
# Bounded, and from the beginning of a run only: a flood of marks must cost no more than reading it.
_EMPHASIS = re.compile(
    r"((?<!\*)\*{1,3}|(?<!_)_{2,3}|(?<!`)`{1,3}|(?<!~)~~)(?=\S)(.{1,500}?)(?<=\S)\1"
)
_BLANK = re.compile(r"(?<!\s)\s*\n\s*")


def plain(text: str) -> str:
    """The words of a text, one line each; bullets, headings and emphasis taken off"""
    bare = _OPENING.sub("", text)
    return _BLANK.sub("\n", _EMPHASIS.sub(r"\2", bare)).strip()
