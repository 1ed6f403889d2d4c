"""The seeded order of a race, and that bets on it are fair whatever tasks the calls have."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from callscore.stats.race_schedule import CallBlock, TaskSet, make_schedule
from callscore.stats.race_tests import Draws, initial_e_process, log_mean_exp, update_pool

QA, TEXT, BOTH = ("qa",), ("text",), ("qa", "text")
WEIGHTS = {"qa": 0.75, "text": 0.25, "entity": 0.5}


def calls(**counts: int) -> dict[str, TaskSet]:
    kinds: dict[str, TaskSet] = {"qa": QA, "text": TEXT, "both": BOTH, "entity": ("entity",)}
    return {f"{name}{at}": kinds[name] for name, n in counts.items() for at in range(n)}


def test_a_call_with_all_tasks_is_a_block() -> None:
    plan = make_schedule(calls(both=6), WEIGHTS, 1, "pool")
    assert sorted(call for block in plan.blocks for call in block.calls) == sorted(calls(both=6))
    assert [block.sampling_weights for block in plan.blocks] == [
        [6.0],
        [5.0],
        [4.0],
        [3.0],
        [2.0],
        [1.0],
    ]
    assert plan.blocks[0].max_score == pytest.approx(1)
    assert plan.blocks[-1].remaining == pytest.approx(0)


def test_the_order_depends_on_the_seed_alone() -> None:
    data = calls(both=30)
    backwards = dict(reversed(data.items()))
    assert make_schedule(data, WEIGHTS, 1, "pool") == make_schedule(backwards, WEIGHTS, 1, "pool")
    assert make_schedule(data, WEIGHTS, 1, "pool") != make_schedule(data, WEIGHTS, 2, "pool")


def test_tasks_with_calls_of_their_own_are_drawn_together_while_there_are_some() -> None:
    plan = make_schedule(calls(qa=5, text=3), WEIGHTS, 1, "pool")
    assert [len(block.calls) for block in plan.blocks] == [2, 2, 2, 1, 1]
    assert all(block.calls[0].startswith("qa") for block in plan.blocks[3:])
    assert make_schedule(calls(qa=5, text=3), WEIGHTS, 1, "future").blocks[-1].represented == {
        "qa": 1.0,
        "text": 1.0,
    }


def test_intervals_for_future_calls_use_blocks_with_every_task_once() -> None:
    plan = make_schedule(calls(both=4, qa=2), WEIGHTS, 1, "future")
    assert [len(block.calls) for block in plan.blocks] == [1, 1, 1, 1]
    assert all(call.startswith("both") for block in plan.blocks for call in block.calls)


def test_what_calls_add_up_to_is_the_final_of_the_data() -> None:
    """Σ over calls of weight / number of calls of the task × score, whatever the mixture"""
    data = calls(qa=5, text=3, both=2, entity=4)
    plan = make_schedule(data, WEIGHTS, 1, "pool")
    whole = math.fsum(plan.weights[task] for kind in data.values() for task in kind)
    assert whole == pytest.approx(1)
    assert plan.weights["qa"] * 7 == pytest.approx(0.75 / 1.5)


@pytest.mark.parametrize("counts", [{"both": 6}, {"qa": 6, "text": 3}, {"qa": 4, "both": 3}])
def test_no_seed_is_expected_to_gain_on_a_balanced_pool(counts: dict[str, int]) -> None:
    """The mean of E over the seeds is 1, for any mixture of kinds and for the single calls, too"""
    data = calls(**counts)
    plan = make_schedule(data, WEIGHTS, 0, "pool")
    random = np.random.default_rng(7)
    values = {call: random.uniform(-1, 1) for call in data}
    worth = {c: math.fsum(plan.weights[task] for task in kind) for c, kind in data.items()}
    centre = math.fsum(values[call] * worth[call] for call in data)
    values = {call: 0.6 * (value - centre) for call, value in values.items()}
    wealth = []
    for seed in range(1500):
        blocks = make_schedule(data, WEIGHTS, seed, "pool").blocks
        found = update_pool(initial_e_process(1), _draws(blocks[:6], values, worth), np.zeros(1))
        wealth.append(float(np.exp(log_mean_exp(found.log_wealth))[0]))
    error = np.std(wealth) / math.sqrt(len(wealth))
    assert abs(np.mean(wealth) - 1) < 4 * error


def _draws(blocks: Sequence[CallBlock], values: dict[str, float], worth: dict[str, float]) -> Draws:
    value = [
        math.fsum(
            stake * worth[call] * values[call]
            for call, stake in zip(block.calls, block.sampling_weights, strict=True)
        )
        for block in blocks
    ]
    seen = [math.fsum(worth[call] * values[call] for call in block.calls) for block in blocks]
    least = [-block.max_score for block in blocks]
    return Draws(np.array([value]), np.array([seen]), np.array([least]))
