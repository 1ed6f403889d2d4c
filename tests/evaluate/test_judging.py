"""What examining takes, and whom it leaves in peace."""

from __future__ import annotations

import json
from contextlib import closing
from functools import reduce
from itertools import permutations
from operator import add
from pathlib import Path

import msgspec
import pytest
from scipy.stats import binomtest

from builders import qa_case, question
from callscore.config.score import ScoreConfig
from callscore.core.case import Failed
from callscore.core.judging import Item, JudgeResult, Question, Unjudged
from callscore.evaluate.judging import JudgeRunner, JudgingCost, judging_of
from callscore.evaluate.scorer import Sinks
from callscore.evaluate.scoring_pass import open_pass
from callscore.judges.fakes import ScriptedJudge


def test_the_cost_of_judging_is_the_same_in_whichever_order_answers_come() -> None:
    costs = (0.1, 0.2, 0.3, 1e-9, 1e6)
    sums = set()
    for order in permutations(costs):
        spent = JudgingCost()
        for cost in order:
            spent.add(JudgeResult((), cost_usd=cost), 1, call=1)
        sums.add(spent.cost_usd)
    one_by_one = {reduce(add, order) for order in permutations(costs)}
    assert len(sums) == 1 and len(one_by_one) > 1


def test_flips_of_all_answers_of_a_call_are_counted_as_that_call() -> None:
    spent = JudgingCost()
    for flipped, call in ((1, 7), (0, 7), (2, 8)):
        spent.add(JudgeResult((), rejudged=2, flipped=flipped), 1, call=call)
    assert spent.flips == {7: (1, 4), 8: (2, 2)}


def test_a_request_with_an_unjudged_item_counts_as_failed_once_however_many_items_it_has() -> None:
    def unjudged(*names: str) -> list[Unjudged]:
        return [Unjudged(Item("qa.evidence_backed_reasoning", name), "no word") for name in names]

    spent = JudgingCost()
    for void in ([], unjudged("Q1"), unjudged("Q1", "Q2")):
        spent.add(JudgeResult((), void=void), items=2, call=1)
    assert (spent.failed, spent.items) == (2, 6)
    spent.add(Failed("judge", "the server is down"), items=2, call=1)
    assert spent.failed == 3


def test_stats_2_the_flip_rate_has_an_interval_over_calls_whatever_the_order() -> None:
    """Three items a call judged twice; in five calls of twenty all three change."""
    given = [(call, 3 if call < 5 else 0) for call in range(20)]
    found = set()
    for order in (given, given[::-1]):
        runner = JudgeRunner(ScriptedJudge(lambda asked: "same"), None)
        for call, flipped in order:
            runner.spent.add(JudgeResult((), rejudged=3, flipped=flipped), 3, call=7**call)
        judging = judging_of(runner, ())
        assert judging.flip_rate == 0.25
        assert judging.flip_rate_ci95 is not msgspec.UNSET
        found.add(judging.flip_rate_ci95)
        assert judging_of(runner, (), intervals=False).flip_rate_ci95 is msgspec.UNSET
    ((low, high),) = found
    of_calls, of_items = (binomtest(n, of).proportion_ci() for n, of in ((5, 20), (15, 60)))
    assert low < of_items.low and high > of_items.high, "items of a call are no independent ones"
    assert (low, high) == pytest.approx((of_calls.low, of_calls.high), abs=0.02)


def test_a_judge_that_breaks_costs_no_case_before_it(tmp_path: Path) -> None:
    def word(asked: Question) -> str:
        assert asked.text != "reason 3", "this one breaks"
        return "vague"

    cases, outputs = tmp_path / "cases.jsonl", tmp_path / "outputs.jsonl"
    numbers = range(6)
    form = [question(reason="another reason")]
    cases.write_text("".join(json.dumps(qa_case(form, f"c{n}")) + "\n" for n in numbers))
    answers = ({"questions": [question(reason=f"reason {n}")]} for n in numbers)
    outputs.write_text(
        "".join(
            json.dumps({"case_id": f"c{n}", "model": "m", "output": answer}) + "\n"
            for n, answer in enumerate(answers)
        )
    )
    told: list[str] = []
    sinks = Sinks(
        on_result=lambda result: told.append(result.case_id),
        judge_runner=JudgeRunner(ScriptedJudge(word), None),
    )
    scoring_pass = open_pass(ScoreConfig(cases=[cases], outputs=[outputs]), sinks)
    with closing(scoring_pass), pytest.raises(AssertionError, match="this one breaks"):
        scoring_pass.finish()
    assert told == ["c0", "c1", "c2"]


def test_an_unknown_cost_is_no_cost_of_zero() -> None:
    spent = JudgingCost()
    spent.add(JudgeResult(()), 1, call=1)
    assert spent.cost_usd is None


def test_what_a_judge_took_counts_though_nothing_came_of_it() -> None:
    spent = JudgingCost()
    spent.add(
        JudgeResult((), requests=1, input_tokens=10, output_tokens=5, cost_usd=0.25), 1, call=1
    )
    spent.add(Failed("judge", "N/A", 0.5, requests=2, input_tokens=20, output_tokens=10), 1, call=1)
    assert (spent.requests, spent.input_tokens, spent.output_tokens) == (3, 30, 15)
    assert (spent.cost_usd, spent.failed) == (0.75, 1)
