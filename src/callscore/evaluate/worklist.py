"""Items that await a verdict after measuring, as a list that people can fill in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from callscore.core.case import Failed
from callscore.core.judging import Item, Question, Verdict, Verdicts
from callscore.core.verdict_rules import VerdictRules
from callscore.evaluate.case_steps import MeasuredReply, ParsedCase, ask_after
from callscore.evaluate.rubrics import rubric_library
from callscore.judges.evidence import PLACES
from callscore.judges.rubric import CANNOT_TELL
from callscore.store.worklists import OpenItem


def undecided_questions(
    rules: VerdictRules, questions: Iterable[Question], verdicts: Verdicts
) -> list[Question]:
    """The questions with a choice of verdicts that have none; an estimate does not count."""
    return [
        question
        for question in questions
        if question.offered
        and not _is_decided(rules, question, verdicts.get(Item(question.metric, question.item), ()))
    ]


def _is_decided(rules: VerdictRules, question: Question, given: Sequence[Verdict]) -> bool:
    """Whether verdicts decide a question; for some questions abstaining does not (C-69)."""
    exact = [verdict for verdict in given if not verdict.approximate]
    if rules.needs_a_word(question):
        return any(verdict.verdict != CANNOT_TELL for verdict in exact)
    return bool(exact)


def waiting_items(
    parsed_case: ParsedCase,
    measured: Mapping[str, Sequence[MeasuredReply | tuple[int, Failed]]],
    about_case: Verdicts,
) -> Sequence[OpenItem]:
    """Items that still await a verdict: about the case itself, then about its replies."""
    case_id = parsed_case.loaded.case.id
    task, rules = parsed_case.loaded.task, parsed_case.loaded.rules
    frozen = undecided_questions(rules, parsed_case.frozen, about_case)
    waiting = [*open_items(case_id, None, 1, frozen)]
    # Whether an outcome is preserved is asked together with whether it is an outcome.
    known = {**task.presume(frozen), **about_case}
    for runs in measured.values():
        for answer in runs:
            if isinstance(answer, MeasuredReply):
                asked = [*answer.parsed.questions, *ask_after(parsed_case, answer.parsed, known)]
                left = undecided_questions(rules, asked, answer.verdicts)
                waiting += open_items(case_id, answer.parsed.model, answer.parsed.run, left)
    return waiting


def open_items(
    case_id: str, model: str | None, run: int, questions: Iterable[Question]
) -> Iterator[OpenItem]:
    """The questions about one reply, or about a case, as lines of a worklist."""
    for question in questions:
        rubric = rubric_library().rubric_for(question)
        compare_with, asked, quoting = question.reference, "", list[str]()
        words = tuple(question.offered)
        if rubric is not None:  # the question of another package has none
            compare_with = rubric.comparison(question.reference if rubric.against_from else "")
            asked, words = rubric.question, tuple(sorted(rubric.words, key=CANNOT_TELL.__eq__))
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
            compare_with=compare_with,
            question=asked,
            words=words,
            quote_from="; ".join(quoting),
        )
