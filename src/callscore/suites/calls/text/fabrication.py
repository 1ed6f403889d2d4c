"""Which claims of a summary are supported: by code, or by verdicts on `claim:N` (C-60).

There are two kinds of verdicts. Those without `text` are about the claims that code has split, in
order. Those with `text` bring their own claims, which replace ours; if each repeats the claim that
has its number here, they answer our questions, and the claims that code has decided still count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from callscore.core.judging import Verdict, Verdicts
from callscore.core.measure import Measure
from callscore.metrics.text import n2
from callscore.suites.calls.text.claims import Claim
from callscore.suites.calls.text.summary import find_stated, verdict_finding

FABRICATION_FREE = "text.fabrication_free"
HALLUCINATION_RATE = "text.hallucination_rate"

CLAIM_METRICS = (
    FABRICATION_FREE,
    HALLUCINATION_RATE,
    "bench.faithfulness",
    "bench.hallucination_rate",
)
"""All of them use one claim list (C-60)."""
CLAIM_PREFIX = "claim:"

FEWEST_COUNTED = 12
"""This many supported claims always count (C-136)."""

GivenClaims = Mapping[str, Sequence[Verdict]]


def claim_findings(
    claims: Sequence[Claim], known: frozenset[str], verdicts: Verdicts, flags: set[str]
) -> list[bool | None]:
    """For every claim: supported, fabricated, or None: not judged.

    A claim that the expected summary states too (`known`) is supported.
    """
    found = find_stated(known, claims)
    given = _claim_verdicts(verdicts) if verdicts else {}
    if not given:
        return found
    if not _has_text(given):
        return _match_by_order(found, given, flags)
    if not _repeat_our_claims(given, claims):
        return [verdict_finding(answers, flags) for answers in given.values()]
    return [
        verdict_finding(given.get(claim.item, ()), flags) if supported is None else supported
        for claim, supported in zip(claims, found, strict=True)
    ]


class CountedClaims(NamedTuple):
    """The claims that count: supported, fabricated or not judged; and how many are left out."""

    findings: Sequence[bool | None]
    left_out: int = 0

    def mark(self, measure: Measure) -> Measure:
        """A measure of the claims, with the number that is left out of it."""
        if not self.left_out or measure.value is None:
            return measure
        return msgspec.structs.replace(measure, left_out=self.left_out)


def limit_supported(
    found: Sequence[bool | None], reference_facts: int, factor: float, flags: set[str]
) -> CountedClaims:
    """All claims, but at most max(12, factor × reference facts) supported ones        C-136

    So that repeating the call at length cannot dilute a fabrication. The factor 0 limits nothing.
    """
    most = max(FEWEST_COUNTED, int(factor * reference_facts))
    if not factor or len(found) <= most or (supported := found.count(True)) <= most:
        return CountedClaims(found)
    flags.add("padded")
    return CountedClaims(
        [True] * most + [finding for finding in found if finding is not True], supported - most
    )


def fabricated_claims(
    claims: Sequence[Claim], known: frozenset[str], verdicts: Verdicts
) -> list[str]:
    """The claims that are not supported, as the model or the judge worded them."""
    given = _claim_verdicts(verdicts)
    texts = [claim.text for claim in claims]
    if _has_text(given) and not _repeat_our_claims(given, claims):
        texts = [next((v.text for v in of_claim if v.text), "") for of_claim in given.values()]
    found = claim_findings(claims, known, verdicts, set())
    return [text for text, supported in zip(texts, found, strict=True) if supported is False]


def _has_text(given: GivenClaims) -> bool:
    return any(verdict.text for answers in given.values() for verdict in answers)


def _claim_verdicts(verdicts: Verdicts) -> GivenClaims:
    """The verdicts on claims, in the order of their numbers."""
    given: dict[str, list[Verdict]] = {}
    for (metric, item), answers in verdicts.items():
        if metric in CLAIM_METRICS and item.startswith(CLAIM_PREFIX):
            given.setdefault(item, []).extend(answers)
    return {item: given[item] for item in sorted(given, key=_claim_number)}


def _claim_number(item: str) -> tuple[int, str]:
    """A sort key by number, without converting any number of digits to an integer."""
    digits = item.removeprefix(CLAIM_PREFIX).lstrip("0")
    return len(digits), digits


def _repeat_our_claims(given: GivenClaims, claims: Sequence[Claim]) -> bool:
    form_of = {claim.item: claim.form for claim in claims}
    return all(
        any(n2(verdict.text) == form_of.get(item) for verdict in answers)
        for item, answers in given.items()
    )


def _match_by_order(
    found: list[bool | None], given: GivenClaims, flags: set[str]
) -> list[bool | None]:
    """Verdicts on all claims, or on all that code left open; others match nothing.

    Those on open claims have the numbers of these claims, or count from 1. With a gap in the
    numbers, a verdict could be applied to the wrong claim.
    """
    numbers = range(1, len(found) + 1)
    undecided_questions = [
        f"{CLAIM_PREFIX}{n}"
        for n, supported in zip(numbers, found, strict=True)
        if supported is None
    ]
    from_one = [f"{CLAIM_PREFIX}{n}" for n in range(1, len(given) + 1)]
    if len(given) == len(found):
        answers = list(given.values())
    elif len(given) == len(undecided_questions) and list(given) in (undecided_questions, from_one):
        left = iter(given.values())
        answers = [next(left) if supported is None else () for supported in found]
    else:
        flags.add("claims_unmatched")
        return found
    return [
        verdict_finding(words, flags) if supported is None else supported
        for supported, words in zip(found, answers, strict=True)
    ]
