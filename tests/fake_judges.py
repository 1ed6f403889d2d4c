"""A judge and an embedder with scripted results that record their requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from callscore.core.case import Failed
from callscore.core.judging import JudgeRequest, JudgeResult, Question, Similarity, Verdict

BEST_WORDS: Mapping[str, str] = {
    "qa.evidence_backed_reasoning": "as_described",
    "text.highlight_recall": "stated",
    "text.highlight_correctness": "supported_by_transcript",
    "text.fabrication_free": "supported_by_transcript",
    "translation.fluency": "native",
    "translation.proper_nouns": "same_name",
    "translation.critical_facts": "preserved",
    "bench.answer_correctness": "match",
    "bench.contextual_precision": "used",
    "bench.contextual_recall": "needed",
    "bench.argument_correctness": "yes",
    "bench.instruction_following": "followed",
}


def best_word(question: Question) -> str:
    """The best word for the answer."""
    if question.metric == "text.call_intent":
        return "no" if question.item.endswith("other_goal") else "same"
    if question.item.startswith("outcome:"):
        return "no_outcome"
    return BEST_WORDS[question.metric]


class ScriptedJudge:
    """Returns a word for every question; `fails` is the reason of a failure."""

    name = "scripted"
    signature = "scripted@1"

    def __init__(
        self,
        word: Callable[[Question], str] = best_word,
        *,
        approximate: bool = False,
        fails: str = "",
        flags: Sequence[str] = (),
    ) -> None:
        self._word = word
        self._approximate = approximate
        self._fails = fails
        self._flags = flags
        self.seen: list[JudgeRequest] = []

    async def judge(self, judge_request: JudgeRequest) -> JudgeResult | Failed:
        self.seen.append(judge_request)
        if self._fails:
            return Failed("judge", self._fails, 0.25)
        verdicts = [
            Verdict(
                q.metric, q.item, self._word(q), by=self.signature, approximate=self._approximate
            )
            for q in judge_request.questions
        ]
        return JudgeResult(verdicts, self._flags, 1, 100, 10, 0.5)


class ScriptedEmbedder:
    """Returns the same cosine for every pair."""

    name = "scripted-embedder"
    signature = "scripted-embedder@1"

    def __init__(self, cosine: float = 0.9, *, approximate: bool = False, fails: str = "") -> None:
        self._cosine = cosine
        self._approximate = approximate
        self._fails = fails
        self.seen: list[tuple[str, str]] = []
        self.languages: list[str | None] = []

    def reads(self, lang: str | None) -> bool:
        return True

    async def similarities(
        self, pairs: Sequence[tuple[str, str]], lang: str | None
    ) -> Sequence[Similarity] | Failed:
        self.seen += pairs
        self.languages.append(lang)
        if self._fails:
            return Failed("embedder", self._fails)
        by = "lexical:scripted" if self._approximate else self.signature
        return [Similarity(self._cosine, by, self._approximate) for _ in pairs]
