"""The offline judge: estimates by rule.

Every verdict is approximate (C-125): an estimate neither triggers nor clears a blocker. A rule that
cannot decide abstains; names are left to the measures in code (C-72); outcomes that are not found
make a translation approximate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b

from callscore.core.case import Failed
from callscore.core.judging import Embedder, JudgeRequest, JudgeResult, Question, Verdict
from callscore.judges.items import word_for_empty
from callscore.judges.offline.evidence import evidence, has_shared_run, overlapping
from callscore.judges.offline.layout import plain
from callscore.judges.offline.page import SECONDS, Page, Passage, page
from callscore.judges.offline.similarity import (
    goal_word,
    match_word,
    pair_similarities,
    stated_words,
    value_word,
)
from callscore.judges.offline.support import Support, support
from callscore.judges.offline.translation import fact_word, fluency_word
from callscore.judges.offline.wording import Wording

CANNOT_TELL = "cannot_tell"
LONGEST_QUOTE = 300
LONGEST_TEXT = 20_000
"""Characters of a question that are read; an output may be very long."""
OTHER_GOAL = "call_purpose:other_goal"
OUTCOME = "outcome:"

GOAL, RECALL = "text.call_intent", "text.highlight_recall"
LEFT_TO_CODE = frozenset({"translation.proper_nouns"})
VAIN = "the text says nothing"
ABSTAINING = frozenset({"bench.instruction_following"})

Answer = tuple[str, Passage | None, str]
"""The verdict, the passage that supports it, and why."""


class OfflineJudge:
    """A judge by rule; the embedder, if there is one, compares goals and highlights."""

    name = "offline estimate"

    def __init__(self, embedder: Embedder | None = None, tolerance_s: float = SECONDS) -> None:
        self._embedder = embedder
        self._tolerance_s = tolerance_s

    @cached_property
    def signature(self) -> str:
        """A hash of the rules' files, and the embedder."""
        embedder = self._embedder.signature if self._embedder else "none"
        return f"offline:{_rules()};embedder={embedder}"

    async def judge(self, judge_request: JudgeRequest) -> JudgeResult | Failed:
        """An estimate for every question that a rule can decide."""
        read = page(judge_request, self._tolerance_s)
        worded = [_plain(question) for question in judge_request.questions if question.offered]
        vain = [word_for_empty(question) for question in worded]
        asked = [question for question, word in zip(worded, vain, strict=True) if not word]
        verdicts = [
            # an estimate never says `different`, which alone would block the call
            self._verdict(question, (CANNOT_TELL if question.metric == GOAL else word, None, VAIN))
            for question, word in zip(worded, vain, strict=True)
            if word and question.metric not in LEFT_TO_CODE
        ]
        verdicts += [
            self._verdict(question, BY_METRIC[question.metric](question, read, judge_request.lang))
            for question in asked
            if question.metric in BY_METRIC and not question.item.startswith(OUTCOME)
        ]
        verdicts += [
            self._verdict(question, (CANNOT_TELL, None, "no rule can tell"))
            for question in asked
            if question.metric in ABSTAINING or question.item.startswith(OUTCOME)
        ]
        for compare in (self._goals, self._recall):
            compared = await compare(asked, judge_request.lang)
            if isinstance(compared, Failed):
                return compared
            verdicts += compared
        return JudgeResult(verdicts)

    async def _goals(self, asked: Sequence[Question], lang: str | None) -> list[Verdict] | Failed:
        goals = [question for question in asked if question.metric == GOAL]
        pairs = [(Wording(q.text, lang), Wording(q.reference, lang)) for q in goals]
        found = await pair_similarities(pairs, self._embedder, lang)
        if isinstance(found, Failed):
            return found
        return [
            self._verdict(question, (_goal(question, likeness), None, f"likeness {likeness:.2f}"))
            for question, likeness in zip(goals, found, strict=True)
        ]

    async def _recall(self, asked: Sequence[Question], lang: str | None) -> list[Verdict] | Failed:
        questions = [question for question in asked if question.metric == RECALL]
        if not questions:
            return []
        expected = [Wording(question.text, lang) for question in questions]
        given = _lines(questions[0].reference, lang)
        pairs = [(one, other) for one in expected for other in given]
        found = await pair_similarities(pairs, self._embedder, lang)
        if isinstance(found, Failed):
            return found
        width = len(given)
        rows = [found[at * width : (at + 1) * width] for at in range(len(expected))]
        stated = stated_words(expected, given, rows)
        return [
            self._verdict(question, (word, None, "one-to-one by likeness"))
            for question, word in zip(questions, stated, strict=True)
        ]

    def _verdict(self, question: Question, answer: Answer) -> Verdict:
        word, passage, note = answer
        return Verdict(
            question.metric,
            question.item,
            word,
            text=question.text,
            quote=passage.wording.text[:LONGEST_QUOTE] if passage else "",
            source=passage.source if passage else "",
            by=self.signature,
            note=note,
            approximate=True,
        )


