"""Terms and names: where the human translation has a form, and whether a reply has it too.

The reply's own list of handled terms is a claim, not proof (C-70): only its text counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

import msgspec

from callscore.metrics.text import comparable, contains, n2
from callscore.suites.calls.translation.sentence_match import Rendered, State

SHORTEST_STEM = 4
LONGEST_ENDING = 4
"""Letters that two words share from the start, and that may follow, if one is inflected (C-72)."""

MOST_CLAIMS = 500
"""No call has more terms; a longer list would only cost time."""


class Wording(msgspec.Struct, frozen=True):
    """A term in the source (N1), and its form in a translation."""

    name: str
    form: str


class LocatedForm(msgspec.Struct, frozen=True):
    """A form prepared for searching, and the ids of the sentences that must have it."""

    form: str
    sentences: Sequence[str]
    inside_words: bool
    """The human translation has the form only within other words, so a substring is enough."""


class Handled(msgspec.Struct, frozen=True):
    """One term or name: all its forms, and those that can be searched for per sentence."""

    name: str
    forms: frozenset[str]
    located: Sequence[LocatedForm]
    ignore_case: bool


def locate_forms(
    wordings: Sequence[Wording], written: Mapping[str, str], *, ignore_case: bool
) -> Sequence[Handled]:
    """Every distinct name, with the human sentences (N1) that contain its forms        C-70"""
    if not wordings:
        return ()
    if ignore_case:
        written = {key: text.casefold() for key, text in written.items()}
    forms: dict[str, list[str]] = {}
    for wording in wordings:
        forms.setdefault(wording.name, []).append(comparable(wording.form, ignore_case))
    return [
        Handled(
            name,
            frozenset(found),
            [located for form in found if (located := _locate(form, written)).sentences],
            ignore_case,
        )
        for name, found in forms.items()
    ]


def _locate(form: str, written: Mapping[str, str]) -> LocatedForm:
    holding: list[str] = []
    as_words: list[str] = []
    for key, text in written.items():
        if form in text:
            holding.append(key)
            if contains(text, form):
                as_words.append(key)
    return LocatedForm(form, as_words or holding, inside_words=not as_words)


def is_handled(handled: Handled, rendered: Rendered) -> bool:
    """Every human sentence with the form has it in the reply too        C-70, C-71

    If no human sentence has it, the whole reply is searched; the human's own text is always right,
    so that a perfect reply has no faults.
    """
    if handled.located:
        return not lacking(handled, rendered)
    whole = rendered.folded if handled.ignore_case else rendered.written
    return rendered.is_reference or any(contains(whole, form) for form in handled.forms)


def lacking(handled: Handled, rendered: Rendered) -> Sequence[tuple[str, str]]:
    """Each form that is missing in a sentence of the reply, with that sentence."""
    missed = []
    for at in handled.located:
        for key in at.sentences:
            rendering = rendered.by_id[key]
            if rendering.state is State.SAME:
                continue
            text = rendering.written
            searched = text.casefold() if handled.ignore_case else text
            has = at.form in searched if at.inside_words else contains(searched, at.form)
            if not has:
                missed.append((at.form, text))
    return missed


def may_be_inflected(handled: Handled, rendered: Rendered) -> bool:
    """Whether each word of a missing form may occur with another ending        C-72"""
    return bool(handled.located) and all(
        _has_stems_of(form, text) for form, text in lacking(handled, rendered)
    )


def _has_stems_of(form: str, text: str) -> bool:
    words = {n2(word) for word in text.split()}
    return all(
        any(_same_stem(part, word) for word in words) for part in map(n2, form.split()) if part
    )


def _same_stem(one: str, other: str) -> bool:
    shorter = min(len(one), len(other))
    stem = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    rest = max(len(one), len(other)) - stem
    return rest == 0 or (stem >= SHORTEST_STEM and rest <= LONGEST_ENDING)


def is_any_contradicted(
    claims: Iterable[Wording],
    handled: Sequence[Handled],
    wrong: frozenset[str],
    rendered: Rendered,
) -> bool:
    """Whether a reply claims a form that its text does not have        C-70

    A claim equal to the human's is as right as the text (`wrong` has the terms that are not).
    Any other claim is searched for in the whole reply, ignoring case: a warning, not a score.
    """
    forms = {entry.name: entry.forms for entry in handled}
    for claim in islice(claims, MOST_CLAIMS):
        form = comparable(claim.form, ignore_case=True)
        if form in (known.casefold() for known in forms.get(claim.name, ())):
            if claim.name in wrong:
                return True
        elif form not in rendered.folded:
            return True
    return False
