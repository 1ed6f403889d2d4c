"""Dossier → requests. What never changes comes first, so that providers' prompt caches hit.

Order of a request: contract and rubrics (the same wherever the same measures are open), the call
with its reference (the same for every model), the items, the instruction once more. Ids, nonces
and the order of the items are drawn from a hash of the content: the same dossier gives the same
bytes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import JsonObject, Message, Prompt
from callscore.core.judging import Dossier
from callscore.judges.evidence import Sources, sources_of
from callscore.judges.framing import block, fingerprint, shown
from callscore.judges.rubric import Example, Library, Rubric
from callscore.judges.sheet import Asked, deal
from callscore.metrics.text import n1

MOST_ITEMS = 60
SHORTEST_SHARED, SHORTEST_TURN = 20, 8
"""Characters; a text that stands in the request already is not repeated, unless it is shorter
than that: the name of a field is longer than that of a turn."""


class Request(msgspec.Struct, frozen=True):
    """One request to a judge: what it is sent, and what its answer is checked against."""

    prompt: Prompt
    sheet: Mapping[str, Asked]
    sources: Sources


class Composer:
    """Writes requests with one library of rubrics."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._kept: dict[tuple[str, ...], tuple[str, JsonObject]] = {}

    def requests(self, dossier: Dossier, asked: Sequence[Asked]) -> Sequence[Request]:
        """As few requests as hold all items, each with canaries of its own."""
        if not asked:
            return []
        number = -(-len(asked) // MOST_ITEMS)
        size = -(-len(asked) // number)
        case = _case_part(dossier, sources := sources_of(dossier))
        return [
            self._request(dossier, asked[start : start + size], (case, sources))
            for start in range(0, len(asked), size)
        ]

    def _request(
        self, dossier: Dossier, items: Sequence[Asked], case: tuple[str, Sources]
    ) -> Request:
        case_part, sources = case
        written = [(item.rubric.name, item.text, item.against) for item in items]
        seed = fingerprint("items", self.library.digest, case_part, written)
        taken = case_part + json.dumps(written, ensure_ascii=False)
        sheet = deal(items, dossier, seed, taken)
        system, schema = self._fixed_part(items)
        items_part = _items_part(sheet, sources, seed.hex())
        user = "\n".join((case_part, items_part, self._prompt("closing")))
        return Request(
            Prompt((Message("system", system), Message("user", user)), schema), sheet, sources
        )

    def again(self, request: Request, reply: str, problems: Sequence[str]) -> Prompt:
        """The same request with the judge's answer and what was wrong with it."""
        listed = "\n".join(f"- {problem}" for problem in problems)
        told = self._prompt("again").replace("{problems}", listed)
        messages = (
            *request.prompt.messages,
            Message("assistant", reply or "(empty)"),
            Message("user", told),
        )
        return Prompt(messages, request.prompt.schema)

    def _fixed_part(self, items: Sequence[Asked]) -> tuple[str, JsonObject]:
        """Contract, the rubrics that are asked, and the schema of their words."""
        needed = {item.rubric.name for item in items}
        names = tuple(name for name in self.library.rubrics if name in needed)
        kept = self._kept.get(names)
        if kept is None:
            rubrics = [self.library.rubrics[name] for name in names]
            system = "\n".join((self._prompt("system"), *map(_rubric_part, rubrics)))
            kept = self._kept[names] = system, _schema(rubrics)
        return kept

    def _prompt(self, name: str) -> str:
        return self.library.prompts[name].strip()


def _case_part(dossier: Dossier, sources: Sources) -> str:
    named = (*sources.fields.items(), *sources.config.items())
    lines = [*sources.lines, *(f"{name} {shown(value)}" for name, value in named)]
    nonce = fingerprint("case", dossier.task, lines).hex()
    return f"Task: {dossier.task}\n{block('case', nonce, lines)}"


def _items_part(sheet: Mapping[str, Asked], sources: Sources, nonce: str) -> str:
    """The items, one a line; a text that stands above already is named and not repeated."""
    names = {
        form: name
        for places, shortest in ((sources.fields, SHORTEST_SHARED), (sources.turns, SHORTEST_TURN))
        for name, text in places.items()
        if len(text) >= shortest
        for form in (text, n1(text))
    }
    shared = [text for text in _shared(sheet.values()) if text not in names]
    lines: list[str] = []
    for number, text in enumerate(shared, start=1):
        lines.append(f"a{number} {_told(text, names)}")
        names[text] = f"a{number}"
    lines += [_item_line(key, item, names) for key, item in sheet.items()]
    return block("items", nonce, lines)


def _shared(items: Iterable[Asked]) -> Sequence[str]:
    """The texts that stand in several places, a line of another among them; single lines first."""
    places = Counter(text for item in items for text in (item.text, item.against))
    whole = {text for text, number in places.items() if number > 1}
    places.update(line for text in list(places) if "\n" in text for line in set(text.split("\n")))
    texts = (text for text, number in places.items() if number > 1 and len(text) >= SHORTEST_SHARED)
    return sorted((text for text in texts if text in whole or "\n" not in text), key=_is_list)


def _is_list(text: str) -> bool:
    return "\n" in text


def _item_line(key: str, item: Asked, names: Mapping[str, str]) -> str:
    """id, rubric, text and what it is held against: quoted, or by name."""
    texts = (item.text, item.against) if item.against else (item.text,)
    return f"{key} {item.rubric.name} {' | '.join(_told(text, names) for text in texts)}"


def _told(text: str, names: Mapping[str, str]) -> str:
    """A text by its name, by the names of its lines, or quoted."""
    if text in names:
        return names[text]
    lines = text.split("\n")
    if not any(line in names for line in lines):
        return shown(text)
    return " + ".join(names.get(line) or shown(line) for line in lines)


def _rubric_part(rubric: Rubric) -> str:
    lines = [f"{rubric.name}: {rubric.question}"]
    for word, anchor in rubric.words.items():
        places = rubric.evidence.get(word)
        where = f" [{' or '.join(places)}]" if places else ""
        if anchor:
            lines.append(f"- {word}{where}: {anchor}")
    lines.append(_examples(rubric.examples))
    return "\n".join(lines)


def _examples(examples: Sequence[Example]) -> str:
    """Texts with their words; all are held against the same."""
    against = f" with {shown(examples[0].against)}" if examples[0].against else ""
    words = [f"{shown(example.text)} → {example.verdict}" for example in examples]
    return f"e.g.{against}: {'; '.join(words)}"


def _schema(rubrics: Sequence[Rubric]) -> JsonObject:
    """The shape of an answer; only keywords that every provider's strict mode knows."""
    words = dict.fromkeys(word for rubric in rubrics for word in rubric.words)
    text: dict[str, Any] = {"type": "string"}
    properties = {"id": text, "quote": text, "source": text}
    properties["verdict"] = {"type": "string", "enum": list(words)}
    item = _closed_object(properties)
    return _closed_object({"items": {"type": "array", "items": item}})


def _closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
