"""The suspicion of the offline judge against people's verdicts on real summaries (SummEdits)."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import mannwhitneyu

from callscore.core.case import Turn
from callscore.core.judging import Dossier
from callscore.judges.offline.page import page
from callscore.judges.offline.support import coverage, support
from callscore.judges.offline.wording import Wording
from callscore.suites.calls.sentences import sentences
from shared_cases import shared_cases


def estimate(case: Any, with_reference: bool) -> tuple[float, float]:
    """Suspicion of the most suspect claim, and the share of words that are nowhere."""
    turns = [Turn(turn["text"], turn["id"], turn["speaker"]) for turn in case["transcript"]]
    reference = case["expected_outcome"] if with_reference else {}
    read = page(Dossier("text", turns, {}, reference, [], "en"))
    summary = case["model_output"]["summary"]
    suspicion = max(support(claim, read, "en").suspicion for claim in sentences(summary))
    return suspicion, 1 - coverage(Wording(summary, "en"), read)


def auroc(bad: list[float], good: list[float]) -> float:
    return float(mannwhitneyu(bad, good).statistic) / (len(bad) * len(good))


@pytest.mark.parametrize("with_reference", [False, True])
@pytest.mark.parametrize(("name", "at_least"), [("salescall", 0.75), ("qmsum", 0.58)])
def test_it_finds_inconsistent_summaries_where_word_overlap_does_not(
    name: str, at_least: float, with_reference: bool
) -> None:
    cases = shared_cases(f"summary_judge_summedits_{name}.jsonl")
    found = [(case["human"]["consistent"], *estimate(case, with_reference)) for case in cases]
    suspicion = auroc([s for ok, s, _ in found if not ok], [s for ok, s, _ in found if ok])
    overlap = auroc([u for ok, _, u in found if not ok], [u for ok, _, u in found if ok])
    assert suspicion >= at_least
    assert suspicion > overlap + 0.1
