"""The prompt of a case: the task's instructions (a file), the config, and the call as data.

It requests exactly what the reply is scored on (C-130): the reference defines the items, the config
their wording. Only names are taken from the reference: ids, source texts, scales, fields, emotions
and the list of entities; never a value. The schema of the reply is made from the shape that also
checks its structure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Case, JsonObject, Message, Prompt, turn_fields, turns
from callscore.core.suite import DataNames
from callscore.metrics.text import item_id
from callscore.suites.calls.reply_parser import ReplyForm, Structure, form_from_schema
from callscore.suites.calls.structure import SCALAR, Shape

NEVER_SHOWN = frozenset({"critical_facts"})
"""Config keys that would give the answer away (C-123)."""
OMITTED = msgspec.UNSET
"""Replaces a config key that the prompt leaves out, as its content is elsewhere in the prompt."""
ANY_SCALAR: JsonObject = {"type": ["string", "number", "boolean", "null"]}
"""The schema of a value whose name the framework does not document."""

NamesByPath = Mapping[str, Sequence[str]]
CONFIG_KEYS = frozenset(
    (
        "questions",
        "keywords",
        "topics",
        "entities",
        "aliases",
        "entity_language",
        "sentences",
        "required_fields",
        "emotions",
        "domain_terms",
        "named_entities",
        "critical_facts",
        "instructions",
        "source_language",
        "target_language",
    )
)
"""The known keys of a config (C-123)."""
SAMPLE_EMOTIONS = ("anger", "neutral", "joy", "fear", "sadness")
"""The emotions of the framework's sample, if neither config nor data set names any (C-25)."""


ANSWER = "\n## Answer\n"
"""The heading in a prompt file before the words on the documented form of the reply."""
ANSWER_IN_FORM = """\
Give one JSON object and nothing else, no code fence. The key `form` of the document lists every key
of the answer by its place: a dot leads into an object, `[]` to every entry of an array. The answer
has exactly these keys; what the list leaves out is not wanted.
"""


class PromptFile(msgspec.Struct, frozen=True):
    """A task's prompt in the package: instructions, form and JSON schema of the reply."""

    instructions: str
    answer: str
    schema: JsonObject

    def system(self, *, has_form: bool) -> str:
        """The system message; a form in the document replaces the documented one."""
        return f"{self.instructions}{ANSWER}{ANSWER_IN_FORM if has_form else self.answer}"


@cache
def prompt_file(task: str) -> PromptFile:
    """The instructions of a task, and the JSON schema of its replies."""
    folder = Path(__file__).with_name(task)
    text = folder.joinpath("prompt.md").read_text(encoding="utf-8")
    instructions, _, answer = text.partition(ANSWER)
    schema = msgspec.json.decode(folder.joinpath("answer.schema.json").read_bytes())
    return PromptFile(instructions, answer, schema)


@cache
def reply_form(task: str) -> ReplyForm:
    """The documented form of a task's replies, from its schema."""
    return form_from_schema(prompt_file(task).schema)


def build_prompt(case: Case, asked: JsonObject, structure: Structure) -> Prompt:
    """The instructions of the task, then config and transcript as one JSON document.

    `asked` replaces keys of the config by what is asked for. The schema of the reply, and its form
    if it is not the documented one, come from the structure that it is checked with (C-130). The
    call is data, never part of the instructions: it is JSON-encoded, so that no text in it can end
    its block.
    """
    file = prompt_file(case.task)
    config = {key: value for key, value in case.config.items() if key not in NEVER_SHOWN}
    config |= asked
    document: dict[str, Any] = {
        "config": {key: value for key, value in config.items() if value is not OMITTED},
        "transcript": list(map(turn_fields, turns(case.transcript))),
    }
    if case.lang:
        document["language"] = case.lang
    if case.question:
        document["question"] = case.question
    form = structure.once("form", lambda: _requested_form(structure, file))
    if form.paths:
        document["form"] = form.paths
    data = msgspec.json.encode(document).decode()
    return Prompt((Message("system", form.system), Message("user", data)), form.schema)


class _RequestedForm(NamedTuple):
    """What a prompt says about the form of the reply."""

    schema: JsonObject
    paths: Sequence[str]
    """Every key of the reply; empty if the form is the documented one."""
    system: str


def _requested_form(structure: Structure, file: PromptFile) -> _RequestedForm:
    schema = schema_of(structure.shape, file.schema, structure.asked)
    has_form = not is_documented(schema, file.schema)
    paths = list(form_paths(schema)) if has_form else ()
    return _RequestedForm(schema, paths, file.system(has_form=has_form))


def schema_of(
    shape: Shape, documented: JsonObject, asked: NamesByPath, path: str = ""
) -> JsonObject:
    """The schema of a shape, with the types of the documented schema if it has the name.

    If names are content (`asked`, by path), only the requested ones are allowed.
    """
    if shape.kind == "array":
        assert shape.item is not None  # every array shape has one
        items = schema_of(shape.item, documented.get("items", ANY_SCALAR), asked, f"{path}[]")
        return {"type": "array", "items": items}
    if shape.kind == "scalar":
        return ANY_SCALAR if documented.get("type") in ("object", "array") else documented
    names = asked.get(path) or _order_names(shape, documented)
    requested = [name for name in names if name not in shape.unchecked]
    properties = {name: _member_schema(name, shape, documented, asked, path) for name in requested}
    optional = frozenset() if path in asked else shape.allowed - shape.required
    return {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in requested if name not in optional],
        "properties": properties,
    }


