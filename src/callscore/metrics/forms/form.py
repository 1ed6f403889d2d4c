"""QA forms of all vendors: sections, questions, options with points, conditions, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, Literal

import msgspec

Kind = Literal["single", "multi", "number", "text"]
Mode = Literal["question_weights", "section_weights", "section_points", "points"]
"""How a vendor adds up points: weighted questions (Amazon Connect), weighted sections of equal
questions (Amazon Connect), weighted sections of points (Genesys), or plain points (Google)."""
YES = frozenset({"yes", "y", "pass", "passed", "true", "met", "ja", "sí", "si", "oui", "sim", "예"})
NO = frozenset({"no", "n", "fail", "failed", "false", "not met", "nein", "non", "não", "아니오"})
NOT_APPLICABLE = frozenset(
    {"n/a", "na", "n.a.", "n. a.", "not applicable", "does not apply", "nicht zutreffend"}
)
DASHES = frozenset({"-", "–", "—"})
"""An option of a form that is a dash means N/A; elsewhere a dash is no mark (C-139)."""


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
    """The range of this option, if the question is about a number."""


class Condition(msgspec.Struct, frozen=True, omit_defaults=True):
    """A question applies only if another one was answered with one of these options.

    With `all_of` or `any_of`, it joins other conditions instead.
    """

    question_id: str = ""
    answers: Sequence[str] = ()
    """Ids or texts of options."""
    all_of: Sequence[Condition] = ()
    any_of: Sequence[Condition] = ()
    negated: bool = False
    """The question applies only if the rest is not met."""


class FormQuestion(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question of a form."""

    id: str
    title: str
    kind: Kind = "single"
    options: Sequence[Option] = ()
    weight: float | None = None
    na_allowed: bool = False
    is_critical: bool = False
    """Named as critical in reports; Genesys also has a score of such questions alone."""
    is_fatal: bool = False
    """Losing points here fails the whole form (Genesys kill question)."""
    instructions: str = ""
    condition: Condition | None = None
    tags: Sequence[str] = ()

    @property
    def max_score(self) -> float:
        """The most points that an option gives."""
        return max(
            (option.score for option in self.options if option.score is not None), default=0.0
        )

    @property
    def is_pass_fail(self) -> bool:
        """Whether it can only be failed or passed: it has two scores, and the lower one is 0."""
        scores = {
            option.score for option in self.options if option.score is not None and not option.is_na
        }
        return self.kind == "single" and len(scores) == 2 and min(scores) == 0

    @property
    def may_not_apply(self) -> bool:
        """Whether N/A is an answer: the form allows it, or a condition can exclude the question."""
        return self.na_allowed or self.condition is not None

    def option(self, answer: str) -> Option | None:
        """The option with this id or text, or with the range of this number; None if none has."""
        folded = answer.strip().casefold()
        for option in self.options:
            if folded in (option.id.casefold(), option.text.strip().casefold()):
                return option
        for words in (YES, NO):
            if folded in words:
                return next(
                    (option for option in self.options if option.text.casefold() in words), None
                )
        if self.kind == "number":
            return self._option_in_range(answer)
        return None

    def _option_in_range(self, answer: str) -> Option | None:
        try:
            value = float(answer)
        except ValueError:
            return None
        for option in self.options:
            low = option.least if option.least is not None else float("-inf")
            high = option.most if option.most is not None else float("inf")
            if low <= value <= high:
                return option
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
        """The question with this id or title."""
        folded = question_id.strip().casefold()
        return next(
            (q for q in self.questions if folded in (q.id.casefold(), q.title.casefold())), None
        )


class FormAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person marked on one question; `option` is None if it does not apply."""

    option: str | None
    comment: str = ""
    score: float | None = None
    """Points, where the source names points instead of an option."""


class Evaluation(msgspec.Struct, frozen=True, omit_defaults=True):
    """One filled-in form: answers by question id; a question that is not in it was not marked."""

    call_id: str
    answers: Mapping[str, FormAnswer]
    evaluator: str = ""
    source: str = ""


def scored_questions(form: Form) -> list[FormQuestion]:
    """The questions with one answer and points to win."""
    return [q for q in form.questions if q.max_score > 0 and q.kind in ("single", "number")]


def qa_config(form: Form) -> dict[str, Any]:
    """The form as the `config` of a QA case."""
    sections = {question.id: section for section in form.sections for question in section.questions}
    return {
        "questions": [_question_config(q, sections[q.id], form) for q in scored_questions(form)],
        "form": msgspec.to_builtins(form),
    }


def _question_config(question: FormQuestion, section: Section, form: Form) -> dict[str, Any]:
    wording = [question.title]
    if question.instructions and question.instructions != question.title:
        wording.append(question.instructions)
    if not question.is_pass_fail:
        points = "; ".join(
            f"{option.text}: {option.score:g}"
            for option in question.options
            if option.score is not None and not option.is_na
        )
        wording.append(f"Points: {points}.")
    if question.condition is not None:
        wording.append(f"It applies only where {describe_condition(question.condition, form)}.")
    if question.may_not_apply:
        wording.append("Score null where the question does not apply to this call.")
    return {
        "question_id": question.id,
        "question": " ".join(wording),
        "type": "PASS_FAIL" if question.is_pass_fail else "SCORE",
        "max_score": question.max_score,
        "section": section.title,
        **({"tags": list(question.tags)} if question.tags else {}),
    }


def describe_condition(condition: Condition, form: Form) -> str:
    """A condition in words: ids of questions, as the model sees them, and texts of options."""
    if condition.all_of or condition.any_of:
        parts = [describe_condition(one, form) for one in condition.all_of or condition.any_of]
        joined = (" and " if condition.all_of else " or ").join(parts)
        return f"not ({joined})" if condition.negated else f"({joined})"
    question = form.question(condition.question_id)
    texts = []
    for answer in condition.answers:
        option = question.option(answer) if question is not None else None
        texts.append(option.text or answer if option is not None else answer)
    words = "is not answered with" if condition.negated else "is answered with"
    return f"question {condition.question_id} {words} {' or '.join(dict.fromkeys(texts))}"


def expected_questions(
    form: Form, evaluation: Evaluation, hidden: Set[str] = frozenset()
) -> list[dict[str, Any]]:
    """A filled-in form as the `questions` of a QA case's expected outcome        C-139

    What a person did not mark is left out. `hidden` questions do not apply by the form's own
    conditions: unmarked, they are N/A.
    """
    return [
        {
            "question_id": question.id,
            "score": answer_score(question, evaluation.answers.get(question.id)),
            "max_score": question.max_score,
            "type": "PASS_FAIL" if question.is_pass_fail else "SCORE",
            "reason": _comment(evaluation.answers.get(question.id)),
        }
        for question in scored_questions(form)
        if question.id in evaluation.answers or question.id in hidden
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


NA = "N/A"


def imported_form(config: Mapping[str, Any]) -> Form | None:
    """The form that a case was imported with; None if its config has none."""
    raw = config.get("form")
    if not isinstance(raw, Mapping) or "sections" not in raw:
        return None
    try:
        return msgspec.convert(raw, Form)
    except msgspec.ValidationError:
        return None


def imported_question(config: Mapping[str, Any], question_id: str) -> FormQuestion | None:
    """One question of the imported form, without converting the others."""
    raw = config.get("form")
    sections = raw.get("sections") if isinstance(raw, Mapping) else None
    for section in sections if isinstance(sections, list | tuple) else ():
        questions = section.get("questions") if isinstance(section, Mapping) else None
        for question in questions if isinstance(questions, list | tuple) else ():
            if isinstance(question, Mapping) and question.get("id") == question_id:
                try:
                    return msgspec.convert(question, FormQuestion)
                except msgspec.ValidationError:
                    return None
    return None


def offered_answers(question: FormQuestion) -> list[str]:
    """The options of a question in the order of the form; N/A where the form allows it."""
    words = [one.text for one in question.options if not one.is_na and one.score is not None]
    own = [one.text or NA for one in question.options if one.is_na]
    return [*words, *(own[:1] or ([NA] if question.may_not_apply else []))]


def mark_in_words(question: FormQuestion, points: float | None) -> str:
    """The option with these points; `Yes / Done` if several have them, `3 of 5` if none has."""
    if points is None:
        return NA
    words = [one.text for one in question.options if one.score == points and not one.is_na]
    return " / ".join(dict.fromkeys(words)) or f"{points:g} of {question.max_score:g}"


def consequence(question: FormQuestion, form: Form) -> str:
    """What a bad mark does to the form: fails it or a section, or counts as critical."""
    fatal = [one for one in question.options if one.auto_fail]
    whole = [one.text for one in fatal if one.fails_section is None]
    if question.is_fatal:
        return "critical: any lost point fails the form"
    if whole:
        return f"critical: {' or '.join(whole)} fails the form"
    if fatal:
        titles = {section.id: section.title for section in form.sections}
        section = titles.get(fatal[0].fails_section or "") or fatal[0].fails_section
        return f"critical: {' or '.join(one.text for one in fatal)} fails the section {section}"
    return "critical" if question.is_critical else ""


def guidance(question: FormQuestion, form: Form) -> str:
    """What a person has to know besides the question: instructions, condition, consequence."""
    parts = [question.instructions if question.instructions != question.title else ""]
    if question.condition is not None:
        parts.append(f"Applies only where {describe_condition(question.condition, form)}.")
    parts.append(consequence(question, form))
    return "\n".join(filter(None, parts))
