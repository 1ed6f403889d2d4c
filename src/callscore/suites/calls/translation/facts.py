"""Critical facts of a translation: expected, lost and added (C-74 … C-76).

`fact_sheet` reads a case once, before any reply; `drift` compares a translation with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import pairwise
from typing import Any

import msgspec

from callscore.core.case import Case
from callscore.core.errors import DataError
from callscore.core.judging import Item, Question, Verdicts
from callscore.metrics.facts.extraction import extract
from callscore.metrics.facts.fact import Fact, Index, keys_of, unmatched_facts
from callscore.metrics.facts.lexicon import lexicon
from callscore.metrics.text import has_form, is_unspaced_script, n2, search_form
from callscore.suites.calls.items import is_confirmed
from callscore.suites.calls.spec import load_spec
from callscore.suites.calls.translation.judge_questions import CRITICAL_FACTS, FACT_WORDS
from callscore.suites.calls.translation.measures import FactCount
from callscore.suites.calls.translation.sentence_match import ModelTranslation

_LostFact = tuple[str, tuple[Fact, ...]]


class GivenFact(msgspec.Struct, frozen=True):
    """A fact that the case names: its form in the source and in the reference."""

    source: str
    expected: str


class FactSheet(msgspec.Struct, dict=True):
    """The facts of a case; the same for every model.

    What only an imperfect translation needs is computed on first use and cached.
    """

    source_text: str | Callable[[], str]
    """The source, or a function that returns it, as few translations need it."""
    source_lang: str | None
    reference: str
    lang: str | None
    given: tuple[GivenFact, ...] | None
    """The facts that the case names; None if they are read from the reference."""
    line_cache: dict[str, list[Fact]]
    """The facts of every line read so far: many sentences equal those of the reference."""
    found: Sequence[Fact] | None = None
    """The facts of the reference, computed on first use."""

    @property
    def source(self) -> str:
        """The text of the whole call."""
        return self.source_text if isinstance(self.source_text, str) else self.source_text()

    @property
    def reference_facts(self) -> Sequence[Fact]:
        """The facts of the reference, each as often as it occurs."""
        if self.found is None:
            self.found = tuple(extract(self.reference, self.lang, self.line_cache))
        return self.found

    @cached_property
    def expected(self) -> Sequence[Fact]:
        """The facts of the reference, each key once."""
        return tuple({fact.key: fact for fact in reversed(self.reference_facts)}.values())[::-1]

    @cached_property
    def reference_index(self) -> Index:
        """The facts of the reference, indexed for comparison with a translation."""
        return Index(self.reference_facts)

    @cached_property
    def allowed_index(self) -> Index:
        """The facts of the reference and of the source, which a translation may state."""
        return Index([*self.reference_facts, *extract(self.source, self.source_lang)])

    @cached_property
    def search_text(self) -> str:
        """The reference, normalised for searching."""
        return search_form(self.reference, ignore_case=True)

    @property
    def total(self) -> int:
        """total_critical_facts        C-74"""
        return len(keys_of(self.reference_facts)) if self.given is None else len(self.given)


class Drift(msgspec.Struct, frozen=True, gc=False):
    """The wrong facts of one translation, as the reference or the translation words them."""

    total: int
    lost: tuple[str, ...]
    """The texts of expected facts that are omitted or altered."""
    added: tuple[str, ...]
    undecided: tuple[int, ...]
    """Positions in the list of given facts that only a judge can decide."""
    maybe_spelled: tuple[str, ...]
    """Lost facts without a counterpart in digits: they may be written in words."""

    @property
    def count(self) -> int:
        """Lost + added        C-75"""
        return len(self.lost) + len(self.added)


class FactSupport(msgspec.Struct, frozen=True):
    """How many facts of a translation have a counterpart, and how many have none."""

    supported: int
    added: int
    """In neither reference nor source, altered ones included."""


def fact_sheet(
    source: str | Callable[[], str],
    reference: str,
    lang: str | None,
    *,
    source_lang: str | None = None,
    given: Sequence[GivenFact] | None = None,
) -> FactSheet:
    """The facts of a case, determined before any reply is scored        C-74"""
    return FactSheet(
        source_text=source,
        source_lang=source_lang,
        reference=reference,
        lang=lang,
        given=None if given is None else tuple(given),
        line_cache={},
    )


def drift(sheet: FactSheet, translation: str, folded: Callable[[], str] | None = None) -> Drift:
    """Expected facts omitted or altered + facts that neither reference nor source states   C-75

    `folded` returns the translation normalised for searching, if the caller has it already.
    """
    if sheet.given is not None:
        lost, undecided = _lost_given_facts(sheet, translation, folded)
        added = _added_facts(sheet, translation) if _states_new_fact(sheet, translation) else []
    else:
        found = extract(translation, sheet.lang, sheet.line_cache)
        keys = keys_of(found)
        if keys == keys_of(sheet.reference_facts):
            return Drift(len(keys), (), (), (), ())
        lost = [(fact.text, (fact,)) for fact in unmatched_facts(sheet.expected, Index(found))]
        undecided = ()
        added = _added_facts(sheet, translation)
    if not lost and not added:
        return Drift(sheet.total, (), (), undecided, ())
    altered, invented = _pair_altered([facts for _, facts in lost], added)
    return Drift(
        total=sheet.total,
        lost=tuple(text for text, _ in lost),
        added=tuple(fact.text for fact in invented),
        undecided=undecided,
        maybe_spelled=tuple(text for at, (text, _) in enumerate(lost) if at not in altered),
    )


def count_supported(sheet: FactSheet, translation: str) -> FactSupport:
    """Counts the facts of a translation: those that reference or source state, and others   C-90"""
    found = extract(translation, sheet.lang, sheet.line_cache)
    added = _drop_spelled(unmatched_facts(found, sheet.allowed_index), sheet)
    return FactSupport(len(found) - len(added), len(added))


def _states_new_fact(sheet: FactSheet, translation: str) -> bool:
    """Whether a line that is not the reference's own states any fact"""
    own = set(sheet.reference.split("\n"))
    lines = [line for line in translation.split("\n") if line not in own]
    return bool(extract("\n".join(lines), sheet.lang, sheet.line_cache))


