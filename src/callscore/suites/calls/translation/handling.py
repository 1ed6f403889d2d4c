"""Terms and names: where the human translation has a form, and whether an answer has it too.

The answer's own list of handled terms is a claim, not proof (C-70): only its text counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

import msgspec

from callscore.metrics.text import comparable, contains, n2
from callscore.suites.calls.translation.rendering import Rendered, State

SHORTEST_STEM = 4
LONGEST_ENDING = 4
"""Letters that two words share from the start, and that may follow, if one is inflected (C-72)."""

MOST_CLAIMS = 500
"""No call has more terms; a longer list would only cost time."""


class Wording(msgspec.Struct, frozen=True):
    """What the source says (N1), and how a translation says it."""

    name: str
    form: str


class Placed(msgspec.Struct, frozen=True):
    """A form ready for the search, and the ids of the sentences that must have it."""

    form: str
    sentences: Sequence[str]
    inside_words: bool
    """The human translation has the form only within other words, so a substring will do."""


class Handled(msgspec.Struct, frozen=True):
    """One term or name: all its forms, and those that can be looked for sentence by sentence."""

    name: str
    forms: frozenset[str]
    placed: Sequence[Placed]
    ignore_case: bool


def place(
    wordings: Sequence[Wording], written: Mapping[str, str], *, ignore_case: bool
) -> Sequence[Handled]:
    """Every distinct name, with the sentences (N1) of the human that hold its forms        C-70"""
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
            [placed for form in found if (placed := _placed(form, written)).sentences],
            ignore_case,
        )
        for name, found in forms.items()
    ]


def _placed(form: str, written: Mapping[str, str]) -> Placed:
    holding: list[str] = []
    as_words: list[str] = []
    for key, text in written.items():
        if form in text:
            holding.append(key)
            if contains(text, form):
                as_words.append(key)
    return Placed(form, as_words or holding, inside_words=not as_words)


def is_handled(handled: Handled, rendered: Rendered) -> bool:
    """Every sentence in which the human has the form has it in the answer too        C-70, C-71

    Where no sentence of the human has it, the whole answer is searched; the human's own text is
    right whatever it has, so that a perfect answer is never faulted.
    """
    if handled.placed:
        return not lacking(handled, rendered)
    whole = rendered.folded if handled.ignore_case else rendered.written
    return rendered.is_reference or any(contains(whole, form) for form in handled.forms)


def lacking(handled: Handled, rendered: Rendered) -> Sequence[tuple[str, str]]:
    """Each form that should occur in a sentence of the answer, with the sentence that lacks it."""
    missed = []
    for placed in handled.placed:
        for key in placed.sentences:
            rendering = rendered.by_id[key]
            if rendering.state is State.SAME:
                continue
            text = rendering.written
            searched = text.casefold() if handled.ignore_case else text
            has = (
                placed.form in searched if placed.inside_words else contains(searched, placed.form)
            )
            if not has:
                missed.append((placed.form, text))
    return missed


def may_be_inflected(handled: Handled, rendered: Rendered) -> bool:
    """Each word of a form that a sentence lacks may occur there with another ending        C-72"""
    return bool(handled.placed) and all(
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
    """Whether an answer claims a form that its text does not have        C-70

    A claim as the human made it is as right as the text (`wrong` names the terms that are not).
    Any other claim is sought in the whole answer, in any case: this is a warning, not a score.
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
