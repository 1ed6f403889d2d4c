"""How people label calls: questions and expected outcomes of the four tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from callscore.core.case import JsonObject, turns
from callscore.core.errors import ConfigError, DataError
from callscore.core.labelling import CallLabels, CallTranscript, LabelItem, Labelling
from callscore.metrics.forms.arithmetic import chosen_by_people, hidden_questions
from callscore.metrics.forms.form import (
    Evaluation,
    FormAnswer,
    answer_score,
    guidance,
    imported_form,
    offered_answers,
)
from callscore.suites.calls.prompt import SAMPLE_EMOTIONS

SENTIMENTS = ("negative", "neutral", "positive")
YES_NO = ("yes", "no")
NOT_APPLICABLE = "N/A"
MOST_MARKS = 20
"""A scale with more marks is answered with a number instead of a choice."""


class QALabelling:
    """A mark and a reason for every question of a form."""

    accepts_form = True
    requires = "`questions`, or a form"

    def items(self, call: CallTranscript, config: JsonObject) -> Iterator[LabelItem]:
        """One item per question, in the words of the form if there is one."""
        form = imported_form(config)
        sections = (
            {}
            if form is None
            else {
                question.id: section.title
                for section in form.sections
                for question in section.questions
            }
        )
        for question in _questions(config):
            name = str(question["question_id"])
            asked = form.question(name) if form is not None else None
            if form is None or asked is None:
                wording = str(question.get("question") or name)
                marks = _marks(question)
                yield LabelItem(call.name, "questions", name, wording, marks, asks_reason=True)
                continue
            yield LabelItem(
                call.name,
                "questions",
                name,
                asked.title,
                offered_answers(asked),
                required=asked.condition is None,
                asks_reason=True,
                section=sections[asked.id],
                help=guidance(asked, form),
            )

    def expected_outcome(
        self, call: CallTranscript, labels: CallLabels, config: JsonObject
    ) -> dict[str, Any]:
        """The questions with their scores and reasons."""
        form = imported_form(config)
        answers = {
            name: FormAnswer(label.answer, label.comment)
            for (_, name), label in labels.items()
            if form is not None
        }
        hidden: set[str] = set()
        if form is not None:
            hidden = hidden_questions(form, chosen_by_people(form, Evaluation(call.name, answers)))
        questions = []
        for question in _questions(config):
            name = str(question["question_id"])
            label = labels.get(("questions", name))
            if label is None and name not in hidden:
                raise DataError(
                    "is not marked; expected an answer, as its condition is met",
                    field=f"questions.{name}",
                    case_id=call.name,
                )
            asked = form.question(name) if form is not None else None
            if label is None:
                score = None
            elif asked is not None:
                score = answer_score(asked, answers[name])
            else:
                score = _score(label.answer, question, call)
            questions.append(
                {
                    "question_id": question["question_id"],
                    "score": score,
                    "max_score": question["max_score"],
                    "type": question["type"],
                    "reason": label.comment if label is not None else "",
                }
            )
        return {"questions": questions}


def _questions(config: JsonObject) -> Sequence[Mapping[str, Any]]:
    questions = config.get("questions") or ()
    for number, question in enumerate(questions):
        for key in ("question_id", "type", "max_score"):
            if not isinstance(question, Mapping) or key not in question:
                raise ConfigError(f"config: questions[{number}]: has no `{key}`")
    return questions


def _marks(question: Mapping[str, Any]) -> Sequence[str]:
    """The allowed marks: yes and no, or every whole number of the scale."""
    if question["type"] == "PASS_FAIL":
        return ("Yes", "No", NOT_APPLICABLE)
    most = question["max_score"]
    if isinstance(most, int | float) and float(most).is_integer() and 0 < most <= MOST_MARKS:
        return (*(str(mark) for mark in range(int(most) + 1)), NOT_APPLICABLE)
    return ()


def _score(answer: str, question: Mapping[str, Any], call: CallTranscript) -> float | None:
    if answer.casefold() == NOT_APPLICABLE.casefold():
        return None
    most = float(question["max_score"])
    if question["type"] == "PASS_FAIL":
        return most if answer.casefold() == "yes" else 0.0
    return _number(answer, call, f"questions.{question['question_id']}", most)


def _number(answer: str, call: CallTranscript, field: str, most: float) -> float:
    try:
        value = float(answer.replace(",", "."))
    except ValueError:
        value = -1.0
    if not 0 <= value <= most:
        raise DataError(
            f"{answer!r}; expected a number from 0 to {most:g}", field=field, case_id=call.name
        )
    return value


class EntityLabelling:
    """Whether each configured keyword and topic occurs in the call."""

    accepts_form = False
    requires = "`keywords` or `topics`"

    def items(self, call: CallTranscript, config: JsonObject) -> Iterator[LabelItem]:
        """One item per configured entity."""
        for part in ("keywords", "topics"):
            kind = part.removesuffix("s")
            for name in config.get(part) or ():
                question = f"Does the {kind} {name!r} occur in the call?"
                yield LabelItem(call.name, part, str(name), question, YES_NO)

    def expected_outcome(
        self, call: CallTranscript, labels: CallLabels, config: JsonObject
    ) -> dict[str, Any]:
        """The entities that occur, and the configured list        C-43"""
        configured = {part: config.get(part) or () for part in ("keywords", "topics")}
        present = {
            part: [name for name in names if labels[part, str(name)].answer.casefold() == "yes"]
            for part, names in configured.items()
        }
        return {
            "detected_keywords": present["keywords"],
            "detected_topics": present["topics"],
            "valid_entity_set": [*configured["keywords"], *configured["topics"]],
        }


class TextLabelling:
    """The sentiment of every turn, a summary with its fields, and the emotions."""

    accepts_form = False
    requires = "a transcript with turns"

    def items(self, call: CallTranscript, config: JsonObject) -> Iterator[LabelItem]:
        """One item per turn, two for the summary, one per field and emotion."""
        for turn in turns(call.transcript):
            question = "What is the sentiment of this turn?"
            yield LabelItem(
                call.name, "sentiment", str(turn.id), question, SENTIMENTS, text=turn.text
            )
        yield LabelItem(call.name, "summary", "call_purpose", "Why did the customer call?")
        question = "What happened? One highlight per line, or separated by `;`."
        yield LabelItem(call.name, "summary", "highlights", question)
        for field in config.get("required_fields") or ():
            question = f"What is the {field}? Empty if the call does not say."
            yield LabelItem(call.name, "fields", str(field), question, required=False)
        for emotion in config.get("emotions") or SAMPLE_EMOTIONS:
            question = f"How much {emotion} is in the customer's words, from 0 to 100?"
            yield LabelItem(call.name, "emotion", str(emotion), question, required=False)

    def expected_outcome(
        self, call: CallTranscript, labels: CallLabels, config: JsonObject
    ) -> dict[str, Any]:
        """Sentiment, summary, and the emotions if any was labelled."""
        sentiment = [
            {
                "sentence_id": turn.id,
                "text": turn.text,
                "label": labels["sentiment", str(turn.id)].answer,
            }
            for turn in turns(call.transcript)
        ]
        highlights = labels["summary", "highlights"].answer.replace(";", "\n").split("\n")
        emotions = {
            item: _number(label.answer, call, f"emotion.{item}", 100.0)
            for (part, item), label in labels.items()
            if part == "emotion"
        }
        outcome: dict[str, Any] = {
            "sentiment": sentiment,
            "summary": {
                "call_purpose": labels["summary", "call_purpose"].answer,
                "highlights": [line.strip() for line in highlights if line.strip()],
                "call_extracted_info": {
                    field: labels["fields", field].answer if ("fields", field) in labels else ""
                    for field in map(str, config.get("required_fields") or ())
                },
            },
        }
        if emotions:
            outcome["emotion"] = emotions
        return outcome


class TranslationLabelling:
    """The translation of every turn, of the domain terms and of the named entities."""

    accepts_form = False
    requires = "a transcript with turns"

    def items(self, call: CallTranscript, config: JsonObject) -> Iterator[LabelItem]:
        """One item per turn, term and name."""
        target = config.get("target_language") or "the target language"
        for turn in turns(call.transcript):
            question = f"What is this turn in {target}?"
            yield LabelItem(call.name, "sentences", str(turn.id), question, text=turn.text)
        for part, key in (("terms", "domain_terms"), ("names", "named_entities")):
            for name in config.get(key) or ():
                question = f"How is {name!r} written in the translation? Empty if it is absent."
                yield LabelItem(call.name, part, str(name), question, required=False)

    def expected_outcome(
        self, call: CallTranscript, labels: CallLabels, config: JsonObject
    ) -> dict[str, Any]:
        """The translation as a whole and by turn, with terms and names as they are written."""
        sentences = [
            {
                "source_id": turn.id,
                "source_text": turn.text,
                "translated_text": labels["sentences", str(turn.id)].answer,
            }
            for turn in turns(call.transcript)
        ]
        handled = {
            part: [
                {name: item, "handled_as": labels[part, item].answer}
                for item in map(str, config.get(key) or ())
                if (part, item) in labels
            ]
            for part, key, name in (
                ("terms", "domain_terms", "term"),
                ("names", "named_entities", "entity"),
            )
        }
        return {
            "full_translation": " ".join(str(one["translated_text"]) for one in sentences),
            "sentence_translations": sentences,
            "domain_terms_handled": handled["terms"],
            "named_entities_handled": handled["names"],
        }


LABELLINGS: Mapping[str, Labelling] = {
    "qa": QALabelling(),
    "entity": EntityLabelling(),
    "text": TextLabelling(),
    "translation": TranslationLabelling(),
}
