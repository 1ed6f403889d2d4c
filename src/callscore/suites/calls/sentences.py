"""Where a sentence ends, in the languages of calls."""

from __future__ import annotations

import re

from callscore.core.lazy_regex import lazy_regex

_MARK = re.compile(r"[.!?\u2026\n\u3002\uff01\uff1f\u0964\u0965]")
_MAY_BREAK = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]?\s|[\n\u3002\uff01\uff1f\u0964\u0965]")
_BREAK = lazy_regex(
    r"""
      \n
    | (?<=[\u3002\uff01\uff1f\u0964\u0965])        # full stops that need no space after them
    | (?: (?<=[.!?\u2026]) | (?<=[.!?\u2026]["'\u201d\u2019)\]]) )
      (?<!\b[^\W\d_]\.)                            # not after an initial, nor after "p.m."
      (?<!\b(?i:mr|ms|dr|st|rs|vs)\.)
      (?<!\b(?i:mrs|inc|ltd|tel|ext)\.)
      (?<!\A\d\.)(?<!\A\d\d\.)(?<!\n\d\.)(?<!\n\d\d\.)      # "1." numbers the line
      (?<![.!?:;]\s\d\.)(?<![.!?:;]\s\d\d\.)            # "First. 2. Second."
      (?: (?<!\b(?i:no)\.) | (?!\s\d) )            # "No. 5" is a number, "no. Five" is not
      \s
    """,
    re.VERBOSE,
)


def split_sentences(text: str) -> list[str]:
    """The sentences of a text; abbreviations and numbers do not end one"""
    mark = _MARK.search(text)
    if mark is None or _MAY_BREAK.search(text, mark.start()) is None:
        return [text.strip()]
    return [part.strip() for part in _BREAK.split(text)]
