"""The HTML report in a real Chromium, opened from disk: it works, it is quiet, it is accessible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, Page, expect

from browser import open_browser, serious_findings
from callscore.report.html import FORMAT
from callscore.report.html.page import FIRST_CASES
from callscore.report.source import ReportOptions, ReportSource
from report_samples import hostile_source, large_source
from xss_payloads import OTHERS, PAYLOADS

OPEN_ALL = """() => {
  for (const more = document.getElementById("more"); !more.hidden;) more.click();
  for (const details of document.querySelectorAll("details")) details.open = true;
  for (const link of document.querySelectorAll("a")) link.click();
}"""


SCROLLED = """one => new Promise(done => {
  if (one.scrollTop > 0) done();
  one.addEventListener("scroll", done, {once: true});
})"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as found:
        yield found


@pytest.fixture(scope="module")
def files(sample: ReportSource, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    one_case, one_call, two_calls = (
        msgspec.structs.replace(sample, cases=list(sample.cases)[:size]) for size in (1, 4, 8)
    )
    made: dict[str, ReportSource] = {
        "sample": sample,
        "one case": one_case,
        "one call": one_call,
        "hostile": hostile_source(two_calls, [*PAYLOADS, *OTHERS]),
        "many": large_source(sample, 20, 60),
    }
    for name, one in made.items():
        path = folder / f"{name}.html"
        path.write_bytes(b"".join(FORMAT.write(one, ReportOptions())))
    return {name: folder / f"{name}.html" for name in made}


class Opened:
    """A page that remembers what went wrong and what it asked of the network."""

    def __init__(self, browser: Browser, file: Path, width: int = 1280, scheme: str = "light"):
        self.context = browser.new_context(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        self.page: Page = self.context.new_page()
        self.errors: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda message: self.errors.append(message.text))
        self.page.on("dialog", lambda dialog: self.errors.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(file.as_uri())

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()


def test_a_report_opens_from_disk_without_an_error_and_without_a_request(
    browser: Browser, files: Mapping[str, Path]
) -> None:
    with Opened(browser, files["sample"]) as opened:
        opened.page.evaluate(OPEN_ALL)
        assert opened.errors == []
        assert {url.partition("#")[0] for url in opened.requests} == {files["sample"].as_uri()}


def test_nothing_of_the_hostile_text_runs(browser: Browser, files: Mapping[str, Path]) -> None:
    with Opened(browser, files["hostile"]) as opened:
        opened.page.fill("[name=text]", "script")
        expect(opened.page.locator("#found")).to_contain_text(" of ")
        opened.page.evaluate(OPEN_ALL)
        opened.page.wait_for_load_state("networkidle")
        assert opened.page.evaluate("window.pwned") is None
        strange = "img,iframe,object,embed,base,link,[onerror],[onload],[style]"
        assert opened.page.locator(strange).count() == 0
        assert opened.errors == []
        assert {url.partition("#")[0] for url in opened.requests} == {files["hostile"].as_uri()}


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("one case", 380, "dark"),
        pytest.param("one call", 380, "dark", marks=pytest.mark.slow),
        pytest.param("one call", 1280, "light", marks=pytest.mark.slow),
    ],
)
def test_axe_finds_nothing_serious(
    browser: Browser, files: Mapping[str, Path], name: str, width: int, scheme: str
) -> None:
    with Opened(browser, files[name], width, scheme) as opened:
        assert serious_findings(opened.page) == []


def test_a_transcript_that_scrolls_can_be_scrolled_by_keyboard(
    browser: Browser, files: Mapping[str, Path]
) -> None:
    with Opened(browser, files["one call"]) as opened:
        page = opened.page
        page.set_viewport_size({"width": 1280, "height": 200})
        page.locator("details.case summary").first.click()
        transcript = page.locator(".transcript").first
        assert transcript.evaluate("one => one.scrollHeight > one.clientHeight")
        transcript.focus()
        page.keyboard.press("End")
        transcript.evaluate(SCROLLED)
        assert serious_findings(page, "scrollable-region-focusable") == []


