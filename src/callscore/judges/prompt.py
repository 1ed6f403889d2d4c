"""Dossier → requests. What never changes comes first, so that providers' prompt caches hit.

Order of a request: contract and rubrics (the same wherever the same measures are open), the call
with its reference (the same for every model), the items, the instruction once more. Ids, nonces
and the order of the items are drawn from a hash of the content: the same dossier gives the same
bytes. What is asked before any answer is seen has a contract without the rules on answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import JsonObject, Message, Prompt
from callscore.core.judging import Dossier
from callscore.judges.case_block import case_lines
from callscore.judges.evidence import Sources, sources_of
from callscore.judges.framing import (
    block,
    encoded,
    encoded_lines,
    fingerprint,
    nonce,
    shown,
)
from callscore.judges.items_block import item_lines
from callscore.judges.rubric import Example, Library, Place, Rubric
from callscore.judges.sheet import Asked, deal

MOST_ITEMS = 60
_CASE, _ITEMS = encoded("case"), encoded("items")

_PLACES: Mapping[Place, tuple[str, str]] = {
    "turn": ("[turn]", "t4"),
    "field": ("[field]", "r2"),
    "answer": ("[answer] (the item's own texts)", "answer"),
}
"""How a rubric asks for a quote, with the source of one."""


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
        sources = sources_of(dossier)
        lines = case_lines(
            dossier, sources, {item.rubric.name: item.rubric for item in asked}.values()
        )
        return [
            self._request(dossier, asked[start : start + size], lines, sources)
            for start in range(0, len(asked), size)
        ]

    def _request(
        self, dossier: Dossier, items: Sequence[Asked], case: Sequence[str], sources: Sources
    ) -> Request:
        told = encoded_lines(case)
        written = encoded([(item.rubric.name, item.text, item.against) for item in items])
        seed = fingerprint(_ITEMS, encoded(self.library.digest), told, written)
        sheet = deal(items, dossier, seed, told + written)
        system, schema = self._fixed_part(items)
        lines = item_lines(sheet, sources)
        data = _framed(case, lines, told, of_case=_is_of_case(items))
        user = "\n".join((*data, self._prompt("closing")))
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
            about = "case" if _is_of_case(items) else "answers"
            contract = (self._prompt(about), _with_places(self._prompt("rules"), rubrics))
            system = "\n".join((*contract, *map(_rubric_part, rubrics)))
            kept = self._kept[names] = system, _schema(rubrics)
        return kept

    def _prompt(self, name: str) -> str:
        return self.library.prompts[name].strip()


def _with_places(rules: str, rubrics: Sequence[Rubric]) -> str:
    """The rules with the places that a word of these rubrics may quote; all where none needs to."""
    quoted = {place for rubric in rubrics for where in rubric.evidence.values() for place in where}
    places = [place for place in _PLACES if place in quoted] or list(_PLACES)
    sources = " or ".join(_PLACES[place][1] for place in places)
    told = rules.replace("{places}", " or ".join(_PLACES[place][0] for place in places))
    return told.replace("{sources}", sources)


def _is_of_case(items: Sequence[Asked]) -> bool:
    return all(item.rubric.of_case for item in items)


def _framed(
    case: Sequence[str], items: Sequence[str], encoded_case: str, *, of_case: bool
) -> Iterator[str]:
    """Case and items as blocks; as one where no answer is among them."""
    encoded_items = encoded_lines(items)
    if of_case:
        yield block("case", nonce(_CASE, encoded_case, encoded_items), [*case, *items])
    else:
        yield block("case", nonce(_CASE, encoded_case), case)
        yield block("items", nonce(_ITEMS, encoded_case, encoded_items), items)


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