def _order_names(shape: Shape, documented: JsonObject) -> Sequence[str]:
    known = documented.get("properties", {})
    return [*(name for name in known if name in shape.allowed), *sorted(shape.allowed - {*known})]


def _member_schema(
    name: str, shape: Shape, documented: JsonObject, asked: NamesByPath, path: str
) -> JsonObject:
    inner = documented.get("properties", {}).get(name) or documented.get("additionalProperties")
    inner = inner if isinstance(inner, Mapping) else ANY_SCALAR
    below = f"{path}.{name}" if path else name
    return schema_of(shape.containers.get(name, SCALAR), inner, asked, below)


def form_paths(schema: JsonObject, path: str = "") -> Iterator[str]:
    """Every key of the reply by its path, such as `questions[].reason`; there is nothing to copy"""
    if schema["type"] == "object" and schema["properties"]:
        for name, inner in schema["properties"].items():
            yield from form_paths(inner, f"{path}.{name}" if path else name)
    elif schema["type"] == "array":
        yield from form_paths(schema["items"], f"{path}[]")
    else:
        yield path


def is_documented(schema: JsonObject, documented: JsonObject) -> bool:
    """Whether a reply has the documented names; names that are content may be any."""
    if documented.get("type") == "array":
        return is_documented(schema.get("items", {}), documented["items"])
    if "properties" not in documented:
        return documented.get("type") == "object" or "properties" not in schema
    members = schema.get("properties", {})
    return members.keys() == documented["properties"].keys() and all(
        is_documented(members[name], inner) for name, inner in documented["properties"].items()
    )


class _EmotionOfOutcome(msgspec.Struct, gc=False):
    emotion: dict[str, Any] = {}


class _EmotionOfCase(msgspec.Struct, gc=False):
    expected_outcome: _EmotionOfOutcome


_EMOTION = msgspec.json.Decoder(_EmotionOfCase)


def emotion_names(line: bytes) -> Collection[str]:
    """The emotions that the reference on a line of a case file names."""
    if b'"emotion"' not in line:
        return ()
    try:
        return _EMOTION.decode(line).expected_outcome.emotion
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()


def distinct_texts(value: object) -> tuple[str, ...]:
    """The strings of a list, each once; empty if it is not a list."""
    items = value if isinstance(value, list) else ()
    return tuple(dict.fromkeys(item for item in items if isinstance(item, str) and item.strip()))


def asked_emotions(config: JsonObject, of_data: DataNames) -> Sequence[str]:
    """config.emotions, else those of the data set, else those of the sample        C-25, C-130"""
    given = distinct_texts(config.get("emotions"))
    return given or order_emotions(of_data()) or SAMPLE_EMOTIONS


def order_emotions(emotions: Sequence[str]) -> Sequence[str]:
    """In the order of the sample, then the others: the order of the cases does not matter."""
    others = sorted(set(emotions) - set(SAMPLE_EMOTIONS))
    return (*(name for name in SAMPLE_EMOTIONS if name in emotions), *others)


def asked_fields(case: Case) -> Sequence[str]:
    """config.required_fields, and the fields of the expected summary that it leaves out    C-130"""
    summary = case.expected_outcome.get("summary")
    known = summary.get("call_extracted_info") if isinstance(summary, dict) else None
    known = known if isinstance(known, dict) else {}
    return tuple(dict.fromkeys((*distinct_texts(case.config.get("required_fields")), *known)))


def asked_sentences(
    case: Case, part: str, id_key: str, text_key: str
) -> Sequence[JsonObject] | None:
    """The sentences of the reference by id and source text; None if they are the turns.

    A sentence with the same id in the config is worded as there.
    """
    given = _index_by_id(case.config.get("sentences"), (id_key, "id"))
    spoken = {item_id(turn.id): turn.text for turn in turns(case.transcript)}
    asked: list[JsonObject] = []
    for item in objects_of(case.expected_outcome.get(part)):
        key = item_id(item.get(id_key))
        own = given.get(key, {})
        read = (own.get("text"), own.get(text_key), item.get(text_key), spoken.get(key))
        text = next((one for one in read if isinstance(one, str) and one.strip()), "")
        others = {name: own[name] for name in own if name not in ("id", "text")}
        asked.append({**others, id_key: item.get(id_key), text_key: text})
    as_turns = [(item_id(item[id_key]), item[text_key]) for item in asked]
    return None if as_turns == list(spoken.items()) else asked


def asked_questions(case: Case) -> Sequence[JsonObject]:
    """The questions of the expected form, as the config words them, on the expected scale  C-130"""
    given = _index_by_id(case.config.get("questions"), ("question_id",))
    asked: list[JsonObject] = []
    for item in objects_of(case.expected_outcome.get("questions")):
        names = {key: item[key] for key in _QUESTION_KEYS if key in item}
        asked.append({**given.get(item_id(item.get("question_id")), {}), **names})
    return asked


_QUESTION_KEYS = ("question_id", "question", "max_score", "type")
"""The keys of an expected question that do not give the answer away."""


def _index_by_id(items: object, keys: Sequence[str]) -> Mapping[str, JsonObject]:
    found: dict[str, JsonObject] = {}
    for item in objects_of(items):
        key = next((item[key] for key in keys if key in item), None)
        if key is not None:
            found.setdefault(item_id(key), item)
    return found


def objects_of(value: object) -> list[dict[str, Any]]:
    """The objects of a list; empty if it is not a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
