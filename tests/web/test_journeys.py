"""Journeys of an engineer, a QA lead and a reviewer, each within its clicks: by mouse, by keyboard
alone, and without JavaScript.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import commands
from browser import Tab, focus, reach
from callscore.results import open_results
from callscore.results.port import VerdictFilter
from web_server import Served, serve

SAMPLED = [(True, True), (False, False)]
"""With script by keyboard, without script by mouse; `make slow` takes the others, too."""
WAYS = [
    *(pytest.param(*way) for way in SAMPLED),
    *(pytest.param(*way, marks=pytest.mark.slow) for way in ((True, False), (False, True))),
]
ways = pytest.mark.parametrize(("script", "keyboard"), WAYS)
EVAL = """
name: {name}
data: sample
tasks: [qa, text]
judge: offline
models:
  - {{name: agent, provider: simulated, params: {{seed: 7, wrong_scores: {wrong}}}}}
  - {{name: hasty, provider: simulated, params: {{seed: 7, fabricated_facts: 0.3}}}}
"""
FORM = """section,id,question,options,critical,na allowed
Opening,greet,Was there a greeting?,Yes=5; No=0,,
Opening,verify,Did the agent verify who is calling?,Yes=5; No=0,yes,yes
"""
CALL = "Agent: Good morning.\nCustomer: I lost my card.\nAgent: Done.\n"


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two runs to be compared, and a folder for own calls."""
    folder = tmp_path_factory.mktemp("work")
    for name, wrong in (("first", 0.0), ("second", 0.02)):
        path = folder / f"{name}.yaml"
        path.write_text(EVAL.format(name=name, wrong=wrong), encoding="utf-8")
        done = commands.run("run", path, "--store", folder / "runs.db")
        assert done.returncode == 0, done.stderr
    with serve(folder / "runs.db", "--data", folder / "data", "--author", "ada") as served:
        served.enter()
        yield served


class Hand:
    """Clicks, or goes to an element with the Tab key and presses Enter; counts both."""

    def __init__(self, page: Page, *, keyboard: bool) -> None:
        self.page, self.keyboard = page, keyboard
        self.clicks = 0
        # Choosers are caught from now on; one asked for with the first catch may be missed.
        page.on("filechooser", lambda _: None)

    def press(self, wanted: Locator) -> None:
        """Follow a link, or press a button."""
        self.clicks += 1
        reach(self.page, wanted) if self.keyboard else wanted.click()

    def choose(self, wanted: Locator, option: str) -> None:
        """Choose an option of a list."""
        if self.keyboard:
            focus(self.page, wanted)
            self.page.keyboard.type(option)
        else:
            wanted.select_option(option)

    def give(self, wanted: Locator, *files: Path) -> None:
        """Choose files."""
        if not self.keyboard:
            wanted.set_input_files(files)
            return
        focus(self.page, wanted)
        with self.page.expect_file_chooser() as chooser:
            self.page.keyboard.press("Enter")
        chooser.value.set_files(files)


@ways
def test_replace_a_model_in_two_clicks_and_one_per_case(
    browser: Browser, work: Served, script: bool, keyboard: bool
) -> None:
    with Tab(browser, work, java_script_enabled=script) as tab:
        page = tab.open("/")
        hand = Hand(page, keyboard=keyboard)
        hand.press(page.get_by_role("link", name="Compare", exact=True))
        hand.press(page.get_by_role("button", name="Compare"))
        expect(page).to_have_url(f"{work.origin}/compare/1/2")
        while not script and page.get_by_role("link", name="Look again").count():
            page.get_by_role("link", name="Look again").click()
        expect(page.locator(".conclusion")).to_be_visible()
        assert hand.clicks == 2
        hand.press(page.get_by_role("link", name="Diff of").first)
        expect(page.locator(".diff ins, .diff del").first).to_be_visible()
        assert tab.noise == []


@ways
def test_defend_a_mark_from_the_id_of_the_call_in_one_click(
    browser: Browser, work: Served, script: bool, keyboard: bool
) -> None:
    with closing(open_results(work.store)) as results:
        case_id = results.verdict_items(2, VerdictFilter(queue="gates", limit=1)).items[0].case_id
    with Tab(browser, work, java_script_enabled=script) as tab:
        page = tab.open("/runs/2")
        search = page.get_by_role("searchbox", name="Find a call by its id")
        if script:
            expect(page.locator("#theme")).to_be_visible()  # the script has run
            page.keyboard.press("/")
            expect(search).to_be_focused()
        else:
            focus(page, search)
        page.keyboard.type(case_id)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text(case_id)
        expect(page.get_by_role("region", name="Expected and given")).to_be_visible()
        hand = Hand(page, keyboard=keyboard)
        hand.press(page.locator("summary", has_text="Verdicts ("))
        verdicts = page.get_by_role("region", name="Verdicts of this case")
        expect(verdicts.get_by_role("columnheader", name="Quote")).to_be_visible()
        expect(verdicts.get_by_role("cell", name="offline").first).to_be_visible()
        assert hand.clicks == 1
        assert tab.noise == []


