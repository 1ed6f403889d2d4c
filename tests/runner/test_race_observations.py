"""What a race reads off measured answers (C-03, C-06, C-07, C-125)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

import callscore
from callscore.config.score import ScoreConfig
from callscore.core.case import Failed, Reply
from callscore.core.measure import Measure, failed, ratio, undefined
from callscore.core.scorecard import Status
from callscore.core.task import Measured
from callscore.evaluate.case_steps import MeasuredReply, ParsedReply
from callscore.evaluate.cases import load_case, tasks_for
from callscore.runner.race_observations import (
    ReferenceItems,
    Runs,
    collect_gates,
    observe_call,
    observe_case,
)
from callscore.scorecard.formula import CaseScore
from callscore.scorecard.scored_reply import ScoredReply
from callscore.store.files import lines_of
from callscore.suites.registry import Catalog

GATES = collect_gates(["entity", "qa"], Catalog())
ADHERENCE = "entity.config_adherence"
DEMO = Path(callscore.__file__).parent / "demo"


def answer(
    score: float | None,
    adherence: Measure | None = None,
    breaches: tuple[str, ...] = (),
    reasons: tuple[str, ...] = (),
) -> MeasuredReply:
    measures: Mapping[str, Measure] = {ADHERENCE: adherence or ratio(4, 4)}
    status: Status = "invalid" if breaches or reasons else "valid"
    scored = ScoredReply(
        Measured(measures), CaseScore(status, None, score, (*breaches, *reasons), breaches)
    )
    return MeasuredReply(ParsedReply("m", 1, Reply(""), None, None, {}, ()), scored, {}, {})


def outcome(*runs: MeasuredReply | tuple[int, Failed], repeats: int = 1) -> tuple[float, float]:
    found = observe_case("entity", runs, repeats, GATES)
    return found.least, found.most


def counts(*runs: MeasuredReply | tuple[int, Failed]) -> tuple[float, float] | None:
    return observe_case("entity", runs, 1, GATES).counts[ADHERENCE]


FAILED: Runs = [(1, Failed("model", "timeout"))]


def test_gates_are_shares_of_events_with_a_limit() -> None:
    limits = {gate.slug: gate.limit for gate in GATES.rates}
    assert limits == pytest.approx({"qa.false_pass_rate": 0.03, ADHERENCE: 0.05})
    assert GATES.calls["entity.structure"] == "entity"
    assert GATES.floors == {ADHERENCE}


def test_stats47_the_weight_of_a_call_is_bounded_by_the_references() -> None:
    config = ScoreConfig(cases=(DEMO / "calls" / "cases.jsonl",))
    items, tasks = ReferenceItems(Catalog()), tasks_for(config)
    for line in lines_of(config.cases):
        loaded = load_case(line, tasks)
        items.add(str(loaded.case.call_id), loaded)
    gates = collect_gates(["entity", "qa", "text"], Catalog(), items)
    assert {gate.slug: gate.max_items for gate in gates.rates} == {
        ADHERENCE: 10,
        "qa.false_pass_rate": 6,
        "text.fabrication_free": 9,
    }


def test_c03_a_call_gate_counts_0_and_a_rate_gate_says_nothing_about_one_call() -> None:
    assert outcome(answer(0.9, breaches=("entity.fabricated_count",))) == (0, 0)
    assert outcome(answer(0.9, reasons=(ADHERENCE,))) == (0.9, 0.9)


def test_c07_runs_are_averaged_and_one_breach_blocks_the_call() -> None:
    assert outcome(answer(1.0), answer(0.5), repeats=2) == (0.75, 0.75)
    blocked = answer(0.5, breaches=("entity.structure",))
    assert outcome(answer(1.0), blocked, repeats=2) == (0, 0)


def test_what_failed_or_has_no_score_is_at_its_bounds() -> None:
    assert outcome(*FAILED) == (0, 1)
    assert outcome() == (0, 1), "a recording that lacks the case"
    assert outcome(answer(None)) == (0, 1)
    assert outcome(answer(0.8), *FAILED, repeats=2) == (0.4, 0.9)


def test_c06_what_is_missing_is_the_event_of_a_floor() -> None:
    assert counts(answer(1.0, ratio(3, 4))) == (1, 4)
    assert counts(answer(1.0, ratio(3, 4)), answer(1.0, ratio(4, 4))) == (0.5, 4)
    assert counts(answer(1.0, undefined("nothing to count"))) == (0, 0)


def test_c125_neither_an_estimate_nor_a_failure_counts_for_a_gate() -> None:
    assert counts(answer(1.0, Measure(0.5, 2, 4, estimated=True))) is None
    assert counts(answer(1.0, failed("the judge is down"))) is None
    assert counts(*FAILED) is None


def test_the_cases_of_a_call_are_added_or_averaged() -> None:
    one = observe_case("entity", [answer(1.0, ratio(3, 4))], 1, GATES)
    two = observe_case("entity", [answer(0.5, ratio(2, 2))], 1, GATES)
    assert observe_call([one, two], mean=False).scores == {"entity": (1.5, 1.5)}
    assert observe_call([one, two], mean=True).scores == {"entity": (0.75, 0.75)}
    assert observe_call([one, two], mean=False).counts[ADHERENCE] == (1, 6)
