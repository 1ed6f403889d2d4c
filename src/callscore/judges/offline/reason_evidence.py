"""Whether a reason refers to something that was said, and says it correctly (C-37, C-39)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from math import log
from typing import NamedTuple

from callscore.judges.offline.claim_support import check_support, is_misspelt
from callscore.judges.offline.passages import Passage, PassageIndex
from callscore.judges.offline.text_analysis import TextAnalysis
from callscore.metrics.text import n2

SHARED_RUN = 3
"""The number of consecutive content words that do not occur twice by coincidence."""
LEAST_OVERLAP = 0.5
"""The share of the content words of a reason, by rarity, that one turn must have."""
QUOTE_LIKENESS = 90.0
"""Percent; quotes are often tidied up."""
_QUOTED = re.compile(r"[\"“«„]([^\"“”«»„]{2,300})[\"”»“]|(?<!\w)['‘]([^'‘’]{2,300})['’](?!\w)")
_TIME = re.compile(r"\b(?:(\d{1,3}):)?(\d{1,3}):(\d{2})\b")


class ReasonVerdict(NamedTuple):
    """The verdict on a reason and the turn that supports it."""

    verdict: str
    turn: Passage | None = None


VAGUE = ReasonVerdict("vague")


def judge_reason(reason: str, index: PassageIndex, lang: str | None) -> ReasonVerdict:
    """as_described: a quote or three consecutive content words occur; differs: half of a turn;
    else vague

    A wrong time, number or name, or an inexact quote, is `differs`; a quote that does not occur is
    `absent`.
    """
    analysis = TextAnalysis(reason, lang)
    quotes = [quote for quote in _quotes(reason) if " " in quote.strip()]
    quoted = _quoted_turn(quotes, index)
    turn = quoted or _turn_with_run(analysis, index.turns)
    if turn is not None:
        is_misquoted = bool(quotes) and quoted is None
        is_right = not is_misquoted and _is_right(reason, turn, index, lang)
        return ReasonVerdict("as_described" if is_right else "differs", turn)
    if quotes:
        return ReasonVerdict("absent")
    near = overlapping_turn(analysis, index.turns)
    return ReasonVerdict("differs", near) if near else VAGUE


def overlapping_turn(analysis: TextAnalysis, turns: Sequence[Passage]) -> Passage | None:
    """The turn with at least half of the content words, rare ones weighing most"""
    weights = {form: _rarity(form, turns) for form in analysis.content}
    total = math.fsum(weights.values())
    if not total:
        return None
    shares = [
        (
            math.fsum(weights[form] for form in analysis.content & turn.analysis.content) / total,
            turn,
        )
        for turn in turns
    ]
    share, best = max(shares, key=lambda found: found[0], default=(0.0, None))
    return best if share >= LEAST_OVERLAP else None


def has_shared_run(one: TextAnalysis, other: TextAnalysis) -> bool:
    """Whether three consecutive content words occur in both"""
    return not _runs(one).isdisjoint(_runs(other))


def _rarity(form: str, turns: Sequence[Passage]) -> float:
    """log(1 + N / (1 + turns with the word))"""
    number = sum(form in turn.analysis.content for turn in turns)
    return log(1 + len(turns) / (1 + number))


def _runs(analysis: TextAnalysis) -> set[tuple[str, ...]]:
    run = analysis.ordered_stems
    return {tuple(run[at : at + SHARED_RUN]) for at in range(len(run) - SHARED_RUN + 1)}


def _quotes(reason: str) -> Iterator[str]:
    return (double or single for double, single in _QUOTED.findall(reason))


def _quoted_turn(quotes: Sequence[str], index: PassageIndex) -> Passage | None:
    from rapidfuzz import fuzz

    for quote in map(n2, quotes):
        for turn in index.turns:
            said = n2(turn.analysis.text)
            if quote in said:
                return turn
            likeness = fuzz.partial_ratio(quote, said, score_cutoff=QUOTE_LIKENESS)
            if len(said) >= len(quote) and likeness and _has_no_other_word(quote, turn):
                return turn
    return None


def _has_no_other_word(quote: str, turn: Passage) -> bool:
    """Whether a tidied quote differs from the turn in spelling only."""
    said = frozenset(word.casefold() for word in turn.analysis.words)
    quoted = {word.casefold() for word in TextAnalysis(quote, turn.analysis.lang).content_words}
    return all(is_misspelt(word, said) for word in quoted - said)


def _turn_with_run(analysis: TextAnalysis, turns: Sequence[Passage]) -> Passage | None:
    sought = _runs(analysis)
    if not sought:
        return None
    return next((turn for turn in turns if not sought.isdisjoint(_runs(turn.analysis))), None)


def _is_right(reason: str, turn: Passage, index: PassageIndex, lang: str | None) -> bool:
    """Whether the time, numbers and names of the reason agree with the call."""
    times = [_seconds(*found) for found in _TIME.findall(reason)]
    if times and turn.start is not None:
        return any(abs(time - turn.start) <= index.tolerance_s for time in times)
    untimed = _TIME.sub("", reason)
    found = check_support(untimed, index, lang).doubts
    return not any(doubt.kind in ("number", "name") for doubt in found)


def _seconds(hours: str, minutes: str, seconds: str) -> float:
    return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
