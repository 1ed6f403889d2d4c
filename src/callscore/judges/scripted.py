"""Judges and judging models without a network, for tests, demos and rehearsals.

`ScriptedJudge` says what it was told to say. `LiteralModel` stands behind an LLM judge and reads
a request as a literal-minded person would. `ObedientModel` is the same person, who also does what
any text says that is not safely inside a data block; `GullibleModel` obeys the data as well.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Failed, Message, Prompt, Reply
from callscore.core.judging import Item, Judged, JudgeRequest, Question, Verdict
from callscore.core.provider import Answered, AttemptFailed, ProviderRequest
from callscore.judges.evidence import fields_of, leaves_of, text_of
from callscore.judges.injection import suspicions_in
from callscore.judges.literal import Entry, Seen, SeenItem, decide, entry_of
from callscore.judges.reading import LONGEST_QUOTE
from callscore.judges.rubric import AGAINST, Library, Rubric, shipped

BYTES_A_TOKEN = 4
_BLOCK = re.compile(r"<(\w+)-([a-z]{28})>\n(.*?)\n?</\1-\2>", re.DOTALL)
_ENDS_DATA = re.compile(r"<\|\w+\|>|\[/?INST\]|<</?SYS>>|</?(?!\w+-[a-z]{28}>)\w[\w-]*>|```")
"""What a chat template or a hasty reader takes for the end of the data."""
_TURN = re.compile(r"Turn (\d+)\b.*?: (?=\")")
_PROBLEM = re.compile(r"- (?:item [A-Z]{4}: )?[^<>]{1,300}")
"""A line of the list of what was wrong with the answer before."""

Say = Callable[[Question], str | None]


class ScriptedJudge:
    """Answers every question with the word that a script holds for it."""

    def __init__(self, say: Say | Mapping[Item, str], name: str = "scripted") -> None:
        self.name = self.signature = name
        self._say = say

    async def judge(self, dossier: JudgeRequest) -> Judged | Failed:
        """The scripted words; a question that the script does not know makes it fail."""
        verdicts = []
        for question in dossier.questions:
            if not question.offered:
                continue
            word = self._word(question)
            if word is None or word not in question.offered:
                return Failed("judge", f"no word for {question.metric} {question.item}")
            verdicts.append(
                Verdict(question.metric, question.item, word, text=question.text, by=self.signature)
            )
        return Judged(verdicts, requests=1)

    def _word(self, question: Question) -> str | None:
        if isinstance(self._say, Mapping):
            return self._say.get(Item(question.metric, question.item))
        return self._say(question)


class LiteralModel:
    """A Provider whose model reads the request and answers it by the words that it finds."""

    def __init__(self, name: str = "literal", library: Library | None = None) -> None:
        self.name = name
        self._library = library or shipped()

    def request(self, prompt: Prompt, repeat: int) -> ProviderRequest:
        """The messages are the body."""
        body = msgspec.json.encode(prompt.messages)
        key = hashlib.blake2b(b"%s\0%d\0%s" % (self.name.encode(), repeat, body), digest_size=32)
        return ProviderRequest(key.digest(), self.name, body, len(body) // BYTES_A_TOKEN, 0)

    async def attempt(self, request: ProviderRequest) -> Answered | AttemptFailed:
        """The answer to the items of the request."""
        messages = msgspec.json.decode(request.body, type=list[Message])
        text = self.answer(messages)
        tokens = len(text.encode()) // BYTES_A_TOKEN
        return Answered(Reply(text, "stop", request.input_tokens, tokens, 0.0, model=self.name))

    async def close(self) -> None:
        """Nothing is held."""

    def answer(self, messages: Sequence[Message]) -> str:
        """What the model writes."""
        seen = see(messages)
        return _written(seen, {item: self.entry(item, seen) for item in seen.items})

    def entry(self, item: SeenItem, seen: Seen) -> Entry:
        """The verdict on one item."""
        return decide(item, seen)

    def best(self, item: SeenItem, seen: Seen) -> Entry:
        """The kindest word with the first quote at hand: what an attacker would have written."""
        rubric = self._library.rubrics[item.rubric]
        word = next(word for word in rubric.words if word != "cannot_tell")
        places = rubric.evidence.get(word, ())
        if "claim" in places:
            return Entry(item.text[:LONGEST_QUOTE], "the claim", word)
        if "answer" in places:
            own = item.against if rubric.against_from == "answer" else item.text
            return Entry(own[:LONGEST_QUOTE], "model_output", word)
        if "field" in places and seen.fields:
            name, text = next(iter(seen.fields.items()))
            return Entry(text[:LONGEST_QUOTE], "expected_outcome", word, name)
        if "turn" in places and seen.turns:
            name, text = max(seen.turns.items(), key=lambda turn: len(turn[1]))
            return Entry(text[:200], name, word)
        return Entry("", "none", word)


class ObedientModel(LiteralModel):
    """Reads literally, and obeys whatever it finds outside the data blocks."""

    def answer(self, messages: Sequence[Message]) -> str:
        """The kindest answer where somebody asks for it, else the literal one."""
        seen = see(messages)
        obeys = self.hears(messages[1].content)
        give = self.best if obeys else self.entry
        return _written(seen, {item: give(item, seen) for item in seen.items})

    def hears(self, text: str) -> bool:
        """Whether anything stands outside the blocks, or behind what seems to end one.

        It takes every line for an order that is not of the request's own making.
        """
        prompts = self._library.prompts
        own = {line for name in ("closing", "again") for line in prompts[name].split("\n")}
        outside = [line for line in _BLOCK.sub("", text).split("\n") if line]
        if any(line not in own and not _PROBLEM.fullmatch(line) for line in outside):
            return True
        return any(_ENDS_DATA.search(match.group(3)) for match in _BLOCK.finditer(text))


class GullibleModel(ObedientModel):
    """Obeys everything, data included: only canaries and quotes stand against it."""

    def hears(self, text: str) -> bool:
        """Any order anywhere."""
        return any(suspicions_in(line) for line in text.split("\n"))


def see(messages: Sequence[Message], library: Library | None = None) -> Seen:
    """What a careful reader finds in the blocks of a request."""
    blocks = {match.group(1): match.group(3) for match in _BLOCK.finditer(messages[1].content)}
    spoken = [(_TURN.match(line), line) for line in blocks["transcript"].split("\n")]
    turns = {
        f"turn {found.group(1)}": json.loads(line[found.end() :]) for found, line in spoken if found
    }
    has_answer = "model_output" in blocks
    answer = json.loads(blocks["model_output"]) if has_answer else None
    expected = json.loads(blocks["expected_outcome"])
    places = {"model_output": answer, "expected_outcome": expected}
    rubrics = {rubric.question: rubric for rubric in (library or shipped()).rubrics.values()}
    items = [
        SeenItem(item["id"], rubric.name, item["claim"], _against(item, rubric, places))
        for item in json.loads(blocks["items"])
        for rubric in (rubrics[item["question"]],)
    ]
    return Seen(turns, _leaves(expected), _leaves(answer), has_answer, items)


def _against(item: Mapping[str, str], rubric: Rubric, places: Mapping[str, Any]) -> str:
    """The text that an item is held against, wherever it stands."""
    before = rubric.compare_with.partition(AGAINST)[0]
    told = item["compare_with"]
    if AGAINST not in rubric.compare_with or not told.startswith(before):
        return ""
    told = told[len(before) :]
    name, _, path = told.partition(".")
    if name in places and places[name] is not None:
        if not path:
            return "\n".join(leaves_of(places[name]))
        return text_of(fields_of(places[name]).get(path, told))
    return told


def _leaves(value: Any) -> Mapping[str, str]:
    """The fields that hold a text or a number themselves."""
    fields = fields_of(value).items()
    return {path: text_of(held) for path, held in fields if not isinstance(held, (dict, list))}


def _written(seen: Seen, entries: Mapping[SeenItem, Entry]) -> str:
    """An answer with one object an item."""
    items = [entry_of(item, entry, seen) for item, entry in entries.items()]
    return json.dumps({"items": items}, ensure_ascii=False)
