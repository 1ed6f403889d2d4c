"""The parts of a text: content words, names, number words, negations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from callscore.judges.offline.lexicon import Lexicon, lexicon
from callscore.judges.offline.number_words import careful
from callscore.judges.offline.spoken import Spoken, heard, in_digits, numbers, stated
from callscore.judges.offline.stems import placed_words, stem, stems, words
from callscore.metrics.facts.extraction import extract
from callscore.metrics.facts.fact import Fact

# Runs of marks or blanks are matched from their beginning only: anything else is quadratic.
_CLAUSE = re.compile(r"(?<![,;:.!?()\n–—])[,;:.!?()\n–—]+\s|[。！？，；।]|\bbut\b")
_SENTENCE_START = re.compile(r"(?:^|[.!?:\"“(]\s*+|(?<!\s)(?=[^\S\n]*+\n)\s++|\s-\s)(?=\w)")
_NUMERIC = re.compile(r"\d")
_DIGITS = re.compile(r"\d+")
_REACH = 4
"""Content words after a negation that it may concern."""
_SUBJECT = 3
"""Words before a verb of speech that are searched for its subject."""
_LONGEST_NAME = 6
_SMALLEST_COUNT = 2
"""`one` is too often no number."""
_TITLED = 0.9
"""Share of capitalised words from which a text is a headline, without names."""
_SHORTEST_HEADLINE = 6


class Said(NamedTuple):
    """The numbers of a spoken text."""

    facts: Sequence[Fact]
    together: frozenset[str]
    """Possible meanings of consecutive numbers and of parts of numbers."""
    digits: str
    """All its digits in order: a number may be dictated over several turns."""


class Scope(NamedTuple):
    """The content words that a "not" or an "only" may concern, and all words around it."""

    words: frozenset[str]
    around: frozenset[str]


class Wording(msgspec.Struct, frozen=True, dict=True):
    """One text; its parts are computed on demand."""

    text: str
    lang: str | None = None

    @cached_property
    def known(self) -> Lexicon:
        """The word lists of its language."""
        return lexicon(self.lang)

    @cached_property
    def words(self) -> Sequence[str]:
        """Its words."""
        return words(self.text)

    @cached_property
    def content_words(self) -> Sequence[str]:
        """Its words without stop words."""
        return [word for word in self.words if self._is_content(word)]

    @cached_property
    def run(self) -> Sequence[str]:
        """The stems of its content words, in order."""
        return [form for word in self.content_words for form in stems(word)]

    @cached_property
    def content(self) -> frozenset[str]:
        """The stems of its content words."""
        return frozenset(self.run)

    @cached_property
    def spoken(self) -> frozenset[str]:
        """The content words without digits."""
        return frozenset(form for form in self.content if not _NUMERIC.search(form))

    @cached_property
    def matter(self) -> frozenset[str]:
        """The content words without numbers and the sides of the call."""
        found = Wording(in_digits(self.text, numbers(self.text, careful(self.lang))), self.lang)
        return found.spoken - self.known.sides

    @cached_property
    def facts(self) -> Sequence[Fact]:
        """The facts in digits, or in words that are certainly a number."""
        return extract(in_digits(self.text, self._stated[0]), self.lang)

    @cached_property
    def counts(self) -> frozenset[str]:
        """Small number words without a unit, which may count things that were not counted."""
        return frozenset(one.value for one in self._stated[1] if int(one.value) >= _SMALLEST_COUNT)

    @cached_property
    def _stated(self) -> tuple[Sequence[Spoken], Sequence[Spoken]]:
        return stated(self.text, self.lang)

    @cached_property
    def said(self) -> Said:
        """All numbers that the speaker may have meant."""
        written, together = heard(self.text, self.lang)
        return Said(extract(written, self.lang), together, "".join(_DIGITS.findall(written)))

    @cached_property
    def names(self) -> frozenset[str]:
        """Folded words with a capital letter inside a sentence, and titles."""
        starts = {match.end() for match in _SENTENCE_START.finditer(self.text)}
        found: set[str] = set()
        for at, word in placed_words(self.text):
            plain = word.removesuffix("'s")
            needs_none = at not in starts or not plain[1:].islower()
            is_name = plain[:1].isupper() and needs_none and self._may_be_a_name(plain)
            if is_name or plain.casefold() in self.known.titles:
                found.add(plain.casefold())
        return frozenset(found)

    @cached_property
    def introduced(self) -> frozenset[str]:
        """The names with which its speaker introduces themselves, folded."""
        folded = [word.casefold() for word in self.words]
        found: set[str] = set()
        for phrase in self.known.introductions:
            for at in range(len(folded) - len(phrase) + 1):
                if tuple(folded[at : at + len(phrase)]) == phrase:
                    found.update(self._names_from(at + len(phrase)))
        return frozenset(found)

    @cached_property
    def called(self) -> Sequence[tuple[str, frozenset[str]]]:
        """Sides of the call with the names that the text gives them ("the customer is
        called …").
        """
        found = []
        for place, word in enumerate(self.words):
            role = self.known.roles.get(word.casefold().removesuffix("'s"))
            if role is None:
                continue
            at = place + 1
            while at < len(self.words) and self.words[at].casefold() in self.known.linking:
                at += 1
            if names := frozenset(self._names_from(at)):
                found.append((role, names))
        return found

    @property
    def is_headline(self) -> bool:
        """Whether most of its words have a capital letter, as in a headline."""
        letters = [word for word in self.content_words if word[:1].isalpha()]
        capital = sum(word[:1].isupper() for word in letters)
        return len(letters) >= _SHORTEST_HEADLINE and capital > _TITLED * len(letters)

    def _names_from(self, at: int) -> Iterator[str]:
        """The consecutive names at a position."""
        for word in self.words[at : at + _LONGEST_NAME]:
            plain = word.removesuffix("'s")
            if not plain[:1].isupper() or plain.casefold() not in self.names:
                return
            yield plain.casefold()

    @cached_property
    def denied(self) -> Sequence[Scope]:
        """For every "not", the content words that it may concern."""
        return self._different(self.known.negation)

    @cached_property
    def restricted(self) -> Sequence[Scope]:
        """For every "only", the content words that it may concern."""
        return self._different(self.known.exclusive)

    def _different(self, cues: frozenset[str]) -> list[Scope]:
        return list(dict.fromkeys(self._scopes(cues)))

    @property
    def denies(self) -> bool:
        """Whether it has a negation."""
        return any(word.casefold() in self.known.negation for word in self.words)

    @cached_property
    def sayings(self) -> Sequence[tuple[str, frozenset[str]]]:
        """Who says what: the side named before a verb of speech, and the words after it."""
        return list(dict.fromkeys(self._sayings()))

    def _is_content(self, word: str) -> bool:
        folded = word.casefold()
        return folded not in self.known.stop and folded not in self.known.negation

    def _may_be_a_name(self, word: str) -> bool:
        folded = word.casefold()
        return len(word) > 1 and folded not in self.known.stop and not _NUMERIC.search(word)

    def _sayings(self) -> Iterator[tuple[str, frozenset[str]]]:
        for clause in _CLAUSE.split(self.text):
            inside = words(clause)
            folded = [word.casefold() for word in inside]
            verb = next((at for at, word in enumerate(folded) if word in self.known.speech), None)
            near = folded[max(0, verb - _SUBJECT) : verb] if verb else []
            roles = [self.known.roles[word] for word in near if word in self.known.roles]
            if verb and roles:
                after = [stem(word) for word in inside[verb + 1 :] if self._is_content(word)]
                yield roles[-1], frozenset(after[:_REACH]) - self.known.sides

    def _scopes(self, cues: frozenset[str]) -> Iterator[Scope]:
        """The content words after each cue in its clause, or before it if none follows."""
        for clause in _CLAUSE.split(self.text):
            inside = words(clause)
            places = [at for at, word in enumerate(inside) if word.casefold() in cues]
            if not places:
                continue
            content = [(at, stem(word)) for at, word in enumerate(inside) if self._is_content(word)]
            following = 0
            for place in places:
                while following < len(content) and content[following][0] < place:
                    following += 1
                itself = following < len(content) and content[following][0] == place
                after = content[following + itself : following + itself + _REACH]
                ahead = content[max(0, following - _REACH) : following]
                yield Scope(_forms(after or ahead), _forms([*ahead, *after]))


def _forms(placed: Sequence[tuple[int, str]]) -> frozenset[str]:
    return frozenset(form for _, form in placed)