def test_on_a_narrow_screen_the_models_come_before_the_picture(
    browser: Browser, files: Mapping[str, Path]
) -> None:
    with Opened(browser, files["one call"]) as opened:
        top = "one => one.getBoundingClientRect().top"
        for width, above in ((1280, "figure"), (800, ".models"), (380, ".models")):
            opened.page.set_viewport_size({"width": width, "height": 900})
            tops: dict[str, float] = {
                part: opened.page.locator(f"#decision {part}").first.evaluate(top)
                for part in ("figure", ".models")
            }
            assert min(tops, key=lambda part: tops[part]) == above, width


@pytest.mark.parametrize("name", ["hostile", "many"])
def test_the_page_is_never_wider_than_the_screen(
    browser: Browser, files: Mapping[str, Path], name: str
) -> None:
    with Opened(browser, files[name]) as opened:
        opened.page.locator("details.case summary").first.click()
        for width in (380, 1280):
            opened.page.set_viewport_size({"width": width, "height": 900})
            assert opened.page.evaluate("document.documentElement.scrollWidth") <= width


def test_cases_can_be_filtered_sorted_and_reached(
    browser: Browser, files: Mapping[str, Path]
) -> None:
    with Opened(browser, files["sample"]) as opened:
        page = opened.page
        page.select_option("[name=task]", "qa")
        assert page.inner_text("#found") == "13 of 52 cases"
        assert page.locator("details.case").count() == 13
        page.select_option("[name=mark]", "invalid")
        invalid = page.locator("details.case").count()
        assert 0 < invalid < 13
        page.select_option("[name=mark]", "")
        page.select_option("[name=sort]", "id")
        shown = page.locator("details.case .id").all_inner_texts()
        assert shown == sorted(shown)
        page.select_option("[name=task]", "")
        page.fill("[name=text]", "RF-20418")
        expect(page.locator("#found")).to_have_text("4 of 52 cases")
        page.locator("details.case > summary").first.click()
        expect(page.locator("details.case").first).to_have_attribute("open", "")
        page.fill("[name=text]", "nothing says this")
        expect(page.locator("#found")).to_have_text("0 of 52 cases")
        page.locator("#blockers a", has_text="refund-en/qa").click()
        case = page.locator("#case-1")
        expect(case).to_have_attribute("open", "")
        expect(case.locator("summary").first).to_be_focused()
        case.get_by_text("Verdicts (").click()
        case.locator("a[href='#case-1-t3']").first.click()
        expect(page.locator("#case-1-t3")).to_be_visible()


def test_the_first_cases_can_be_read_without_a_script(
    browser: Browser, files: Mapping[str, Path]
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(files["sample"].as_uri())
    page.locator("details.case summary").first.click()
    assert 10 <= page.locator("details.case").count() <= FIRST_CASES
    assert page.locator(".turns").first.is_visible()
    assert not page.locator("#controls").is_visible()
    context.close()


def test_the_switch_changes_between_light_and_dark(
    browser: Browser, files: Mapping[str, Path]
) -> None:
    with Opened(browser, files["one call"]) as opened:
        colour = "getComputedStyle(document.body).backgroundColor"
        before = opened.page.evaluate(colour)
        opened.page.locator("#theme").press("Enter")
        after = opened.page.evaluate(colour)
        assert before == "rgb(255, 255, 255)" and after != before


def test_it_prints_the_decision_on_the_first_page_and_no_controls(
    browser: Browser, files: Mapping[str, Path]
) -> None:
    with Opened(browser, files["one call"]) as opened:
        opened.page.emulate_media(media="print")
        assert not opened.page.locator("#controls").is_visible()
        assert not opened.page.locator("nav").is_visible()
        assert opened.page.locator("details.case .turns").first.is_visible()
        assert opened.page.pdf(format="A4").startswith(b"%PDF")
