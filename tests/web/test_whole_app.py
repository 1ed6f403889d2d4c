"""The whole app: hostile texts, every address, tabs of a live run, print, many models.

The default tests take a sample of each; `make slow` takes all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

import commands
from browser import Tab
from builders import form, qa_case, question
from eval_files import cases_file, eval_file, remote_model, right_answer
from stub_servers import Answer, Gate, chat_completion, serving
from web_server import Served, serve
from xss_payloads import PAYLOADS

MOST_PAGES = 250
STRANGE = "iframe,object,embed,base,[onerror],[onload],[style],main script:not([src])"


def hostile_case(number: int, payload: str) -> Mapping[str, Any]:
    """A case that has the payload in every text."""
    asked = {"question_id": "Q1", "question": payload, "max_score": 5, "type": "PASS_FAIL"}
    return qa_case(
        [question(reason=payload)],
        f"{number} {payload}",
        config={"questions": [asked]},
        transcript=[{"id": 1, "speaker": payload, "text": f"Good morning {payload}"}],
        call_id=f"{number} {payload}",
        lang=payload[:20],
        tags=[payload],
    )


@contextmanager
def hostile(folder: Path, payloads: Sequence[str]) -> Iterator[Served]:
    """Serve a run whose calls, forms, answers and names are texts that want to be code."""
    cases = [hostile_case(number, one) for number, one in enumerate(payloads)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(one) + "\n" for one in cases))
    models: list[Mapping[str, Any]] = []
    for name in (PAYLOADS[4], PAYLOADS[0]):
        lines = [
            {"case_id": one["id"], "model": name, "output": {**form(question()), "extra": payload}}
            for one, payload in zip(cases, payloads, strict=True)
        ]
        path = folder / f"{len(models)}.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in lines))
        models.append({"name": name, "provider": "replay", "outputs": path.name})
    eval_file(folder, [dict(one) for one in models], name=PAYLOADS[6])
    done = commands.run("run", folder / "eval.yaml", "--store", folder / "runs.db")
    assert done.returncode == 0, done.stderr
    with serve(folder / "runs.db") as served:
        served.enter()
        yield served


def links_of(page: str) -> list[str]:
    found = map(unescape, re.findall(r'href="(/[^"#]*)', page))
    return [one for one in dict.fromkeys(found) if not one.startswith("/static/")]


def crawl(served: Served) -> Iterator[tuple[str, str]]:
    """Every page that links lead to, breadth first, and its text."""
    queue, seen = ["/"], {"/"}
    for _ in range(MOST_PAGES):
        if not queue:
            return
        path = queue.pop(0)
        reply = served.ask(path)
        assert reply.status in (200, 303), (path, reply.status)
        if not reply.headers.get("Content-Type", "").startswith("text/html"):
            continue
        yield path, reply.text
        new = [one for one in links_of(reply.text) if one not in seen]
        seen.update(new)
        queue += new


@pytest.mark.slow
def test_every_address_reloads_to_the_same_page(served: Served) -> None:
    pages = dict(crawl(served))
    assert len(pages) > 100
    for path, text in pages.items():
        if not path.startswith("/compare"):  # it may have been computed meanwhile
            assert served.ask(path).text == text, path


def assert_harmless(tab: Tab, path: str) -> None:
    page = tab.open(path)
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.evaluate("window.pwned") is None, path
    assert page.locator(STRANGE).count() == 0, path
    assert tab.noise == [], path


def test_nothing_of_a_few_hostile_texts_runs(browser: Browser, tmp_path: Path) -> None:
    with hostile(tmp_path, PAYLOADS[::30]) as served, Tab(browser, served) as tab:
        for path in ("/", "/runs/1", "/runs/1/questions", "/runs/1/matrix?cols=tags",
                     "/runs/1/cases/1", "/runs/1/cases/2", "/runs/1/gold"):  # fmt: skip
            assert_harmless(tab, path)


@pytest.mark.slow
def test_nothing_of_sixty_hostile_texts_runs_on_any_page(browser: Browser, tmp_path: Path) -> None:
    assert len(PAYLOADS) >= 60
    with hostile(tmp_path, PAYLOADS) as served, Tab(browser, served) as tab:
        for path, _ in crawl(served):
            assert_harmless(tab, path)


@pytest.mark.parametrize("number", [2, pytest.param(10, marks=pytest.mark.slow)])
def test_tabs_see_a_run_rise_and_end(browser: Browser, tmp_path: Path, number: int) -> None:
    gate = Gate(lambda request: Answer(chat_completion(right_answer(request))), 4)
    with serving(gate) as stub:
        cases_file(tmp_path, 8)
        eval_file(tmp_path, [remote_model(stub.url)])
        store = tmp_path / "runs.db"
        run = commands.start("run", tmp_path / "eval.yaml", "--store", store, "--no-preflight")
        commands.wait_for(lambda: len(stub.requests), 8)
        with serve(store) as served:
            served.enter()
            tabs = [Tab(browser, served) for _ in range(number)]
            for tab in tabs:
                expect(tab.open("/").locator(".runs")).to_contain_text("running")
            gate.open()
            for tab in tabs:
                expect(tab.page.locator(".runs")).to_contain_text("8 of 8")
                expect(tab.page.locator(".runs")).to_contain_text("complete")
                tab.context.close()
        run.communicate()
        assert run.returncode == 0


def test_a_printed_decision_has_no_controls(browser: Browser, served: Served) -> None:
    with Tab(browser, served) as tab:
        page = tab.open("/runs/1")
        page.emulate_media(media="print")
        assert not page.locator(".top").is_visible()
        assert page.locator(".verdict").is_visible()
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_a_printed_case_has_the_transcript_and_the_answers(
    browser: Browser, served: Served
) -> None:
    with Tab(browser, served, viewport={"width": 720, "height": 1000}) as tab:
        page = tab.open("/runs/1/cases/1")
        page.emulate_media(media="print")
        assert page.locator(".turns").is_visible()
        assert page.get_by_role("region", name="Expected and given").is_visible()
        assert not page.get_by_label("Evidence").is_visible()
        assert not page.get_by_label("Answers").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 20])
def test_one_and_twenty_models_fit(browser: Browser, tmp_path: Path, number: int) -> None:
    models = [
        {
            "name": f"a-model-with-a-long-name-{one}",
            "provider": "simulated",
            "params": {"seed": one},
        }
        for one in range(number)
    ]
    value = {"name": "many", "data": "sample", "tasks": ["qa"], "models": models}
    (tmp_path / "eval.yaml").write_text(json.dumps(value))
    done = commands.run("run", tmp_path / "eval.yaml", "--store", tmp_path / "runs.db")
    assert done.returncode == 0, done.stderr
    with serve(tmp_path / "runs.db") as served:
        served.enter()
        with Tab(browser, served) as tab:
            for path in ("/", "/runs/1", "/runs/1/scorecard", "/runs/1/matrix", "/runs/1/cases/1"):
                page = tab.open(path)
                for width in (390, 800, 1280, 1920):
                    page.set_viewport_size({"width": width, "height": 900})
                    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
                    assert not wide, (path, width)
