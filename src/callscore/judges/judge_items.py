"""The items of a request: what a judge is asked about, and what code decides."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from callscore.core.judging import JudgeRequest, Question, Verdict
from callscore.judges.evidence import OwnTexts
from callscore.judges.rubric import Canary, Library, Rubric, built_in_library
from callscore.metrics.text import n1, n2

BY_CODE = "code"
_OPENERS = (
    "thought process",
    "thinking process",
    "lets think step by step",
    "lets solve this problem step by step",
    "lets solve this",
    "step by step",
    "solution",
    "answer",
    "final answer",
    "explanation",
    "reasoning",
    "reason",
    "correct",
)
"""Phrases without content that are known to pass with judges; code decides them (docs/judge.md)."""
_LONGEST_FIRST = sorted(_OPENERS, key=len, reverse=True)
_OPENING_WORDS = frozenset(word for opener in _OPENERS for word in opener.split())
_WORD = re.compile(r"[^\W_]+")


class JudgeItem(msgspec.Struct, frozen=True):
    """One item of a request: a claim, what it is compared with, and the questions that it
    answers.
    """

    rubric: Rubric
    text: str
    against: str
    questions: Sequence[Question] = ()
    canary: Canary | None = None
    place: str = ""
    """The place of `against`, if it is a whole part of the output or of the reference."""

    @property
    def own_texts(self) -> OwnTexts:
        """The texts that may be quoted or cited."""
        answer = self.against if self.rubric.against_from == "answer" else self.text
        return OwnTexts(self.text, answer, self.against)


class SortedQuestions(msgspec.Struct, frozen=True):
    """The questions of a request: for the judge, decided by code, or without a rubric."""

    asked: Sequence[JudgeItem]
    decided: Sequence[Verdict]
    without_rubric: Sequence[str]


def sort_questions(judge_request: JudgeRequest, library: Library) -> SortedQuestions:
    """Each distinct item once: the same text under the same rubric gets one verdict.

    Questions without words are for an embedder, and are left out.
    """
    asked: dict[tuple[str, str, str], JudgeItem] = {}
    decided: list[Verdict] = []
    unknown: dict[str, None] = {}
    for question in judge_request.questions:
        if not question.offered:
            continue
        rubric = library.rubric_for(question)
        if rubric is None:
            unknown[question.metric] = None
        elif rubric.vain and is_empty_phrase(question.text):
            decided.append(_code_verdict(question, rubric.vain))
        else:
            against = question.reference if rubric.against_from else ""
            key = (rubric.name, n1(question.text), n1(against))
            known = asked.get(key)
            questions = (*known.questions, question) if known else (question,)
            asked[key] = JudgeItem(
                rubric, question.text, against, questions, place=question.compared_with
            )
    return SortedQuestions(list(asked.values()), decided, list(unknown))


def word_for_empty(question: Question, library: Library | None = None) -> str:
    """The verdict on a text without content; empty if it has content."""
    rubric = (library or built_in_library()).rubric_for(question)
    return (
        rubric.vain if rubric is not None and rubric.vain and is_empty_phrase(question.text) else ""
    )


def is_empty_phrase(text: str) -> bool:
    """Whether a text has no content: punctuation, or only opening phrases."""
    normal = n2(text).replace("'", "")
    first = _WORD.search(normal)
    if first is not None and first.group() not in _OPENING_WORDS:
        return False
    rest = f" {' '.join(_WORD.findall(normal))} "
    for opener in _LONGEST_FIRST:
        rest = rest.replace(f" {opener} ", " ")
    return not rest.strip()


def _code_verdict(question: Question, word: str) -> Verdict:
    return Verdict(
        question.metric,
        question.item,
        verdict=word,
        text=question.text,
        by=BY_CODE,
        note="the text says nothing",
    )
