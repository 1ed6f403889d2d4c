"""The offline judge: a detector of inserted errors, by rule.

Every verdict is approximate (C-125): an estimate neither triggers nor clears a blocker, and no row
that uses one has a rating. A rule that cannot decide abstains; names are left to the measures in
code (C-72); outcomes that are not found make a translation approximate.

It detects hardly any errors of models (AUROC 0.51 to 0.63, docs/judge-offline.md): this is why
nothing is rated by it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b

from callscore.core.case import Failed
from callscore.core.judging import Embedder, JudgeRequest, JudgeResult, Question, Verdict
from callscore.judges.judge_items import word_for_empty
from callscore.judges.offline.passages import SECONDS, Passage, PassageIndex, index_passages
from callscore.judges.offline.similarity import (
    goal_word,
    match_word,
    pair_similarities,
    stated_words,
    value_word,
)
from callscore.judges.offline.support import (
    ClaimSupport,
    check_support,
    has_shared_run,
    judge_reason,
    overlapping_turn,
    strip_markup,
)
from callscore.judges.offline.text_analysis import TextAnalysis
from callscore.judges.offline.word_lists import split_words
from callscore.judges.rubric import CANNOT_TELL
from callscore.metrics.chrf import chrf
from callscore.metrics.facts.fact import Index, unmatched_facts

FLUENT = ((0.60, "native"), (0.40, "minor"), (0.25, "noticeable"), (0.10, "significant"))
"""The fluency for a similarity to the human's sentence."""
KEPT = 0.5
"""The share of a fact's words that a translation must have."""
MOST_WORDS = 500
"""Words of a sentence whose order is compared."""


def fluency_word(sentence: str, human: str) -> str:
    """native from chrF · order 0.60, minor from 0.40, … else incomprehensible"""
    likeness = chrf(sentence, human) * word_order(sentence, human)
    return next((word for least, word in FLUENT if likeness >= least), "incomprehensible")


def word_order(sentence: str, human: str) -> float:
    """shared words in the same order / shared words; 1 if none is shared"""
    from rapidfuzz.distance import LCSseq

    given, wanted = (
        [word.casefold() for word in split_words(text)[:MOST_WORDS]] for text in (sentence, human)
    )
    shared = (Counter(given) & Counter(wanted)).total()
    return LCSseq.similarity(given, wanted) / shared if shared else 1.0


def fact_word(fact: TextAnalysis, translation: TextAnalysis) -> str:
    """preserved: half of the fact's words, all its numbers and its negation occur; else omitted"""
    if not fact.content:
        return "cannot_tell"
    is_kept = (
        not unmatched_facts(fact.facts, Index(translation.spoken_numbers.facts))
        and _share(fact.topic_words, translation.content) >= KEPT
        and _keeps_denials(fact, translation)
    )
    return "preserved" if is_kept else "omitted"


def _keeps_denials(fact: TextAnalysis, translation: TextAnalysis) -> bool:
    """Whether the negations of the fact are kept, and none is added"""
    own, given = fact.negations, translation.negations
    if not own:
        return not any(fact.topic_words <= said.around for said in given)
    return all(any(_share(scope.around, said.around) >= KEPT for said in given) for scope in own)


def _share(some: frozenset[str], others: frozenset[str]) -> float:
    return len(some & others) / len(some) if some else 1.0


LONGEST_QUOTE = 300
LONGEST_TEXT = 20_000
"""Characters of a question that are read; an output may be very long.

Both limits are defined here, because the signature has a hash of these files only."""
OTHER_GOAL = "call_purpose:other_goal"
OUTCOME = "outcome:"

GOAL, RECALL = "text.call_intent", "text.highlight_recall"
LEFT_TO_CODE = frozenset({"translation.proper_nouns"})
VAIN = "the text says nothing"
ABSTAINING = frozenset({"bench.instruction_following"})

RuleResult = tuple[str, Passage | None, str]
"""The verdict, the passage that supports it, and why."""


