"""Whether a claim is supported by the call or the reference: what speaks against it, and how much.

A rule sees a wrong number, name, date or "not"; it does not see a wrong relation. What it finds
is a suspicion, never a fabrication.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from callscore.judges.offline.page import Page, Passage
from callscore.judges.offline.wording import Wording
from callscore.metrics.facts.fact import unmatched

Doubt = Literal["number", "name", "negation", "opposite", "restriction", "speaker"]

WEIGHTS: dict[Doubt, float] = {
    "number": 0.9,
    "name": 0.8,
    "negation": 0.7,
    "opposite": 0.6,
    "restriction": 0.4,
    "speaker": 0.3,
}
"""How sure a single finding makes us; set by hand before anything was measured."""
DECISIVE: frozenset[Doubt] = frozenset({"number", "name", "negation", "opposite"})
LEAST_COVERAGE = 0.6
LIKE_ENOUGH = 0.5
FEWEST_SAID = 2
SHORTEST_MISSPELT = 5
"""Letters; a shorter name is another name where one letter differs."""
NAME_LIKENESS = 85.0
"""Percent; transcripts of speech misspell names."""
_REVERSING = ("un", "in", "im", "ir", "dis", "non")


class Finding(NamedTuple):
    """One thing that speaks against a claim."""

    doubt: Doubt
    about: str


class Support(NamedTuple):
    """What was found about a claim; `best` is the passage nearest to it."""

    findings: Sequence[Finding]
    coverage: float
    best: Passage | None

    @property
    def suspicion(self) -> float:
        """1 − Π (1 − weight of a finding), 0 … 1

        Coverage stays out: a faithful paraphrase covers less than a copy with one word turned.
        """
        return 1 - math.prod(1 - WEIGHTS[finding.doubt] for finding in self.findings)

    @property
    def is_supported(self) -> bool:
        """Every number, date and name is there, nothing reversed, coverage ≥ 0.6"""
        return self.coverage >= LEAST_COVERAGE and not any(
            finding.doubt in DECISIVE for finding in self.findings
        )


def support(claim: str, page: Page, lang: str | None) -> Support:
    """What the call and the reference say about a claim."""
    wording = Wording(claim, lang)
    best = nearest(wording, page)
    findings = [
        *_numbers(wording, page),
        *_names(wording, page),
        *_scopes("negation", wording, page),
        *_scopes("restriction", wording, page),
        *_opposites(wording, page, best),
        *_speaker(wording, page),
    ]
    return Support(findings, coverage(wording, page), best)


def coverage(wording: Wording, page: Page) -> float:
    """content words of the claim that are on the page / content words of the claim"""
    if not wording.content:
        return 1.0
    return len(wording.content & page.content) / len(wording.content)


def nearest(wording: Wording, page: Page) -> Passage | None:
    """The passage that shares most content words; a turn before a reference, then the shortest"""
    ranked = [
        (len(wording.content & p.wording.content), is_turn, -len(p.wording.run), p)
        for is_turn, passages in ((1, page.turns), (0, page.reference))
        for p in passages
    ]
    best = max(ranked, key=lambda found: found[:3], default=None)
    return best[3] if best and best[0] else None


def _numbers(wording: Wording, page: Page) -> Iterator[Finding]:
    for fact in unmatched(wording.facts, page.facts):
        if not fact.numbers <= page.numbers or fact.kind in ("amount", "percent"):
            yield Finding("number", fact.text)
    for count in sorted(wording.counts - page.numbers):
        yield Finding("number", count)


def _names(wording: Wording, page: Page) -> Iterator[Finding]:
    for name in sorted(wording.names - page.names):
        if not is_misspelt(name, page.names):
            yield Finding("name", name)
    for role, names in wording.called:
        if names <= page.introduced(role, own=False) - page.introduced(role, own=True):
            yield Finding("name", f"{role} {' '.join(sorted(names))}")


def is_misspelt(name: str, known: frozenset[str]) -> bool:
    """Whether a word is nearly one of those known"""
    from rapidfuzz import fuzz, process

    if len(name) < SHORTEST_MISSPELT:
        return False
    found = process.extractOne(name, known, scorer=fuzz.ratio, score_cutoff=NAME_LIKENESS)
    return found is not None


def _scopes(kind: Literal["negation", "restriction"], w: Wording, page: Page) -> Iterator[Finding]:
    """Every "not" or "only" that no passage says of the same things."""
    for scope in w.denied if kind == "negation" else w.restricted:
        if not any(_says(kind, passage, scope) for passage in page.passages):
            yield Finding(kind, " ".join(sorted(scope)))


def _says(kind: str, passage: Passage, scope: frozenset[str]) -> bool:
    """Whether the passage denies (restricts) these things; a bare "no" denies what was asked."""
    own = passage.wording.denied if kind == "negation" else passage.wording.restricted
    return any(len(scope & (said or passage.context)) >= LIKE_ENOUGH * len(scope) for said in own)


def _opposites(wording: Wording, page: Page, best: Passage | None) -> Iterator[Finding]:
    """Words that are nowhere on the page, though the passage nearest to them has their opposite."""
    near = best.near if best else frozenset()
    for form in sorted(wording.content - page.content):
        others = wording.known.opposites.get(form, frozenset())
        bare = {form.removeprefix(prefix) for prefix in _REVERSING if form.startswith(prefix)}
        if (others | bare) & near:
            yield Finding("opposite", form)


def _speaker(wording: Wording, page: Page) -> Iterator[Finding]:
    """Words put into the mouth of one side, where only the other side comes near them."""
    for role, said in wording.sayings:
        if len(said) < FEWEST_SAID:
            continue
        own = _nearness(said, (p for p in page.turns if p.role == role))
        other = _nearness(said, (p for p in page.turns if p.role not in (role, None)))
        if other > LEAST_COVERAGE and own < 1 - LEAST_COVERAGE:
            yield Finding("speaker", role)


def _nearness(said: frozenset[str], turns: Iterable[Passage]) -> float:
    """The greatest share of these words in one turn"""
    return max((len(said & turn.wording.content) / len(said) for turn in turns), default=0.0)
