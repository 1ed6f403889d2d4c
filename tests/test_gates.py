"""Gates of a run: what a blocked score, a missing one and too few cases mean for them."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Json, form, output, qa_case, question
from callscore import score
from callscore.core.errors import GateFailed, Inconclusive
from callscore.core.scorecard import Scorecard
from callscore.evalfile.file import GateEntry
from callscore.evalfile.gates import check_gates

RATE = "qa.false_pass_rate"


def card(*outputs: Json, **options: Any) -> Scorecard:
    cases = [qa_case([question(score=0)], f"c{n}") for n in (1, 2)]
    return score(cases, outputs, **options)


def answer(case_id: str, points: int) -> Json:
    return output(case_id, form(question(score=points, reason="")))


def test_a_blocked_score_misses_its_gate() -> None:
    found = card(answer("c1", 5), answer("c2", 0))
    with pytest.raises(GateFailed, match=r"qa is invalid \(qa.false_pass_rate\), exp"):
        check_gates(found, [GateEntry(of="qa", at_least=0.1)])
    with pytest.raises(GateFailed, match=r"final is invalid \(qa\)"):
        check_gates(found, [GateEntry(of="final", at_least=0.1)])


def test_a_metric_over_some_of_the_cases_passes_no_gate() -> None:
    found = card(answer("c1", 0), {"case_id": "c2", "model": "m", "error": "503"})
    gate = GateEntry(of=RATE, at_most=3)
    with pytest.raises(Inconclusive, match="rests on 1 of 2 cases"):
        check_gates(found, [gate])
    check_gates(found, [gate], coverage=0.5)
    check_gates(card(answer("c1", 0), answer("c2", 0)), [gate])


def test_a_metric_over_some_of_the_cases_can_miss_a_gate() -> None:
    found = card(answer("c1", 5))
    with pytest.raises(GateFailed, match="is 100, expected at most 3"):
        check_gates(found, [GateEntry(of=RATE, at_most=3)])
