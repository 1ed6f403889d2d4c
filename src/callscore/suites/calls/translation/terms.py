"""Terms and names: where the human translation has a form, and whether a reply has it too.

The reply's own list of handled terms is a claim, not proof (C-70): only its text counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

import msgspec

from callscore.metrics.text import contains, n2, plain_apostrophes, search_form
from callscore.suites.calls.translation.sentence_match import ModelTranslation, SentenceState

SHORTEST_STEM = 4
LONGEST_ENDING = 4
"""Letters that two words share from the start, and that may follow, if one is inflected (C-72)."""

MOST_CLAIMS = 500
"""No call has more terms; a longer list would only cost time."""


class TermTranslation(msgspec.Struct, frozen=True):
    """A term or name in the source (N1), and its form in a translation."""

    name: str
    form: str


class LocatedForm(msgspec.Struct, frozen=True):
    """A form prepared for searching, and the ids of the sentences that must have it."""

    form: str
    sentences: Sequence[str]
    inside_words: bool
    """Whether the human translation has the form only inside other words: a substring is enough."""


class LocatedTerm(msgspec.Struct, frozen=True):
    """A term or name: all its forms, and those that occur in the human translation."""

    name: str
    forms: frozenset[str]
    located: Sequence[LocatedForm]
    ignore_case: bool


def locate_terms(
    terms: Sequence[TermTranslation], sentences: Mapping[str, str], *, ignore_case: bool
) -> Sequence[LocatedTerm]:
    """Every distinct name, with the human sentences that contain its forms        C-70

    `sentences` has the human translation by source id, as a `search_form`.
    """
    if not terms:
        return ()
    if ignore_case:
        sentences = {key: text.casefold() for key, text in sentences.items()}
    forms: dict[str, list[str]] = {}
    for term in terms:
        forms.setdefault(term.name, []).append(search_form(term.form, ignore_case))
    return [
        LocatedTerm(
            name,
            frozenset(found),
            [located for form in found if (located := _locate_form(form, sentences)).sentences],
            ignore_case,
        )
        for name, found in forms.items()
    ]


def _locate_form(form: str, sentences: Mapping[str, str]) -> LocatedForm:
    containing: list[str] = []
    as_words: list[str] = []
    for key, text in sentences.items():
        if form in text:
            containing.append(key)
            if contains(text, form):
                as_words.append(key)
    return LocatedForm(form, as_words or containing, inside_words=not as_words)


def has_term(term: LocatedTerm, translation: ModelTranslation) -> bool:
    """Every human sentence with the form has it in the reply too        C-70, C-71

    If no human sentence has it, the whole reply is searched; the human's own text is always right,
    so that a perfect reply has no faults.
    """
    if term.located:
        return not missing_forms(term, translation)
    whole = translation.folded_text if term.ignore_case else translation.search_text
    return translation.is_reference or any(contains(whole, form) for form in term.forms)


def missing_forms(term: LocatedTerm, translation: ModelTranslation) -> Sequence[tuple[str, str]]:
    """Each form that is missing in a sentence of the reply, with that sentence."""
    missed = []
    for at in term.located:
        for key in at.sentences:
            sentence = translation.by_id[key]
            if sentence.state is SentenceState.SAME:
                continue
            text = plain_apostrophes(sentence.n1_text)
            searched = text.casefold() if term.ignore_case else text
            has = at.form in searched if at.inside_words else contains(searched, at.form)
            if not has:
                missed.append((at.form, text))
    return missed


def may_be_inflected(term: LocatedTerm, translation: ModelTranslation) -> bool:
    """Whether each word of a missing form may occur with another ending        C-72"""
    return bool(term.located) and all(
        _has_stems_of(form, text) for form, text in missing_forms(term, translation)
    )


def _has_stems_of(form: str, text: str) -> bool:
    words = {n2(word) for word in text.split()}
    return all(
        any(_share_stem(part, word) for word in words) for part in map(n2, form.split()) if part
    )


def _share_stem(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    stem = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    rest = max(len(one), len(other)) - stem
    return rest == 0 or (stem >= SHORTEST_STEM and rest <= LONGEST_ENDING)


def claims_missing_form(
    claims: Iterable[TermTranslation],
    terms: Sequence[LocatedTerm],
    wrong: frozenset[str],
    translation: ModelTranslation,
) -> bool:
    """Whether a reply claims a form that its text does not have        C-70

    A claim equal to the human's is as right as the text (`wrong` has the terms that are not).
    Any other claim is searched for in the whole reply, ignoring case: a warning, not a score.
    """
    forms = {term.name: term.forms for term in terms}
    for claim in islice(claims, MOST_CLAIMS):
        form = search_form(claim.form, ignore_case=True)
        if form in (known.casefold() for known in forms.get(claim.name, ())):
            if claim.name in wrong:
                return True
        elif form not in translation.folded_text:
            return True
    return False
