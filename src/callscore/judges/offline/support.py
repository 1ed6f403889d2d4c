"""Whether the call or the reference supports a claim, and what contradicts it.

A rule detects a wrong number, name, date or negation; it does not detect a wrong relation. A
finding is a suspicion, never a fabrication.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal, NamedTuple

from callscore.judges.offline.layout import plain
from callscore.judges.offline.page import Page, Passage
from callscore.judges.offline.wording import Scope, Wording
from callscore.metrics.facts.fact import Fact, unmatched_facts

Doubt = Literal[
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

WEIGHTS: dict[Doubt, float] = {
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
"""The weight of a single finding."""
WORKING_POINT = 0.65
"""Suspicion from which a claim counts as unsupported: one strong finding, or three weak ones."""
LEAST_COVERAGE = 0.1
"""A claim with a smaller share of known words is about something else; a paraphrase has more."""
FEWEST_WORDS = 4
"""With fewer content words, their share is not used."""
HALF = 0.5
MOSTLY = 0.6
NEARLY_ALL = 0.75
FEWEST_SAID = 2
REACH = 3
"""Content words on either side that are the context of an opposite."""
MOST_READ = 500
MOST_LOOKED_AT = 64
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


class Finding(NamedTuple):
    """One thing that contradicts a claim."""

    doubt: Doubt
    about: str


class Support(NamedTuple):
    """What was found about a claim; `best` is the closest passage."""

    findings: Sequence[Finding]
    coverage: float
    best: Passage | None
    is_foreign: bool = False
    """Whether hardly any of its words occur."""

    @property
    def suspicion(self) -> float:
        """1 − Π (1 − weight of a finding), 0 … 1

        Coverage is not part of it: a faithful paraphrase covers less than a copy with one word
        changed.
        """
        return 1 - math.prod(1 - WEIGHTS[finding.doubt] for finding in self.findings)

    @property
    def is_supported(self) -> bool:
        """suspicion < 0.65, and the claim is not about something else"""
        return self.suspicion < WORKING_POINT and not self.is_foreign


def support(claim: str, page: Page, lang: str | None) -> Support:
    """What the call and the reference say about a claim."""
    wording = Wording(plain(claim), lang)
    best = nearest(wording, page)
    findings = [
        *_numbers(wording, page),
        *_names(wording, page),
        *_denials(wording, page),
        *_restrictions(wording, page),
        *_opposites(wording, page),
        *_speaker(wording, page),
    ]
    covered = coverage(wording, page)
    is_foreign = covered < LEAST_COVERAGE and len(wording.matter) >= FEWEST_WORDS
    return Support(findings, covered, best, is_foreign)


def coverage(wording: Wording, page: Page) -> float:
    """content words of the claim on the page / content words of the claim, without numbers"""
    if not wording.matter:
        return 1.0
    return len(wording.matter & page.content) / len(wording.matter)


def nearest(wording: Wording, page: Page) -> Passage | None:
    """The statement with the most shared content words; turns before the reference, then the
    shortest
    """
    ranked = [
        (len(wording.content & p.wording.content), not p.is_reference, -len(p.wording.run), p)
        for p in page.statements
    ]
    best = max(ranked, key=lambda found: found[:3], default=None)
    return best[3] if best and best[0] else None


def _numbers(wording: Wording, page: Page) -> Iterator[Finding]:
    for fact in unmatched_facts(wording.facts, page.facts):
        if not _is_heard(fact, page):
            yield Finding("number", fact.text)
    for count in sorted(wording.counts - page.numbers):
        yield Finding("count", count)


def _is_heard(fact: Fact, page: Page) -> bool:
    """Whether the digits were said: without a unit, one by one, or over several turns"""
    known = page.loose_numbers if fact.kind in ("amount", "percent") else page.numbers
    written = {run.lstrip("0") for run in _DIGITS.findall(fact.text)} - {""}
    if fact.numbers <= known or (written and written <= known):
        return True
    dictated = "".join(_DIGITS.findall(fact.text))
    return len(dictated) >= SHORTEST_DICTATED and dictated in page.dictated


def _names(wording: Wording, page: Page) -> Iterator[Finding]:
    unknown = [] if wording.is_headline else sorted(wording.names - page.names)
    for name in islice(unknown, MOST_LOOKED_AT):
        if not _is_known(name, wording, page):
            yield Finding("name", name)
    for role, names in islice(wording.called, MOST_LOOKED_AT):
        if names <= page.introduced(role, own=False) - page.introduced(role, own=True):
            yield Finding("name", f"{role} {' '.join(sorted(names))}")


def _is_known(name: str, wording: Wording, page: Page) -> bool:
    """Whether it is a form, an abbreviation or a misspelling of a word on the page"""
    if name in wording.known.roles or is_misspelt(name, page.names):
        return True
    if any(name.endswith(end) and name.removesuffix(end) in page.roots for end in _NAME_ENDINGS):
        return True
    is_acronym = len(name) in ACRONYM and name.upper() in wording.words
    return is_acronym and name in page.initials


def is_misspelt(name: str, known: frozenset[str]) -> bool:
    """Whether a word is nearly one of the known words"""
    from rapidfuzz import fuzz, process

    if len(name) < SHORTEST_MISSPELT:
        return False
    found = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=NAME_LIKENESS)
    return found is not None


def _denials(wording: Wording, page: Page) -> Iterator[Finding]:
    """Every negation that no statement has; a reversal if one says the contrary"""
    for scope in islice(wording.denied, MOST_LOOKED_AT):
        if not any(_says(passage.wording.denied, passage, scope) for passage in page.statements):
            is_reversed = any(_asserts(passage, scope) for passage in page.statements)
            doubt: Doubt = "negation" if is_reversed else "unsaid negation"
            yield Finding(doubt, " ".join(sorted(scope.words)))


def _restrictions(wording: Wording, page: Page) -> Iterator[Finding]:
    """Every "only" that no statement has; a narrowing if one says it without"""
    for scope in islice(wording.restricted, MOST_LOOKED_AT):
        if not any(
            _says(passage.wording.restricted, passage, scope) for passage in page.statements
        ):
            is_narrowed = any(_asserts(passage, scope) for passage in page.statements)
            doubt: Doubt = "restriction" if is_narrowed else "unsaid restriction"
            yield Finding(doubt, " ".join(sorted(scope.words)))


def _says(own: Sequence[Scope], passage: Passage, scope: Scope) -> bool:
    """Whether the passage negates (restricts) these things; a bare "no" negates the question before
    it.
    """
    sought = scope.words
    return any(len(sought & (said.words or passage.context)) >= HALF * len(sought) for said in own)


def _asserts(passage: Passage, scope: Scope) -> bool:
    """Whether the passage has half of the words around the negation, and negates none of them"""
    shared = len(scope.around & passage.wording.content)
    if not shared or shared < HALF * len(scope.around):
        return False
    return not any(said.words & scope.around for said in passage.wording.denied)


def _opposites(wording: Wording, page: Page) -> Iterator[Finding]:
    """Words that do not occur on the page, if a statement says the same with their opposite"""
    run = wording.run
    for at, form in islice(enumerate(run), MOST_READ):
        if form in page.content:
            continue
        others = _opposites_of(form, wording) & page.content
        around = frozenset(run[max(0, at - REACH) : at + REACH + 1]) - {form} - wording.known.sides
        nearness = max((_nearness_of(p, others, around) for p in page.statements), default=0.0)
        if others and nearness >= HALF:
            yield Finding("opposite" if nearness >= NEARLY_ALL else "unsure opposite", form)


def _opposites_of(form: str, wording: Wording) -> frozenset[str]:
    bare = {form.removeprefix(prefix) for prefix in _REVERSING if form.startswith(prefix)}
    return wording.known.opposites.get(form, frozenset()) | bare


def _nearness_of(passage: Passage, others: frozenset[str], around: frozenset[str]) -> float:
    """The share of the words around a word that occur next to its opposite"""
    said = passage.wording.content
    if others.isdisjoint(said) or not around:
        return 0.0
    return len(around & said) / len(around)


def _speaker(wording: Wording, page: Page) -> Iterator[Finding]:
    """Words attributed to one side, if only the other side said something similar."""
    for role, said in islice(wording.sayings, MOST_LOOKED_AT):
        if len(said) < FEWEST_SAID:
            continue
        own = _nearness(said, (p for p in page.turns if p.role == role))
        other = _nearness(said, (p for p in page.turns if p.role not in (role, None)))
        if other > MOSTLY and own < 1 - MOSTLY:
            yield Finding("speaker", role)


def _nearness(said: frozenset[str], turns: Iterable[Passage]) -> float:
    """The greatest share of these words in one turn"""
    return max((len(said & turn.wording.content) / len(said) for turn in turns), default=0.0)
