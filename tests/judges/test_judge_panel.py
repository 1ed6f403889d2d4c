"""Who looks twice, and who wins."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import pytest

from callscore.core.case import Failed
from callscore.core.judging import Audit, Item, JudgeRequest, JudgeResult, Unjudged, Verdict
from callscore.judges.panel import (
    AUDITED_REPLIES,
    AUDITED_SHARE,
    REPEATED_SHARE,
    Panel,
    Seat,
    are_related,
    families,
    overlaps,
)
from judge_cases import judge, judge_request, make_question, words

CLAIM = make_question("support", "The agent promised a refund", item="claim")
RECALL = make_question("recall", "Refund promised", "Refund promised", item="recall")
GOOD, BAD = "supported_by_transcript", "not_found"


class Saying:
    """Says its words, and remembers what it was asked."""

    def __init__(
        self, name: str, said: Mapping[str, str], *flags: str, fails: bool = False
    ) -> None:
        self.name = self.signature = name
        self._said = said
        self._flags = flags
        self._fails = fails
        self.asked: list[list[str]] = []

    async def judge(self, given: JudgeRequest) -> JudgeResult | Failed:
        self.asked.append([question.item for question in given.questions])
        if self._fails:
            return Failed("judge", f"{self.name} is out", 0.5, 1, 10, 5)
        verdicts = [
            Verdict(q.metric, q.item, self._said[q.item], by=self.name)
            for q in given.questions
            if q.item in self._said
        ]
        void = [
            Unjudged(Item(q.metric, q.item), "unread")
            for q in given.questions
            if q.item not in self._said
        ]
        return JudgeResult(verdicts, self._flags, 1, 10, 5, 0.25, void)


def seats(*judges: Saying) -> list[Seat]:
    return [Seat(judge, judge.name) for judge in judges]


def unaudited(*questions: object) -> JudgeRequest:
    """A dossier outside the sample: only a repeat is never audited, whatever its content."""
    return msgspec.structs.replace(judge_request(CLAIM, RECALL), repeat=1)


GIVEN = unaudited()


def test_a_word_that_decides_nothing_alone_gets_no_second_look() -> None:
    second = Saying("claude-x", {"claim": GOOD})
    answer = judge(
        GIVEN, Panel(seats(Saying("gpt-x", {"claim": GOOD, "recall": "stated"}), second))
    )
    assert words(answer) == {"claim": GOOD, "recall": "stated"}
    assert second.asked == []


@pytest.mark.parametrize("word", [BAD, "contradicted", "cannot_tell"])
def test_a_risky_word_is_put_to_the_second_judge_alone(word: str) -> None:
    second = Saying("claude-x", {"claim": word})
    first = Saying("gpt-x", {"claim": word, "recall": "stated"})
    answer = judge(GIVEN, Panel(seats(first, second)))
    assert second.asked == [["claim"]]
    assert words(answer)["claim"] == word
    assert isinstance(answer, JudgeResult)
    assert (answer.requests, answer.cost_usd, list(answer.disputed)) == (2, 0.5, [])


def test_words_that_count_the_same_are_no_dispute() -> None:
    first = Saying("gpt-x", {"claim": BAD, "recall": "stated"})
    third = Saying("gemini-x", {})
    judge(GIVEN, Panel(seats(first, Saying("claude-x", {"claim": "contradicted"}), third)))
    assert third.asked == []


@pytest.mark.parametrize(("vote", "stands"), [(GOOD, GOOD), (BAD, BAD)])
def test_the_third_judge_breaks_the_tie(vote: str, stands: str) -> None:
    first = Saying("gpt-x", {"claim": BAD, "recall": "stated"})
    rest = (Saying("claude-x", {"claim": GOOD}), Saying("gemini-x", {"claim": vote}))
    answer = judge(GIVEN, Panel(seats(first, *rest)))
    assert words(answer)["claim"] == stands
    assert isinstance(answer, JudgeResult)
    assert list(answer.disputed) == []


@pytest.mark.parametrize("others", [[GOOD], [GOOD, "cannot_tell"]])
def test_without_a_majority_the_stricter_word_counts_and_the_item_is_disputed(
    others: list[str],
) -> None:
    first = Saying("gpt-x", {"claim": BAD, "recall": "stated"})
    rest = [Saying(f"{name}-x", {"claim": w}) for name, w in zip(("claude", "gemini"), others)]  # noqa: B905
    answer = judge(GIVEN, Panel(seats(first, *rest)))
    assert words(answer)["claim"] == BAD
    assert isinstance(answer, JudgeResult)
    assert list(answer.disputed) == [Item(CLAIM.metric, "claim")]
    assert "judges_disagree" in answer.flags


def test_the_second_judge_comes_from_another_family() -> None:
    cousin, stranger = Saying("gpt-y", {"claim": BAD}), Saying("claude-x", {"claim": BAD})
    first = Saying("gpt-x", {"claim": BAD, "recall": "stated"})
    answer = judge(GIVEN, Panel(seats(first, cousin, stranger)))
    assert (cousin.asked, stranger.asked) == ([], [["claim"]])
    assert isinstance(answer, JudgeResult)
    assert "judges_related" not in answer.flags
    related = judge(GIVEN, Panel(seats(first, cousin)))
    assert isinstance(related, JudgeResult)
    assert "judges_related" in related.flags


def test_a_suspected_injection_is_looked_at_twice_in_every_item() -> None:
    second = Saying("claude-x", {"claim": GOOD, "recall": "not_stated"})
    first = Saying("gpt-x", {"claim": GOOD, "recall": "stated"}, "injection_suspected")
    answer = judge(GIVEN, Panel(seats(first, second)))
    assert second.asked == [["claim", "recall"]]
    assert words(answer)["recall"] == "not_stated"


def test_the_second_judge_fills_what_the_first_left_void() -> None:
    first, second = Saying("gpt-x", {"claim": GOOD}), Saying("claude-x", {"recall": "stated"})
    answer = judge(GIVEN, Panel(seats(first, second)))
    assert words(answer) == {"claim": GOOD, "recall": "stated"}
    assert isinstance(answer, JudgeResult)
    assert list(answer.void) == []


def test_an_item_without_any_answer_stays_unjudged() -> None:
    first, second = Saying("gpt-x", {"claim": GOOD}), Saying("claude-x", {}, fails=True)
    answer = judge(GIVEN, Panel(seats(first, second)))
    assert isinstance(answer, JudgeResult)
    assert [void.item.item for void in answer.void] == ["recall"]
    assert answer.cost_usd == 0.75


def test_what_failed_judges_took_is_kept() -> None:
    answer = judge(GIVEN, Panel(seats(Saying("a", {}, fails=True), Saying("b", {}, fails=True))))
    assert answer == Failed("judge", "b is out", 1.0, 2, 20, 10)


def test_what_a_second_look_took_is_kept_though_nothing_came_of_it() -> None:
    class Tiring(Saying):
        async def judge(self, given: JudgeRequest) -> JudgeResult | Failed:
            self._fails = given.repeat > 0
            return await super().judge(given)

    taken = set()
    for number in range(100):
        given = judge_request(CLAIM, RECALL, config={"n": number})
        answer = judge(given, Panel(seats(Tiring("gpt-x", {"claim": GOOD, "recall": "stated"}))))
        assert isinstance(answer, JudgeResult)
        taken.add((answer.requests, answer.input_tokens, answer.cost_usd))
    assert taken == {(1, 10, 0.25), (2, 20, 0.75)}


def test_a_twentieth_of_the_answers_is_judged_twice_and_flips_are_counted() -> None:
    class Fickle(Saying):
        async def judge(self, given: JudgeRequest) -> JudgeResult | Failed:
            self._said = {"claim": GOOD if given.repeat else BAD, "recall": "stated"}
            return await super().judge(given)

    sampled = []
    for number in range(400):
        given = judge_request(CLAIM, RECALL, config={"n": number})
        answer = judge(given, Panel(seats(Fickle("gpt-x", {}))))
        assert isinstance(answer, JudgeResult)
        if answer.rejudged:
            assert (answer.rejudged, answer.flipped, answer.requests) == (2, 1, 2)
        sampled.append(answer.rejudged > 0)
    assert REPEATED_SHARE / 2 < sum(sampled) / len(sampled) < REPEATED_SHARE * 2


def audited(first: str, second: str, replies: int = 1) -> JudgeResult:
    """The result of two judges on a claim and an expected highlight, all of which is audited."""
    recall = {GOOD: "stated", BAD: "not_stated"}
    said = [{"claim": word, "recall": recall[word]} for word in (first, second)]
    panel = Panel(seats(Saying("gpt-x", said[0]), Saying("claude-x", said[1])))
    panel.expect(replies)
    answer = judge(judge_request(CLAIM, RECALL), panel)
    assert isinstance(answer, JudgeResult)
    return answer


def test_stats_5_the_audit_covers_passes_and_recall_and_says_who_is_lenient() -> None:
    both = (CLAIM.metric, RECALL.metric)
    assert audited(GOOD, BAD).audit == dict.fromkeys(both, Audit(1, lenient=1, strict=0))
    assert audited(BAD, GOOD).audit == dict.fromkeys(both, Audit(1, lenient=0, strict=1))
    assert audited(GOOD, GOOD).audit == dict.fromkeys(both, Audit(1))
    assert words(audited(GOOD, BAD)) == {"claim": BAD, "recall": "not_stated"}  # the stricter


@pytest.mark.parametrize("replies", [10_000, 150])
def test_stats_5_of_few_replies_a_larger_share_is_audited(replies: int) -> None:
    expected = max(AUDITED_SHARE, AUDITED_REPLIES / replies)
    number = 0
    for at in range(400):
        first, second = (Saying(name, {"claim": GOOD, "recall": "stated"}) for name in ("a", "b"))
        panel = Panel(seats(first, second))
        panel.expect(replies)
        answer = judge(judge_request(CLAIM, RECALL, config={"n": at}), panel)
        assert isinstance(answer, JudgeResult)
        number += bool(answer.audit)
    assert expected / 2 < number / 400 < expected * 2


def test_stats_5_an_audit_without_a_second_judge_shows_nothing() -> None:
    panel = Panel(seats(Saying("gpt-x", {"claim": GOOD, "recall": "stated"})))
    panel.expect(1)
    answer = judge(judge_request(CLAIM, RECALL), panel)
    assert isinstance(answer, JudgeResult)
    assert answer.audit == {}


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("gpt-5-mini", {"openai"}),
        ("openai/o3", {"openai"}),
        ("claude-sonnet-4", {"anthropic"}),
        ("us.anthropic.claude-3-5-haiku", {"anthropic"}),
        ("gemma-3-27b-it", {"google"}),
        ("DeepSeek-R1-Distill-Llama-70B", {"deepseek", "meta"}),
        ("mixtral-8x7b", {"mistral"}),
        ("our-own-model", set()),
    ],
)
def test_a_name_tells_its_family(model: str, family: set[str]) -> None:
    assert families(model) == family


def test_relatives_are_found_and_strangers_are_not() -> None:
    assert are_related("gpt-4.1", "o3-mini")
    assert are_related("House-LM", "house-lm")
    assert not are_related("house-lm", "other-lm")
    assert overlaps("gemini-3-pro", ["claude-x", "gemma-2"])
    assert not overlaps("gemini-3-pro", ["claude-x"])
