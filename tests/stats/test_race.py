"""The state machine of the race, beside a plain one that reads everything again every round."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from bench.race_simulations import CALL_GATE, GATE, WEIGHTS, outcome, race, simulate
from hypothesis import given, settings
from hypothesis import strategies as st

from callscore.stats.race import CallOutcome, Race, RaceRules, RaceState
from callscore.stats.race_schedule import Population, TaskSet, make_schedule
from callscore.stats.race_tests import BET_FRACTIONS, GateTests, RateGate

QA: TaskSet = ("qa",)
IDS = [f"c{at:04d}" for at in range(400)]


def score(value: float) -> CallOutcome:
    return CallOutcome({"qa": (value, value)})


DEFAULT = RaceRules()
FAILED = CallOutcome({"qa": (0.0, 1.0)}, {"qa.false_pass_rate": None})


def run(
    answers: Mapping[str, Sequence[CallOutcome]],
    about: Population = "pool",
    rules: RaceRules = DEFAULT,
) -> tuple[RaceState, dict[str, int]]:
    """A race over these outcomes, one a call; with what was asked of every model."""
    ids = IDS[: len(next(iter(answers.values())))]
    plan = make_schedule(dict.fromkeys(ids, QA), {"qa": 1.0}, 3, about)
    running = Race(plan, list(answers), rules)
    paid = dict.fromkeys(answers, 0)
    while wanted := running.missing_calls():
        for model, calls in wanted.items():
            paid[model] += len(calls)
            for call in calls:
                running.observe(model, call, answers[model][ids.index(call)])
        assert running.advance()
    return running.state(), paid


def plain_race(
    scores: np.ndarray, plan_order: Sequence[int], alpha: float, about: Population
) -> list[int]:
    """By model, after how many blocks it is dropped (0: never), by the words of STATS §4"""
    k, n = scores.shape
    size, dropped = min(20, max(10, n // 50)), [0] * k
    for end in [*range(size, n, size), n]:
        racing = [m for m in range(k) if not dropped[m]]
        if len(racing) == 1:
            return dropped
        for j in racing:
            for i in racing:
                if i != j and plain_evidence(
                    [scores[i, c] - scores[j, c] for c in plan_order[:end]], n, about
                ) >= (k - 1) / (0.6 * alpha):
                    dropped[j] = end
    return dropped


def plain_evidence(differences: Sequence[float], n: int, about: Population) -> float:
    wealth, total, best = [1.0] * 16, 0.0, 1.0
    for s, difference in enumerate(differences, start=1):
        mean = -total / (n - s + 1) if about == "pool" else 0.0
        if mean < -1:
            return math.inf
        wealth = [
            w * (1 + part * (difference - mean) / (1 + mean))
            for w, part in zip(wealth, BET_FRACTIONS, strict=True)
        ]
        best = max(best, math.fsum(wealth) / 16)
        total += difference
    return math.inf if about == "pool" and total > n - len(differences) else best


@pytest.mark.parametrize("about", ["pool", "future"])
@pytest.mark.parametrize("seed", range(4))
def test_the_race_drops_whom_and_when_the_plain_one_drops(about: Population, seed: int) -> None:
    scores = np.clip(np.random.default_rng(seed).normal([[0.8], [0.7], [0.6]], 0.2, (3, 200)), 0, 1)
    plan = make_schedule(dict.fromkeys(IDS[:200], QA), {"qa": 1.0}, 3, about)
    order = [IDS.index(block.calls[0]) for block in plan.blocks]
    expected = plain_race(scores, order, 0.05, about)
    answers = {f"m{m}": [score(v) for v in scores[m]] for m in range(3)}
    state, _ = run(answers, about, RaceRules(margin=0.0))
    found = [
        state.eliminated[f"m{m}"].blocks if f"m{m}" in state.eliminated else 0 for m in range(3)
    ]
    if state.stopped == "futile":
        assert all(not f or f == e for f, e in zip(found, expected, strict=True))
    else:
        assert found == expected


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(0, 3))
def test_the_order_of_completion_never_matters(order: int, seed: int) -> None:
    """Answers come in any order, some long before their round, and nobody looks at the same time"""
    found = simulate(np.random.default_rng(seed), [0.8, 0.75, 0.8], 120, "mixed")
    expected = race(found).state
    names, ids = ["m0", "m1", "m2"], [f"c{at:05d}" for at in range(120)]
    plan = make_schedule(
        dict.fromkeys(ids, ("entity", "qa", "text", "translation")), WEIGHTS, 0, "pool"
    )
    rules = RaceRules(gates=[GATE], call_gates={CALL_GATE: "text"}, tolerance=found.tolerance)
    running = Race(plan, names, rules)
    everything = [(m, c) for m in range(3) for c in range(120)]
    shuffle = random.Random(order)
    shuffle.shuffle(everything)
    for m, c in everything:
        running.observe(names[m], ids[c], outcome(found, m, c))
        if shuffle.random() < 0.05:
            while running.advance():
                pass
    while running.advance():
        pass
    assert running.state() == expected


def test_a_round_is_read_only_when_it_is_complete() -> None:
    plan = make_schedule(dict.fromkeys(IDS[:40], QA), {"qa": 1.0}, 3, "pool")
    running = Race(plan, ["a", "b"], RaceRules())
    calls = running.missing_calls()["a"]
    assert len(calls) == 10
    for call in calls:
        running.observe("a", call, score(1.0))
    assert not running.advance()
    assert running.missing_calls() == {"b": calls}
    for call in calls:
        running.observe("b", call, score(0.0))
    assert running.advance()
    assert running.state().racing == ["a"]


def test_failed_calls_never_drop_the_model_that_failed() -> None:
    """A failed call is at its worst bound for every claim, on either side of it"""
    state, _ = run({"down": [FAILED] * 100, "weak": [score(0.2)] * 100})
    assert state.stopped == "data spent"
    assert state.racing == ["down", "weak"]
    assert state.means["down"] == pytest.approx((0.0, 1.0))


def test_equal_models_are_a_tie_within_the_margin() -> None:
    state, paid = run({"a": [score(0.8)] * 400, "b": [score(0.8)] * 400})
    assert (state.stopped, state.racing) == ("futile", ["a", "b"])
    assert state.estimate
    wide, _ = run({"a": [score(0.8)] * 400, "b": [score(0.8)] * 400}, rules=RaceRules(margin=0.5))
    assert (wide.stopped, wide.estimate) == ("within margin", False)
    assert paid["a"] < 400


def test_about_future_calls_the_lead_in_this_data_is_no_certainty() -> None:
    """What the rest cannot take back decides the pool at its end, and nothing about other calls"""
    leading = [score(0.5 + 0.004 * (at % 3)) for at in range(60)]
    equal = [score(0.5)] * 60
    pool, _ = run({"a": leading, "b": equal}, "pool", RaceRules(margin=0.0))
    future, _ = run({"a": leading, "b": equal}, "future", RaceRules(margin=0.0))
    assert pool.racing == ["a"]
    assert pool.eliminated["b"].why == "bound"
    assert future.racing == ["a", "b"]


def test_a_breach_of_a_call_gate_decides_at_once() -> None:
    broken = CallOutcome({"qa": (0.0, 0.0)}, breached=frozenset(["qa.structure"]))
    answers = {"a": [score(0.9)] * 98 + [broken] * 2, "b": [score(0.5)] * 100}
    rules = RaceRules(call_gates={"qa.structure": "qa"}, margin=0.0)
    always = {"a": [broken] * 100, "b": [score(0.5)] * 100}
    state, _ = run(always, rules=rules)
    assert state.eliminated["a"] == ("call_gate", 10, None, "qa.structure")
    tolerant, _ = run(answers, rules=rules._replace(tolerance=0.02))
    assert tolerant.racing == ["a"]


def test_who_was_dropped_by_a_model_that_turns_out_invalid_races_again() -> None:
    """The leader drops all others, then breaches a gate: the best of the rest must be found"""
    plan = make_schedule(dict.fromkeys(IDS[:200], QA), {"qa": 1.0}, 3, "pool")
    late = plan.blocks[75].calls[0]
    broken = CallOutcome({"qa": (0.0, 0.0)}, breached=frozenset(["qa.structure"]))
    leader = [broken if call == late else score(0.99) for call in IDS[:200]]
    rival = [score(0.97)] * 200
    answers = {"leader": leader, "rival": rival, "weak": [score(0.5)] * 200}
    state, paid = run(answers, rules=RaceRules(call_gates={"qa.structure": "qa"}, margin=0.0))
    assert state.eliminated["leader"].why == "call_gate"
    assert state.eliminated["weak"].by == "rival"
    assert state.racing == ["rival"]
    assert paid["weak"] <= 80


def test_stats47_the_only_model_left_is_finished_before_it_is_named() -> None:
    answers = {"good": [score(0.9)] * 200, "poor": [score(0.2)] * 200}
    state, paid = run(answers, rules=RaceRules(call_gates={"qa.structure": "qa"}))
    assert paid == {"good": 200, "poor": 10}
    assert (state.stopped, state.winner, state.finished) == (
        "one left",
        "good",
        frozenset(["good"]),
    )
    assert (state.calls["good"], state.blocked["good"]) == (200, 0)
    without_gates, paid = run(answers)
    assert paid == {"good": 10, "poor": 10}
    assert (without_gates.stopped, without_gates.winner) == ("one left", "good")


@pytest.mark.parametrize("about", ["pool", "future"])
def test_stats47_a_winner_that_breaches_a_gate_late_is_not_named(about: Population) -> None:
    """The others race again, and only as far as they must"""
    plan = make_schedule(dict.fromkeys(IDS[:200], QA), {"qa": 1.0}, 3, about)
    late = plan.blocks[-1].calls[0]
    broken = CallOutcome({"qa": (0.0, 0.0)}, breached=frozenset(["qa.structure"]))
    leader = [broken if call == late else score(0.9) for call in IDS[:200]]
    answers = {"leader": leader, "second": [score(0.6)] * 200, "third": [score(0.2)] * 200}
    rules = RaceRules(call_gates={"qa.structure": "qa"})
    state, paid = run(answers, about, rules)
    assert state.eliminated["leader"].why == "call_gate"
    assert (state.winner, state.finished) == ("second", frozenset(["leader", "second"]))
    assert paid["leader"] == paid["second"] == 200 > 5 * paid["third"]


def test_stats47_until_it_is_finished_the_race_is_not_stopped() -> None:
    plan = make_schedule(dict.fromkeys(IDS[:100], QA), {"qa": 1.0}, 3, "pool")
    running = Race(plan, ["good", "poor"], RaceRules(call_gates={"qa.structure": "qa"}))
    for model, calls in running.missing_calls().items():
        for call in calls:
            running.observe(model, call, score(0.9 if model == "good" else 0.1))
    assert running.advance()
    state = running.state()
    assert (state.winner, state.stopped, state.finished) == ("good", None, frozenset())
    assert {model: len(calls) for model, calls in running.missing_calls().items()} == {"good": 50}
    running.withdraw("good")
    assert running.state().racing == ["poor"]
    assert running.state().winner is None


def test_stats47_calls_that_no_block_has_finish_the_winner_about_future_calls() -> None:
    """30 calls of QA, 10 of text: ten blocks of both, and twenty calls that only the gates need"""
    tasks: dict[str, TaskSet] = {call: QA for call in IDS[:30]}
    tasks |= {call: ("text",) for call in IDS[30:40]}
    plan = make_schedule(tasks, {"qa": 0.5, "text": 0.5}, 3, "future")
    assert (len(plan.blocks), len(plan.others)) == (10, 20)
    gates = RaceRules(call_gates={"qa.structure": "qa"})
    running, paid = Race(plan, ["good", "poor"], gates), dict.fromkeys(["good", "poor"], 0)
    while wanted := running.missing_calls():
        for model, calls in wanted.items():
            paid[model] += len(calls)
            for call in calls:
                value = 0.9 if model == "good" else 0.0
                running.observe(model, call, CallOutcome({tasks[call][0]: (value, value)}))
        assert running.advance()
    assert (running.state().winner, paid) == ("good", {"good": 40, "poor": 20})


def test_stats47_clearly_worse_is_more_than_the_margin_of_the_decision() -> None:
    """The width of a tie is another number, `race.margin`"""
    answers = {"good": [score(0.9)] * 200, "near": [score(0.87)] * 200, "far": [score(0.2)] * 200}
    wide = RaceRules(clear_margin=0.05, call_gates={"qa.structure": "qa"})
    state, _ = run(answers, rules=wide)
    assert (state.winner, state.clearly_worse) == ("good", frozenset(["far"]))
    narrow, _ = run(answers, rules=wide._replace(clear_margin=0.001))
    assert narrow.clearly_worse == {"near", "far"}
    tied, _ = run(answers, rules=wide._replace(margin=0.04))
    assert tied.racing == ["good", "near"]


def test_a_race_ends_when_no_model_is_left() -> None:
    broken = CallOutcome({"qa": (0.0, 0.0)}, breached=frozenset(["qa.structure"]))
    state, paid = run(
        {"a": [broken] * 50, "b": [broken] * 50}, rules=RaceRules(call_gates={"qa.structure": "qa"})
    )
    assert (state.stopped, state.racing) == ("none left", [])
    assert paid == {"a": 10, "b": 10}


@pytest.mark.parametrize("about", ["pool", "future"])
def test_a_rate_gate_is_shown_to_be_breached_or_to_hold(about: Population) -> None:
    gate = RateGate("qa.false_pass_rate", "qa", 0.03, 2)

    def counted(every: int) -> list[CallOutcome]:
        return [
            CallOutcome({"qa": (0.8, 0.8)}, {gate.slug: (float(at % every == 0), 2.0)})
            for at in range(400)
        ]

    state, _ = run(
        {"wrong": counted(4), "clean": counted(10_000)}, about, RaceRules(gates=[gate], margin=0.0)
    )
    assert state.eliminated["wrong"].why == "rate_gate"
    assert state.gates["wrong"][gate.slug] == "breached"


def test_stats4_two_fifths_of_the_error_are_for_gates() -> None:
    gate = RateGate("qa.false_pass_rate", "qa", 0.03, 2)
    clean = CallOutcome({"qa": (0.8, 0.8)}, {gate.slug: (0.0, 2.0)})
    wrong = CallOutcome({"qa": (0.8, 0.8)}, {gate.slug: (1.0, 2.0)})
    answers = {"wrong": [clean, clean, clean, wrong] * 100, "clean": [clean] * 400}
    rules = RaceRules(alpha=0.05, round_size=1, gates=[gate], margin=0.0)
    state, _ = run(answers, rules=rules)
    plan = make_schedule(dict.fromkeys(IDS, QA), {"qa": 1.0}, 3, "pool")
    watch, read, threshold = GateTests(plan, [gate]), 0, math.log(2 / (0.4 * 0.05))
    while watch.states(threshold, is_complete=False)[gate.slug] == "open":
        (call,) = plan.blocks[read].calls
        watch.add(plan.blocks[read], [answers["wrong"][IDS.index(call)]])
        watch.update()
        read += 1
    assert state.eliminated["wrong"] == ("rate_gate", read, None, gate.slug)


def test_a_clean_model_is_shown_to_keep_its_rate_limit() -> None:
    gate = RateGate("qa.false_pass_rate", "qa", 0.03, 1)
    clean = CallOutcome({"qa": (0.8, 0.8)}, {gate.slug: (0.0, 1.0)})
    plan = make_schedule(dict.fromkeys(IDS, QA), {"qa": 1.0}, 3, "pool")
    watch, read = GateTests(plan, [gate]), 0
    while watch.states(math.log(100), is_complete=False)[gate.slug] == "open":
        for block in plan.blocks[read : read + 10]:
            watch.add(block, [clean])
        watch.update()
        read += 10
    assert watch.states(math.log(100), is_complete=False) == {gate.slug: "held"}
    assert read < 250


@pytest.mark.parametrize("about", ["pool", "future"])
def test_stats47_calls_with_more_items_than_a_reference_count_in_full(about: Population) -> None:
    """Three clean items in four, and one call in ten with all its errors: 2.5 % of 3 % allowed"""
    gate = RateGate("qa.false_pass_rate", "qa", 0.03, 2)

    def counted(at: int) -> tuple[float, float]:
        return (1.0, 4.0) if at % 10 == 0 else (0.0, 4.0)

    answers = [CallOutcome({"qa": (0.8, 0.8)}, {gate.slug: counted(at)}) for at in range(400)]
    rules = RaceRules(gates=[gate], margin=0.0)
    state, _ = run({"a": answers, "b": [score(0.1)] * 400}, about, rules)
    assert (state.winner, state.gates["a"]) == ("a", {gate.slug: "held"})


def test_the_last_call_decides_a_rate_exactly() -> None:
    """3 of 100 is not above 3 %, 4 of 100 is, whatever the bets said"""
    gate = RateGate("qa.false_pass_rate", "qa", 0.03, 2)

    def with_events(events: int) -> list[CallOutcome]:
        return [
            CallOutcome({"qa": (0.8, 0.8)}, {gate.slug: (float(at < events), 1.0)})
            for at in range(100)
        ]

    state, _ = run(
        {"three": with_events(3), "four": with_events(4)}, rules=RaceRules(gates=[gate], margin=0.0)
    )
    assert state.gates == {
        "three": {gate.slug: "held"},
        "four": {gate.slug: "breached"},
    }
    assert state.racing == ["three"]


def test_one_model_alone_needs_no_call() -> None:
    state, paid = run({"only": [score(0.8)] * 30})
    assert (state.stopped, paid) == ("one left", {"only": 0})


def test_a_model_that_cannot_be_asked_leaves_and_drops_no_other() -> None:
    plan = make_schedule(dict.fromkeys(IDS[:40], QA), {"qa": 1.0}, 3, "pool")
    running = Race(plan, ["a", "b", "c"], RaceRules())
    for model, value in (("a", 1.0), ("b", 0.4), ("c", 0.5)):
        for call in running.missing_calls()[model]:
            running.observe(model, call, score(value))
    running.withdraw("a")
    assert running.advance()
    assert running.state().racing == ["b", "c"]
    assert running.state().eliminated["a"].why == "withdrawn"
