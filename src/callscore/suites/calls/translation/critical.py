"""Critical facts of one case: where they come from, and how many an answer lost or added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.core.judging import Item, Question, Verdicts
from callscore.suites.calls.spec import load
from callscore.suites.calls.translation.facts import Drift, FactSheet, GivenFact, drift
from callscore.suites.calls.translation.judged import CRITICAL_FACTS, KEEPING_FACTS, holds
from callscore.suites.calls.translation.rendering import Rendered

KEY = "critical_facts"


class Counted(msgspec.Struct, frozen=True, gc=False):
    """Facts lost or added, of how many, and whether an outcome awaits its judge."""

    drifted: int
    total: int
    is_approximate: bool = False
    added: int = 0

    @property
    def lost(self) -> int:
        """Expected facts omitted or altered."""
        return self.drifted - self.added


def given_facts(case: Case) -> Sequence[GivenFact] | None:
    """The facts that the case names, in annotations or config; None where it names none     C-74"""
    for place, holder in (("annotations", case.annotations), ("config", case.config)):
        facts = holder.get(KEY) if holder is not None else None
        if facts is None:
            continue
        if not isinstance(facts, list):
            raise DataError("expected an array of facts", field=f"{place}.{KEY}")
        return [_given(fact, f"{place}.{KEY}[{at}]") for at, fact in enumerate(facts)]
    return None


def _given(fact: Any, path: str) -> GivenFact:
    """A string, or its form in the source with its form in the reference."""
    forms = (fact, fact) if isinstance(fact, str) else _forms(fact)
    if not all(isinstance(form, str) and form.strip() for form in forms):
        raise DataError(
            f'{fact!r} is no fact; expected text, or {{"fact": text, "expected": text}}', field=path
        )
    return GivenFact(*forms)


def _forms(fact: Any) -> tuple[Any, Any]:
    if not isinstance(fact, dict):
        return None, None
    source = fact.get("fact")
    return source, fact.get("expected", source)


def count(sheet: FactSheet, rendered: Rendered, verdicts: Verdicts, flags: set[str]) -> Counted:
    """Facts lost by rule or by verdict, and facts added        C-75

    An outcome that nobody judged counts as kept, and makes the value approximate. A number that
    may stand there in words is lost unless a judge has found it (C-76).
    """
    found = drift(sheet, rendered.text, lambda: rendered.folded)
    drifted, is_approximate = found.count, False
    for place in found.undecided:
        kept = _is_kept(place, verdicts, flags)
        is_approximate = is_approximate or kept is None
        drifted += kept is False
    for place in _maybe_spelled(sheet, found):
        kept = _is_kept(place, verdicts, flags)
        if kept is None:
            flags.add("maybe_spelled_out")
        drifted -= kept is True
    return Counted(drifted, found.total, is_approximate, len(found.added))


def lost(sheet: FactSheet, found: Drift, verdicts: Verdicts) -> list[str]:
    """The facts that `count` counts as lost, in the words of the reference."""
    wording = _wording(sheet)
    refuted = [at for at in found.undecided if _is_kept(at, verdicts, set()) is False]
    spelled = [at for at in _maybe_spelled(sheet, found) if _is_kept(at, verdicts, set())]
    kept = {wording[at] for at in spelled}
    return [text for text in found.lost if text not in kept] + [wording[at] for at in refuted]


@lru_cache(maxsize=256)
def is_resolution_limited(total: int) -> bool:
    """Whether a single drift is already beyond the limit        C-77"""
    gate = load().metrics[CRITICAL_FACTS].gate
    assert gate is not None  # the framework makes it a blocker
    return total > 0 and gate.breached(1 - 1 / total)


def questions(sheet: FactSheet, translation: str) -> Iterable[Question]:
    """Every fact that digits cannot decide: outcomes, and numbers that may stand in words."""
    found = drift(sheet, translation)
    wording = _wording(sheet)
    for place in sorted({*found.undecided, *_maybe_spelled(sheet, found)}):
        yield Question(CRITICAL_FACTS, item_of(place), translation, wording[place], KEEPING_FACTS)


def _is_kept(place: int, verdicts: Verdicts, flags: set[str]) -> bool | None:
    """What a judge says; an estimate decides nothing here, as this measure gates (C-75)."""
    item = Item(CRITICAL_FACTS, item_of(place))
    exact = [verdict for verdict in verdicts.get(item, ()) if not verdict.approximate]
    return holds({item: exact}, item, "preserved", flags)


def item_of(place: int) -> str:
    """What questions and verdicts call the fact at a place of the list."""
    return f"fact:{place + 1}"


def _wording(sheet: FactSheet) -> Sequence[str]:
    """The expected facts in words, in the order of their numbers."""
    if sheet.given is None:
        return [fact.text for fact in sheet.expected]
    return [fact.expected for fact in sheet.given]


def _maybe_spelled(sheet: FactSheet, found: Drift) -> Sequence[int]:
    if not found.maybe_spelled:
        return ()
    wording = _wording(sheet)
    return [wording.index(text) for text in found.maybe_spelled]
