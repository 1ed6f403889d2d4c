from __future__ import annotations

import pytest

from callscore.core.case import Turn
from callscore.core.judging import JudgeRequest
from callscore.judges.offline.passages import index_passages
from callscore.judges.offline.support import judge_reason

TURNS = [
    Turn("Good morning, thank you for calling Northwind.", 1, "Agent", 0.0),
    Turn("My invoice shows a duplicate charge of $49.", 2, "Customer", 12.0),
    Turn("Let me verify your date of birth first.", 3, "Agent", 20.0),
]
CALL = index_passages(JudgeRequest("qa", TURNS, {}, {}, [], "en"))
UNTIMED = index_passages(JudgeRequest("qa", [Turn(turn.text) for turn in TURNS], {}, {}, [], "en"))


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("Agent said 'Good morning' at the start.", "as_described"),
        ("Agent opened with “good morning, thank you”.", "as_described"),
        ('Agent said "Good morning, thank you for caling Northwind".', "as_described"),
        ("The agent asked to verify the date of birth first.", "as_described"),
        ('Agent said "I am so sorry about that".', "absent"),
        ('Agent said "Good evening, thank you for calling Southwind".', "absent"),
        ('Agent said "Please verify your date of birth at once".', "differs"),
        ("The invoice shows a duplicate charge of $99.", "differs"),
        ("A duplicate invoice came up.", "differs"),
        ("Agent was polite.", "vague"),
        ("Agent was 'polite'.", "vague"),
        ("", "vague"),
    ],
)
def test_c_37_evidence_is_a_quote_or_words_in_a_row(reason: str, verdict: str) -> None:
    assert judge_reason(reason, CALL, "en").verdict == verdict


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("Greeted at 00:02 with 'Good morning'", "as_described"),
        ("Greeted at 00:05 with 'Good morning'", "as_described"),
        ("Greeted at 00:12 with 'Good morning'", "differs"),
        ("Greeted at 01:00:00 with 'Good morning'", "differs"),
    ],
)
def test_c_39_a_time_is_compared_with_the_turn_within_five_seconds(
    reason: str, verdict: str
) -> None:
    assert judge_reason(reason, CALL, "en").verdict == verdict


def test_c_39_the_tolerance_is_a_setting() -> None:
    strict = index_passages(JudgeRequest("qa", TURNS, {}, {}, [], "en"), tolerance_s=1.0)
    assert judge_reason("Greeted at 00:02 with 'Good morning'", strict, "en").verdict == "differs"


def test_c_39_without_times_a_timestamp_is_not_checked() -> None:
    assert (
        judge_reason("greeted at 00:12 with 'Good morning'", UNTIMED, "en").verdict
        == "as_described"
    )


def test_the_turn_that_a_reason_rests_on_is_named() -> None:
    found = judge_reason("The agent asked to verify the date of birth first.", CALL, "en")
    assert found.turn is not None
    assert found.turn.source == "t3"
