"""What a person is asked about a call, one line an item, for every task of the calls suite."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Turn, turns
from callscore.core.errors import UsageError

SENTIMENTS = ("negative", "neutral", "positive")
EMOTIONS = ("anger", "neutral", "joy", "fear", "sadness")
YES_NO = ("yes", "no")
NOT_APPLICABLE = "N/A"


class LabelItem(msgspec.Struct, frozen=True):
    """One thing to mark on one call."""

    call_id: str
    part: str
    item: str
    question: str
    options: Sequence[str] = ()
    """What may be answered; empty if any text is allowed."""
    required: bool = True
    text: str = ""
    """The words of the call that the item is about."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What finds the item again in a filled-in sheet."""
        return self.call_id, self.part, self.item


class Call(msgspec.Struct, frozen=True):
    """A transcript to label, as `callscore import` writes it."""

    id: str
    transcript: str | Sequence[Turn]
    call_id: str | None = None
    lang: str | None = None
    provenance: Any = None

    @property
    def name(self) -> str:
        """The id of the call."""
        return self.call_id or self.id


def items_of(call: Call, task: str, config: Mapping[str, Any]) -> list[LabelItem]:
    """What to ask about a call for a task; raises UsageError if the config asks nothing."""
    asking = _ASKING.get(task)
    if asking is None:
        raise UsageError(f"{task!r} cannot be labelled; expected one of {', '.join(_ASKING)}")
    found = list(asking(call, config))
    if not found:
        raise UsageError(f"the config of {task} asks nothing; expected {_NEEDED[task]}")
    return found


def _qa(call: Call, config: Mapping[str, Any]) -> Iterator[LabelItem]:
    for question in config.get("questions") or ():
        yield LabelItem(
            call.name,
            "questions",
            str(question["question_id"]),
            str(question.get("question") or question["question_id"]),
            marks_of(question),
        )


def marks_of(question: Mapping[str, Any]) -> Sequence[str]:
    """What may be marked on a question: yes and no, or every whole mark of its scale."""
    if question.get("type") == "PASS_FAIL":
        return ("Yes", "No", NOT_APPLICABLE)
    most = question.get("max_score")
    if isinstance(most, int | float) and float(most).is_integer() and 0 < most <= 20:
        return (*(str(mark) for mark in range(int(most) + 1)), NOT_APPLICABLE)
    return ()


def _entity(call: Call, config: Mapping[str, Any]) -> Iterator[LabelItem]:
    for part in ("keywords", "topics"):
        kind = part.removesuffix("s")
        for name in config.get(part) or ():
            yield LabelItem(call.name, part, str(name), f"Is the {kind} {name!r} in it?", YES_NO)


def _text(call: Call, config: Mapping[str, Any]) -> Iterator[LabelItem]:
    for turn in turns(call.transcript):
        label = "What is the sentiment of this turn?"
        yield LabelItem(call.name, "sentiment", str(turn.id), label, SENTIMENTS, text=turn.text)
    yield LabelItem(call.name, "summary", "call_purpose", "Why did the customer call?")
    yield LabelItem(
        call.name, "summary", "highlights", "What happened? One highlight a line, or after `;`."
    )
    for field in config.get("required_fields") or ():
        question = f"What is the {field}? Empty where the call does not say."
        yield LabelItem(call.name, "fields", str(field), question, required=False)
    for emotion in config.get("emotions") or EMOTIONS:
        question = f"How much {emotion} is in the customer's words, of 100?"
        yield LabelItem(call.name, "emotion", str(emotion), question, required=False)


def _translation(call: Call, config: Mapping[str, Any]) -> Iterator[LabelItem]:
    target = config.get("target_language") or "the target language"
    for turn in turns(call.transcript):
        question = f"This turn in {target}?"
        yield LabelItem(call.name, "sentences", str(turn.id), question, text=turn.text)
    for part, key in (("terms", "domain_terms"), ("names", "named_entities")):
        for name in config.get(key) or ():
            question = f"How is {name!r} written in the translation? Empty where it is not in it."
            yield LabelItem(call.name, part, str(name), question, required=False)


_ASKING: Mapping[str, Callable[[Call, Mapping[str, Any]], Iterator[LabelItem]]] = {
    "qa": _qa,
    "entity": _entity,
    "text": _text,
    "translation": _translation,
}
_NEEDED = {
    "qa": "`questions`, or a form",
    "entity": "`keywords` or `topics`",
    "text": "a transcript with turns",
    "translation": "a transcript with turns",
}
