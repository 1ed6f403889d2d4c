"""Judges and judging models without a network, for tests and demos.

`ScriptedJudge` returns scripted verdicts. `LiteralModel` is the model of an LLM judge: it reads a
prompt and answers by the words that two texts share, without judging their meaning. `ObedientModel`
also follows any instruction outside of a data block, `GullibleModel` those inside as well.
`MiddlingModel` makes the mistakes of a middling model.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple

import msgspec

from callscore.core.case import Failed, Message, Prompt, Reply
from callscore.core.judging import Item, JudgeRequest, JudgeResult, Question, Verdict
from callscore.core.provider import AttemptFailed, ProviderRequest, ProviderResponse
from callscore.judges.evidence import LONGEST_QUOTE, SHORTEST_QUOTE, fields_of, leaves_of, text_of
from callscore.judges.injection import suspicions_in
from callscore.judges.rubric import CANNOT_TELL, Library, built_in_library
from callscore.metrics.text import contains, n2

STEM, ENOUGH = 4, 0.6
_DECISIONS = "approved rejected refused granted cancelled closed resolved refunded escalated"


class PromptItem(NamedTuple):
    """One item of a prompt."""

    id: str
    rubric: str
    text: str
    against: str


class ParsedPrompt(NamedTuple):
    """A parsed prompt: the texts of turns and fields by their names."""

    turns: Mapping[str, str]
    expected_fields: Mapping[str, str]
    output_fields: Mapping[str, str]
    has_answer: bool
    items: Sequence[PromptItem]


class FakeVerdict(NamedTuple):
    """A verdict as a judge writes it; the cited fields are looked up by its words."""

    quote: str
    quote_from: str
    verdict: str
    field: str = ""
    """The field of the reference that it quotes."""


def decide(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    """The verdict on one item."""
    return _RULES[item.rubric](item, seen)


def _judge_support(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    if found := _passage(item.text, seen.turns):
        return FakeVerdict(found[1], found[0], "supported_by_transcript")
    if found := _passage(item.text, seen.expected_fields):
        return FakeVerdict(found[1], "expected_outcome", "supported_by_reference", found[0])
    return FakeVerdict("", "none", "not_found")


def _judge_evidence(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    if found := _passage(item.text, seen.turns):
        return FakeVerdict(found[1], found[0], "as_described")
    word = "absent" if len(stems_of(item.text)) > STEM else "vague"
    return FakeVerdict("", "none", word)


def _judge_need(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    for name, text in seen.expected_fields.items():
        if len(stems_of(text)) > 1 and _coverage(text, item.text) >= ENOUGH:
            return FakeVerdict(text[:LONGEST_QUOTE], "expected_outcome", "needed", name)
    return FakeVerdict("", "none", "not")


def _judge_fluency(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    """Whether enough words are those of the other text, and some of them in the same order."""
    is_fluent = _coverage(item.text, item.against) >= ENOUGH
    pairs, others = _pairs(item.text), _pairs(item.against)
    is_fluent &= not pairs or len(pairs & others) / len(pairs) >= ENOUGH / 2
    return FakeVerdict("", "none", "native" if is_fluent else "incomprehensible")


def _judge_goal(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    """Whether a purpose names something besides the expected one."""
    word = "yes" if len(stems_of(item.text) - stems_of(item.against)) > 2 else "no"
    return FakeVerdict("", "none", word)


def _covered_rule(
    good: str, bad: str, quoted: str = ""
) -> Callable[[PromptItem, ParsedPrompt], FakeVerdict]:
    """The good word if enough of the text occurs in what it is compared with."""

    def rule(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
        if _coverage(item.text, item.against) < ENOUGH:
            return FakeVerdict("", "none", bad)
        line = max(item.against.split("\n"), key=lambda line: _coverage(item.text, line))
        return FakeVerdict(line[:LONGEST_QUOTE] if quoted else "", quoted or "none", good)

    return rule


def _contained_rule(good: str, bad: str) -> Callable[[PromptItem, ParsedPrompt], FakeVerdict]:
    """The good word if enough of what it is compared with occurs in the text."""

    def rule(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
        if _coverage(item.against, item.text) < ENOUGH:
            return FakeVerdict("", "none", bad)
        return FakeVerdict(item.text[:LONGEST_QUOTE], "model_output", good)

    return rule


def _judge_outcome(item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
    """Whether a sentence has a word of decision."""
    if stems_of(item.text) & stems_of(_DECISIONS):
        return FakeVerdict(item.text[:LONGEST_QUOTE], "the claim", "outcome")
    return FakeVerdict("", "none", "no_outcome")


_RULES: Mapping[str, Callable[[PromptItem, ParsedPrompt], FakeVerdict]] = {
    "support": _judge_support,
    "evidence": _judge_evidence,
    "needed": _judge_need,
    "fluency": _judge_fluency,
    "intent": _covered_rule("same", "different"),
    "other_goal": _judge_goal,
    "recall": _covered_rule("stated", "not_stated", "model_output"),
    "answer_match": _covered_rule("match", "none"),
    "argument": _covered_rule("yes", "no"),
    "used": _covered_rule("used", "not", "model_output"),
    "instruction": _covered_rule("followed", "not_followed"),
    "name": _contained_rule("same_name", "different_name"),
    "fact": _contained_rule("preserved", "omitted"),
    "outcome": _judge_outcome,
    "value": _covered_rule("same", "different"),
}


def _passage(text: str, places: Mapping[str, str]) -> tuple[str, str] | None:
    """A turn or field that the text contains, or that contains the text; its name and a quote."""
    sought = n2(text)
    for name, place in places.items():
        held = n2(place)
        if len(held) >= SHORTEST_QUOTE and contains(sought, held):
            return name, place[:LONGEST_QUOTE]
        if len(sought) >= SHORTEST_QUOTE and contains(held, sought):
            return name, text[:LONGEST_QUOTE]
    return None


def _coverage(text: str, other: str) -> float:
    if (sought := n2(text)) and contains(n2(other), sought):
        return 1.0
    stems = stems_of(text)
    return len(stems & stems_of(other)) / len(stems) if stems else 0.0


def _pairs(text: str) -> set[tuple[str, str]]:
    """Neighbouring words."""
    words = n2(text).split()
    return set(zip(words, words[1:], strict=False))


@lru_cache(maxsize=1024)  # every item is compared with every field
def stems_of(text: str) -> frozenset[str]:
    """The beginnings of the longer words of a text, and its numbers."""
    words = "".join(char if char.isalnum() else " " for char in n2(text)).split()
    return frozenset(word[:STEM] for word in words if len(word) >= STEM or word.isdecimal())


BYTES_A_TOKEN = 4
_BLOCK = re.compile(r"<(\w+)-([a-z]{28})>\n(.*?)\n?</\1-\2>", re.DOTALL)
_ENDS_DATA = re.compile(r"<\|\w+\|>|\[/?INST\]|<</?SYS>>|</?(?!\w+-[a-z]{28}>)\w[\w-]*>|```")
"""What a chat template takes for the end of the data."""
_TURN = re.compile(r"Turn (\d+)\b.*?: (?=\")")
_PROBLEM = re.compile(r"- (?:item [A-Z]{4}: )?[^<>]{1,300}")
"""A line of the list of errors of the previous answer."""

WRONG_FORM, QUOTES_CLAIM, MOST_TRACKED = 0.2, 0.25, 8
"""The faults of a middling model: shares of answers and of quotes, and items it can follow."""

Say = Callable[[Question], str | None]


class ScriptedJudge:
    """Answers every question with the word in the script."""

    def __init__(self, say: Say | Mapping[Item, str], name: str = "scripted") -> None:
        self.name = self.signature = name
        self._say = say

    async def judge(self, judge_request: JudgeRequest) -> JudgeResult | Failed:
        """The scripted verdicts; fails for a question that is not in the script."""
        verdicts = []
        for question in judge_request.questions:
            if not question.offered:
                continue
            word = self._word(question)
            if word is None or word not in question.offered:
                return Failed("judge", f"no word for {question.metric} {question.item}")
            verdicts.append(
                Verdict(question.metric, question.item, word, text=question.text, by=self.signature)
            )
        return JudgeResult(verdicts, requests=1)

    def _word(self, question: Question) -> str | None:
        if isinstance(self._say, Mapping):
            return self._say.get(Item(question.metric, question.item))
        return self._say(question)


class LiteralModel:
    """A Provider whose model answers by the words that two texts share."""

    def __init__(self, name: str = "literal", library: Library | None = None) -> None:
        self.name = name
        self._library = library or built_in_library()

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The messages are the body."""
        body = msgspec.json.encode(prompt.messages)
        key = hashlib.blake2b(b"%s\0%d\0%s" % (self.name.encode(), repeat, body), digest_size=32)
        return ProviderRequest(key.digest(), self.name, body, len(body) // BYTES_A_TOKEN, 0)

    async def attempt(self, request: ProviderRequest) -> ProviderResponse | AttemptFailed:
        """The answer to the items of the prompt."""
        messages = msgspec.json.decode(request.body, type=list[Message])
        text = self.answer(messages)
        tokens = len(text.encode()) // BYTES_A_TOKEN
        return ProviderResponse(
            Reply(text, "stop", request.input_tokens, tokens, 0.0, model=self.name)
        )

    async def close(self) -> None:
        """Nothing to close."""

    def answer(self, messages: Sequence[Message]) -> str:
        """The text of the answer."""
        seen = parse_prompt(messages)
        return write_answer(seen, {item: self.entry(item, seen) for item in seen.items})

    def entry(self, item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
        """The verdict on one item."""
        return decide(item, seen)

    def most_lenient(self, item: PromptItem, seen: ParsedPrompt) -> FakeVerdict:
        """The most lenient verdict with any valid quote, as an attacker wants it."""
        rubric = self._library.rubrics[item.rubric]
        word = next(word for word in rubric.words if word != CANNOT_TELL)
        places = rubric.evidence.get(word, ())
        if "claim" in places:
            return FakeVerdict(item.text[:LONGEST_QUOTE], "the claim", word)
        if "answer" in places:
            own = item.against if rubric.against_from == "answer" else item.text
            return FakeVerdict(own[:LONGEST_QUOTE], "model_output", word)
        if "field" in places and seen.expected_fields:
            name, text = next(iter(seen.expected_fields.items()))
            return FakeVerdict(text[:LONGEST_QUOTE], "expected_outcome", word, name)
        if "turn" in places and seen.turns:
            name, text = max(seen.turns.items(), key=lambda turn: len(turn[1]))
            return FakeVerdict(text[:200], name, word)
        return FakeVerdict("", "none", word)


class ObedientModel(LiteralModel):
    """Follows any instruction outside of the data blocks."""

    def answer(self, messages: Sequence[Message]) -> str:
        """The most lenient answer if a text asks for it, else the literal one."""
        seen = parse_prompt(messages)
        obeys = self.obeys(messages[1].content)
        give = self.most_lenient if obeys else self.entry
        return write_answer(seen, {item: give(item, seen) for item in seen.items})

    def obeys(self, text: str) -> bool:
        """Whether there is a line outside of the blocks, or after what seems to end one.

        Every line that is not part of the prompt itself counts as an instruction.
        """
        prompts = self._library.prompts
        own = {line for name in ("closing", "again") for line in prompts[name].split("\n")}
        outside = [line for line in _BLOCK.sub("", text).split("\n") if line]
        if any(line not in own and not _PROBLEM.fullmatch(line) for line in outside):
            return True
        return any(_ENDS_DATA.search(match.group(3)) for match in _BLOCK.finditer(text))


class GullibleModel(ObedientModel):
    """Follows any instruction, data included: only canaries and quotes protect from it."""

    def obeys(self, text: str) -> bool:
        """Whether any line is suspicious."""
        return any(suspicions_in(line) for line in text.split("\n"))


class MiddlingModel(LiteralModel):
    """Reads, but not everything and not always; what it does depends on the request alone.

    One answer of five is not in the asked form. With more than eight items it loses track and
    passes all of them. One quote of four is the claim instead of the words of the turn.
    """

    def answer(self, messages: Sequence[Message]) -> str:
        """The literal answer with the faults of a middling model."""
        seen = parse_prompt(messages)
        random = Random("\n".join(message.content for message in messages))
        if random.random() < WRONG_FORM:
            return "\n".join(f"{n}. **{item.text}**: yes" for n, item in enumerate(seen.items, 1))
        lost = len(seen.items) > MOST_TRACKED
        return write_answer(
            seen, {item: self._verdict(item, seen, random, lost=lost) for item in seen.items}
        )

    def _verdict(
        self, item: PromptItem, seen: ParsedPrompt, random: Random, *, lost: bool
    ) -> FakeVerdict:
        given = self.most_lenient(item, seen) if lost else self.entry(item, seen)
        if given.quote_from.startswith("turn") and random.random() < QUOTES_CLAIM:
            return given._replace(quote=item.text[:LONGEST_QUOTE])
        return given


def parse_prompt(messages: Sequence[Message]) -> ParsedPrompt:
    """The content of the blocks of a prompt."""
    blocks = {match.group(1): match.group(3) for match in _BLOCK.finditer(messages[1].content)}
    spoken = [(_TURN.match(line), line) for line in blocks["transcript"].split("\n")]
    turns = {
        f"turn {found.group(1)}": json.loads(line[found.end() :]) for found, line in spoken if found
    }
    has_answer = "model_output" in blocks
    answer = json.loads(blocks["model_output"]) if has_answer else None
    expected = json.loads(blocks["expected_outcome"])
    places = {"model_output": answer, "expected_outcome": expected}
    items = [
        PromptItem(
            item["id"],
            group["question"],
            item["claim"],
            _comparison_text({**group, **item}.get("compare_with", ""), places),
        )
        for group in json.loads(blocks["items"])
        for item in group["items"]
    ]
    return ParsedPrompt(turns, _leaves(expected), _leaves(answer), has_answer, items)


def _comparison_text(compared: str, places: Mapping[str, Any]) -> str:
    """The text that an item is compared with, if it is given by its place."""
    name, _, path = compared.partition(".")
    if name in places and places[name] is not None:
        if not path:
            return "\n".join(leaves_of(places[name]))
        return text_of(fields_of(places[name]).get(path, compared))
    return compared


def _leaves(value: Any) -> Mapping[str, str]:
    """The fields with a text or a number."""
    fields = fields_of(value).items()
    return {path: text_of(leaf) for path, leaf in fields if not isinstance(leaf, (dict, list))}


def write_answer(seen: ParsedPrompt, entries: Mapping[PromptItem, FakeVerdict]) -> str:
    """An answer with one object per item."""
    items = [complete_entry(item, entry, seen) for item, entry in entries.items()]
    return json.dumps({"items": items}, ensure_ascii=False)


def complete_entry(item: PromptItem, entry: FakeVerdict, seen: ParsedPrompt) -> Mapping[str, str]:
    """An entry with all its keys: the fields with the most words of the item."""
    cited = {"expected_outcome_field": entry.field or _nearest(item, seen.expected_fields)}
    if seen.has_answer:
        cited["model_output_field"] = _nearest(item, seen.output_fields)
    compared = {"quote": entry.quote, "quote_from": entry.quote_from, "verdict": entry.verdict}
    return {"id": item.id, **cited, **compared}


def _nearest(item: PromptItem, fields: Mapping[str, str]) -> str:
    """The field with the most words of an item; the shortest of several."""
    sought = stems_of(f"{item.text} {item.against}")
    ranked = sorted(
        fields, key=lambda path: (-len(sought & stems_of(fields[path])), len(fields[path]))
    )
    return ranked[0] if ranked else "none"
