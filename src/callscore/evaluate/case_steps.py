"""A case on its way: read, examined by judge and embedder, measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Failed, Malformed, Reply
from callscore.core.judging import NO_VERDICTS, Question, Verdicts
from callscore.evaluate.cases import LoadedCase
from callscore.evaluate.judging import NOTHING_FOUND, Examined, JudgeRunner
from callscore.scorecard.tally import ScoredReply
from callscore.store.worklists import OpenItem


class ParsedReply(msgspec.Struct, frozen=True, gc=False):
    """One answer as its task reads it, what files say about it, and what is still open."""

    model: str
    run: int
    reply: Reply
    output: Any
    view: Any
    """The answer as the benchmarks see it; None where they are not run, or it is malformed."""
    given: Verdicts
    questions: Sequence[Question]
    has_excess: bool = False
    """Whether it states more than is judged."""


class ReadCase(msgspec.Struct, frozen=True, gc=False):
    """A case with all its answers, ready to be examined and measured."""

    opened: LoadedCase
    answers: Mapping[str, Sequence[ParsedReply | tuple[int, Failed]]]
    """By model; a failed run is listed with its number."""
    frozen: Sequence[Question] = ()
    """What is asked once a case, before any answer is looked at."""
    given: Verdicts = NO_VERDICTS
    """What files say to that."""


class ExaminedCase(msgspec.Struct, frozen=True):
    """What came back on one case: on its answers, in their order, and on itself."""

    answers: Sequence[Examined]
    frozen: Examined = NOTHING_FOUND


NOT_EXAMINED = ExaminedCase(())


class MeasuredAnswer(msgspec.Struct, frozen=True, gc=False):
    """One answer with its measures and score, and every verdict that they rest on."""

    read: ParsedReply
    answer: ScoredReply
    verdicts: Verdicts
    found: Verdicts
    """Those that judge and embedder gave just now."""


class MeasuredCase(msgspec.Struct, frozen=True, gc=False):
    """A case with all its answers measured, ready to be added up."""

    opened: LoadedCase
    answers: Mapping[str, Sequence[MeasuredAnswer | tuple[int, Failed]]]
    frozen: Verdicts
    """What judge and embedder said of the case itself."""
    open_items: Sequence[OpenItem] = ()
    """What still awaits a verdict, if requested."""


async def examine_case(read: ReadCase, judge_runner: JudgeRunner) -> ExaminedCase:
    """Put everything that is open about a case to judge and embedder, a request an answer.

    What is asked of an answer may rest on what was found about the case, which then comes first.
    """
    import asyncio

    case, answers = read.opened.case, answers_of(read)
    language = read.opened.task.compared_language(case)
    if judge_runner.judges_whole:
        return await _examine_whole(read, judge_runner)
    asked = [answer.questions for answer in answers]
    if len(asked) == 1 and not read.frozen and not read.given:
        # Nothing to be done at the same time: a task for each would cost more than it does.
        return ExaminedCase(
            [await judge_runner.examine(case, asked[0], answers[0].reply, language)]
        )
    about_case = asyncio.ensure_future(judge_runner.examine(case, read.frozen, None, language))
    if read.opened.task.presume(read.frozen) or read.given:
        known = {**(await about_case).verdicts, **read.given}
        asked = [[*answer.questions, *ask_after(read, answer, known)] for answer in answers]
    frozen, *found = await asyncio.gather(
        about_case,
        *(
            judge_runner.examine(case, questions, answer.reply, language)
            for questions, answer in zip(asked, answers, strict=True)
        ),
    )
    return ExaminedCase(found, frozen)


async def _examine_whole(read: ReadCase, judge_runner: JudgeRunner) -> ExaminedCase:
    """Put every answer to a judge of whole metrics; nothing is asked about the case alone."""
    import asyncio

    case, answers = read.opened.case, answers_of(read)
    language = read.opened.task.compared_language(case)
    asked = [[*a.questions, *read.frozen] if a.questions else [] for a in answers]
    found = await asyncio.gather(
        *(
            judge_runner.examine(case, questions, a.reply, language)
            for questions, a in zip(asked, answers, strict=True)
        )
    )
    return ExaminedCase(found)


def ask_after(read: ReadCase, answer: ParsedReply, known: Verdicts) -> Sequence[Question]:
    """What is open about an answer once the verdicts on its case are known        C-74"""
    if isinstance(answer.output, Malformed):
        return ()
    asked = read.opened.task.ask_after(read.opened.reference, answer.output, known)
    return read.opened.rules.left_open(asked, answer.given) if asked else ()


def answers_of(read: ReadCase) -> list[ParsedReply]:
    """The answers of a case that are answers, in the order of models and runs."""
    return [a for runs in read.answers.values() for a in runs if isinstance(a, ParsedReply)]
