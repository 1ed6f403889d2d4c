"""Review: a verdict is overruled with a reason, the scores follow; the random sample is blind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, expect

import commands
from browser import Tab
from callscore.results import open_results
from callscore.results.reviews import ItemKey, item_of
from review_pages import EVAL, GATES, form_of
from web_server import Served, read_address, serve

AUDIT = "/runs/1/review/audit"


class People(NamedTuple):
    ada: Served
    bo: Served
    store: Path


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    """Two people, each with a server of their own, on one store."""
    store = tmp_path_factory.mktemp("reviewed") / "runs.db"
    store.with_name("eval.yaml").write_text(EVAL, encoding="utf-8")
    done = commands.run("run", store.with_name("eval.yaml"), "--store", store)
    assert done.returncode == 0, done.stderr
    with serve(store, "--author", "ada") as ada, serve(store, "--author", "bo") as bo:
        ada.enter()
        bo.enter()
        yield People(ada, bo, store)


def judged_word(store: Path, form: dict[str, str]) -> str:
    """What the judge said about the item on a page."""
    key = ItemKey(int(form["place"]), form["model"], int(form["rep"]), form["metric"], form["item"])
    with closing(open_results(store)) as results:
        return item_of(results, 1, key).base.judged


def card(store: Path, tmp_path: Path, name: str) -> bytes:
    """The scorecard of a full scoring."""
    file = tmp_path / name
    eval_file = store.with_name("eval.yaml")
    done = commands.run("run", eval_file, "--store", store, "--rescore", 1, "--json", file)
    assert done.returncode == 0, done.stderr
    return file.read_bytes()


def draw_sample(person: Served) -> None:
    """Draw two items, unless another test of this store has."""
    if "No sample was drawn yet" in person.ask("/runs/1/judge").text:
        assert person.ask(f"{AUDIT}/draw", "POST", form={"number": "2"}).status == 303
    assert 'class="question"' in person.ask(AUDIT).text


def test_an_overruled_verdict_needs_a_reason_and_undo_restores_the_scores(
    people: People, tmp_path: Path
) -> None:
    ada, bo, store = people
    before = card(store, tmp_path, "before.json")
    page = ada.ask(GATES).text
    form = form_of(page)
    assert "The judge said" not in page
    other = next(word for word in form["words"].split() if word != judged_word(store, form))
    refused = ada.ask(GATES, "POST", form={**form, "word": other})
    assert refused.status == 422
    assert "Another word than that of the judge needs a reason" in refused.text
    saved = ada.ask(GATES, "POST", form={**form, "word": other, "note": "I listened"})
    assert saved.status == 303
    seen = saved.headers["Location"]
    assert "The judge had said" in ada.ask(seen).text
    assert card(store, tmp_path, "overruled.json") != before
    late = bo.ask(GATES, "POST", form={**form, "word": other, "note": "mine"})
    assert late.status == 409
    assert "ada has decided this item meanwhile" in late.text
    assert "mine" in late.text
    exported = ada.ask("/runs/1/export/verdicts", "POST").text
    assert '"by":"human:ada"' in exported
    undone = ada.ask(f"{GATES}/undo", "POST", form={"saved": seen.partition("saved=")[2]})
    assert undone.status == 303
    assert ada.ask("/runs/1/export/verdicts", "POST").text == ""
    assert card(store, tmp_path, "after.json") == before
    log = ada.ask("/events").text
    assert "the chain holds" in log
    assert "withdraw" in log
    assert "/runs/1/export/verdicts" in log


def test_the_random_sample_is_decided_without_the_answers_of_others(people: People) -> None:
    ada, bo, _ = people
    draw_sample(ada)
    form = form_of(ada.ask(AUDIT).text)
    word = form["words"].split()[0]
    sent = {**form, "word": word, "note": "the secret of ada"}
    assert ada.ask(AUDIT, "POST", form=sent).status == 303
    pages = "".join(bo.ask(path).text for path in (AUDIT, GATES))
    assert "the secret of ada" not in pages
    theirs = form_of(bo.ask(AUDIT).text)
    assert [theirs[name] for name in ("place", "item")] == [
        form[name] for name in ("place", "item")
    ]
    assert theirs["prior"] == "0"
    assert "κ" in bo.ask("/runs/1/judge").text
    assert "Agreement is shown when you have decided" in ada.ask("/runs/1/judge").text
    outside = {**form_of(bo.ask(GATES).text), "word": word}
    assert bo.ask(AUDIT, "POST", form={**outside, "item": "none"}).status == 400
    for wrong in ("", "0", "x", "99999999999"):
        assert ada.ask(f"{AUDIT}/draw", "POST", form={"number": wrong}).status == 400
    assert ada.ask(f"{GATES}?after=x").status == 400


def test_one_key_decides_an_item_and_another_takes_it_back(
    people: People, browser: Browser
) -> None:
    draw_sample(people.ada)
    with Tab(browser, people.ada) as tab:
        page = tab.open(AUDIT)
        page.keyboard.press("1")
        expect(page.locator(".notice")).to_contain_text("Saved")
        page.keyboard.press("u")
        expect(page.locator(".notice")).to_contain_text("Taken back")
        assert tab.noise == []


def test_two_browsers_decide_one_item_and_no_text_is_lost(people: People, browser: Browser) -> None:
    with Tab(browser, people.ada) as first, Tab(browser, people.bo) as second:
        pages = [tab.open(GATES) for tab in (first, second)]
        for page, note in zip(pages, ("of ada", "of bo"), strict=True):
            page.locator("textarea[name=note]").fill(note)
        pages[0].locator(".options button").last.click()
        expect(pages[0].locator(".notice")).to_contain_text("Saved")
        pages[1].locator(".options button").last.click()
        expect(pages[1].locator(".why")).to_contain_text("ada has decided this item meanwhile")
        expect(pages[1].locator(".why")).to_contain_text("of ada")
        expect(pages[1].locator(".why")).to_contain_text("of bo")
        pages[1].go_back()
        expect(pages[1].locator("textarea[name=note]")).to_have_value("of bo")
        pages[0].keyboard.press("u")
        expect(pages[0].locator(".notice")).to_contain_text("Taken back")


@pytest.mark.slow
def test_a_killed_server_has_what_was_saved_and_the_browser_has_the_draft(
    people: People, browser: Browser
) -> None:
    with serve(people.store, "--author", "cy") as first:
        first.enter()
        with Tab(browser, first) as tab:
            page = tab.open(GATES)
            page.locator("textarea[name=note]").fill("this was saved")
            page.locator(".options button").last.click()
            expect(page.locator(".notice")).to_contain_text("Saved")
            page.locator("textarea[name=note]").fill("this was not")
            first.process.kill()
            first.process.wait()
            page.locator(".options button").last.click()
            expect(page.locator(".options")).to_have_count(0)
            again = commands.start(
                "serve", people.store, "--port", first.port, "--no-open", "--author", "cy"
            )
            with read_address(again) as second:
                page.goto(second.address)
                page.goto(second.origin + GATES)
                expect(page.locator("textarea[name=note]")).to_have_value("this was not")
                with page.expect_download() as started:
                    page.get_by_role("button", name="Verdicts of people as a file").click()
                saved = started.value.path().read_text(encoding="utf-8")
                assert "this was saved" in saved
                assert "this was not" not in saved
