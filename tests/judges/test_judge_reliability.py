"""The reliability suite finds what it is there to find."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import cycle

import msgspec

from callscore.core.case import Failed
from callscore.core.judging import Item, JudgeRequest, JudgeResult, Question, Unjudged
from callscore.judges.fakes import LiteralModel, MiddlingModel, ScriptedJudge
from callscore.judges.llm import LLMJudge
from callscore.judges.probes import FILLER, probe_cases
from callscore.judges.reliability import Reliability, check_reliability
from judge_cases import RUBRICS


def oracle() -> Callable[[Question], str]:
    """Knows every probe and its variants."""
    truth: dict[tuple[str, str], str] = {}
    for case in probe_cases():
        for item in case.items:
            worst = list(RUBRICS[item.rubric].words)[-1]
            truth[item.text, item.reference] = item.truth
            truth[item.rephrased, item.reference] = item.truth
            truth[item.flipped, item.reference] = worst
            truth[item.text, item.flipped_reference or "-"] = worst
            truth[item.text, item.other_reference or "-"] = worst
    truth = {key: word for key, word in truth.items() if key[0]}

    def say(question: Question) -> str:
        text = question.text.strip("\n -*").removesuffix(FILLER)
        return truth.get((text, question.reference), question.offered[-1])

    return say


def suite(say: Callable[[Question], str | None]) -> Reliability:
    return asyncio.run(check_reliability(ScriptedJudge(say)))


def failed(found: Reliability) -> set[str]:
    return {one.name for one in found.checks if not one.passed}


def test_a_judge_that_knows_everything_passes_all() -> None:
    found = suite(oracle())
    assert failed(found) == set()
    assert found.passed
    assert found.accuracy == 1
    assert all(one.n >= 4 for one in found.checks)


def test_a_judge_that_passes_everything_sees_no_change() -> None:
    def kind(question: Question) -> str:
        return next(word for word in question.offered if word != "cannot_tell")

    assert failed(suite(kind)) >= {"label flip", "master keys", "reference perturbation"}


def test_a_fickle_judge_fails_the_repetition() -> None:
    coin = cycle([0, 1, 2])
    assert failed(suite(lambda q: q.offered[next(coin)])) >= {"repeat", "order"}


def test_a_judge_that_likes_long_texts_is_found_out() -> None:
    say = oracle()

    def wordy(question: Question) -> str:
        best = next(word for word in question.offered if word != "cannot_tell")
        return best if len(question.text) > 150 else say(question)

    assert failed(suite(wordy)) == {"verbosity"}


def test_a_judge_that_looks_at_the_layout_is_found_out() -> None:
    say = oracle()
    assert failed(suite(lambda q: q.offered[-1] if "**" in q.text else say(q))) == {"layout"}


def test_a_judge_that_never_answers_has_passed_nothing() -> None:
    class Silent:
        name = signature = "silent"

        async def judge(self, judge_request: JudgeRequest) -> JudgeResult | Failed:
            return Failed("judge", "silent")

    found = asyncio.run(check_reliability(Silent()))
    assert not found.passed
    assert all(one.passed is None and one.n == 0 for one in found.checks)
    assert found.checks[0].errors > 0


def test_24_10_a_judge_whose_verdicts_are_mostly_void_has_not_passed() -> None:
    class Sparing(ScriptedJudge):
        """Knows everything, and decides the first item of a request only."""

        async def judge(self, judge_request: JudgeRequest) -> JudgeResult | Failed:
            answer = await super().judge(judge_request)
            assert isinstance(answer, JudgeResult)
            void = [Unjudged(Item(v.metric, v.item), "no quote") for v in answer.verdicts[1:]]
            return msgspec.structs.replace(answer, verdicts=answer.verdicts[:1], void=void)

    found = asyncio.run(check_reliability(Sparing(oracle())))
    assert not found.passed
    assert any(one.share == 0 and one.passed is False for one in found.checks)
    assert found.last_failure == "no quote"


def test_25_3_the_suite_says_why_answers_of_a_middling_judge_could_not_be_used() -> None:
    found = asyncio.run(check_reliability(LLMJudge(MiddlingModel())))
    assert found.unusable
    assert 0 < sum(found.unusable.values()) < found.answers


def test_code_lets_no_master_key_through_whatever_the_model_says() -> None:
    found = asyncio.run(check_reliability(LLMJudge(LiteralModel())))
    keys = next(one for one in found.checks if one.name == "master keys")
    assert (keys.failures, keys.errors) == (0, 0)
    assert keys.n > 50
