"""The offline judge: which summaries does it accuse, and what did people say of them?"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from bench.labelled import auroc, interval, labelled, part
from callscore.core.case import Turn
from callscore.core.judging import JudgeRequest
from callscore.judges.offline.passages import PassageIndex, index_passages
from callscore.judges.offline.support import check_support, coverage
from callscore.judges.offline.text_analysis import TextAnalysis
from callscore.suites.calls.structure import split_sentences
from callscore.suites.calls.text.claims import claims

PARTS = ("tuning", "held-out")
_DIGIT = re.compile(r"\d")


class Estimate(NamedTuple):
    """One summary: the call it is of, the verdict of people, and what rules make of it."""

    call: str
    is_bad: bool
    suspicion: float
    uncovered: float
    is_accused: bool


def main() -> None:
    for name in ("salescall", "qmsum"):
        cases = labelled(f"summary_judge_summedits_{name}.jsonl") or []
        for chosen in PARTS if cases else ():
            for with_reference in (False, True):
                own = [case for case in cases if part(case) == chosen]
                _report(f"{name}, {chosen}", with_reference, own)
    spoken = labelled("text_harper.jsonl") or []
    for chosen in PARTS if spoken else ():
        _report_spoken(chosen, [case for case in spoken if part(case) == chosen])


def read(case: Mapping[str, Any], reference: Mapping[str, Any]) -> PassageIndex:
    """The call of a case, and what is expected, as the judge reads them"""
    turns = [Turn(turn["text"], turn["id"], turn["speaker"]) for turn in case["transcript"]]
    return index_passages(JudgeRequest("text", turns, {}, reference, [], case["lang"]))


def estimate(case: Mapping[str, Any], with_reference: bool) -> Estimate:
    """What the rules say about one summary, claim by claim; the most suspect claim decides"""
    known = read(case, case["expected_outcome"] if with_reference else {})
    summary = case["model_output"]["summary"]
    found = [check_support(claim, known, case["lang"]) for claim in split_sentences(summary)]
    return Estimate(
        json.dumps(case["transcript"]),
        not case["human"]["consistent"],
        max(one.suspicion for one in found),
        1 - coverage(TextAnalysis(summary, case["lang"]), known),
        any(not one.is_supported for one in found),
    )


def accused_claims(case: Mapping[str, Any]) -> tuple[int, int, int, int]:
    """Of a human's summary of a spoken call: claims, accused; with one digit changed, accused"""
    known = read(case, {})
    texts = [known.without_field(one.text) for one in claims(case["expected_outcome"]["summary"])]
    wrong = [_misread(text, Random(text)) for text in texts if _DIGIT.search(text)]
    return (
        len(texts),
        sum(not check_support(text, known, case["lang"]).is_supported for text in texts),
        len(wrong),
        sum(not check_support(text, known, case["lang"]).is_supported for text in wrong),
    )


def within_calls(estimates: Sequence[Estimate], value: Callable[[Estimate], float]) -> float:
    """AUROC over pairs of the same call only: which call it is cannot help."""
    total, weight = 0.0, 0
    for call in {one.call for one in estimates}:
        own = [one for one in estimates if one.call == call]
        found = auroc([value(one) for one in own], [one.is_bad for one in own])
        pairs = sum(one.is_bad for one in own) * sum(not one.is_bad for one in own)
        if not math.isnan(found):
            total, weight = total + found * pairs, weight + pairs
    return total / weight if weight else float("nan")


def _misread(text: str, random: Random) -> str:
    """The text with one digit changed"""
    at = random.choice([found.start() for found in _DIGIT.finditer(text)])
    other = random.choice([digit for digit in "123456789" if digit != text[at]])
    return text[:at] + other + text[at + 1 :]


def _report_spoken(name: str, cases: Sequence[Mapping[str, Any]]) -> None:
    found = [accused_claims(case) for case in cases]
    told, accused, wrong, seen = (sum(row[column] for row in found) for column in range(4))
    print(f"spoken calls, {name}: {len(cases)} calls with a human's summary, numbers in words")
    print(
        f"  {accused} of {told} right claims accused, in {sum(bool(row[1]) for row in found)} calls"
    )
    print(f"  {seen} of {wrong} claims with one digit changed accused")


def _report(name: str, with_reference: bool, cases: Sequence[Mapping[str, Any]]) -> None:
    start = time.process_time()
    found = [estimate(case, with_reference) for case in cases]
    spent = 1000 * (time.process_time() - start) / len(found)
    calls = sorted({one.call for one in found})
    groups = [[i for i, one in enumerate(found) if one.call == call] for call in calls]
    given = "with" if with_reference else "without"
    bad = sum(one.is_bad for one in found)
    print(f"{name}, {given} the reference: {len(found)} summaries of {len(calls)} calls")
    print(f"  {bad} inconsistent; {spent:.1f} ms CPU each")
    for label, value in (
        ("offline judge", lambda e: e.suspicion),
        ("word overlap", lambda e: e.uncovered),
    ):
        _line(label, found, value, groups)
    accused = [one.is_bad for one in found if one.is_accused]
    good = sum(not one.is_bad for one in found)
    print(
        f"  as verdicts: {sum(accused)} of {len(found) - good} inconsistent ones accused, "
        f"{len(accused) - sum(accused)} of {good} consistent ones accused, too"
    )


def _line(
    label: str,
    found: Sequence[Estimate],
    value: Callable[[Estimate], float],
    groups: Sequence[Sequence[int]],
) -> None:
    def area(chosen: Sequence[int]) -> float:
        return auroc([value(found[i]) for i in chosen], [found[i].is_bad for i in chosen])

    low, high = interval(area, groups)
    print(
        f"  {label:14} AUROC {area(range(len(found))):.3f} [{low:.2f}, {high:.2f}]"
        f"   within calls {within_calls(found, value):.3f}"
    )
