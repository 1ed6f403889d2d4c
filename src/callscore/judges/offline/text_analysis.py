"""Analyses a text for the rules: content words, names, number words, negations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec

from callscore.judges.offline.spoken_numbers import (
    NumberPhrase,
    certain_number_words,
    certain_numbers,
    find_numbers,
    possible_numbers,
    replace_with_digits,
)
from callscore.judges.offline.word_lists import (
    WordLists,
    find_words,
    split_words,
    stem,
    stems,
    word_lists,
)
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
"""Words before a verb of saying in which its subject is searched."""
_LONGEST_NAME = 6
_SMALLEST_COUNT = 2
"""`one` is too often no number."""
_TITLED = 0.9
"""Share of capitalised words from which a text is a headline, without names."""
_SHORTEST_HEADLINE = 6


class SpokenNumbers(NamedTuple):
    """All numbers that a speaker may have meant."""

    facts: Sequence[Fact]
    combinations: frozenset[str]
    """Possible meanings of consecutive numbers and of parts of numbers."""
    digits: str
    """All its digits in order: a number may be dictated over several turns."""


class Scope(NamedTuple):
    """The content words that a "not" or an "only" may concern, and all words around it."""

    words: frozenset[str]
    around: frozenset[str]


class TextAnalysis(msgspec.Struct, frozen=True, dict=True):
    """A text, and its words, names, numbers and negations, each computed on first use."""

    text: str
    lang: str | None = None

    @cached_property
    def word_lists(self) -> WordLists:
        """The word lists of its language."""
        return word_lists(self.lang)

    @cached_property
    def words(self) -> Sequence[str]:
        """Its words."""
        return split_words(self.text)

    @cached_property
    def content_words(self) -> Sequence[str]:
        """Its words without stop words."""
        return [word for word in self.words if self._is_content(word)]

    @cached_property
    def ordered_stems(self) -> Sequence[str]:
        """The stems of its content words, in order."""
        return [form for word in self.content_words for form in stems(word)]

    @cached_property
    def content(self) -> frozenset[str]:
        """The stems of its content words."""
        return frozenset(self.ordered_stems)

    @cached_property
    def non_numeric(self) -> frozenset[str]:
        """The content words without digits."""
        return frozenset(form for form in self.content if not _NUMERIC.search(form))

    @cached_property
    def topic_words(self) -> frozenset[str]:
        """The content words without numbers and the sides of the call."""
        numbers = find_numbers(self.text, certain_number_words(self.lang))
        found = TextAnalysis(replace_with_digits(self.text, numbers), self.lang)
        return found.non_numeric - self.word_lists.sides

    @cached_property
    def facts(self) -> Sequence[Fact]:
        """The facts in digits, or in words that are certainly a number."""
        return extract(replace_with_digits(self.text, self._number_phrases[0]), self.lang)

    @cached_property
    def counts(self) -> frozenset[str]:
        """Small number words without a unit, which may count things that were not counted."""
        return frozenset(
            one.value for one in self._number_phrases[1] if int(one.value) >= _SMALLEST_COUNT
        )

    @cached_property
    def _number_phrases(self) -> tuple[Sequence[NumberPhrase], Sequence[NumberPhrase]]:
        return certain_numbers(self.text, self.lang)

    @cached_property
    def spoken_numbers(self) -> SpokenNumbers:
        """All numbers that the speaker may have meant."""
        written, combinations = possible_numbers(self.text, self.lang)
        return SpokenNumbers(
            extract(written, self.lang), combinations, "".join(_DIGITS.findall(written))
        )

    @cached_property
    def names(self) -> frozenset[str]:
        """Folded words with a capital letter inside a sentence, and titles."""
        starts = {match.end() for match in _SENTENCE_START.finditer(self.text)}
        found: set[str] = set()
        for at, word in find_words(self.text):
            bare = word.removesuffix("'s")
            needs_none = at not in starts or not bare[1:].islower()
            is_name = bare[:1].isupper() and needs_none and self._may_be_a_name(bare)
            if is_name or bare.casefold() in self.word_lists.titles:
                found.add(bare.casefold())
        return frozenset(found)

    @cached_property
    def introduced_names(self) -> frozenset[str]:
        """The names with which its speaker introduces themselves, folded."""
        folded = [word.casefold() for word in self.words]
        found: set[str] = set()
        for phrase in self.word_lists.introductions:
            for at in range(len(folded) - len(phrase) + 1):
                if tuple(folded[at : at + len(phrase)]) == phrase:
                    found.update(self._names_from(at + len(phrase)))
        return frozenset(found)

    @cached_property
    def names_by_role(self) -> Sequence[tuple[str, frozenset[str]]]:
        """The names that the text gives to a side of the call ("the customer is called …")."""
        found = []
        for place, word in enumerate(self.words):
            role = self.word_lists.roles.get(word.casefold().removesuffix("'s"))
            if role is None:
                continue
            at = place + 1
            while at < len(self.words) and self.words[at].casefold() in self.word_lists.linking:
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
            bare = word.removesuffix("'s")
            if not bare[:1].isupper() or bare.casefold() not in self.names:
                return
            yield bare.casefold()

    @cached_property
    def negations(self) -> Sequence[Scope]:
        """For every "not", the content words that it may negate."""
        return self._unique_scopes(self.word_lists.negation)

    @cached_property
    def restrictions(self) -> Sequence[Scope]:
        """For every "only", the content words that it may restrict."""
        return self._unique_scopes(self.word_lists.exclusive)

    def _unique_scopes(self, cues: frozenset[str]) -> list[Scope]:
        return list(dict.fromkeys(self._scopes(cues)))

    @property
    def has_negation(self) -> bool:
        """Whether it contains a negation."""
        return any(word.casefold() in self.word_lists.negation for word in self.words)

    @cached_property
    def attributions(self) -> Sequence[tuple[str, frozenset[str]]]:
        """Who says what: the side before a verb of saying, and the words after it."""
        return list(dict.fromkeys(self._attributions()))

    def _is_content(self, word: str) -> bool:
        folded = word.casefold()
        return folded not in self.word_lists.stop and folded not in self.word_lists.negation

    def _may_be_a_name(self, word: str) -> bool:
        folded = word.casefold()
        return len(word) > 1 and folded not in self.word_lists.stop and not _NUMERIC.search(word)

    def _attributions(self) -> Iterator[tuple[str, frozenset[str]]]:
        for clause in _CLAUSE.split(self.text):
            inside = split_words(clause)
            folded = [word.casefold() for word in inside]
            verb = next(
                (at for at, word in enumerate(folded) if word in self.word_lists.speech), None
            )
            near = folded[max(0, verb - _SUBJECT) : verb] if verb else []
            roles = [self.word_lists.roles[word] for word in near if word in self.word_lists.roles]
            if verb and roles:
                after = [stem(word) for word in inside[verb + 1 :] if self._is_content(word)]
                yield roles[-1], frozenset(after[:_REACH]) - self.word_lists.sides

    def _scopes(self, cues: frozenset[str]) -> Iterator[Scope]:
        """The content words after each cue in its clause, or before it if none follows."""
        for clause in _CLAUSE.split(self.text):
            inside = split_words(clause)
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
