"""The screens of a run over HTTP: what they show, their filters, their errors, their files."""

from __future__ import annotations

import csv
import io
import re

import pytest

from web_server import Served

SCREENS = ("/runs/1", "/runs/1/scorecard", "/runs/1/questions", "/runs/1/matrix", "/runs/1/cases/1")


@pytest.mark.parametrize("path", SCREENS)
def test_a_screen_reloads_to_the_same_page(served: Served, path: str) -> None:
    first, again = served.ask(path), served.ask(path)
    assert first.status == 200
    assert first.text == again.text
    assert 'aria-current="page"' in first.text


@pytest.mark.parametrize("path", SCREENS)
def test_a_run_that_does_not_exist_is_not_found(served: Served, path: str) -> None:
    assert served.ask(path.replace("/1", "/99", 1)).status == 404


def test_the_decision_is_the_first_screen_of_the_report(
    served: Served, sample_store: object
) -> None:
    page = served.ask("/runs/1").text
    assert '<h2>Decision</h2><ul class="verdict">' in page
    assert '<span class="head middling">Likely</span>' in page
    gate = re.search(r'href="(/runs/1/matrix\?model=hasty&amp;reason=qa\.false_pass_rate)"', page)
    assert gate is not None
    out = 'href="/runs/1/matrix?show=invalid&amp;model=hasty"><span>hasty'
    assert f'<span class="head blocked">Out</span><a {out}' in page


def test_an_answer_has_the_same_status_in_matrix_and_case(served: Served) -> None:
    matrix = served.ask("/runs/1/matrix?model=hasty").text
    assert '<span class="word blocked">⊘ invalid</span>' in matrix
    assert '<b class="blocked">invalid</b>' in served.ask("/runs/1/cases/1?model=hasty").text


def test_other_parameters_are_marked_as_not_official(served: Served) -> None:
    page = served.ask("/runs/1?by=quality&margin=0.1")
    assert "Not official" in page.text
    assert '<a href="/runs/1">Reset</a>' in page.text
    assert "Not official" not in served.ask("/runs/1").text
    wrong = served.ask("/runs/1?by=luck")
    assert wrong.status == 400
    assert "expected one of recommended, quality, efficiency" in wrong.text


def test_a_metric_of_the_scorecard_leads_to_its_calls_lowest_first(served: Served) -> None:
    page = served.ask("/runs/1/scorecard").text
    assert 'href="/runs/1/matrix?metric=qa.false_pass_rate&amp;sort=metric"' in page


def test_a_filter_selects_over_all_cases(served: Served) -> None:
    assert "52 cases" in served.ask("/runs/1/matrix").text
    korean = served.ask("/runs/1/matrix?task=qa&lang=ko").text
    rows = re.findall(r'<tr><th scope="row"><a href="[^"]+">([^<]+)</a>', korean)
    assert rows
    assert all(name.endswith("-ko/qa") for name in rows)
    found = served.ask("/runs/1/matrix?task=qa&q=streamella&in=transcript").text
    assert ">refund-en/qa</a>" in found
    assert ">card-en/qa</a>" not in found


def test_a_fragment_is_sent_alone_with_its_address(served: Served) -> None:
    asked = {"HX-Request": "true", "HX-Request-Type": "partial", "HX-Target": "div#rows"}
    reply = served.ask("/runs/1/matrix?task=&lang=ko&q=", headers=asked)
    assert reply.text.startswith('<div id="rows">')
    assert reply.headers["HX-Push-Url"] == "/runs/1/matrix?lang=ko"


def test_a_form_without_script_leads_to_the_address_without_empty_values(served: Served) -> None:
    reply = served.ask("/runs/1/matrix?lang=ko&task=&q=&show=")
    assert (reply.status, reply.headers["Location"]) == (303, "/runs/1/matrix?lang=ko")


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("colour=red", "expected one of show, task, lang"),
        ("show=odd", "expected one of all, different, invalid, error, unjudged, delta"),
        ("min=low", "expected a number"),
        ("model=nobody", "expected one of careful, hasty, rules, thrifty"),
        ("cols=price", "expected one of turns, tags, cost"),
    ],
)
def test_an_unknown_parameter_is_refused_with_the_allowed_ones(
    served: Served, query: str, sentence: str
) -> None:
    reply = served.ask(f"/runs/1/matrix?{query}")
    assert reply.status == 400
    assert sentence in reply.text