@ways
def test_review_with_one_key_or_one_button_an_item(
    browser: Browser, work: Served, script: bool, keyboard: bool
) -> None:
    with Tab(browser, work, java_script_enabled=script) as tab:
        page = tab.open("/runs/2")
        hand = Hand(page, keyboard=keyboard)
        hand.press(page.get_by_role("link", name="Review", exact=True))
        expect(page.locator("h1")).to_have_text("Review")
        assert hand.clicks == 1
        tab.open("/runs/2/review/gates")
        expect(page.locator(".question")).to_be_visible()
        if script and keyboard:
            expect(page.locator("#theme")).to_be_visible()
            page.keyboard.press("o")
            expect(page.get_by_label("Reason, if your word is another one")).to_be_focused()
            page.keyboard.type("I listened")
            page.keyboard.press("Escape")
            page.keyboard.press("1")
        else:
            page.get_by_label("Reason, if your word is another one").fill("I listened")
            hand.press(page.locator(".options button").first)
        expect(page.locator(".notice")).to_contain_text("Saved")
        expect(page.locator(".notice")).to_contain_text("Final now: ")
        if script and keyboard:
            page.keyboard.press("u")
        else:
            hand.press(page.get_by_role("button", name="Undo"))
        expect(page.locator(".notice")).to_contain_text("Taken back")
        hand.press(page.get_by_role("link", name="Judge", exact=True))
        expect(page.locator("h1")).to_have_text("Agreement with people")
        assert tab.noise == []


@ways
def test_own_calls_become_labels_in_five_clicks_and_a_key_a_question(
    browser: Browser, work: Served, tmp_path: Path, script: bool, keyboard: bool
) -> None:
    for name, content in (("one.txt", CALL), ("form.csv", FORM)):
        (tmp_path / name).write_text(content, encoding="utf-8")
    with Tab(browser, work, java_script_enabled=script) as tab:
        page = tab.open("/")
        hand = Hand(page, keyboard=keyboard)
        hand.press(page.get_by_role("link", name="Data", exact=True))
        hand.give(page.get_by_label("Calls:"), tmp_path / "one.txt")
        hand.give(page.get_by_label("QA form"), tmp_path / "form.csv")
        hand.press(page.get_by_role("button", name="Send and look"))
        expect(page.locator("#outcome")).to_contain_text("ready")
        hand.press(page.get_by_role("button", name="Write 1 call"))
        hand.press(page.get_by_role("link", name="Label these calls"))
        hand.press(page.get_by_role("link", name="one", exact=True))
        assert hand.clicks == 5
        for number in (1, 2):
            expect(page.locator(".question h2")).to_contain_text(f"{number} of 2")
            if script and keyboard:
                expect(page.locator("[data-quote]")).to_be_visible()
                page.keyboard.press("1")
            else:
                hand.press(page.locator(".options button").first)
        expect(page.get_by_role("button", name="Write cases")).to_be_visible()
        hand.press(page.get_by_role("button", name="Write cases"))
        expect(page.locator("#agreement")).to_contain_text("callscore run")
        assert tab.noise == []


@ways
def test_own_calls_with_marks_become_cases_in_four_clicks(
    browser: Browser, work: Served, tmp_path: Path, script: bool, keyboard: bool
) -> None:
    marks = "call_id,greet,verfy\none,Yes,N/A\n"
    for name, content in (("one.txt", CALL), ("form.csv", FORM), ("marks.csv", marks)):
        (tmp_path / name).write_text(content, encoding="utf-8")
    with Tab(browser, work, java_script_enabled=script) as tab:
        page = tab.open("/")
        hand = Hand(page, keyboard=keyboard)
        hand.press(page.get_by_role("link", name="Data", exact=True))
        for label, name in (("Calls:", "one.txt"), ("QA form", "form.csv"), ("Marks", "marks.csv")):
            hand.give(page.get_by_label(label), tmp_path / name)
        hand.press(page.get_by_role("button", name="Send and look"))
        expect(page.locator("#outcome .why")).to_contain_text("nearest: 'verify'")
        hand.choose(page.get_by_label("What verfy is"), "verify")
        hand.press(page.get_by_role("button", name="Look again"))
        expect(page.locator("#outcome")).to_contain_text("1 case")
        hand.press(page.get_by_role("button", name="Write 1 case"))
        expect(page.locator(".downloads")).to_contain_text("callscore run")
        assert hand.clicks == 4
        assert tab.noise == []
