"""Intent, highlights, fields and claims of a summary, by code and by verdicts (C-54 … C-60).

There are two kinds of verdicts on claims. Those without `text` are about the claims that code has
split, in order. Those with `text` bring their own claims, which replace ours; if each repeats the
claim that has its number here, they answer our questions, and the claims that code has decided
still count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from callscore.core.judging import Item, Verdict, Verdicts
from callscore.core.measure import Measure
from callscore.metrics.payment_cards import card_leaks
from callscore.metrics.text import n2
from callscore.suites.calls.items import is_empty, verdict_words
from callscore.suites.calls.text.claims import Claim
from callscore.suites.calls.text.reference import TextReference

CALL_INTENT = "text.call_intent"
HIGHLIGHT_RECALL = "text.highlight_recall"
HIGHLIGHT_CORRECTNESS = "text.highlight_correctness"

PURPOSE = "call_purpose"
OTHER_GOAL = "call_purpose:other_goal"
INTENT_POINTS: Mapping[str, float] = {"same": 1.0, "same_domain_incomplete": 0.5, "different": 0.0}
WITH_ANOTHER_GOAL = 0.5
"""The most points of a purpose that names the right intent and a wrong one (C-54)."""
FEWEST_DIGITS = 3
"""The fewest digits of a security code."""
COUNTING = frozenset({"stated", "supported_by_transcript", "supported_by_reference"})
"""The verdicts in favour of the model; all others, and abstaining, count against it."""


class Highlights(msgspec.Struct, frozen=True, gc=False):
    """The model's highlights: the texts, and how many are not text."""

    texts: Sequence[Claim]
    not_text: int


NO_HIGHLIGHTS = Highlights((), 0)


def read_highlights(given: Sequence[Any], flags: set[str]) -> Highlights:
    """The highlights of a reply; empty ones are dropped, those that are not text are wrong."""
    texts: list[Claim] = []
    not_text = 0
    for index, text in enumerate(given):
        if not isinstance(text, str):
            flags.add("bad_scalar")
            not_text += 1
        elif is_empty(text):
            flags.add("empty_highlight")
        else:
            item = f"highlights[{index}]"
            texts.append(Claim(item, text, item, n2(text)))
    return Highlights(texts, not_text)


def intent_by_code(expected: str, given: object) -> float | None:
    """1 if equal under N2, 0 if empty or not text, else None        C-54"""
    if not isinstance(given, str):
        return 0.0
    if given == expected or n2(given) == n2(expected):
        return 1.0
    return 0.0 if is_empty(given) else None


def intent_by_verdicts(verdicts: Verdicts, flags: set[str]) -> float | None:
    """The lowest points given, at most 0.5 with another goal; None without verdicts        C-54"""
    given = (
        *verdicts.get(Item(CALL_INTENT, PURPOSE), ()),
        *verdicts.get(Item(CALL_INTENT, OTHER_GOAL), ()),
    )
    words = verdict_words(given, flags)
    points = [INTENT_POINTS[word] for word in words if word in INTENT_POINTS]
    points += [v.value for v in given if v.value is not None and v.value in INTENT_POINTS.values()]
    if not points:
        return None
    return min([*points, WITH_ANOTHER_GOAL] if "yes" in words else points)


def capture_findings(reference: TextReference, given: Highlights) -> list[bool | None]:
    """For every expected highlight: do the model's highlights state it?        C-55"""
    if not given.texts:
        return [False] * len(reference.highlights)
    forms: set[str] = set()
    for highlight in given.texts:
        forms.add(highlight.form)
    return find_stated(forms, reference.highlights)


def find_stated(forms: Collection[str], statements: Sequence[Claim]) -> list[bool | None]:
    """True for each statement whose form is among these; None if only a judge can decide"""
    found: list[bool | None] = []
    for statement in statements:
        found.append(True if statement.form in forms else None)
    return found


def filled_fields(reference: TextReference, info: Mapping[str, Any]) -> list[bool]:
    """For every required field: is it present and not empty?        C-58, C-59"""
    return [not is_empty(info.get(name)) for name in reference.required_fields]


def apply_verdicts(
    metric: str,
    statements: Sequence[Claim],
    found: list[bool | None],
    verdicts: Verdicts,
    flags: set[str],
) -> list[bool | None]:
    """The findings of code, completed by verdicts."""
    if not verdicts or None not in found:
        return found
    return [
        verdict_finding(verdicts.get(Item(metric, statement.item), ()), flags)
        if supported is None
        else supported
        for statement, supported in zip(statements, found, strict=True)
    ]


def verdict_finding(given: Sequence[Verdict], flags: set[str]) -> bool | None:
    """Whether all verdicts on an item are in its favour; None if there is none."""
    words = verdict_words(given, flags)
    return COUNTING.issuperset(words) if words else None


def card_data_flags(given: Mapping[str, Any]) -> Sequence[str]:
    """Flags for card numbers and security codes that a summary repeats; no metric counts them."""
    text = "\n".join(_strings(given))
    if sum(map(text.count, "0123456789")) < FEWEST_DIGITS:
        return ()
    return card_leaks(text)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


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
