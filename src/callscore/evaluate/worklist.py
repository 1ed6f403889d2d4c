"""What awaits a verdict once everything was measured, as a list that people can fill in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from callscore.core.case import Failed
from callscore.core.judging import Item, Question, Verdict, Verdicts
from callscore.core.verdict_rules import VerdictRules
from callscore.evaluate.case_steps import MeasuredAnswer, ReadCase, ask_after
from callscore.judges.evidence import PLACES
from callscore.judges.rubric import CANNOT_TELL, shipped
from callscore.store.worklists import OpenItem


def still_open(
    rules: VerdictRules, questions: Iterable[Question], verdicts: Verdicts
) -> list[Question]:
    """The questions with words to choose from that no verdict answers; an estimate is none."""
    return [
        question
        for question in questions
        if question.offered
        and not _answers(rules, question, verdicts.get(Item(question.metric, question.item), ()))
    ]


def _answers(rules: VerdictRules, question: Question, given: Sequence[Verdict]) -> bool:
    """Whether verdicts decide a question; of some, abstaining decides nothing (C-69)."""
    exact = [verdict for verdict in given if not verdict.approximate]
    if rules.needs_a_word(question):
        return any(verdict.verdict != CANNOT_TELL for verdict in exact)
    return bool(exact)


def waiting_items(
    read: ReadCase,
    measured: Mapping[str, Sequence[MeasuredAnswer | tuple[int, Failed]]],
    about_case: Verdicts,
) -> Sequence[OpenItem]:
    """What still awaits a verdict: on a case itself, then on its answers."""
    case_id = read.opened.case.id
    task, rules = read.opened.task, read.opened.rules
    frozen = still_open(rules, read.frozen, about_case)
    waiting = [*open_items(case_id, None, 1, frozen)]
    # Whether an outcome is kept is asked together with whether it is one.
    known = {**task.presume(frozen), **about_case}
    for runs in measured.values():
        for answer in runs:
            if isinstance(answer, MeasuredAnswer):
                asked = [*answer.read.questions, *ask_after(read, answer.read, known)]
                left = still_open(rules, asked, answer.verdicts)
                waiting += open_items(case_id, answer.read.model, answer.read.run, left)
    return waiting


def open_items(
    case_id: str, model: str | None, run: int, questions: Iterable[Question]
) -> Iterator[OpenItem]:
    """The questions about one answer, or about a case, as lines of a worklist."""
    for question in questions:
        rubric = shipped().rubric_for(question)
        if rubric is None:
            continue
        quoting = [
            f"{word}: {' or '.join(PLACES[place] for place in places)}"
            for word, places in rubric.evidence.items()
        ]
        yield OpenItem(
            case_id=case_id,
            model=model,
            run=run,
            metric=question.metric,
            item=question.item,
            text=question.text,
            compare_with=rubric.compared(question.reference if rubric.against_from else ""),
            question=rubric.question,
            words=tuple(sorted(rubric.words, key=CANNOT_TELL.__eq__)),
            quote_from="; ".join(quoting),
        )
