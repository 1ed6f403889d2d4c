"""QA forms of all vendors: sections, questions, options with points, N/A, conditions, auto-fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

Kind = Literal["single", "multi", "number", "text"]
Mode = Literal["question_weights", "section_weights", "section_points", "points"]
"""How a vendor adds up: weighted questions (Amazon Connect), weighted sections of equal questions
(Amazon Connect), weighted sections of points (Genesys), or plain points (Google)."""
YES = frozenset({"yes", "y", "pass", "passed", "true", "met", "ja", "sí", "si", "oui", "sim", "예"})
NO = frozenset({"no", "n", "fail", "failed", "false", "not met", "nein", "non", "não", "아니오"})
NOT_APPLICABLE = frozenset({"n/a", "na", "not applicable", "n.a.", "-", "nicht zutreffend"})


class Option(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer that may be chosen."""

    id: str
    text: str
    score: float | None = None
    auto_fail: bool = False
    """Choosing it fails the form, or only the section `fails_section`."""
    fails_section: str | None = None
    is_na: bool = False
    least: float | None = None
    most: float | None = None
    """Of a number question: the range of this option."""


class Condition(msgspec.Struct, frozen=True):
    """A question applies only if another one was answered with one of these options."""

    question_id: str
    answers: Sequence[str]
    """Ids or texts of options."""


class FormQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question of a form."""

    id: str
    title: str
    kind: Kind = "single"
    options: Sequence[Option] = ()
    weight: float | None = None
    na_allowed: bool = False
    is_critical: bool = False
    """Counted in the separate critical score (Genesys)."""
    is_fatal: bool = False
    """Losing points here fails the whole form (Genesys kill question)."""
    instructions: str = ""
    condition: Condition | None = None
    tags: Sequence[str] = ()

    @property
    def max_score(self) -> float:
        """The most points that an option gives."""
        return max((one.score for one in self.options if one.score is not None), default=0.0)

    @property
    def is_pass_fail(self) -> bool:
        """Whether it can only be failed or passed: two scores, the lower of them 0."""
        scores = {one.score for one in self.options if one.score is not None and not one.is_na}
        return self.kind == "single" and len(scores) == 2 and min(scores) == 0

    def option(self, answer: str) -> Option | None:
        """The option of an id or a text; of a number, the one in whose range it lies."""
        wanted = answer.strip().casefold()
        for one in self.options:
            if wanted in (one.id.casefold(), one.text.strip().casefold()):
                return one
        for words in (YES, NO):
            if wanted in words:
                return next((one for one in self.options if one.text.casefold() in words), None)
        if self.kind == "number":
            return self._in_range(answer)
        return None

    def _in_range(self, answer: str) -> Option | None:
        try:
            number = float(answer)
        except ValueError:
            return None
        for one in self.options:
            low = one.least if one.least is not None else float("-inf")
            high = one.most if one.most is not None else float("inf")
            if low <= number <= high:
                return one
        return None


class Section(msgspec.Struct, frozen=True, omit_defaults=True):
    """A part of a form."""

    id: str
    title: str
    questions: Sequence[FormQuestion]
    weight: float | None = None


class Form(msgspec.Struct, frozen=True, omit_defaults=True):
    """A whole form."""

    id: str
    title: str
    sections: Sequence[Section]
    mode: Mode
    vendor: str
    notes: Sequence[str] = ()
    """Parts of the vendor's form that have no counterpart here."""

    @property
    def questions(self) -> Iterator[FormQuestion]:
        """All questions, section by section."""
        for section in self.sections:
            yield from section.questions

    def question(self, question_id: str) -> FormQuestion | None:
        """The question of an id or a title."""
        wanted = question_id.strip().casefold()
        return next(
            (one for one in self.questions if wanted in (one.id.casefold(), one.title.casefold())),
            None,
        )


class FormAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person marked on one question; `option` is None if it does not apply."""

    option: str | None
    comment: str = ""
    score: float | None = None
    """Points, where the source names points instead of an option."""


class Evaluation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One filled-in form: answers by question id."""

    call_id: str
    answers: Mapping[str, FormAnswer]
    evaluator: str = ""
    source: str = ""


def scored_questions(form: Form) -> list[FormQuestion]:
    """The questions that can be scored: those with points to win."""
    return [one for one in form.questions if one.max_score > 0 and one.kind in ("single", "number")]


def qa_config(form: Form) -> dict[str, Any]:
    """The form as the `config` of a QA case."""
    sections = {question.id: section for section in form.sections for question in section.questions}
    return {
        "questions": [_question_config(one, sections[one.id]) for one in scored_questions(form)],
        "form": msgspec.to_builtins(form),
    }


def _question_config(question: FormQuestion, section: Section) -> dict[str, Any]:
    wording = [question.title]
    if question.instructions and question.instructions != question.title:
        wording.append(question.instructions)
    if not question.is_pass_fail:
        points = "; ".join(
            f"{one.text}: {one.score:g}"
            for one in question.options
            if one.score is not None and not one.is_na
        )
        wording.append(f"Points: {points}.")
    if question.condition is not None:
        wording.append(_condition_text(question.condition))
    if question.na_allowed or question.condition is not None:
        wording.append("Score null where the question does not apply to this call.")
    return {
        "question_id": question.id,
        "question": " ".join(wording),
        "type": "PASS_FAIL" if question.is_pass_fail else "SCORE",
        "max_score": question.max_score,
        "section": section.title,
        **({"tags": list(question.tags)} if question.tags else {}),
    }


def _condition_text(condition: Condition) -> str:
    answers = " or ".join(condition.answers)
    return f"It applies only where question {condition.question_id} is answered with {answers}."


def expected_questions(form: Form, evaluation: Evaluation) -> list[dict[str, Any]]:
    """A filled-in form as the `questions` of a QA case's expected outcome."""
    return [
        {
            "question_id": question.id,
            "score": answer_score(question, evaluation.answers.get(question.id)),
            "max_score": question.max_score,
            "type": "PASS_FAIL" if question.is_pass_fail else "SCORE",
            "reason": _comment(evaluation.answers.get(question.id)),
        }
        for question in scored_questions(form)
    ]


def _comment(answer: FormAnswer | None) -> str:
    return answer.comment if answer is not None else ""


def answer_score(question: FormQuestion, answer: FormAnswer | None) -> float | None:
    """The points of an answer; None if the question does not apply."""
    if answer is None:
        return None
    if answer.score is not None:
        return answer.score
    if answer.option is None:
        return None
    chosen = question.option(answer.option)
    return None if chosen is None or chosen.is_na else chosen.score
