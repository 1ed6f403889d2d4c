"""JudgeRequest → prompts. The constant part comes first, for the providers' prompt caches.

Order of a prompt: contract and questions with their anchors (the same for the same open measures),
the call with its reference and config (the same for every model), the output, the items, the
instruction once more. Ids, nonces, canaries and the order of the items are drawn from a seed and a
hash of the content: the same request gives the same bytes. Questions about the case alone have
their own contract.

Every question is in a request once, with a filled example, and ids, verdicts and sources are enums
of the schema: of 1,527 verdicts of a middling model 1,428 could be used; when each item repeated
its question, 166 (`python -m bench middling_judge`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from callscore.core.case import JsonObject, Message, Prompt
from callscore.core.judging import JudgeRequest
from callscore.judges.evidence import EXPECTED, NONE, OUTPUT, PLACES, QuoteSources, sources_of
from callscore.judges.judge_items import JudgeItem, make_canaries
from callscore.judges.prompt_blocks import (
    answer_lines,
    block,
    case_blocks,
    encode_json,
    encode_lines,
    escape_text,
    fingerprint,
    item_ids,
    nonce,
)
from callscore.judges.rubric import AGAINST, Example, Library, Place, Rubric

EXAMPLE_ID = "WXYZ"
"""No id that is issued: ids have no vowels and neither X, Y nor Z."""
OUTPUT_FIELD = "model_output_field"
KEYS = ("id", "expected_outcome_field", OUTPUT_FIELD, "quote", "quote_from", "verdict")
"""The keys of an entry of an answer, evidence before verdict."""
_NAMES: Mapping[Place | None, str] = {
    "turn": "turn 4",
    "field": "expected_outcome",
    "answer": "model_output",
    "claim": "the claim",
}
"""How an example names the source of its quote."""


def entry_keys(*, has_answer: bool) -> Sequence[str]:
    """Without an output, none can be cited."""
    return [key for key in KEYS if has_answer or key != OUTPUT_FIELD]


def rubric_text(rubric: Rubric, *, has_answer: bool) -> str:
    """All that is needed to answer the items of a question, once for all of them."""
    return "\n".join(_lines(rubric, has_answer))


def _lines(rubric: Rubric, has_answer: bool) -> Iterator[str]:
    yield f'Question "{rubric.name}" ({rubric.metric}): {rubric.question}'
    yield f"Compare the claim with: {_comparison(rubric)}"
    yield "Allowed verdicts:"
    for word in rubric.words:
        yield f"- {word}: {rubric.definition(word)}{_needed_quote(rubric, word)}"
    for example in rubric.examples[:1]:
        entry = example_entry(rubric, example, has_answer=has_answer)
        written = ", ".join(f'"{key}": {escape_text(value)}' for key, value in entry.items())
        yield f"Example: {_introduce(rubric, example)} is answered"
        yield f"{{{written}}}"
    for example in rubric.examples[1:]:
        yield f"Instead, the claim {escape_text(example.text)} gets {example.verdict}."


def example_entry(rubric: Rubric, example: Example, *, has_answer: bool) -> Mapping[str, str]:
    """An example of a rubric as a complete entry of an answer."""
    place = _place_of(rubric, example)
    is_own = place == "claim" or (place == "answer" and rubric.against_from != "answer")
    entry = {
        "id": EXAMPLE_ID,
        "expected_outcome_field": example.expected_outcome_field,
        OUTPUT_FIELD: example.model_output_field,
        "quote": "" if place is None else example.text if is_own else example.against,
        "quote_from": NONE if place is None else _NAMES[place],
        "verdict": example.verdict,
    }
    return {key: entry[key] for key in entry_keys(has_answer=has_answer)}


def _place_of(rubric: Rubric, example: Example) -> Place | None:
    """The source that an example quotes, if its verdict needs a quote."""
    return next(iter(rubric.evidence.get(example.verdict, ())), None)


def _introduce(rubric: Rubric, example: Example) -> str:
    claim = f"the claim {escape_text(example.text)}"
    if not example.against:
        return claim
    place = _place_of(rubric, example)
    says = f"where {_NAMES[place]} says" if place in ("turn", "field") else "compared with"
    return f"{claim} {says} {escape_text(example.against)}"


def _comparison(rubric: Rubric) -> str:
    text = rubric.compare_with.replace(AGAINST, "the text in compare_with")
    alone = f"; if there is none, {rubric.compare_alone}" if rubric.compare_alone else ""
    return f"{text}{alone}."


def _needed_quote(rubric: Rubric, word: str) -> str:
    places = rubric.evidence.get(word)
    if not places:
        return ""
    return f" Needs a quote from {' or '.join(PLACES[place] for place in places)}."


def issue_ids(items: Iterable[JudgeItem], random: Random, taken: str) -> Mapping[str, JudgeItem]:
    """The items by question, questions and items in a seeded order, each under a random id that
    does not occur in the data.
    """
    groups: dict[str, list[JudgeItem]] = {}
    for item in items:
        groups.setdefault(item.rubric.name, []).append(item)
    names = sorted(groups)
    random.shuffle(names)
    ordered: list[JudgeItem] = []
    for name in names:
        random.shuffle(groups[name])
        ordered += groups[name]
    return dict(zip(item_ids(len(ordered), random, taken), ordered, strict=True))


def item_lines(items_by_id: Mapping[str, JudgeItem], *, has_answer: bool) -> Sequence[str]:
    """The items as a JSON list of groups: a question, its verdicts, its items line by line."""
    groups: dict[str, dict[str, JudgeItem]] = {}
    for key, item in items_by_id.items():
        groups.setdefault(item.rubric.name, {})[key] = item
    lines = ["["]
    for name, group in groups.items():
        compared = {key: comparison_text(item, has_answer) for key, item in group.items()}
        shared = _shared(compared.values())
        rubric = next(iter(group.values())).rubric
        lines += (
            "  {",
            f'    "question": {escape_text(name)},',
            f'    "allowed_verdicts": {encode_json(list(rubric.words))},',
            *([f'    "compare_with": {escape_text(shared)},'] if shared else ()),
            '    "items": [',
            *(
                _item_line(key, item, "" if shared else compared[key])
                for key, item in group.items()
            ),
        )
        lines[-1] = lines[-1][:-1]
        lines += ("    ]", "  },")
    lines[-1] = "  }"
    return [*lines, "]"]


def _item_line(key: str, item: JudgeItem, compared: str) -> str:
    with_text = f', "compare_with": {escape_text(compared)}' if compared else ""
    return f'      {{"id": "{key}", "claim": {escape_text(item.text)}{with_text}}},'


def _shared(compared: Iterable[str]) -> str:
    """The text that all items of a question are compared with; empty if there are several."""
    texts = list(compared)
    return texts[0] if len(texts) > 1 and len(set(texts)) == 1 else ""


def comparison_text(asked: JudgeItem, has_answer: bool) -> str:
    """The place, if the text is shown anyway; else the text; empty if the question names all."""
    if AGAINST not in asked.rubric.compare_with:
        return ""
    is_shown = has_answer or not asked.place.startswith("model_output")
    return asked.place if asked.place and is_shown else asked.against


MOST_ITEMS = 60
"""Items of one request, unless `items_per_request` is set."""
MOST_TURNS_LISTED = 100
"""Turns that the schema lists by name; APIs limit the size of a schema."""
_CASE, _ITEMS = encode_json("case"), encode_json("items")
_SOURCES: Mapping[Place, str] = {"field": EXPECTED, "answer": OUTPUT, "claim": "the claim"}


class JudgePrompt(msgspec.Struct, frozen=True):
    """One prompt for a judge, and what its answer is checked against."""

    prompt: Prompt
    items: Mapping[str, JudgeItem]
    sources: QuoteSources

    @property
    def asked(self) -> Sequence[JudgeItem]:
        """The items without the canaries."""
        return [item for item in self.items.values() if item.canary is None]


class Asking(msgspec.Struct, frozen=True):
    """How the items of a case are put into requests."""

    items_per_request: int = MOST_ITEMS
    seed: int = 0
    """Of ids, order and canaries: the same seed gives the same requests."""

    @property
    def signature(self) -> str:
        """What differs from the defaults, for the signature of the judge."""
        items, seed = self.items_per_request, self.seed
        shown = f"+items={items}" if items != MOST_ITEMS else ""
        return f"{shown}+seed={seed}" if seed else shown


DEFAULT_ASKING = Asking()


class Composer:
    """Writes prompts with one library of rubrics."""

    def __init__(self, library: Library, asking: Asking = DEFAULT_ASKING) -> None:
        self.library = library
        self.asking = asking
        self._fixed_parts: dict[tuple[str, ...], str] = {}

    def compose(
        self, judge_request: JudgeRequest, asked: Sequence[JudgeItem], most_items: int | None = None
    ) -> Sequence[JudgePrompt]:
        """As few prompts as hold all items, each with its own canaries."""
        if not asked:
            return []
        if _is_of_case(asked):
            judge_request = msgspec.structs.replace(judge_request, model_output=None)
        number = -(-len(asked) // (most_items or self.asking.items_per_request))
        size = -(-len(asked) // number)
        rubrics = list({item.rubric.name: item.rubric for item in asked}.values())
        case = case_blocks(judge_request, rubrics)
        answer = (
            answer_lines(judge_request, rubrics) if judge_request.model_output is not None else ()
        )
        return [
            self._compose_one(judge_request, asked[start : start + size], case, answer)
            for start in range(0, len(asked), size)
        ]

    def _compose_one(
        self,
        judge_request: JudgeRequest,
        items: Sequence[JudgeItem],
        case: Mapping[str, Sequence[str]],
        answer: Sequence[str],
    ) -> JudgePrompt:
        case_text = encode_lines([line for lines in case.values() for line in lines])
        said = encode_lines(answer)
        written = encode_json([(item.rubric.name, item.text, item.against) for item in items])
        drawn_from = encode_json((self.library.digest, self.asking.seed))
        random = Random(fingerprint(_ITEMS, drawn_from, case_text, said, written))
        canaries = make_canaries(items, judge_request, self.library, random)
        items_by_id = issue_ids((*items, *canaries), random, case_text + said + written)
        sources = sources_of(judge_request)
        has_answer = sources.output is not None
        lines = item_lines(items_by_id, has_answer=has_answer)
        of_case = nonce(_CASE, case_text)
        of_items = nonce(_ITEMS, case_text, said, encode_lines(lines))
        blocks = [block(name, of_case, part) for name, part in case.items()]
        blocks += [block("model_output", of_items, answer)] if has_answer else []
        blocks += [block("items", of_items, lines), self._prompt("closing")]
        rubrics = self._rubrics_of(items)
        system = self._fixed_part(rubrics, has_answer=has_answer)
        schema = _schema(rubrics, list(items_by_id), sources)
        messages = (Message("system", system), Message("user", "\n\n".join(blocks)))
        return JudgePrompt(Prompt(messages, schema), items_by_id, sources)

    def compose_retry(self, request: JudgePrompt, problems: Sequence[str]) -> Prompt:
        """The same prompt with what was wrong with the answer: ids and rules, without its text.

        The answer may have been influenced by an attack; it is not shown to the judge again.
        """
        listed = "\n".join(f"- {problem}" for problem in problems)
        case_text = self._prompt("again").replace("{problems}", listed)
        system, user = request.prompt.messages
        return Prompt(
            (system, Message("user", f"{user.content}\n\n{case_text}")), request.prompt.schema
        )

    def _rubrics_of(self, items: Sequence[JudgeItem]) -> Sequence[Rubric]:
        """The rubrics of some items, in the order of the library."""
        needed = {item.rubric.name for item in items}
        return [rubric for name, rubric in self.library.rubrics.items() if name in needed]

    def _fixed_part(self, rubrics: Sequence[Rubric], *, has_answer: bool) -> str:
        """The contract, and every question with its anchors and a filled example."""
        key = (*(rubric.name for rubric in rubrics), "with answer" if has_answer else "")
        kept = self._fixed_parts.get(key)
        if kept is None:
            of_case = all(rubric.of_case for rubric in rubrics)
            contract = self._contract(of_case=of_case, has_answer=has_answer)
            texts = (rubric_text(rubric, has_answer=has_answer) for rubric in rubrics)
            kept = self._fixed_parts[key] = "\n\n".join((contract, *texts))
        return kept

    def _contract(self, *, of_case: bool, has_answer: bool) -> str:
        shown_output = self._prompt("output_shown" if has_answer else "output_in_items")
        about = self._prompt("case" if of_case else "answers")
        cited = self._prompt("cited_both" if has_answer else "cited_expected")
        return "\n".join(
            (
                about.replace("{model_output}", shown_output),
                self._prompt("rules").replace("{cited}", cited),
            )
        )

    def _prompt(self, name: str) -> str:
        return self.library.prompts[name].strip()


def _is_of_case(items: Sequence[JudgeItem]) -> bool:
    return all(item.rubric.of_case for item in items)


def _schema(rubrics: Sequence[Rubric], ids: Sequence[str], sources: QuoteSources) -> JsonObject:
    """The schema of an answer; only keywords that every provider's strict mode supports."""
    words = dict.fromkeys(word for rubric in rubrics for word in rubric.words)
    properties: dict[str, Any] = {
        key: {"type": "string"} for key in entry_keys(has_answer=sources.output is not None)
    }
    properties["id"] = {"type": "string", "enum": ids}
    properties["verdict"] = {"type": "string", "enum": list(words)}
    if len(sources.turns) <= MOST_TURNS_LISTED:
        properties["quote_from"] = {"type": "string", "enum": _source_names(rubrics, sources)}
    item = _closed_object(properties)
    return _closed_object({"items": {"type": "array", "items": item}})


def _source_names(rubrics: Sequence[Rubric], sources: QuoteSources) -> list[str]:
    """The names of the sources that a verdict of these rubrics may quote."""
    quoting = [places for rubric in rubrics for places in rubric.evidence.values()]
    places = {place for listed in quoting for place in listed}
    turns = [f"turn {name[1:]}" for name in sources.turns] if "turn" in places else []
    return [NONE, *turns, *(name for place, name in _SOURCES.items() if place in places)]


def _closed_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
