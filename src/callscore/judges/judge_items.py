"""The items of a request: what a judge is asked, what code decides, and canaries among them.

A canary has a known verdict. A right one repeats words of the case; a wrong one names a thing and a
place that occur nowhere in the case. All are drawn from the seed of the request, so that no model
can know them beforehand and the same request has the same canaries.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from random import Random

import msgspec

from callscore.core.judging import JudgeRequest, Question, Verdict
from callscore.judges.evidence import OwnTexts
from callscore.judges.offline.word_lists import split_words
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


def word_for_empty(question: Question) -> str:
    """The verdict on a text without content; empty if it has content."""
    rubric = built_in_library().rubric_for(question)
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


LONGEST_TEXT, SHORTEST_TURN, TURNS = 160, 20, 5
"""Characters of a text of the case that is repeated, and how many short turns are drawn from."""
SHORTEST_WORD = 5
"""Letters; shorter words tell little about a case."""
SALAD_WORDS, FEWEST_SALAD_WORDS = 14, 6
"""With fewer words, as in scripts without spaces, characters are shuffled instead."""
THINGS, PLACES = "canary_things", "canary_places"
"""Lists in the library, one entry per line."""
NO_WORD = "the matter"
_ONLY_WORDS = bytes(byte if chr(byte).isalnum() and byte < 128 else ord(" ") for byte in range(256))


def make_canaries(
    items: Sequence[JudgeItem], judge_request: JudgeRequest, library: Library, random: Random
) -> Iterator[JudgeItem]:
    """One item that is certainly right and one that is certainly wrong, for a rubric of the
    request.
    """
    rubrics = {item.rubric.name: item.rubric for item in items}
    rubric = rubrics[random.choice(sorted(rubrics))]
    item = random.choice([item for item in items if item.rubric is rubric])
    texts = {
        **_case_texts(item, judge_request, random),
        **_foreign_words(items, judge_request, library, random),
    }
    missing = [name for name, text in texts.items() if not text]
    usable = [
        canary
        for canary in rubric.canaries
        if not any(name in canary.text + canary.against for name in missing)
    ]
    for right in (True, False):
        if side := [canary for canary in usable if canary.right is right]:
            chosen = random.choice(side)
            text = _fill(chosen.text, texts)
            if rubric.against_from == "answer":
                yield JudgeItem(rubric, text, item.against, (), chosen, item.place)
            else:
                yield JudgeItem(rubric, text, _fill(chosen.against, texts), canary=chosen)


def _fill(template: str, texts: Mapping[str, str]) -> str:
    """Every placeholder replaced at once: a text of the case may look like a placeholder."""
    filled = ""
    while template:
        found = [(template.find(name), name) for name in texts if name in template]
        if not found:
            return filled + template
        at, name = min(found)
        filled += template[:at] + texts[name]
        template = template[at + len(name) :]
    return filled


def _case_texts(item: JudgeItem, judge_request: JudgeRequest, random: Random) -> Mapping[str, str]:
    """Texts of the case by placeholder; empty if it has none of moderate length."""
    spoken = [turn.text for turn in judge_request.turns]
    words = sorted(set(_telling_words("\n".join(spoken))))
    lines = [line for line in item.against.split("\n") if len(line) <= LONGEST_TEXT]
    short = sorted((text for text in spoken if SHORTEST_TURN <= len(text) <= LONGEST_TEXT), key=len)
    turn = random.choice(short[:TURNS]) if short else ""
    word = random.choice(words) if words else NO_WORD
    return {
        "{turn}": turn,
        "{answer}": next((line for line in lines if not is_empty_phrase(line)), ""),
        "{against}": item.against[:LONGEST_TEXT].strip() or turn or word,
        "{word}": word,
        "{salad}": _salad([item.against, *spoken], random),
    }


def _telling_words(text: str) -> Sequence[str]:
    return [
        word for word in split_words(text) if len(word) >= SHORTEST_WORD and not word.isdecimal()
    ]


def _salad(texts: Sequence[str], random: Random) -> str:
    """Words of several texts in an order that means nothing; characters if there are no spaces."""
    words: list[str] = []
    for text in texts:
        words += text.split()
        if len(words) >= 2 * SALAD_WORDS:
            break
    if len(words) < FEWEST_SALAD_WORDS:
        words = [char for char in "".join(texts) if char.isalpha()][: 2 * SALAD_WORDS]
    random.shuffle(words)
    return " ".join(words[:SALAD_WORDS])[:LONGEST_TEXT]


@lru_cache(maxsize=16)
def _entries(listed: str) -> Sequence[tuple[str, frozenset[str]]]:
    """The entries of a list of the library with their telling words; every request needs them."""
    entries = listed.strip().split("\n")
    return [(entry, frozenset(_telling_words(entry.casefold()))) for entry in entries]


def _foreign_words(
    items: Sequence[JudgeItem], judge_request: JudgeRequest, library: Library, random: Random
) -> Mapping[str, str]:
    """A thing and a place of which no word occurs in the case; numbers if it has all of them."""
    texts = [text for item in items for text in (item.text, item.against)]
    texts += (turn.text for turn in judge_request.turns)
    texts += (str(judge_request.expected_outcome), str(judge_request.model_output))
    told = "\n".join(texts).casefold().replace("’", "'")
    # The lists are ASCII, so a word of theirs in the text is one of these, or a part of one.
    pieces = set(told.encode("ascii", "replace").translate(_ONLY_WORDS).decode().split())
    return {
        f"{{{name}}}": random.choice(
            _unheard(library.prompts[listed], told, pieces)
            or [f"No. {random.randrange(10**9, 10**10)}"]
        )
        for name, listed in (("thing", THINGS), ("place", PLACES))
    }


def _unheard(listed: str, told: str, pieces: Collection[str]) -> Sequence[str]:
    """The entries of a list of which no word occurs in a text, which has these pieces."""
    entries = _entries(listed)
    known = [words for _, words in entries if not words.isdisjoint(pieces)]
    told_words = split_words(told) if known else ()
    return [entry for entry, words in entries if words.isdisjoint(told_words)]
