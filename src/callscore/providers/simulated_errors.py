"""An expected answer made worse at stated rates: what a weaker model would get wrong."""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from callscore.core.case import ToolCall

_NUMBER = re.compile(r"\d+")
_LABELS = ("positive", "neutral", "negative")
INVENTED_FACT = "A supervisor promised a credit of 750 by Friday"
INVENTED_QUOTE = ' At 58:41 the agent says "I have noted all of it for you".'
INVENTED_ENTITY = "loyalty platinum upgrade"

Json = dict[str, Any]
SCENARIO = "scenario"
"""The task of a step of a scenario: the only one that is answered with calls of tools."""


class Rates(msgspec.Struct, frozen=True):
    """How often an item is changed, left out, or something is invented beside it."""

    wrong_scores: float
    missing_labels: float
    fabricated_facts: float


class FakeReply(msgspec.Struct, frozen=True):
    """A degraded answer: text, or calls of tools."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()


class _Chances:
    """The three coins, thrown in a fixed order."""

    def __init__(self, rates: Rates, chance: random.Random) -> None:
        self._rates = rates
        self.chance = chance

    def wrong(self) -> bool:
        return self.chance.random() < self._rates.wrong_scores

    def missing(self) -> bool:
        return self.chance.random() < self._rates.missing_labels

    def fabricated(self) -> bool:
        return self.chance.random() < self._rates.fabricated_facts

    def kept(self, items: list[Any]) -> list[Any]:
        return [item for item in items if not self.missing()]


def degraded(
    task: str, expected: Mapping[str, Any], rates: Rates, chance: random.Random
) -> FakeReply:
    """The expected outcome of a case as an answer, degraded in the way of its task."""
    outcome: Json = copy.deepcopy(dict(expected))
    chances = _Chances(rates, chance)
    if task == SCENARIO:
        return _scenario(outcome, chances)
    worsen = _BY_TASK.get(task)
    if worsen is not None:
        worsen(outcome, chances)
    return FakeReply(msgspec.json.encode(outcome).decode())


def _qa(outcome: Json, chances: _Chances) -> None:
    for question in _objects(outcome.get("questions")):
        if chances.wrong():
            question["score"] = _other_score(question, chances.chance)
        if chances.missing():
            question["reason"] = ""
        if chances.fabricated():
            question["reason"] = f"{question.get('reason') or ''}{INVENTED_QUOTE}"


def _other_score(question: Json, chance: random.Random) -> float:
    score, highest = question.get("score"), question.get("max_score")
    if not isinstance(highest, (int, float)):
        return 0
    if not isinstance(score, (int, float)):
        return highest
    if question.get("type") == "PASS_FAIL" or highest <= 1:
        return 0 if score else highest
    return chance.choice([mark for mark in range(int(highest) + 1) if mark != score])


def _entity(outcome: Json, chances: _Chances) -> None:
    configured = [name for name in outcome.get("valid_entity_set") or [] if isinstance(name, str)]
    for key in ("detected_keywords", "detected_topics"):
        found = outcome.get(key)
        if not isinstance(found, list):
            continue
        kept = chances.kept(found)
        others = [name for name in configured if name not in found]
        kept = [chances.chance.choice(others) if others and chances.wrong() else e for e in kept]
        if chances.fabricated():
            kept.append(INVENTED_ENTITY)
        outcome[key] = list(dict.fromkeys(kept)) if _all_text(kept) else kept


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _text(outcome: Json, chances: _Chances) -> None:
    sentiment = outcome.get("sentiment")
    if isinstance(sentiment, list):
        outcome["sentiment"] = chances.kept(sentiment)
        for sentence in _objects(outcome["sentiment"]):
            if chances.wrong():
                others = [label for label in _LABELS if label != sentence.get("label")]
                sentence["label"] = chances.chance.choice(others)
    summary = outcome.get("summary")
    if isinstance(summary, dict):
        _summary(summary, chances)
    emotion = outcome.get("emotion")
    if isinstance(emotion, dict) and emotion and chances.wrong():
        shares = list(emotion.values())
        outcome["emotion"] = dict(zip(emotion, shares[1:] + shares[:1], strict=True))


def _summary(summary: Json, chances: _Chances) -> None:
    highlights = summary.get("highlights")
    if isinstance(highlights, list):
        kept = [_other_number(h) if chances.wrong() else h for h in chances.kept(highlights)]
        summary["highlights"] = [*kept, INVENTED_FACT] if chances.fabricated() else kept
    known = summary.get("call_extracted_info")
    if isinstance(known, dict):
        for field in known:
            if chances.missing():
                known[field] = ""


def _translation(outcome: Json, chances: _Chances) -> None:
    sentences = outcome.get("sentence_translations")
    if not isinstance(sentences, list):
        return
    before = _translated(outcome)
    outcome["sentence_translations"] = chances.kept(sentences)
    for sentence in _objects(outcome["sentence_translations"]):
        text = sentence.get("translated_text")
        if chances.wrong():
            text = _other_number(text)
        if chances.fabricated():
            text = f"{text} ({INVENTED_FACT})"
        sentence["translated_text"] = text
    after = _translated(outcome)
    if after != before:
        outcome["full_translation"] = after
    for key in ("domain_terms_handled", "named_entities_handled"):
        if isinstance(outcome.get(key), list):
            outcome[key] = chances.kept(outcome[key])


def _orchestration(outcome: Json, chances: _Chances) -> None:
    """Calls, actions or graphs of other origin; of accepted values the first is answered."""
    if isinstance(outcome.get("calls"), list):
        made = [
            {"name": name, "arguments": {key: _first(value) for key, value in given.items()}}
            for call in _objects(outcome["calls"])
            for name, given in call.items()
            if isinstance(given, dict)
        ]
        outcome["calls"] = [_worse_call(call, chances) for call in chances.kept(made)]
    for key in ("actions", "nodes", "edges"):
        if isinstance(outcome.get(key), list):
            outcome[key] = chances.kept(outcome[key])


def _worse_call(call: Json, chances: _Chances) -> Json:
    arguments = {
        key: _other_value(value) if chances.wrong() else value
        for key, value in call["arguments"].items()
        if value != "" and not chances.missing()
    }
    name = f"{call['name']}_now" if chances.fabricated() else call["name"]
    return {"name": name, "arguments": arguments}


def _first(accepted: Any) -> Any:
    """The first accepted value, inside objects too; an empty text means: left out."""
    value = accepted[0] if isinstance(accepted, list) and accepted else accepted
    if isinstance(value, dict):
        return {key: _first(inner) for key, inner in value.items()}
    return value


def _translated(outcome: Json) -> str:
    sentences = _objects(outcome["sentence_translations"])
    return "\n".join(str(sentence.get("translated_text")) for sentence in sentences)


def _other_number(text: Any) -> Any:
    """The first number of a text one higher; a text without numbers loses its last word."""
    if not isinstance(text, str):
        return text
    if _NUMBER.search(text):
        return _NUMBER.sub(lambda found: str(int(found.group()) + 1), text, count=1)
    return text.rpartition(" ")[0] or text


def _objects(value: Any) -> list[Json]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


_BY_TASK: Mapping[str, Callable[[Json, _Chances], None]] = {
    "qa": _qa,
    "entity": _entity,
    "text": _text,
    "translation": _translation,
    "orchestration": _orchestration,
}


def _scenario(outcome: Json, chances: _Chances) -> FakeReply:
    """`{calls}` become tool calls; `{text}` (a rejection) stays; `{workflows}` are a plan."""
    if "calls" in outcome:
        calls = chances.kept(_objects(outcome["calls"]))
        if calls:
            return FakeReply("", tuple(_tool_call(call, chances) for call in calls))
        return FakeReply("<response><status>AWAITING_USER_INPUT</status></response>")
    plan = outcome.get("plan")
    if isinstance(plan, dict):
        for workflow in _objects(list(plan.values())):
            workflow["steps"] = _plan_steps(_objects(workflow.get("steps")), chances)
        return FakeReply(msgspec.json.encode(plan).decode())
    if chances.fabricated():
        return FakeReply("Done, I have taken care of it.")
    return FakeReply(str(outcome.get("text", "")))


def _plan_steps(steps: list[Json], chances: _Chances) -> list[Json]:
    agents = [step.get("agent_id") for step in steps]
    kept = chances.kept(steps)
    for step in kept:
        if chances.wrong():
            step["agent_id"] = chances.chance.choice(agents) if len(set(agents)) > 1 else "helper"
    return [*kept, {**kept[-1]}] if kept and chances.fabricated() else kept


def _tool_call(call: Json, chances: _Chances) -> ToolCall:
    arguments = call.get("arguments")
    known = dict(arguments) if isinstance(arguments, dict) else {}
    for name in list(known):
        if chances.missing():
            del known[name]
        elif chances.wrong():
            known[name] = _other_value(known[name])
    if chances.fabricated():
        known["note"] = INVENTED_FACT
    return ToolCall(str(call.get("name", "")), msgspec.json.encode(known).decode())


def _other_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, (int, float)) else _other_number(value)
