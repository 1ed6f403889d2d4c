"""Totals of filled-in forms."""

from __future__ import annotations

import pytest

from callscore.metrics.forms.arithmetic import total
from callscore.metrics.forms.form import Form, FormQuestion, Mode, Option, Section


@pytest.mark.parametrize("mode", ["question_weights", "section_weights", "section_points"])
def test_a_form_in_which_only_weightless_parts_apply_has_no_total(mode: Mode) -> None:
    options = [Option("yes", "Yes", 1.0), Option("no", "No", 0.0)]
    sections = [
        Section(name, name, [FormQuestion(f"{name}1", "?", options=options, weight=weight)], weight)
        for name, weight in (("a", 100.0), ("b", 0.0))
    ]
    form = Form("f", "Service", sections, mode, "aws")
    assert total(form, {"a1": None, "b1": 1.0}).percent is None
    assert total(form, {"a1": 1.0, "b1": 0.0}).percent == 100


@pytest.mark.parametrize(("mark", "fails"), [(0.0, True), (0.5, True), (1.0, False), (None, False)])
def test_losing_a_part_of_the_points_of_a_fatal_question_fails_the_form(
    mark: float | None, fails: bool
) -> None:
    options = [Option("yes", "Yes", 1.0), Option("partly", "Partly", 0.5), Option("no", "No", 0.0)]
    fatal = FormQuestion("kill", "?", options=options, is_fatal=True, na_allowed=True)
    other = FormQuestion("other", "?", options=options)
    form = Form("f", "Service", [Section("a", "a", [fatal, other])], "question_weights", "genesys")
    found = total(form, {"kill": mark, "other": 1.0})
    assert (found.failed_by == ["kill"], found.percent == 0) == (fails, fails)


def test_both_ends_of_a_range_of_numbers_belong_to_it() -> None:
    ranges = [Option("slow", "6-9", 0.0, least=6, most=9), Option("fast", "0-5", 1.0, most=5)]
    asked = FormQuestion("minutes", "?", options=ranges, kind="number")
    chosen = {given: asked.option(given) for given in ("-1", "5", "5.5", "6", "9", "10")}
    assert [option.id if option else None for option in chosen.values()] == [
        *("fast", "fast", None, "slow", "slow", None)
    ]


@pytest.mark.parametrize(
    ("scores", "is_pass_fail"), [((0, 5), True), ((1, 5), False), ((0,), False)]
)
def test_a_question_is_pass_or_fail_if_one_of_two_options_earns_nothing(
    scores: tuple[float, ...], is_pass_fail: bool
) -> None:
    options = [Option(f"o{score}", f"{score}", score) for score in scores]
    assert FormQuestion("q", "?", options=options).is_pass_fail is is_pass_fail