def test_the_matrix_is_exported_with_its_filter(served: Served) -> None:
    reply = served.ask("/runs/1/matrix?task=qa&format=csv")
    assert 'filename="matrix-1.csv"' in reply.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(reply.text.removeprefix("\ufeff"))))
    assert len(rows) == 13
    assert {row["task"] for row in rows} == {"qa"}
    assert rows[0]["hasty status"] == "invalid"
    assert rows[0]["hasty reasons"] == "qa.false_pass_rate"


def test_a_case_opens_at_the_quote_of_its_breach(served: Served) -> None:
    page = served.ask("/runs/1/cases/1?model=hasty&seek=qa.false_pass_rate").text
    assert re.search(r'<mark title="[^"]+" class="[^"]*sought[^"]*">', page)
    assert '<tr class="sought">' in page
    columns = page[page.index(">Field</th>") :]
    assert columns.index(">hasty ") < columns.index(">careful ")


def test_a_cell_of_the_questions_leads_to_its_words_and_its_calls(served: Served) -> None:
    page = served.ask("/runs/1/questions").text
    cell = re.search(r'href="(/runs/1/questions\?question=[^"]+model=hasty)">(\d+) of (\d+)<', page)
    assert cell is not None
    words = served.ask(cell[1].replace("&amp;", "&")).text
    assert f"{int(cell[3]) - int(cell[2])} call" in words
    pair = re.search(r'class="wrong"><a href="([^"]+expected=[^"]+)">(\d+)<', words)
    assert pair is not None
    calls = served.ask(pair[1].replace("&amp;", "&")).text
    assert len(re.findall(r'<th scope="row"><a href="/runs/1/cases/', calls)) == int(pair[2])
    for wrong in ("question=none&model=hasty", "question=Q1&model=nobody"):
        assert served.ask(f"/runs/1/questions?{wrong}").status == 400


def test_a_case_says_what_its_marks_mean_and_its_reasons_in_words(served: Served) -> None:
    page = served.ask("/runs/1/cases/1?model=hasty").text
    assert '<mark class="gold">quoted by people</mark>' in page
    assert '<mark class="model">evidence for a model' in page
    assert "<small>qa false pass rate; simulated</small>" in page


def test_questions_of_several_forms_with_one_id_have_pages_of_their_own(served: Served) -> None:
    page = served.ask("/runs/1/questions").text
    cells = re.findall(
        r'href="(/runs/1/questions\?question=Q1[^"]+model=hasty)">\d+ of (\d+)<', page
    )
    assert len(cells) > 1
    for cell, asked in cells:
        words = served.ask(cell.replace("&amp;", "&")).text
        pairs = re.findall(r'<td class="(?:right|wrong)"><a [^>]+>(\d+)<', words)
        assert sum(map(int, pairs)) == int(asked)
        assert words.count("Did the agent") == 1


def test_next_and_previous_keep_the_filter(served: Served) -> None:
    page = served.ask("/runs/1/matrix?task=text").text
    first = re.findall(r'<th scope="row"><a href="([^"]+)"', page)[0].replace("&amp;", "&")
    case = served.ask(first).text
    assert "1 of 13" in case
    following = re.search(r'<a href="([^"]+)" data-key="j"', case)
    assert following is not None
    second = served.ask(following[1].replace("&amp;", "&")).text
    assert "2 of 13" in second


def test_a_case_shows_what_was_sent_and_what_came_back(served: Served) -> None:
    page = served.ask("/runs/1/cases/1").text
    for heading in ("Raw replies, tokens and cost", "Prompt", "Measures"):
        assert re.search(rf"<summary[^>]*>{heading}", page)


@pytest.mark.parametrize(
    ("sought", "address"),
    [
        ("refund-en/text", "/runs/1/cases/3"),
        ("refund-en", "/runs/1/cases/1?q=refund-en&in=id"),
        ("streamella", "/runs/1/matrix?q=streamella"),
    ],
)
def test_an_id_opens_its_case_and_other_words_are_sought(
    served: Served, sought: str, address: str
) -> None:
    reply = served.ask(f"/runs/1/find?q={sought}")
    assert (reply.status, reply.headers["Location"]) == (303, address)