class OfflineJudge:
    """A judge by rule; the embedder, if there is one, compares goals and highlights."""

    name = "offline estimate"
    caveat = (
        'the offline judge finds inserted errors (another number, another name, a "not"), and '
        "hardly those that models make: its rows are estimates without a rating, a tick or a "
        "blocker"
    )

    def __init__(self, embedder: Embedder | None = None, tolerance_s: float = SECONDS) -> None:
        self._embedder = embedder
        self._tolerance_s = tolerance_s

    @cached_property
    def signature(self) -> str:
        """A hash of the rules' files, and the embedder."""
        embedder = self._embedder.signature if self._embedder else "none"
        return f"offline:{_rules_digest()};embedder={embedder}"

    @property
    def estimates(self) -> frozenset[str]:
        """The metrics that it judges in place of a model        C-125"""
        return frozenset((*BY_METRIC, GOAL, RECALL))

    async def judge(self, judge_request: JudgeRequest) -> JudgeResult | Failed:
        """An estimate for every question that a rule can decide."""
        index = index_passages(judge_request, self._tolerance_s)
        questions = [
            _strip_question(question) for question in judge_request.questions if question.offered
        ]
        vain = [word_for_empty(question) for question in questions]
        asked = [question for question, word in zip(questions, vain, strict=True) if not word]
        verdicts = [
            # an estimate never says `different`, which alone would block the call
            self._verdict(question, (CANNOT_TELL if question.metric == GOAL else word, None, VAIN))
            for question, word in zip(questions, vain, strict=True)
            if word and question.metric not in LEFT_TO_CODE
        ]
        verdicts += [
            self._verdict(question, BY_METRIC[question.metric](question, index, judge_request.lang))
            for question in asked
            if question.metric in BY_METRIC and not question.item.startswith(OUTCOME)
        ]
        verdicts += [
            self._verdict(question, (CANNOT_TELL, None, "no rule can tell"))
            for question in asked
            if question.metric in ABSTAINING or question.item.startswith(OUTCOME)
        ]
        for compare in (self._judge_goals, self._judge_recall):
            compared = await compare(asked, judge_request.lang)
            if isinstance(compared, Failed):
                return compared
            verdicts += compared
        return JudgeResult(verdicts)

    async def _judge_goals(
        self, asked: Sequence[Question], lang: str | None
    ) -> list[Verdict] | Failed:
        goals = [question for question in asked if question.metric == GOAL]
        pairs = [(TextAnalysis(q.text, lang), TextAnalysis(q.reference, lang)) for q in goals]
        found = await pair_similarities(pairs, self._embedder, lang)
        if isinstance(found, Failed):
            return found
        return [
            self._verdict(
                question, (_goal_word(question, likeness), None, f"likeness {likeness:.2f}")
            )
            for question, likeness in zip(goals, found, strict=True)
        ]

    async def _judge_recall(
        self, asked: Sequence[Question], lang: str | None
    ) -> list[Verdict] | Failed:
        questions = [question for question in asked if question.metric == RECALL]
        if not questions:
            return []
        expected = [TextAnalysis(question.text, lang) for question in questions]
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

    def _verdict(self, question: Question, answer: RuleResult) -> Verdict:
        word, passage, note = answer
        return Verdict(
            question.metric,
            question.item,
            word,
            text=question.text,
            quote=passage.analysis.text[:LONGEST_QUOTE] if passage else "",
            source=passage.source if passage else "",
            by=self.signature,
            note=note,
            approximate=True,
        )


def _strip_question(question: Question) -> Question:
    text, reference = question.text[:LONGEST_TEXT], question.reference[:LONGEST_TEXT]
    return Question(
        question.metric,
        question.item,
        strip_markup(text),
        strip_markup(reference),
        question.offered,
    )


def _goal_word(question: Question, likeness: float) -> str:
    word = goal_word(likeness)
    if question.item != OTHER_GOAL:
        return word
    return "no" if word == "same" else CANNOT_TELL