def _added_facts(sheet: FactSheet, translation: str) -> list[Fact]:
    """The facts of a translation that neither reference nor source states        C-75, C-76"""
    found = extract(translation, sheet.lang, sheet.line_cache)
    if not unmatched_facts(found, sheet.reference_index):
        return []
    return _drop_spelled(unmatched_facts(found, sheet.allowed_index), sheet)


def _lost_given_facts(
    sheet: FactSheet, translation: str, folded: Callable[[], str] | None
) -> tuple[list[_LostFact], tuple[int, ...]]:
    lost: list[_LostFact] = []
    undecided: list[int] = []
    written = folded() if folded else search_form(translation, ignore_case=True)

    @cache
    def found() -> Index:
        return Index(extract(translation, sheet.lang, sheet.line_cache))

    for place, given in enumerate(sheet.given or ()):
        kept = _is_preserved(given, written, found, sheet)
        if kept is False and _is_in_reference(given, sheet):
            lost.append((given.expected, tuple(_facts_of(given, sheet.lang))))
        elif not kept:
            undecided.append(place)
    return lost, tuple(undecided)


def _is_in_reference(given: GivenFact, sheet: FactSheet) -> bool:
    """A fact that does not occur in the reference itself cannot be required."""
    return _is_preserved(given, sheet.search_text, lambda: sheet.reference_index, sheet) is True


def _is_preserved(
    given: GivenFact, written: str, found: Callable[[], Index], sheet: FactSheet
) -> bool | None:
    form = search_form(given.expected, ignore_case=True)
    if has_form(written, form, lambda: sheet.search_text):
        return True
    facts = _facts_of(given, sheet.lang)
    if not facts:
        return False if any(char.isdecimal() for char in given.expected) else None
    return not unmatched_facts(facts, found())


def _facts_of(given: GivenFact, lang: str | None) -> list[Fact]:
    # A fact given only in its source form keeps the source's number format: try all.
    return extract(given.expected, None if given.expected == given.source else lang)


def _pair_altered(lost: list[tuple[Fact, ...]], added: list[Fact]) -> tuple[set[int], list[Fact]]:
    """Pair lost facts with their replacements: an altered fact is not also an added one    C-75

    Both are taken in the order of their keys, so that the order of sentences does not matter.
    """
    altered: set[int] = set()
    parts = [(place, fact) for place, facts in enumerate(lost) for fact in facts]
    parts.sort(key=lambda part: part[1].key)
    added = sorted(added, key=lambda fact: fact.key)
    for alike in (_same_kind, _share_a_number):
        remaining: list[Fact] = []
        for fact in added:
            match = next((part for part in parts if alike(part[1], fact)), None)
            if match is None:
                remaining.append(fact)
            else:
                parts.remove(match)
                altered.add(match[0])
        added = remaining
    return altered, added


def _same_kind(lost: Fact, added: Fact) -> bool:
    return lost.kind == added.kind


def _share_a_number(lost: Fact, added: Fact) -> bool:
    return not lost.numbers.isdisjoint(added.numbers)


def _drop_spelled(added: list[Fact], sheet: FactSheet) -> list[Fact]:
    """Only the facts whose numbers are not written in words in reference or source        C-76"""
    if not added:
        return []
    spelled = _spelled_numbers(sheet.reference, sheet.lang) | _spelled_numbers(
        sheet.source, sheet.source_lang
    )
    return [fact for fact in added if not spelled.issuperset(_spoken_numbers(fact))]


def _spoken_numbers(fact: Fact) -> tuple[str, ...]:
    """The numbers as spoken: of a date its day, of a time its hour on a 12-hour clock"""
    key = fact.key
    if fact.kind == "range":
        return key[1:3]
    if fact.kind == "time":
        return (str(int(key[1][:2]) % 12 or 12),)
    return (key[-1],)


def _spelled_numbers(text: str, lang: str | None) -> set[str]:
    """Numbers written in words in a text, as far as the lexicon has them"""
    table = lexicon(lang).spelled
    words = [table.get(word.strip(".,;:!?¿¡()\"'।…"), ()) for word in n2(text).split()]
    numbers = {number for found in words for number in found}
    for tens, ones in pairwise(words):
        numbers |= {_combine(int(high), int(low)) for high in tens for low in ones}
    if is_unspaced_script(text):
        for word in filter(is_unspaced_script, table):
            numbers.update(table[word] if word in text else ())
    return numbers


def _combine(first: int, second: int) -> str:
    """Twenty and one is 21, two and hundred is 200"""
    return str(first * second if second >= 100 else first + second)


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
