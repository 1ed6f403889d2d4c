"""Label: one key per question, two people blind, and the files of `callscore annotate`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, expect

import commands
from browser import Tab, assert_usable
from callscore.uploads.data_folder import DataFolder
from callscore.uploads.label_book import QuotedSpan, quoted
from callscore.uploads.worker import write_limited
from web_server import Served, serve

FORM = """section,id,question,options,critical,na allowed
Opening,greet,Was there a greeting?,Yes=5; No=0,,
Opening,verify,"Did the agent verify, who is calling?",Yes=5; No=0,yes,yes
"""
CALL = "Agent: 👋 नमस्ते, good morning.\nCustomer: 카드를 잃어버렸어요.\n"


class People(NamedTuple):
    """Two people, each with a server of their own, on one folder of data sets."""

    ann: Served
    ben: Served
    folder: Path


class Labelling(NamedTuple):
    """The two people, and a data set of two calls that nobody has labelled."""

    ann: Served
    ben: Served
    folder: Path
    path: str


@pytest.fixture(scope="module")
def people(sample_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("labels")
    with (
        serve(sample_store, "--data", folder, "--author", "ann") as ann,
        serve(sample_store, "--data", folder, "--author", "ben") as ben,
    ):
        ann.enter()
        ben.enter()
        yield People(ann, ben, folder)


@pytest.fixture
def labelling(people: People) -> Labelling:
    kept = DataFolder(people.folder)
    data = kept.create()
    for name, role, text in (
        ("one.txt", "calls", CALL), ("two.txt", "calls", CALL), ("form.csv", "form", FORM),
    ):  # fmt: skip
        with kept.receive(data, name, role) as arriving:  # type: ignore[arg-type]
            arriving.write(text.encode())
        data = kept.add(data, arriving)
    write_limited(data)
    return Labelling(people.ann, people.ben, data.folder, f"/label/{data.number}")


def answer(person: Served, path: str, item: int, word: str, comment: str = "") -> None:
    form = {"item": str(item), "answer": word, "comment": comment}
    assert person.ask(path, "POST", form=form).status == 303


def pages(person: Served, path: str) -> str:
    sheet = person.ask(f"{path}/sheet", "POST").text
    return sheet + "".join(person.ask(path + more).text for more in ("", "/1", "/2"))


def test_two_people_label_blind_and_the_files_are_those_of_annotate(labelling: Labelling) -> None:
    ann, ben, folder, path = labelling
    for call in (1, 2):
        answer(ann, f"{path}/{call}", 1, "Yes", "secret of ann")
        answer(ann, f"{path}/{call}", 2, "N/A")
    answer(ben, f"{path}/1", 1, "No")
    assert "secret of ann" not in pages(ben, path)
    assert "κ" not in pages(ben, path)
    assert "κ" not in pages(ann, path)
    answer(ben, f"{path}/1", 2, "N/A")
    answer(ben, f"{path}/2", 1, "Yes")
    assert ben.ask(f"{path}/2", "POST", form={"item": "2", "skip": "true"}).status == 303
    told = ann.ask(path).text
    assert "the same answer on 67% of 3 pairs" in told
    form = {"item": "1", "answer": "Yes"}
    assert ann.ask(f"{path}/resolve", "POST", form=form).status == 303
    assert ann.ask(f"{path}/write", "POST").status == 303
    for name, person in (("ann", ann), ("ben", ben)):
        (folder / f"{name}.csv").write_text(
            person.ask(f"{path}/sheet", "POST").text, encoding="utf-8"
        )
    (folder / "decided.csv").write_text("call_id,part,item,answer\none,questions,greet,Yes\n")
    done = commands.run(
        "annotate", "transcripts.jsonl", "--task", "qa", "--form", "files/form.csv",
        "--from", "ann.csv", "--from", "ben.csv", "--resolved", "decided.csv", "-o", "own.jsonl",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / "own.jsonl").read_bytes() == (folder / "cases.jsonl").read_bytes()


def test_keys_answer_and_a_selection_becomes_a_quote_on_the_right_letters(
    browser: Browser, labelling: Labelling
) -> None:
    with Tab(browser, labelling.ann) as tab:
        page = tab.open(f"{labelling.path}/1")
        page.evaluate(
            """() => {
              const node = document.querySelector('[data-turn="0"]').firstChild;
              const start = node.data.indexOf('नमस्ते');
              getSelection().setBaseAndExtent(node, start, node, start + 'नमस्ते'.length);
            }"""
        )
        page.keyboard.press("e")
        expect(page.locator("textarea")).to_have_value("“नमस्ते”")
        page.keyboard.press("1")
        expect(page.locator("h2").first).to_contain_text("2 of 2")
        expect(page.locator("[data-turn='0'] mark")).to_have_text("नमस्ते")
        page.keyboard.press("0")
        expect(page.locator("h1")).to_have_text("two")
        tab.open(f"{labelling.path}/1")
        expect(page.locator(".answers-given")).to_contain_text("cannot tell")


def test_a_draft_stays_until_it_is_saved_and_not_longer(
    browser: Browser, labelling: Labelling
) -> None:
    with Tab(browser, labelling.ann) as tab:
        page = tab.open(f"{labelling.path}/1")
        page.locator("textarea").fill("not saved yet")
        page.reload()
        expect(page.locator("textarea")).to_have_value("not saved yet")
        page.get_by_role("button", name="Yes").click()
        expect(page.locator("h2").first).to_contain_text("2 of 2")
        assert page.evaluate("Object.keys(sessionStorage)") == []
        tab.open(f"{labelling.path}/1?item=1")
        expect(page.locator("textarea")).to_have_value("not saved yet")
        page.locator("textarea").fill("changed")
        page.reload()
        expect(page.locator("textarea")).to_have_value("changed")


def test_an_answer_that_is_none_is_refused(labelling: Labelling) -> None:
    ann, path = labelling.ann, labelling.path
    for form in (
        {"item": "1"},
        {"item": "1", "answer": "Maybe"},
        {"item": "9", "answer": "Yes"},
        {"item": "1", "answer": "Yes", "quotes": '[{"turn": 0, "start": 0, "end": 999}]'},
        {"item": "1", "answer": "Yes", "quotes": "x"},
    ):
        assert ann.ask(f"{path}/1", "POST", form=form).status in (400, 422), form
        assert ann.ask(f"{path}/resolve", "POST", form=form).status == 403
    assert ann.ask(f"{path}/3").status == 404


def test_quotes_are_counted_by_code_points() -> None:
    parts = quoted("👋 नमस्ते!", [QuotedSpan(0, 2, 8)])
    assert parts == [("👋 ", False), ("नमस्ते", True), ("!", False)]


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 800, 1280, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious_while_two_people_label(
    browser: Browser, labelling: Labelling, width: int, scheme: str
) -> None:
    ann, ben, _, path = labelling
    for person, word in ((ann, "Yes"), (ben, "No")):
        for call in (1, 2):
            answer(person, f"{path}/{call}", 1, word, "heard twice")
            answer(person, f"{path}/{call}", 2, "N/A")
    for page in (path, f"{path}/1", path.replace("label", "data")):
        assert_usable(browser, ann, page, width, scheme)
