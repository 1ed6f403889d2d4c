"""The sheet of one request: which item stands behind which id, canaries among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from random import Random

import msgspec

from callscore.core.judging import JudgeRequest, Question, Verdict
from callscore.judges.delimiters import item_ids
from callscore.judges.evidence import OwnTexts
from callscore.judges.rubric import Canary, Library, Rubric, shipped
from callscore.metrics.text import n1, n2

BY_CODE = "code"
LONGEST_CANARY_TURN, SHORTEST_CANARY_TURN, CANARY_TURNS = 160, 20, 5
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
"""Phrases that have been seen to pass with judges although they say nothing (JUDGE §1)."""
_LONGEST_FIRST = sorted(_OPENERS, key=len, reverse=True)
_OPENING_WORDS = frozenset(word for opener in _OPENERS for word in opener.split())
_WORD = re.compile(r"[^\W_]+")


class Asked(msgspec.Struct, frozen=True):
    """One item of a request: a claim, what it is held against, whom its word answers."""

    rubric: Rubric
    text: str
    against: str
    questions: Sequence[Question] = ()
    canary: Canary | None = None
    place: str = ""
    """Where `against` stands, if it is a whole part of the answer or of the reference."""

    @property
    def own_texts(self) -> OwnTexts:
        """What of it may be quoted."""
        answer = self.against if self.rubric.against_from == "answer" else self.text
        return OwnTexts(self.text, answer)


class Sorted(msgspec.Struct, frozen=True):
    """The questions of a dossier: what the judge is asked, what code decides, what nobody can."""

    asked: Sequence[Asked]
    decided: Sequence[Verdict]
    without_rubric: Sequence[str]


def sort_questions(dossier: JudgeRequest, library: Library) -> Sorted:
    """Each distinct item once: the same text under the same rubric gets one verdict.

    Questions without words are for an embedder, and are left out.
    """
    asked: dict[tuple[str, str, str], Asked] = {}
    decided: list[Verdict] = []
    unknown: dict[str, None] = {}
    for question in dossier.questions:
        if not question.offered:
            continue
        rubric = library.rubric_for(question)
        if rubric is None:
            unknown[question.metric] = None
        elif rubric.vain and is_vain(question.text):
            decided.append(_decided(question, rubric.vain))
        else:
            against = question.reference if rubric.against_from else ""
            key = (rubric.name, n1(question.text), n1(against))
            known = asked.get(key)
            questions = (*known.questions, question) if known else (question,)
            asked[key] = Asked(
                rubric, question.text, against, questions, place=question.compared_with
            )
    return Sorted(list(asked.values()), decided, list(unknown))


def word_for_nothing(question: Question, library: Library | None = None) -> str:
    """The word that a text without content gets, where it has none; else empty."""
    rubric = (library or shipped()).rubric_for(question)
    return rubric.vain if rubric is not None and rubric.vain and is_vain(question.text) else ""


def is_vain(text: str) -> bool:
    """Whether a text says nothing: punctuation, or only the phrases that open an answer."""
    told = n2(text).replace("'", "")
    first = _WORD.search(told)
    if first is not None and first.group() not in _OPENING_WORDS:
        return False
    rest = f" {' '.join(_WORD.findall(told))} "
    for opener in _LONGEST_FIRST:
        rest = rest.replace(f" {opener} ", " ")
    return not rest.strip()


def deal(
    items: Sequence[Asked], dossier: JudgeRequest, seed: bytes, taken: str
) -> Mapping[str, Asked]:
    """Items and canaries in a seeded order, each under a random id that the data does not hold."""
    random = Random(seed)
    dealt = [*items, *_canaries(items, dossier, random)]
    random.shuffle(dealt)
    return dict(zip(item_ids(len(dealt), random, taken), dealt, strict=True))


def _canaries(items: Sequence[Asked], dossier: JudgeRequest, random: Random) -> Iterable[Asked]:
    """One item surely right and one surely wrong, of a rubric that is asked anyway."""
    rubrics = {item.rubric.name: item.rubric for item in items}
    rubric = rubrics[random.choice(sorted(rubrics))]
    beside = random.choice([item for item in items if item.rubric is rubric])
    turn, line = _canary_turn(dossier, random), _canary_line(beside)
    usable = [
        canary
        for canary in rubric.canaries
        if (turn or "{turn}" not in canary.text) and (line or "{answer}" not in canary.text)
    ]
    for right in (True, False):
        if side := [canary for canary in usable if canary.right is right]:
            chosen = random.choice(side)
            text = chosen.text.replace("{turn}", turn).replace("{answer}", line)
            if rubric.against_from == "answer":
                yield Asked(rubric, text, beside.against, (), chosen, beside.place)
            else:
                yield Asked(rubric, text, chosen.against, canary=chosen)


def _canary_line(beside: Asked) -> str:
    """A line of what an item is held against that says something and is not too long."""
    lines = [line for line in beside.against.split("\n") if len(line) <= LONGEST_CANARY_TURN]
    return next((line for line in lines if not is_vain(line)), "")


def _canary_turn(dossier: JudgeRequest, random: Random) -> str:
    """One of the short turns that say something: it is read, and quoted."""
    usable = [
        turn.text
        for turn in dossier.turns
        if SHORTEST_CANARY_TURN <= len(turn.text) <= LONGEST_CANARY_TURN
    ]
    return random.choice(sorted(usable, key=len)[:CANARY_TURNS]) if usable else ""


def _decided(question: Question, word: str) -> Verdict:
    return Verdict(
        question.metric,
        question.item,
        verdict=word,
        text=question.text,
        by=BY_CODE,
        note="the text says nothing",
    )
