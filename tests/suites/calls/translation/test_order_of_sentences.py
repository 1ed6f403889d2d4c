"""The order of sentences decides nothing: neither what a number means nor what became of it."""

from __future__ import annotations

import pytest

from callscore.metrics.facts.extraction import extract
from callscore.metrics.facts.fact import Fact
from callscore.suites.calls.translation.facts import GivenFact, drift, fact_sheet
from translation_cases import cosine, measure_answer, outcome, translation_case, value, word


@pytest.mark.parametrize(
    ("end", "start"),
    [("bien", "975 euros"), ("$", "40"), ("5", "days"), ("AB", "1234"), ("7", "%")],
)
def test_a_number_has_nothing_to_do_with_the_next_sentence(end: str, start: str) -> None:
    apart = [*extract(end, "en"), *extract(start, "en")]
    together = extract(f"{end}\n{start}", "en")
    assert [(fact.key, fact.text) for fact in together] == [(f.key, f.text) for f in apart]


def test_places_are_those_of_the_line() -> None:
    lines = ["pays ₹49", "within 3 days"]
    facts = extract("\n".join(lines), "en")
    assert [line[slice(*fact.span)] for line, fact in zip(lines, facts, strict=True)] == [
        fact.text for fact in facts
    ]


def test_a_line_that_was_read_before_states_what_it_stated_then() -> None:
    text = "pays ₹49\nand no more\nwithin 3 days\npays ₹49"
    read: dict[str, list[Fact]] = {}
    first = extract(text, "en", read)
    assert list(read) == ["pays ₹49", "and no more", "within 3 days"]
    assert extract(text, "en", read) == first == extract(text, "en")


def test_a_line_break_within_a_sentence_is_only_a_space() -> None:
    case = translation_case(outcome(["it takes 5 days"]), lang="en")
    assert value(case, outcome(["it will take 5\ndays"]), "critical_facts") == 1


def test_a_reworded_sentence_leaves_the_number_after_it_alone() -> None:
    case = translation_case(outcome(["muchas gracias", "25 personas"]), lang="es")
    found = measure_answer(
        case,
        outcome(["se lo agradezco", "25 personas"]),
        [cosine("1", 0.9), word("fluency", "1", "native")],
    )
    assert found.measures["translation.critical_facts"].value == 1


@pytest.mark.parametrize("order", [("12", "31"), ("31", "12")])
def test_what_replaced_a_lost_fact_does_not_depend_on_the_order(order: tuple[str, str]) -> None:
    sheet = fact_sheet("12 31", "12 31", "en", given=[GivenFact("x", form) for form in order])
    found = drift(sheet, "only 7 left")
    assert (found.lost, found.added, found.maybe_spelled) == (order, (), ("31",))
