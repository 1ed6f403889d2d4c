"""The app in a real Chromium: journeys, keys, Back, quiet, accessible, narrow."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from browser import Tab, assert_usable, reach
from web_server import Served

SCREENS = (
    "/",
    "/runs/1",
    "/runs/1?volume=50000&weights.entity=0.5&weights.qa=0.5",
    "/runs/1?weights.qa=0.5",
    "/runs/1/scorecard",
    "/runs/1/questions",
    "/runs/1/matrix",
    "/runs/1/review/gates",
    "/runs/1/review/audit",
    "/runs/1/judge",
    "/runs/1/gold",
    "/runs/1/agents",
    "/compare",
    "/compare/1/1?a=careful&b=hasty&case=1",
    "/data",
    "/label",
    "/events",
    "/no/such/page",
    "/runs/1/cases/1?model=hasty&seek=qa.false_pass_rate",
)


@pytest.mark.parametrize(("script", "keyboard"), [(True, False), (False, False), (True, True)])
def test_from_the_verdict_to_the_quote_in_three_clicks(
    browser: Browser, served: Served, script: bool, keyboard: bool
) -> None:
    with Tab(browser, served, java_script_enabled=script) as tab:
        page = tab.open("/runs/1")
        row = page.locator("#blockers tr", has_text="hasty")
        gate = row.get_by_role("link", name="Compliance False Pass Rate")
        reach(page, gate) if keyboard else gate.click()
        expect(page).to_have_url(
            f"{served.origin}/runs/1/matrix?model=hasty&reason=qa.false_pass_rate"
        )
        cell = page.locator("td.cell a").first
        reach(page, cell) if keyboard else cell.click()
        sought = page.locator("mark.sought").first
        expect(sought).to_be_visible()
        if script:
            expect(sought).to_be_in_viewport()
        assert tab.noise == []


def test_a_filter_replaces_the_rows_and_back_restores_rows_and_controls(
    browser: Browser, served: Served
) -> None:
    with Tab(browser, served) as tab:
        page = tab.open("/runs/1/matrix")
        expect(page.locator(".count")).to_have_text("52 cases")
        page.locator("select[name=lang]").select_option("ko")
        expect(page).to_have_url(f"{served.origin}/runs/1/matrix?lang=ko")
        expect(page.locator(".count")).not_to_have_text("52 cases")
        page.go_back()
        expect(page.locator(".count")).to_have_text("52 cases")
        expect(page.locator("select[name=lang]")).to_have_value("")
        case = page.locator("tbody th a").nth(40)
        case.scroll_into_view_if_needed()
        before = page.evaluate("scrollY")
        assert before > 0
        case.click()
        expect(page.locator(".turns").first).to_be_visible()
        page.go_back()
        expect(page.locator(".count")).to_have_text("52 cases")
        page.wait_for_function("before => Math.abs(scrollY - before) < 5", arg=before)
        assert tab.noise == []


def test_every_key_of_the_list_does_what_it_says(browser: Browser, served: Served) -> None:
    with Tab(browser, served) as tab:
        page = tab.open("/runs/1/cases/1")
        case = f"{served.origin}/runs/1/cases"

        def press(keys: str, address: str) -> None:
            expect(page.locator("#theme")).to_be_visible()  # the script has run
            for key in keys.split():
                page.keyboard.press(key)
            expect(page).to_have_url(address)

        press("j", f"{case}/2")
        press("k", f"{case}/1")
        press("]", f"{case}/1?model=hasty&model=careful&model=rules")
        evidence = page.locator("#evidence")
        press("e", f"{case}/1?model=hasty&model=careful&model=rules")
        expect(evidence).not_to_be_checked()
        press("e", f"{case}/1?model=hasty&model=careful&model=rules")
        expect(evidence).to_be_checked()
        press(".", f"{case}/1?model=hasty&model=careful&model=rules")
        expect(page.locator("details[open] summary", has_text="Raw replies")).to_be_visible()
        press("?", f"{case}/1?model=hasty&model=careful&model=rules")
        expect(page.locator("#keys")).to_contain_text("Scorecard")
        page.keyboard.press("Escape")
        press("g s", f"{served.origin}/runs/1/scorecard")
        press("g h", f"{served.origin}/")
        tab.open("/runs/1/matrix")
        press("/", f"{served.origin}/runs/1/matrix")
        expect(page.get_by_label("Search", exact=True)).to_be_focused()
        page.keyboard.type("j?")
        expect(page.get_by_label("Search", exact=True)).to_have_value("j?")


def test_a_narrow_case_shows_the_transcript_or_the_answers(
    browser: Browser, served: Served
) -> None:
    with Tab(browser, served, viewport={"width": 390, "height": 800}) as tab:
        page = tab.open("/runs/1/cases/1")
        expect(page.locator(".answers")).to_be_hidden()
        page.get_by_label("Answers").check()
        expect(page.locator(".answers")).to_be_visible()
        expect(page.locator(".transcript")).to_be_hidden()


@pytest.mark.parametrize(
    ("path", "width", "scheme"), [(SCREENS[2], 1280, "light"), (SCREENS[-1], 390, "dark")]
)
def test_axe_finds_nothing_serious_and_nothing_scrolls_sideways(
    browser: Browser, served: Served, path: str, width: int, scheme: str
) -> None:
    assert_usable(browser, served, path, width, scheme)


@pytest.mark.slow
@pytest.mark.parametrize("path", SCREENS)
@pytest.mark.parametrize("width", [390, 800, 1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_on_any_screen(
    browser: Browser, served: Served, path: str, width: int, scheme: str
) -> None:
    assert_usable(browser, served, path, width, scheme)
