"""Tallies add: split the calls as you like, take them in any order, the scorecard is the same."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from callscore.scorecard.formula import task_score
from callscore.scorecard.model_score import score_task
from callscore.scorecard.scored_reply import ScoredReply
from callscore.scorecard.tally import TaskTally
from callscore.suites.calls import spec
from properties import laws
from properties.test_laws import NOISE, for_every_task, seeded_dice, thoroughly
from properties.trial import TASKS, answered, formula, kindest, steady, tallied
from random_calls import tasks as random_tasks
from random_calls.breakage import break_structure
from random_calls.dice import chance, perfect_answer

Answers = list[tuple[str, ScoredReply]]

over_a_few_calls = settings(thoroughly, max_examples=50)


def answers_to(name: str, dice: Random) -> Answers:
    """A few calls of one task, each answered: well, badly, or in the wrong shape."""
    recipe, task = random_tasks.TASKS[name], TASKS[name]
    found: Answers = []
    for number in range(dice.randint(1, 5)):
        case = recipe.make(dice, f"c{number}")
        answer: Any = recipe.mutate(dice, case, dice.choice(NOISE))
        if chance(dice, 0.15):
            answer = break_structure(dice, answer)
        found.append((case["id"], answered(task, case, answer, steady)))
    return found


def card(name: str, tally: TaskTally) -> Any:
    """All that the scorecard says about a task; the calls of a blocker in the order of ids."""
    scored = score_task(formula(name), tally, spec.make_settings())
    blockers = [
        msgspec.structs.replace(blocker, cases=sorted(blocker.cases)) for blocker in scored.blockers
    ]
    return msgspec.to_builtins((scored.score, blockers))


def is_close(one: Any, other: Any) -> bool:
    """Equal, numbers within the last digits of floats."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_close(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(is_close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= laws.EPSILON * max(1.0, abs(one))
    return bool(one == other)


@for_every_task
@over_a_few_calls
@given(dice=seeded_dice)
def test_the_tallies_of_two_halves_are_the_tally_of_the_whole(name: str, dice: Random) -> None:
    answers = answers_to(name, dice)
    whole = card(name, tallied(name, answers))
    cut = dice.randint(0, len(answers))
    first, second = tallied(name, answers[:cut]), tallied(name, answers[cut:])
    assert is_close(card(name, first + second), whole)
    assert is_close(card(name, second + first), whole)
    assert is_close(card(name, TaskTally() + first + second), whole)


@for_every_task
@over_a_few_calls
@given(dice=seeded_dice)
def test_tallies_may_be_added_in_any_grouping(name: str, dice: Random) -> None:
    one, two, three = (tallied(name, answers_to(name, dice)) for _ in range(3))
    assert is_close(card(name, (one + two) + three), card(name, one + (two + three)))


@for_every_task
@over_a_few_calls
@given(dice=seeded_dice)
def test_the_order_of_the_calls_changes_nothing(name: str, dice: Random) -> None:
    answers = answers_to(name, dice)
    shuffled = dice.sample(answers, len(answers))
    assert is_close(card(name, tallied(name, shuffled)), card(name, tallied(name, answers)))


@for_every_task
def test_a_sum_leaves_its_parts_as_they_were(name: str) -> None:
    dice = Random(5)
    first, second = (tallied(name, answers_to(name, dice)) for _ in range(2))
    before = card(name, first), card(name, second), card(name, first + second)
    for part in (first + TaskTally(), TaskTally() + second, first + second):
        for case_id, answer in answers_to(name, dice):
            part.add_case(f"late-{case_id}", formula(name), [answer])
    assert (card(name, first), card(name, second), card(name, first + second)) == before


@over_a_few_calls
@given(dice=seeded_dice)
def test_where_nothing_is_pooled_the_task_score_is_the_mean_over_calls(dice: Random) -> None:
    """Both routes give the same score, an unreadable call counting 0        C-03, C-06"""
    answers = [answer for _, answer in answers_to("qa", dice)]
    scores = [0.0 if a.score.call_breaches else a.score.ungated_score for a in answers]
    known = [score for score in scores if score is not None]
    absent = any(m.absence == "absent" for a in answers for m in a.measured.measures.values())
    is_read = any(not answer.score.call_breaches for answer in answers)
    if len(known) == len(scores) and not absent and is_read:
        found = card("qa", tallied("qa", list(zip("abcde", answers, strict=False))))[0]
        assert found["ungated_score"] == pytest.approx(sum(known) / len(known), abs=1e-12)


@for_every_task
@over_a_few_calls
@given(dice=seeded_dice)
def test_a_task_score_can_be_recomputed_from_its_rows(name: str, dice: Random) -> None:
    """formula(rows) × the share of calls that no call gate blocks        C-02, C-03"""
    found = card(name, tallied(name, answers_to(name, dice)))[0]
    values = {slug: metric["value"] for slug, metric in found["metrics"].items()}
    of_rows = task_score(formula(name).score, values)
    product = None if of_rows is None else of_rows * found["unblocked_share"]
    if found["status"] == "valid":
        assert found["score"] == product
    elif found["status"] == "invalid":
        passed = (found["n"] - found["blocked_calls"]) / found["n"]
        assert found["zeroed_score"] == (0 if not passed else of_rows and of_rows * passed)


@for_every_task
@over_a_few_calls
@given(dice=seeded_dice)
def test_perfect_answers_to_all_calls_are_at_the_top_and_trigger_nothing(
    name: str, dice: Random
) -> None:
    recipe, task = random_tasks.TASKS[name], TASKS[name]
    cases = [recipe.make(dice, f"c{number}") for number in range(dice.randint(1, 4))]
    perfect = [(c["id"], answered(task, c, perfect_answer(c), kindest)) for c in cases]
    scored = score_task(formula(name), tallied(name, perfect), spec.make_settings())
    assert not scored.blockers
    assert scored.score.status in ("valid", "incomplete")
    for slug, metric in scored.score.metrics.items():
        if metric.value is not None:
            assert metric.value == pytest.approx(laws.LAWS[slug].top, abs=laws.EPSILON), slug
            assert metric.rating == "Good", slug
            assert metric.meets_threshold in (True, None), slug
    if scored.score.status == "valid":
        assert scored.score.score == pytest.approx(1, abs=laws.EPSILON)
