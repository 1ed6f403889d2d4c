"""The offline judge against people's verdicts on real summaries, on calls no rule was shaped on.

`docs/judge-offline.md` has the numbers; here they are held with a margin.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

import pytest
from scipy.stats import mannwhitneyu

from callscore.core.case import Turn
from callscore.core.judging import JudgeRequest
from callscore.judges.offline.passages import PassageIndex, index_passages
from callscore.judges.offline.support import check_support, coverage
from callscore.judges.offline.text_analysis import TextAnalysis
from callscore.suites.calls.structure import split_sentences
from callscore.suites.calls.text.claims import claims
from shared_cases import shared_cases

MOST_ACCUSED = 0.2
"""Of the summaries that people call consistent."""


class Estimate(NamedTuple):
    is_bad: bool
    suspicion: float
    uncovered: float
    is_accused: bool


def is_held_out(case: Mapping[str, Any]) -> bool:
    call = json.dumps(case["transcript"], sort_keys=True).encode()
    return int(sha256(call).hexdigest(), 16) % 2 == 0


def read(case: Mapping[str, Any], reference: Mapping[str, Any]) -> PassageIndex:
    """The page of a call; many summaries are of one call, which is read once."""
    return _read(json.dumps(case["transcript"]), json.dumps(reference))


@lru_cache(maxsize=200)
def _read(transcript: str, reference: str) -> PassageIndex:
    turns = [Turn(turn["text"], turn["id"], turn["speaker"]) for turn in json.loads(transcript)]
    return index_passages(JudgeRequest("text", turns, {}, json.loads(reference), [], "en"))


def estimate(case: Mapping[str, Any], with_reference: bool) -> Estimate:
    known = read(case, case["expected_outcome"] if with_reference else {})
    summary = case["model_output"]["summary"]
    found = [check_support(claim, known, "en") for claim in split_sentences(summary)]
    return Estimate(
        not case["human"]["consistent"],
        max(one.suspicion for one in found),
        1 - coverage(TextAnalysis(summary, "en"), known),
        any(not one.is_supported for one in found),
    )


def auroc(found: Sequence[Estimate], field: str) -> float:
    bad = [getattr(one, field) for one in found if one.is_bad]
    good = [getattr(one, field) for one in found if not one.is_bad]
    return float(mannwhitneyu(bad, good).statistic) / (len(bad) * len(good))


@pytest.mark.parametrize("with_reference", [False, True])
@pytest.mark.parametrize(
    ("name", "held_out", "at_least"),
    [
        ("salescall", True, 0.75),
        ("salescall", False, 0.75),
        ("qmsum", True, 0.65),
        ("qmsum", False, 0.6),
    ],
)
def test_it_finds_inconsistent_summaries_and_accuses_few_consistent_ones(
    name: str, held_out: bool, at_least: float, with_reference: bool
) -> None:
    cases = shared_cases(f"summary_judge_summedits_{name}.jsonl")
    found = [estimate(c, with_reference) for c in cases if is_held_out(c) is held_out]
    good = [one for one in found if not one.is_bad]
    assert auroc(found, "suspicion") >= at_least
    assert auroc(found, "suspicion") > auroc(found, "uncovered") + 0.1
    assert sum(one.is_accused for one in good) <= MOST_ACCUSED * len(good)


def test_right_claims_about_spoken_numbers_are_not_accused() -> None:
    """What the customer and the agent said in words, the human's summary has in digits."""
    told = accused = 0
    for case in shared_cases("text_harper.jsonl"):
        known = read(case, {})
        for claim in claims(case["expected_outcome"]["summary"]):
            told += 1
            accused += not check_support(known.without_field(claim.text), known, "en").is_supported
    assert told > 1000
    assert accused <= 0.01 * told
