"""Tables of pages as files: every row of the filter, no formula, no event; work of people: one."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest
from playwright.sync_api import Browser

import commands
from browser import Tab
from builders import form, qa_case, question
from callscore.results import open_results
from eval_files import eval_file
from web_server import Served, serve

FORMULA = "=1+1"
CASES = 60
PAGES = {
    "/": "runs",
    "/runs/1/scorecard": "scorecard-1",
    "/runs/1/questions": "questions-1",
    "/runs/1/questions?question=Q1&model=b": "questions-1",
    "/runs/1/matrix": "matrix-1",
    "/runs/1/judge": "judge-1",
    "/runs/1/gold?show=all": "gold-1",
    "/compare/1/1?a=b&b=a": "compare-1-1",
    "/runs/1/review/disputed": "review-disputed-1",
    "/runs/1/review/gates": "review-gates-1",
    "/runs/1/review/open": "review-open-1",
    "/runs/1/review/doubts": "review-doubts-1",
    "/runs/1/review/audit": "review-audit-1",
    "/events": "log",
    "/runs/1/agents": "agents-1",
}


class Stored(NamedTuple):
    served: Served
    store: Path


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stored]:
    """A run of more cases than a page has, whose ids are formulas, judged by rules."""
    folder = tmp_path_factory.mktemp("tables")
    cases = [qa_case([question(reason="It was said.")], f"{FORMULA}*{n}") for n in range(CASES)]
    (folder / "cases.jsonl").write_text("".join(json.dumps(one) + "\n" for one in cases))
    models = []
    for name, score in (("a", 5.0), ("b", 0.0)):
        lines = [
            {"case_id": one["id"], "model": name, "output": form(question(score=score))}
            for one in cases
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
        models.append({"name": name, "provider": "replay", "outputs": f"{name}.jsonl"})
    path, store = eval_file(folder, models, judge="offline", embedder="none"), folder / "runs.db"
    done = commands.run("run", path, "--store", store)
    assert done.returncode == 0, done.stderr
    with serve(store) as served:
        served.enter()
        doubt = {"place": "1", "field": "Q1", "reason": FORMULA, "action": "doubt"}
        noted = served.ask("/runs/1/gold/notes", "POST", form=doubt)
        assert noted.status == 303, noted.text
        drawn = served.ask("/runs/1/review/audit/draw", "POST", form={"number": "3"})
        assert drawn.status == 303
        yield Stored(served, store)


def events(store: Path) -> list[str]:
    with closing(open_results(store)) as results:
        return [one.kind for one in results.events()]


def rows_of(served: Served, path: str) -> list[list[str]]:
    reply = served.ask(f"{path}{'&' if '?' in path else '?'}format=csv")
    assert reply.status == 200, reply.text
    return list(csv.reader(io.StringIO(reply.text.removeprefix("\ufeff"))))


@pytest.mark.parametrize(("path", "name"), PAGES.items())
def test_the_table_of_every_page_is_a_file_named_by_the_server(
    stored: Stored, path: str, name: str
) -> None:
    served = stored.served
    before = events(stored.store)
    sign = "&" if "?" in path else "?"
    for suffix in ("csv", "xlsx"):
        reply = served.ask(f"{path}{sign}format={suffix}")
        assert reply.status == 200, reply.text
        assert f'filename="{name}.{suffix}"' in reply.headers["Content-Disposition"]
    rows = rows_of(served, path)
    assert rows[0]
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row)
    assert events(stored.store) == before
    wrong = served.ask(f"{path}{sign}format=exe")
    assert wrong.status == 400
    assert "expected one of csv, xlsx" in wrong.text


def test_a_file_has_all_rows_of_the_filter_and_their_text(stored: Stored) -> None:
    matrix = rows_of(stored.served, "/runs/1/matrix")
    assert len(matrix) == 1 + CASES
    assert matrix[1][0] == f"'{FORMULA}*0"
    assert len(rows_of(stored.served, "/runs/1/matrix?q=1*7")) == 2
    assert len(rows_of(stored.served, "/runs/1/questions?question=Q1&model=b")) == 1 + CASES
    assert len(rows_of(stored.served, "/compare/1/1?a=b&b=a&show=fixed")) == 1 + CASES
    audit = rows_of(stored.served, "/runs/1/review/audit")
    assert audit[0] == ["case_id", "metric", "item", "your_word"]
    assert len(audit) == 4


def test_a_workbook_has_text_and_no_formula(stored: Stored, browser: Browser) -> None:
    with Tab(browser, stored.served) as tab:
        page = tab.open("/runs/1/matrix")
        with page.expect_download() as started:
            page.get_by_role("link", name="Excel").click()
        assert started.value.suggested_filename == "matrix-1.xlsx"
        with ZipFile(started.value.path()) as book:
            sheet = book.read("xl/worksheets/sheet1.xml").decode()
    assert sheet.count("<row ") == 1 + CASES
    assert "<f>" not in sheet


def test_every_page_with_a_table_offers_it(stored: Stored) -> None:
    for path in ("/", "/runs/1/scorecard", "/runs/1/questions", "/runs/1/matrix", "/events",
                 "/runs/1/review/gates", "/runs/1/judge"):  # fmt: skip
        page = stored.served.ask(path).text
        links = re.findall(r'href="([^"]+format=(?:csv|xlsx))"', page)
        assert len(links) == 2, path


def test_work_of_people_leaves_by_a_form_with_an_event(stored: Stored) -> None:
    served, store = stored
    for path in ("/runs/1/export/verdicts", "/runs/1/gold/cases"):
        before = events(store)
        assert served.ask(path).status == 405
        assert events(store) == before
        reply = served.ask(path, "POST")
        assert reply.status == 200
        assert "attachment" in reply.headers["Content-Disposition"]
        assert events(store) == [*before, "export"]
    assert "/runs/1/gold/cases" in served.ask("/events").text
