"""One answer to one random call, judged and measured as a run does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any
from zlib import crc32

import msgspec

from calls_suite import formula_of, tasks
from callscore.core.case import Case, Malformed, Reply
from callscore.core.judging import Item, Question, Verdict, Verdicts
from callscore.core.task import Measured, Task
from callscore.metrics.text import n2
from callscore.scorecard.formula import TaskFormula, score_case
from callscore.scorecard.scored_reply import ScoredReply
from callscore.scorecard.tally import TaskTally
from callscore.suites.calls import spec
from random_calls.dice import Json

Judge = Callable[[Question], Verdict]
AnyTask = Task[Any, Any]

TASKS = tasks(spec.make_settings())
BEST_WORD = {"qa.evidence_backed_reasoning": "as_described"}
WORST_WORD = {"qa.evidence_backed_reasoning": "vague"}
ABOUT_THE_REFERENCE = ("translation.proper_nouns", "translation.critical_facts")


def kindest(question: Question) -> Verdict:
    """The best verdict there is."""
    if not question.offered:
        return Verdict(question.metric, question.item, value=1.0)
    word = BEST_WORD.get(question.metric, question.offered[0])
    return Verdict(question.metric, question.item, word, text=question.text)


def steady(question: Question) -> Verdict:
    """A verdict that depends on nothing but the words judged; the worst where they are WRONG."""
    about = question.reference if question.metric in ABOUT_THE_REFERENCE else question.text
    number = crc32(n2(about).encode())
    is_wrong = "WRONG" in about
    if not question.offered:
        return Verdict(question.metric, question.item, value=0.0 if is_wrong else number % 11 / 10)
    words = [word for word in question.offered if word != "cannot_tell"]
    word = words[number % len(words)]
    if is_wrong:
        word = WORST_WORD.get(question.metric, words[-1])
    return Verdict(question.metric, question.item, word, text=question.text)


def measured(task: AnyTask, case: Json, answer: object, judge: Judge) -> Measured:
    """Everything measured on an answer, with a verdict on all that code leaves open."""
    return task.measure(*examined(task, case, answer, judge))


def examined(
    task: AnyTask, case: Json, answer: object, judge: Judge
) -> tuple[Any, Any | Malformed, Verdicts]:
    """Reference, output, and a verdict on all that code leaves open."""
    reference = task.reference(msgspec.convert(case, Case))
    output = task.read(reference, Reply(msgspec.json.encode(answer)))
    if isinstance(output, Malformed):
        return reference, output, {}
    return reference, output, _by_item(map(judge, task.ask(reference, output)))


def answered(task: AnyTask, case: Json, answer: object, judge: Judge) -> ScoredReply:
    """The answer measured and scored."""
    found = measured(task, case, answer, judge)
    return ScoredReply(found, score_case(formula(task.name), found))


def formula(task: str) -> TaskFormula:
    """The formula of a task under the default settings."""
    return formula_of(task, "all")


def tallied(task: str, answers: Iterable[tuple[str, ScoredReply]]) -> TaskTally:
    """The tally of the answers, given with the ids of their cases."""
    tally = TaskTally()
    for case_id, answer in answers:
        tally.add_case(case_id, formula(task), [answer])
    return tally


def permuted(dice: Random, value: Any) -> Any:
    """The same JSON with every list and every object in another order."""
    if isinstance(value, list):
        return [permuted(dice, item) for item in dice.sample(value, len(value))]
    if isinstance(value, dict):
        return {key: permuted(dice, value[key]) for key in dice.sample(list(value), len(value))}
    return value


def _by_item(verdicts: Iterable[Verdict]) -> Verdicts:
    found: dict[Item, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(Item(verdict.metric, verdict.item), []).append(verdict)
    return found
