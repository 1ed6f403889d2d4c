"""Critical facts of one case: where they come from, and how many a reply lost or added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.core.judging import Item, Question, Verdicts
from callscore.suites.calls.items import is_confirmed
from callscore.suites.calls.spec import load_spec
from callscore.suites.calls.translation.facts import Drift, FactSheet, GivenFact, drift
from callscore.suites.calls.translation.judge_questions import CRITICAL_FACTS, FACT_WORDS
from callscore.suites.calls.translation.measures import FactCount
from callscore.suites.calls.translation.sentence_match import ModelTranslation

KEY = "critical_facts"


def given_facts(case: Case) -> Sequence[GivenFact] | None:
    """The facts that the case names, in annotations or config; None if it names none     C-74"""
    for place, holder in (("annotations", case.annotations), ("config", case.config)):
        facts = holder.get(KEY) if holder is not None else None
        if facts is None:
            continue
        if not isinstance(facts, list):
            raise DataError("expected an array of facts", field=f"{place}.{KEY}")
        return [_read_fact(fact, f"{place}.{KEY}[{at}]") for at, fact in enumerate(facts)]
    return None


def _read_fact(fact: Any, path: str) -> GivenFact:
    """A string, or its form in the source with its form in the reference."""
    forms = (fact, fact) if isinstance(fact, str) else _fact_forms(fact)
    if not all(isinstance(form, str) and form.strip() for form in forms):
        raise DataError(
            f'{fact!r} is not a fact; expected text, or {{"fact": text, "expected": text}}',
            field=path,
        )
    return GivenFact(*forms)


def _fact_forms(fact: Any) -> tuple[Any, Any]:
    if not isinstance(fact, dict):
        return None, None
    source = fact.get("fact")
    return source, fact.get("expected", source)


def count_facts(
    sheet: FactSheet, translation: ModelTranslation, verdicts: Verdicts, flags: set[str]
) -> FactCount:
    """Facts lost by rule or by verdict, and facts added        C-75

    A listed fact that code cannot decide awaits a verdict: it is never taken as preserved. A number
    that may be written in words is lost unless a judge has found it (C-76).
    """
    found = drift(sheet, translation.text, lambda: translation.folded_text)
    drifted, awaiting, is_estimated = found.count, 0, False
    for place in found.undecided:
        kept = _is_kept(place, verdicts, flags)
        if kept is None:
            kept = _is_estimated_kept(place, verdicts)
            is_estimated = is_estimated or kept is not None
        awaiting += kept is None
        drifted += kept is False
    for place in _spelled_positions(sheet, found):
        kept = _is_kept(place, verdicts, flags)
        if kept is None:
            flags.add("maybe_spelled_out")
        drifted -= kept is True
    return FactCount(
        drifted,
        found.total - awaiting,
        is_approximate=is_estimated,
        added=len(found.added),
        awaiting=awaiting,
        is_estimated=is_estimated,
    )


def lost_facts(sheet: FactSheet, found: Drift, verdicts: Verdicts) -> list[str]:
    """The facts that `count_facts` counts as lost, as the reference words them."""
    texts = _expected_texts(sheet)
    refuted = [at for at in found.undecided if _is_refuted(at, verdicts)]
    spelled = [at for at in _spelled_positions(sheet, found) if _is_kept(at, verdicts, set())]
    kept = {texts[at] for at in spelled}
    return [text for text in found.lost if text not in kept] + [texts[at] for at in refuted]


def _is_refuted(place: int, verdicts: Verdicts) -> bool:
    kept = _is_kept(place, verdicts, set())
    return (_is_estimated_kept(place, verdicts) if kept is None else kept) is False


@lru_cache(maxsize=256)
def is_resolution_limited(total: int) -> bool:
    """Whether a single drift is already beyond the limit        C-77"""
    gate = load_spec().metrics[CRITICAL_FACTS].gate
    assert gate is not None  # the framework makes it a blocker
    return total > 0 and gate.is_breached(1 - 1 / total)


def fact_questions(sheet: FactSheet, text: str) -> Iterable[Question]:
    """Every fact that digits cannot decide: outcomes, and numbers that may be written in words."""
    found = drift(sheet, text)
    texts = _expected_texts(sheet)
    for place in sorted({*found.undecided, *_spelled_positions(sheet, found)}):
        yield Question(CRITICAL_FACTS, item_of(place), text, texts[place], FACT_WORDS)


def _is_kept(place: int, verdicts: Verdicts, flags: set[str]) -> bool | None:
    """The verdict of people or a judge; estimates of a built-in rule are left out."""
    item = Item(CRITICAL_FACTS, item_of(place))
    exact = [verdict for verdict in verdicts.get(item, ()) if not verdict.approximate]
    return is_confirmed({item: exact}, item, "preserved", flags)


def _is_estimated_kept(place: int, verdicts: Verdicts) -> bool | None:
    """The estimate of a built-in rule: it counts, but no gate uses it (C-125)."""
    return is_confirmed(verdicts, Item(CRITICAL_FACTS, item_of(place)), "preserved", set())


def item_of(place: int) -> str:
    """The item id of the fact at a position in the list."""
    return f"fact:{place + 1}"


def _expected_texts(sheet: FactSheet) -> Sequence[str]:
    """The expected facts in words, in the order of their numbers."""
    if sheet.given is None:
        return [fact.text for fact in sheet.expected]
    return [fact.expected for fact in sheet.given]


def _spelled_positions(sheet: FactSheet, found: Drift) -> Sequence[int]:
    if not found.maybe_spelled:
        return ()
    texts = _expected_texts(sheet)
    return [texts.index(text) for text in found.maybe_spelled]
