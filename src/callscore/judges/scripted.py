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

import msgspec

from callscore.core.calling import Answered, AttemptFailed, Call
from callscore.core.case import Failed, Message, Prompt, Reply
from callscore.core.judging import Dossier, Item, Judged, Question, Verdict
from callscore.judges.injection import suspicions_in
from callscore.judges.literal import Entry, Seen, SeenItem, decide
from callscore.judges.rubric import Library, shipped

BYTES_A_TOKEN = 4
_BLOCK = re.compile(r"<(\w+)-([a-z]{28})>\n(.*?)\n?</\1-\2>", re.DOTALL)
_ENDS_DATA = re.compile(r"<\|\w+\|>|\[/?INST\]|<</?SYS>>|</?(?!\w+-[a-z]{28}>)\w[\w-]*>|```")
"""What a chat template or a hasty reader takes for the end of the data."""
_ID, _PLACE, _WRITTEN = re.compile(r"[A-Z]{4}"), re.compile(r"[tr][0-9]+"), re.compile(r"a[0-9]+")

_MARK = re.compile(r"[\d.]+ of [\d.]+: ")

Say = Callable[[Question], str | None]


class ScriptedJudge:
    """Answers every question with the word that a script holds for it."""

    def __init__(self, say: Say | Mapping[Item, str], name: str = "scripted") -> None:
        self.name = self.signature = name
        self._say = say

    async def judge(self, dossier: Dossier) -> Judged | Failed:
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

    def call(self, prompt: Prompt, repeat: int) -> Call:
        """The messages are the body."""
        body = msgspec.json.encode(prompt.messages)
        key = hashlib.blake2b(b"%s\0%d\0%s" % (self.name.encode(), repeat, body), digest_size=32)
        return Call(key.digest(), self.name, body, len(body) // BYTES_A_TOKEN, 0)

    async def attempt(self, call: Call) -> Answered | AttemptFailed:
        """The answer to the items of the request."""
        messages = msgspec.json.decode(call.body, type=list[Message])
        text = self.answer(messages)
        tokens = len(text.encode()) // BYTES_A_TOKEN
        return Answered(Reply(text, "stop", call.input_tokens, tokens, 0.0, model=self.name))

    async def close(self) -> None:
        """Nothing is held."""

    def answer(self, messages: Sequence[Message]) -> str:
        """What the model writes."""
        seen = see(messages)
        return _written({item.id: self.entry(item, seen) for item in seen.items})

    def entry(self, item: SeenItem, seen: Seen) -> Entry:
        """The verdict on one item."""
        return decide(item, seen)

    def best(self, item: SeenItem, seen: Seen) -> Entry:
        """The kindest word with the first quote at hand: what an attacker would have written."""
        rubric = self._library.rubrics[item.rubric]
        word = next(word for word in rubric.words if word != "cannot_tell")
        places = rubric.evidence.get(word, ())
        if "answer" in places:
            return Entry(item.against or item.text, "answer", word)
        if "field" in places and seen.fields:
            name, text = next(iter(seen.fields.items()))
            return Entry(text, name, word)
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
        return _written({item.id: give(item, seen) for item in seen.items})

    def hears(self, text: str) -> bool:
        """Whether anything stands outside the blocks, or behind what seems to end one.

        It takes every line for an order that is not of the request's own making.
        """
        own = self._library.prompts["closing"].strip().split("\n")
        outside = [line for line in _BLOCK.sub("", text).split("\n") if line]
        if any(line not in own for line in outside):
            return True
        return any(_ENDS_DATA.search(match.group(3)) for match in _BLOCK.finditer(text))


class GullibleModel(ObedientModel):
    """Obeys everything, data included: only canaries and quotes stand against it."""

    def hears(self, text: str) -> bool:
        """Any order anywhere."""
        return any(suspicions_in(line) for line in text.split("\n"))


def see(messages: Sequence[Message]) -> Seen:
    """What a careful reader finds in the blocks of a request."""
    blocks = (match.group(3) for match in _BLOCK.finditer(messages[1].content))
    texts: dict[str, str] = {}
    items: list[SeenItem] = []
    rubric = shared = ""
    for line in "\n".join(blocks).split("\n"):
        name, _, rest = line.partition(" ")
        if _ID.fullmatch(name):
            text, against = _texts(rest, texts)
            items.append(SeenItem(name, rubric, text, against or shared))
        elif _WRITTEN.fullmatch(name):
            texts[name] = _texts(rest, texts)[0]
        elif _PLACE.fullmatch(name):
            texts[name] = _last_text(rest, texts)
        elif name != "config":
            rubric, shared = name, _texts(rest, texts)[1]
    turns = {name: text for name, text in texts.items() if name.startswith("t")}
    fields = {name: text for name, text in texts.items() if name.startswith("r")}
    return Seen(turns, fields, items)


def _texts(told: str, known: Mapping[str, str]) -> tuple[str, str]:
    """The text of an item and what it is held against."""
    sides: list[list[str]] = [[]]
    mark = ""
    while told:
        if told.startswith("| "):
            sides.append([])
            told = told[2:]
        elif found := _MARK.match(told):
            mark, told = found.group(), told[found.end() :]
        elif told.startswith('"'):
            text, end = json.JSONDecoder().raw_decode(told)
            sides[-1].append(text)
            told = told[end:].removeprefix(" ").removeprefix("+ ")
        else:
            name, _, rest = told.partition(" ")
            sides[-1] += _named(name, known)
            told = rest.removeprefix("+ ")
    text, *against = ("\n".join(side) for side in sides)
    return text, mark + "".join(against)


def _named(name: str, known: Mapping[str, str]) -> list[str]:
    """The texts behind a name, or behind all from one to another (`a1-a9`)."""
    first, _, last = name.partition("-")
    names = list(known)
    return [known[n] for n in names[names.index(first) : names.index(last or first) + 1]]


def _last_text(line: str, known: Mapping[str, str]) -> str:
    """The text at the end of a line, after times, speakers and paths: quoted, or by its name."""
    if '"' not in line:
        return known[line.rpartition(" ")[2]]
    text = ""
    decoder, at = json.JSONDecoder(), 0
    while (start := line.find('"', at)) >= 0:
        text, at = decoder.raw_decode(line, start)
    return text


def _written(entries: Mapping[str, Entry]) -> str:
    """An answer; items that get the same word without a quote share an entry."""
    groups: dict[Entry | str, list[str]] = {}
    for key, entry in entries.items():
        groups.setdefault(key if entry.quote else entry, []).append(key)
    items = [{"id": " ".join(keys), **entries[keys[0]]._asdict()} for keys in groups.values()]
    return json.dumps({"items": items}, ensure_ascii=False, separators=(",", ":"))