def _judge_claim(question: Question, index: PassageIndex, lang: str | None) -> RuleResult:
    found = check_support(index.without_field(question.text), index, lang)
    note = ", ".join(f"{doubt.kind}: {doubt.about}" for doubt in found.doubts)
    note = note or f"{found.coverage:.0%} of its words found"
    return _support_word(found), found.best, note


def _support_word(found: ClaimSupport) -> str:
    if not found.is_supported:
        reversed_ = any(f.kind in ("negation", "opposite") for f in found.doubts)
        return "contradicted" if reversed_ else "not_found"
    is_reference = found.best is not None and found.best.is_reference
    return "supported_by_reference" if is_reference else "supported_by_transcript"


def _judge_reason(question: Question, index: PassageIndex, lang: str | None) -> RuleResult:
    found = judge_reason(question.text, index, lang)
    return found.verdict, found.turn, ""


def _judge_argument(question: Question, index: PassageIndex, lang: str | None) -> RuleResult:
    found = judge_reason(question.text, index, lang)
    return "yes" if found.verdict == "as_described" else "no", found.turn, ""


def _judge_need(question: Question, index: PassageIndex, lang: str | None) -> RuleResult:
    statements = [passage.analysis for passage in index.reference]
    return "needed" if _carries(question.text, statements, lang) else "not", None, ""


def _judge_use(question: Question, index: PassageIndex, lang: str | None) -> RuleResult:
    carries = _carries(question.text, _lines(question.reference, lang), lang)
    return "used" if carries else "not", None, ""


def _carries(turn: str, statements: Sequence[TextAnalysis], lang: str | None) -> bool:
    """Whether a statement has three consecutive content words, or half of the words, of
    the turn.
    """
    said = Passage("t", TextAnalysis(turn, lang))
    return any(
        has_shared_run(said.analysis, statement) or overlapping_turn(statement, [said]) is not None
        for statement in statements
    )


def _judge_match(question: Question, index: PassageIndex, lang: str | None) -> RuleResult:
    others = _lines(question.reference, lang)
    return match_word(TextAnalysis(question.text, lang), others), None, ""


def _judge_value(question: Question, index: PassageIndex, lang: str | None) -> RuleResult:
    return (
        value_word(TextAnalysis(question.text, lang), TextAnalysis(question.reference, lang)),
        None,
        "",
    )


def _judge_fluency(question: Question, index: PassageIndex, lang: str | None) -> RuleResult:
    return fluency_word(question.text, question.reference), None, "likeness to the human's words"


def _judge_fact(question: Question, index: PassageIndex, lang: str | None) -> RuleResult:
    word = fact_word(TextAnalysis(question.reference, None), TextAnalysis(question.text, None))
    return word, None, "words of the fact"


def _lines(text: str, lang: str | None) -> list[TextAnalysis]:
    return [TextAnalysis(line, lang) for line in text.splitlines() if line.strip()]


BY_METRIC: Mapping[str, Callable[[Question, PassageIndex, str | None], RuleResult]] = {
    "qa.evidence_backed_reasoning": _judge_reason,
    "text.highlight_correctness": _judge_claim,
    "text.fabrication_free": _judge_claim,
    "text.hallucination_rate": _judge_claim,
    "bench.faithfulness": _judge_claim,
    "bench.hallucination_rate": _judge_claim,
    "bench.answer_correctness": _judge_match,
    "bench.contextual_recall": _judge_need,
    "bench.contextual_precision": _judge_use,
    "bench.argument_correctness": _judge_argument,
    "orchestration.argument_value": _judge_value,
    "translation.fluency": _judge_fluency,
    "translation.critical_facts": _judge_fact,
}


@lru_cache(maxsize=1)
def _rules_digest() -> str:
    """A hash of the files of this judge: any change of a rule changes the signature (C-126)."""
    from importlib.resources import files

    digest = blake2b(digest_size=8)
    for path in sorted(files(__package__).iterdir(), key=lambda path: path.name):
        if path.name.endswith((".py", ".toml")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
