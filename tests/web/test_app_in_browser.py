"""The app in a real Chromium: journeys, keys, Back, quiet, accessible, narrow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from browser import open_browser
from web_server import Served

SCREENS = (
    "/",
    "/runs/1",
    "/runs/1/scorecard",
    "/runs/1/questions",
    "/runs/1/matrix",
    "/runs/1/cases/1?model=hasty&seek=qa.false_pass_rate",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as found:
        yield found


class Tab:
    """A tab with a session; it remembers messages and requests."""

    def __init__(self, browser: Browser, served: Served, **options: object) -> None:
        self.served = served
        self.context = browser.new_context(**options)  # type: ignore[arg-type]
        self.context.set_default_timeout(0)
        name, _, value = served.cookie.partition("=")
        self.context.add_cookies([{"name": name, "value": value, "url": served.origin}])
        self.page: Page = self.context.new_page()
        self.noise: list[str] = []
        self.page.on("console", lambda message: self.noise.append(message.text))
        self.page.on("pageerror", lambda error: self.noise.append(str(error)))
        self.page.on("request", self._note)

    def _note(self, request: object) -> None:
        url = str(getattr(request, "url", ""))
        if not url.startswith(self.served.origin):
            self.noise.append(url)

    def open(self, path: str) -> Page:
        self.page.goto(self.served.origin + path)
        return self.page

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


@pytest.mark.parametrize("script", [True, False])
def test_from_the_verdict_to_the_quote_in_three_clicks(
    browser: Browser, served: Served, script: bool
) -> None:
    with Tab(browser, served, java_script_enabled=script) as tab:
        page = tab.open("/runs/1")
        page.locator("#blockers tr", has_text="hasty").get_by_role(
            "link", name="Compliance False Pass Rate"
        ).click()
        expect(page).to_have_url(
            f"{served.origin}/runs/1/matrix?model=hasty&reason=qa.false_pass_rate"
        )
        page.locator("td.cell a").first.click()
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
        assert tab.noise == []


def test_keys_go_to_the_next_case_and_to_the_search(browser: Browser, served: Served) -> None:
    with Tab(browser, served) as tab:
        page = tab.open("/runs/1/cases/1")
        expect(page.locator("#theme")).to_be_visible()
        page.keyboard.press("j")
        expect(page).to_have_url(f"{served.origin}/runs/1/cases/2")
        expect(page.locator("#theme")).to_be_visible()
        page.keyboard.press("k")
        expect(page).to_have_url(f"{served.origin}/runs/1/cases/1")
        tab.open("/runs/1/matrix")
        expect(page.locator("#theme")).to_be_visible()
        page.keyboard.press("/")
        expect(page.get_by_label("Search", exact=True)).to_be_focused()
        page.keyboard.type("j?")
        expect(page.get_by_label("Search", exact=True)).to_have_value("j?")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_and_nothing_scrolls_sideways(
    browser: Browser, served: Served, scheme: str
) -> None:
    width = 1280 if scheme == "light" else 390
    size = {"width": width, "height": 900}
    with Tab(browser, served, viewport=size, color_scheme=scheme, bypass_csp=True) as tab:
        for path in SCREENS:
            page = tab.open(path)
            page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path
            found = Axe().run(page).response["violations"]
            serious = [
                (path, one["id"], [node["target"] for node in one["nodes"]][:3])
                for one in found
                if one["impact"] in ("serious", "critical")
            ]
            assert serious == []
