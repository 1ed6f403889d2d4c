"""The offline judge beside word overlap: who finds the summaries that people call inconsistent?"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bench.labelled import auroc, interval, labelled
from callscore.core.case import Turn
from callscore.core.judging import Dossier
from callscore.judges.offline.page import page
from callscore.judges.offline.support import coverage, support
from callscore.judges.offline.wording import Wording
from callscore.suites.calls.sentences import sentences


class Estimate(NamedTuple):
    """One summary: the call it is of, the verdict of people, and what rules make of it."""

    call: str
    is_bad: bool
    suspicion: float
    uncovered: float
    is_accused: bool


def main() -> None:
    for name in ("salescall", "qmsum"):
        cases = labelled(f"summary_judge_summedits_{name}.jsonl")
        for with_reference in (False, True) if cases else ():
            _report(name, with_reference, cases or ())


def estimate(case: Any, with_reference: bool) -> Estimate:
    """What the rules say about one summary, claim by claim; the most suspect claim decides."""
    turns = [Turn(turn["text"], turn["id"], turn["speaker"]) for turn in case["transcript"]]
    reference = case["expected_outcome"] if with_reference else {}
    read = page(Dossier("text", turns, {}, reference, [], case["lang"]))
    summary = case["model_output"]["summary"]
    found = [support(claim, read, case["lang"]) for claim in sentences(summary)]
    return Estimate(
        json.dumps(case["transcript"]),
        not case["human"]["consistent"],
        max(one.suspicion for one in found),
        1 - coverage(Wording(summary, case["lang"]), read),
        any(not one.is_supported for one in found),
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


def _report(name: str, with_reference: bool, cases: Sequence[Any]) -> None:
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
