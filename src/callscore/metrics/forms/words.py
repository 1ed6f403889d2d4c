"""The words of a form: what its questions offer, and what a mark in points means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.metrics.forms.form import Form, FormQuestion, describe_condition

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
