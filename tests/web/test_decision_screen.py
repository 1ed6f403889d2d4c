"""Decision: the run read with other weights, workload, volume or rule, marked and resettable."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from browser import Tab
from callscore.core.scorecard import Decide
from callscore.report.numbers import show, show_money
from callscore.results import open_results
from callscore.results.port import Reading
from callscore.scorecard.ranking import cost_at_volume
from web_server import Served

WEIGHTS = {"qa": 0.1, "entity": 0.2, "text": 0.3, "translation": 0.4}
WORKLOAD = {"translation": 0.25}
QUERY = urlencode(
    {f"weights.{task}": weight for task, weight in sorted(WEIGHTS.items())}
    | {f"workload.{task}": share for task, share in WORKLOAD.items()}
)


def asked(served: Served, query: str) -> str:
    """The page, asked again until it has been computed."""
    while "This is being computed" in (page := served.ask(f"/runs/1?{query}").text):
        pass
    return page


def test_other_weights_show_the_numbers_of_a_run_with_them(
    served: Served, sample_store: Path
) -> None:
    page = asked(served, f"margin=0.1&{QUERY}")
    assert "Not official: read with the margin 0.1; weights" in page
    assert '<a href="/runs/1">Reset</a>' in page
    with closing(open_results(sample_store)) as results:
        reading = Reading(WEIGHTS, WORKLOAD, Decide(margin=0.1))
        read, own = results.read_with(1, reading).card, results.source(1).card
    official = served.ask("/runs/1").text
    for model in read.models:
        if model.final.score is not None:
            assert f"<b>{show(model.final.score)}</b>" in page
        assert model.cost.per_1000_calls is not None
        assert show_money(model.cost.per_1000_calls) in page
        assert show_money(own.model(model.model).cost.per_1000_calls or 0) in official
    assert read.model("careful").final.score != own.model("careful").final.score


def test_the_cost_of_a_volume_is_that_of_the_rule(served: Served, sample_store: Path) -> None:
    page = served.ask("/runs/1?volume=50000").text
    assert "Not official: read with the cost of 50,000 calls." in page
    assert "$ / 50,000 calls" in page
    with closing(open_results(sample_store)) as results:
        cost = cost_at_volume(results.source(1).card.model("careful").cost, 50_000)
    assert cost is not None
    assert cost.ci95 is not None
    assert f"<b>{show_money(cost.value)}</b>" in page
    assert show_money(cost.ci95[0]) in page


def test_what_is_as_in_the_run_is_official(served: Served) -> None:
    assert "Not official" not in served.ask("/runs/1?margin=0.02&workload.qa=1").text


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("weights.qa=0.5", "weights: the sum is 0.5; expected 1"),
        ("weights.luck=1", "unknown task &#x27;luck&#x27;; expected one of qa, entity"),
        ("weights.qa=-1&weights.text=2", "qa = -1.0; expected a number of at least 0"),
        ("workload.qa=-1", "workload: qa = -1.0; expected a number of at least 0"),
        ("workload.luck=1", "workload: unknown task &#x27;luck&#x27;; expected one of"),
        ("margin=2", "decide.margin: 2; expected a number from 0 to 1"),
        ("volume=0", "volume=0: expected a number of calls above 0"),
        ("volume=inf", "expected a number"),
        ("weights=1", "expected one of by, margin, allow_fail, volume, weights.NAME"),
    ],
)
def test_what_is_not_allowed_is_a_sentence_with_what_is(
    served: Served, query: str, sentence: str
) -> None:
    reply = served.ask(f"/runs/1?{query}")
    if reply.status == 303:  # the same numbers as the server writes them
        reply = served.ask(reply.headers["Location"])
    assert reply.status == 400
    assert sentence in reply.text


@pytest.mark.parametrize("script", [True, False])
def test_the_form_reads_the_run_otherwise_and_reset_restores_it(
    browser: Browser, served: Served, script: bool
) -> None:
    with Tab(browser, served, java_script_enabled=script) as tab:
        page = tab.open("/runs/1")
        page.locator(".parameters summary").click()
        weights = page.get_by_role("group", name="Weights in the Final Score")
        weights.get_by_label("QA").fill("0.5")
        page.get_by_role("button", name="Apply").click()
        expect(page.locator(".why")).to_contain_text("the sum is 0.5; expected 1")
        weights.get_by_label("Entity").fill("0.5")
        page.get_by_role("button", name="Apply").click()
        while page.get_by_role("link", name="Look again").count() and not script:
            page.get_by_role("link", name="Look again").click()
        expect(page.locator(".notice")).to_contain_text("Not official")
        expect(page).to_have_url(f"{served.origin}/runs/1?weights.entity=0.5&weights.qa=0.5")
        page.locator(".notice").get_by_role("link", name="Reset").click()
        expect(page).to_have_url(f"{served.origin}/runs/1")
        expect(page.locator(".notice")).to_have_count(0)
        if script:
            assert not [one for one in tab.noise if "400" not in one]


def test_a_blocker_has_its_unit_its_number_of_calls_and_what_its_value_is_of(
    served: Served,
) -> None:
    table = served.ask("/runs/1").text.partition('id="blockers"')[2]
    rows = [one for one in table.split("<tr>") if ">hasty<" in one]
    (rate,) = (one for one in rows if "Compliance False Pass Rate" in one)
    assert re.search(r'<b class="bad">4\.\d+ %</b> \(limit 3 %\)</td><td>3 calls: ', rate)
    broken = next(one for one in rows if "Response Structure Compliance" in one)
    assert '<b class="bad">0</b> (limit 1)<small>in the worst call; 0.923 over all' in broken
