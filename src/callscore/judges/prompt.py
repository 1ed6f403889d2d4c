"""JudgeRequest → prompts. The constant part comes first, for the providers' prompt caches.

Order of a prompt: contract and examples (the same for the same open measures), the call with its
reference and config (the same for every model), the output, the items, the instruction once more.
Ids, nonces and the order of the items are drawn from a hash of the content: the same request gives
the same bytes. Questions about the case alone have their own contract.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import JsonObject, Message, Prompt
from callscore.core.judging import JudgeRequest
from callscore.judges.case_block import answer_lines, case_blocks
from callscore.judges.delimiters import (
    block,
    encode_json,
    encode_lines,
    escape_text,
    fingerprint,
    nonce,
)
from callscore.judges.evidence import QuoteSources, sources_of
from callscore.judges.items import JudgeItem, shuffle_items
from callscore.judges.items_block import item_lines
from callscore.judges.rubric import Library, Rubric

MOST_ITEMS = 60
_CASE, _ITEMS = encode_json("case"), encode_json("items")
EXAMPLE: Mapping[str, str] = {
    "id": "WXYZ",
    "expected_outcome_field": "summary.highlights[1]",
    "model_output_field": "summary.highlights[0]",
    "quote": "a fee of 12 dollars",
    "quote_from": "turn 4",
    "verdict": "…",
}
"""The keys of an entry of an answer, evidence before verdict."""
OUTPUT_FIELD = "model_output_field"


class JudgePrompt(msgspec.Struct, frozen=True):
    """One prompt for a judge, and what its answer is checked against."""

    prompt: Prompt
    items: Mapping[str, JudgeItem]
    sources: QuoteSources

    @property
    def keys(self) -> Sequence[str]:
        """The keys of every entry of an answer."""
        return entry_keys(has_answer=self.sources.output is not None)


def entry_keys(*, has_answer: bool) -> Sequence[str]:
    """Without an output, none can be cited."""
    return [key for key in EXAMPLE if has_answer or key != OUTPUT_FIELD]


class Composer:
    """Writes prompts with one library of rubrics."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._fixed_parts: dict[tuple[str, ...], tuple[str, JsonObject]] = {}

    def compose(
        self, judge_request: JudgeRequest, asked: Sequence[JudgeItem]
    ) -> Sequence[JudgePrompt]:
        """As few prompts as hold all items, each with its own canaries."""
        if not asked:
            return []
        if _is_of_case(asked):
            judge_request = msgspec.structs.replace(judge_request, model_output=None)
        number = -(-len(asked) // MOST_ITEMS)
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
        seed = fingerprint(_ITEMS, encode_json(self.library.digest), case_text, said, written)
        items_by_id = shuffle_items(items, judge_request, seed, case_text + said + written)
        sources = sources_of(judge_request)
        has_answer = sources.output is not None
        lines = item_lines(items_by_id, has_answer=has_answer)
        of_case = nonce(_CASE, case_text)
        of_items = nonce(_ITEMS, case_text, said, encode_lines(lines))
        blocks = [block(name, of_case, part) for name, part in case.items()]
        blocks += [block("model_output", of_items, answer)] if has_answer else []
        blocks += [block("items", of_items, lines), self._prompt("closing")]
        system, schema = self._fixed_part(items, has_answer=has_answer)
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

    def _fixed_part(
        self, items: Sequence[JudgeItem], *, has_answer: bool
    ) -> tuple[str, JsonObject]:
        """Contract, examples of the rubrics, and the schema of their verdicts."""
        needed = {item.rubric.name for item in items}
        names = tuple(name for name in self.library.rubrics if name in needed)
        key = (*names, "with answer" if has_answer else "")
        kept = self._fixed_parts.get(key)
        if kept is None:
            rubrics = [self.library.rubrics[name] for name in names]
            contract = self._contract(of_case=_is_of_case(items), has_answer=has_answer)
            examples = "\n".join(map(_examples, rubrics))
            kept = self._fixed_parts[key] = (
                f"{contract}\n\n{examples}",
                _schema(rubrics, has_answer),
            )
        return kept

    def _contract(self, *, of_case: bool, has_answer: bool) -> str:
        shown_output = self._prompt("output_shown" if has_answer else "output_in_items")
        about = self._prompt("case" if of_case else "answers")
        keys = entry_keys(has_answer=has_answer)
        example = ", ".join(f'"{key}": "{EXAMPLE[key]}"' for key in keys)
        rules = self._prompt("rules").replace("{example}", f"{{{example}}}")
        cited = self._prompt("cited_both" if has_answer else "cited_expected")
        return "\n".join(
            (about.replace("{model_output}", shown_output), rules.replace("{cited}", cited))
        )

    def _prompt(self, name: str) -> str:
        return self.library.prompts[name].strip()


def _is_of_case(items: Sequence[JudgeItem]) -> bool:
    return all(item.rubric.of_case for item in items)


def _examples(rubric: Rubric) -> str:
    lines = [f'Examples for the question "{rubric.question}"']
    for example in rubric.examples:
        compared = f" compared with {escape_text(example.against)}" if example.against else ""
        lines.append(f"- The claim {escape_text(example.text)}{compared} gets {example.verdict}.")
    return "\n".join(lines)


def _schema(rubrics: Sequence[Rubric], has_answer: bool) -> JsonObject:
    """The schema of an answer; only keywords that every provider's strict mode supports."""
    words = dict.fromkeys(word for rubric in rubrics for word in rubric.words)
    properties: dict[str, Any] = {
        key: {"type": "string"} for key in entry_keys(has_answer=has_answer)
    }
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
