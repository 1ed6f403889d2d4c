"""What examining takes, and whom it leaves in peace."""

from __future__ import annotations

import asyncio
from itertools import permutations

import msgspec

from builders import qa_case, question
from callscore.core.case import Case, Failed
from callscore.core.judging import Judged, Question
from callscore.embeddings.lexical import Lexical
from callscore.judges.scripted import ScriptedJudge
from callscore.scoring.examining import Examiner, Spent

COMPARED = Question("translation.meaning_accuracy", "s1", "one text", "the same text")
WORDED = Question("qa.evidence_backed_reasoning", "Q1", "a reason", offered=("vague",))


def test_the_cost_of_judging_is_the_same_in_whichever_order_answers_come() -> None:
    costs = (0.1, 0.2, 0.3, 1e-9, 1e6)
    sums = set()
    for order in permutations(costs):
        spent = Spent()
        for cost in order:
            spent.add(Judged((), cost_usd=cost), 1)
        sums.add(spent.cost_usd)
    assert len(sums) == 1 and len({sum(order) for order in permutations(costs)}) > 1


def test_an_unknown_cost_is_no_cost_of_zero() -> None:
    spent = Spent()
    spent.add(Judged(()), 1)
    assert spent.cost_usd is None


def test_what_a_judge_took_counts_though_nothing_came_of_it() -> None:
    spent = Spent()
    spent.add(Judged((), requests=1, input_tokens=10, output_tokens=5, cost_usd=0.25), 1)
    spent.add(Failed("judge", "N/A", 0.5, requests=2, input_tokens=20, output_tokens=10), 1)
    assert (spent.requests, spent.input_tokens, spent.output_tokens) == (3, 30, 15)
    assert (spent.cost_usd, spent.failed) == (0.75, 1)


def test_sentences_are_compared_here_only_when_nobody_waits_for_an_answer() -> None:
    async def examined() -> list[bool]:
        judge, quiet = ScriptedJudge(lambda question: "vague"), asyncio.Event()
        examiner = Examiner(judge, Lexical())
        examiner.until_quiet = quiet.wait
        case = msgspec.convert(qa_case([question()]), type=Case)
        worded = asyncio.create_task(examiner.examine(case, [WORDED]))
        compared = asyncio.create_task(examiner.examine(case, [COMPARED]))
        await asyncio.sleep(0.01)
        before = [worded.done(), compared.done()]
        quiet.set()
        await compared
        return before

    assert asyncio.run(examined()) == [True, False]
