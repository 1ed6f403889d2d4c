"""Whether the call or the reference supports a claim or a reason, or contradicts it (C-37, C-39).

Rules detect a wrong number, name, date or negation; they do not detect a wrong relation. A doubt is
a suspicion, not a proof of fabrication.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from math import log
from typing import Literal, NamedTuple

from callscore.judges.offline.passages import Passage, PassageIndex
from callscore.judges.offline.text_analysis import Scope, TextAnalysis
from callscore.metrics.facts.fact import Fact, unmatched_facts
from callscore.metrics.facts.lexicon import lexicon
from callscore.metrics.text import n2

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


DoubtKind = Literal[
    "number",
    "name",
    "negation",
    "opposite",
    "restriction",
    "unsaid negation",
    "unsure opposite",
    "count",
    "unsaid restriction",
    "speaker",
]

WEIGHTS: dict[DoubtKind, float] = {
    "number": 0.9,
    "name": 0.8,
    "negation": 0.7,
    "opposite": 0.7,
    "restriction": 0.7,
    "unsaid negation": 0.4,
    "unsure opposite": 0.4,
    "count": 0.4,
    "unsaid restriction": 0.4,
    "speaker": 0.3,
}
"""The weight of a single doubt."""
WORKING_POINT = 0.65
"""Suspicion from which a claim counts as unsupported: one strong doubt, or three weak ones."""
LEAST_COVERAGE = 0.1
"""A claim with a smaller share of known words is about something else; a paraphrase has more."""
FEWEST_WORDS = 4
"""With fewer content words, their share is not used."""
# Shares of words in common. docs/judge-offline.md says what the rules are worth, and on which calls
# they were tuned.
HALF = 0.5
MOSTLY = 0.6
NEARLY_ALL = 0.75
FEWEST_SAID = 2
"""Words that are attributed to a side; a single one says too little about who spoke."""
REACH = 3
"""Content words on either side that are the context of an opposite."""
MOST_WORDS = 500
"""Words of one claim that are compared, to bound the work."""
MOST_CHECKED = 64
"""The most names, negations and quotations of one claim that are checked, to bound the work."""
SHORTEST_MISSPELT = 5
"""Letters; a shorter name with one different letter is another name."""
NAME_LIKENESS = 85.0
"""Percent; transcripts of speech misspell names."""
ACRONYM = range(3, 7)
"""Letters of an abbreviation."""
SHORTEST_DICTATED = 4
"""Digits that hardly ever occur in a row by coincidence."""
_NAME_ENDINGS = ("s", "es", "n", "an", "ian", "ians", "ese", "ish", "i", "ic")
_REVERSING = ("un", "in", "im", "ir", "dis", "non")
_DIGITS = re.compile(r"\d+")


class Doubt(NamedTuple):
    """A reason to doubt a claim."""

    kind: DoubtKind
    about: str
    """The number, name or words in doubt."""


class ClaimSupport(NamedTuple):
    """The doubts about a claim, and its closest passage."""

    doubts: Sequence[Doubt]
    coverage: float
    best: Passage | None
    is_foreign: bool = False
    """Whether hardly any of its words occur."""

    @property
    def suspicion(self) -> float:
        """1 − Π (1 − weight of a doubt), 0 … 1

        Coverage is not part of it: a faithful paraphrase covers less than a copy with one word
        changed.
        """
        return 1 - math.prod(1 - WEIGHTS[doubt.kind] for doubt in self.doubts)

    @property
    def is_supported(self) -> bool:
        """suspicion < 0.65, and the claim is not about something else"""
        return self.suspicion < WORKING_POINT and not self.is_foreign


def check_support(claim: str, index: PassageIndex, lang: str | None) -> ClaimSupport:
    """Compare a claim with the call and the reference."""
    analysis = TextAnalysis(strip_markup(claim), lang)
    best = closest_passage(analysis, index)
    doubts = [
        *_number_doubts(analysis, index),
        *_name_doubts(analysis, index),
        *_scope_doubts(analysis, index),
        *_opposite_doubts(analysis, index),
        *_speaker_doubts(analysis, index),
    ]
    covered = coverage(analysis, index)
    is_foreign = covered < LEAST_COVERAGE and len(analysis.topic_words) >= FEWEST_WORDS
    return ClaimSupport(doubts, covered, best, is_foreign)


def coverage(analysis: TextAnalysis, index: PassageIndex) -> float:
    """content words of the claim that occur / content words of the claim, without numbers"""
    if not analysis.topic_words:
        return 1.0
    return len(analysis.topic_words & index.content) / len(analysis.topic_words)


def closest_passage(analysis: TextAnalysis, index: PassageIndex) -> Passage | None:
    """The statement with the most shared content words; turns before the reference, then the
    shortest
    """
    ranked = [
        (
            len(analysis.content & p.analysis.content),
            not p.is_reference,
            -len(p.analysis.ordered_stems),
            p,
        )
        for p in index.statements
    ]
    best = max(ranked, key=lambda found: found[:3], default=None)
    return best[3] if best and best[0] else None


def _number_doubts(analysis: TextAnalysis, index: PassageIndex) -> Iterator[Doubt]:
    for fact in unmatched_facts(analysis.facts, index.facts):
        if not _was_said(fact, index):
            yield Doubt("number", fact.text)
    for count in sorted(analysis.counts - index.numbers):
        yield Doubt("count", count)


def _was_said(fact: Fact, index: PassageIndex) -> bool:
    """Whether the digits were said: without a unit, one by one, or over several turns"""
    known = index.loose_numbers if fact.kind in ("amount", "percent") else index.numbers
    written = {run.lstrip("0") for run in _DIGITS.findall(fact.text)} - {""}
    if fact.numbers <= known or (written and written <= known):
        return True
    dictated = "".join(_DIGITS.findall(fact.text))
    return len(dictated) >= SHORTEST_DICTATED and dictated in index.digit_sequence


def _name_doubts(analysis: TextAnalysis, index: PassageIndex) -> Iterator[Doubt]:
    unknown = [] if analysis.is_headline else sorted(analysis.names - index.names)
    for name in islice(unknown, MOST_CHECKED):
        if not _is_known(name, analysis, index):
            yield Doubt("name", name)
    for role, names in islice(analysis.names_by_role, MOST_CHECKED):
        if names <= index.introduced_names(role, own=False) - index.introduced_names(
            role, own=True
        ):
            yield Doubt("name", f"{role} {' '.join(sorted(names))}")


def _is_known(name: str, analysis: TextAnalysis, index: PassageIndex) -> bool:
    """Whether it is a form, an abbreviation or a misspelling of a word that occurs"""
    if name in analysis.word_lists.roles or is_misspelt(name, index.names):
        return True
    if any(name.endswith(end) and name.removesuffix(end) in index.roots for end in _NAME_ENDINGS):
        return True
    is_acronym = len(name) in ACRONYM and name.upper() in analysis.words
    return is_acronym and name in index.initials


def is_misspelt(name: str, known: frozenset[str]) -> bool:
    """Whether a word is nearly one of the known words"""
    from rapidfuzz import fuzz, process

    if len(name) < SHORTEST_MISSPELT:
        return False
    found = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=NAME_LIKENESS)
    return found is not None


ScopesOf = Callable[[TextAnalysis], Sequence[Scope]]
_SCOPES: Sequence[tuple[DoubtKind, DoubtKind, ScopesOf]] = (
    ("negation", "unsaid negation", lambda analysis: analysis.negations),
    ("restriction", "unsaid restriction", lambda analysis: analysis.restrictions),
)


def _scope_doubts(analysis: TextAnalysis, index: PassageIndex) -> Iterator[Doubt]:
    """Every negation and every "only" that no statement has; a strong doubt if one says the
    contrary, or the same without it
    """
    for strong, weak, scopes_of in _SCOPES:
        for scope in islice(scopes_of(analysis), MOST_CHECKED):
            if not any(
                _says(scopes_of(passage.analysis), passage, scope) for passage in index.statements
            ):
                is_contrary = any(_asserts(passage, scope) for passage in index.statements)
                kind = strong if is_contrary else weak
                yield Doubt(kind, " ".join(sorted(scope.words)))


def _says(own: Sequence[Scope], passage: Passage, scope: Scope) -> bool:
    """Whether the passage negates (restricts) these words; a bare "no" negates the question before
    it.
    """
    sought = scope.words
    return any(len(sought & (said.words or passage.context)) >= HALF * len(sought) for said in own)


def _asserts(passage: Passage, scope: Scope) -> bool:
    """Whether the passage has half of the words around the negation, and negates none of them"""
    shared = len(scope.around & passage.analysis.content)
    if not shared or shared < HALF * len(scope.around):
        return False
    return not any(said.words & scope.around for said in passage.analysis.negations)


def _opposite_doubts(analysis: TextAnalysis, index: PassageIndex) -> Iterator[Doubt]:
    """Words that do not occur, if a statement says the same with their opposite"""
    run = analysis.ordered_stems
    for at, form in islice(enumerate(run), MOST_WORDS):
        if form in index.content:
            continue
        others = _opposites_of(form, analysis) & index.content
        around = (
            frozenset(run[max(0, at - REACH) : at + REACH + 1]) - {form} - analysis.word_lists.sides
        )
        nearness = max((_nearness_of(p, others, around) for p in index.statements), default=0.0)
        if others and nearness >= HALF:
            yield Doubt("opposite" if nearness >= NEARLY_ALL else "unsure opposite", form)


def _opposites_of(form: str, analysis: TextAnalysis) -> frozenset[str]:
    bare = {form.removeprefix(prefix) for prefix in _REVERSING if form.startswith(prefix)}
    return analysis.word_lists.opposites.get(form, frozenset()) | bare


def _nearness_of(passage: Passage, others: frozenset[str], around: frozenset[str]) -> float:
    """The share of the words around a word that occur next to its opposite"""
    said = passage.analysis.content
    if others.isdisjoint(said) or not around:
        return 0.0
    return len(around & said) / len(around)


def _speaker_doubts(analysis: TextAnalysis, index: PassageIndex) -> Iterator[Doubt]:
    """Words attributed to one side, if only the other side said something similar."""
    for role, said in islice(analysis.attributions, MOST_CHECKED):
        if len(said) < FEWEST_SAID:
            continue
        own = _nearness(said, (p for p in index.turns if p.role == role))
        other = _nearness(said, (p for p in index.turns if p.role not in (role, None)))
        if other > MOSTLY and own < 1 - MOSTLY:
            yield Doubt("speaker", role)


def _nearness(said: frozenset[str], turns: Iterable[Passage]) -> float:
    """The greatest share of these words in one turn"""
    return max((len(said & turn.analysis.content) / len(said) for turn in turns), default=0.0)


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