def _plain(question: Question) -> Question:
    text, reference = question.text[:LONGEST_TEXT], question.reference[:LONGEST_TEXT]
    return Question(question.metric, question.item, plain(text), plain(reference), question.offered)


def _goal(question: Question, likeness: float) -> str:
    word = goal_word(likeness)
    if question.item != OTHER_GOAL:
        return word
    return "no" if word == "same" else CANNOT_TELL


def _claim(question: Question, read: Page, lang: str | None) -> Answer:
    found = support(read.without_field(question.text), read, lang)
    note = ", ".join(f"{finding.doubt}: {finding.about}" for finding in found.findings)
    note = note or f"{found.coverage:.0%} of its words found"
    return _support_word(found), found.best, note


def _support_word(found: Support) -> str:
    if not found.is_supported:
        reversed_ = any(f.doubt in ("negation", "opposite") for f in found.findings)
        return "contradicted" if reversed_ else "not_found"
    is_reference = found.best is not None and found.best.is_reference
    return "supported_by_reference" if is_reference else "supported_by_transcript"


def _reason(question: Question, read: Page, lang: str | None) -> Answer:
    found = evidence(question.text, read, lang)
    return found.verdict, found.turn, ""


def _ground(question: Question, read: Page, lang: str | None) -> Answer:
    found = evidence(question.text, read, lang)
    return "yes" if found.verdict == "as_described" else "no", found.turn, ""


def _needed(question: Question, read: Page, lang: str | None) -> Answer:
    statements = [passage.wording for passage in read.reference]
    return "needed" if _carries(question.text, statements, lang) else "not", None, ""


def _used(question: Question, read: Page, lang: str | None) -> Answer:
    carries = _carries(question.text, _lines(question.reference, lang), lang)
    return "used" if carries else "not", None, ""


def _carries(turn: str, statements: Sequence[Wording], lang: str | None) -> bool:
    """Whether a statement has three consecutive content words, or half of the words, of
    the turn.
    """
    said = Passage("t", Wording(turn, lang))
    return any(
        has_shared_run(said.wording, statement) or overlapping(statement, [said]) is not None
        for statement in statements
    )


def _matched(question: Question, read: Page, lang: str | None) -> Answer:
    others = _lines(question.reference, lang)
    return match_word(Wording(question.text, lang), others), None, ""


def _value(question: Question, read: Page, lang: str | None) -> Answer:
    return value_word(Wording(question.text, lang), Wording(question.reference, lang)), None, ""


def _fluent(question: Question, read: Page, lang: str | None) -> Answer:
    return fluency_word(question.text, question.reference), None, "likeness to the human's words"


def _fact(question: Question, read: Page, lang: str | None) -> Answer:
    word = fact_word(Wording(question.reference, None), Wording(question.text, None))
    return word, None, "words of the fact"


def _lines(text: str, lang: str | None) -> list[Wording]:
    return [Wording(line, lang) for line in text.splitlines() if line.strip()]


BY_METRIC: Mapping[str, Callable[[Question, Page, str | None], Answer]] = {
    "qa.evidence_backed_reasoning": _reason,
    "text.highlight_correctness": _claim,
    "text.fabrication_free": _claim,
    "text.hallucination_rate": _claim,
    "bench.faithfulness": _claim,
    "bench.hallucination_rate": _claim,
    "bench.answer_correctness": _matched,
    "bench.contextual_recall": _needed,
    "bench.contextual_precision": _used,
    "bench.argument_correctness": _ground,
    "orchestration.argument_value": _value,
    "translation.fluency": _fluent,
    "translation.critical_facts": _fact,
}


@lru_cache(maxsize=1)
def _rules() -> str:
    """A hash of the files of this judge: any change of a rule changes the signature (C-126)."""
    from importlib.resources import files

    digest = blake2b(digest_size=8)
    for path in sorted(files(__package__).iterdir(), key=lambda path: path.name):
        if path.name.endswith((".py", ".toml")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
