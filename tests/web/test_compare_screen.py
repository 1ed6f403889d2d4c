"""Compare: two models of a run, what one breaks, and the outputs behind it."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import Browser, expect

import commands
from browser import Tab
from web_server import Served, serve

A, B = "careful", "hasty"
MODELS = f"/compare/1/1?a={A}&b={B}"


def compare_json(store: Path, a: str, b: str) -> dict[str, object]:
    out = store.parent / "comparison.json"
    done = commands.run("compare", f"1:{a}", f"1:{b}", "--store", store, "--json", out)
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, object] = msgspec.json.decode(out.read_bytes())
    return found


def compared(served: Served, path: str) -> str:
    """The page, asked again until the two are compared."""
    while "being compared" in (page := served.ask(path).text):
        pass
    return page


def test_the_conclusion_and_the_counts_are_those_of_the_command(
    served: Served, sample_store: Path
) -> None:
    told = compare_json(sample_store, A, B)
    page = compared(served, MODELS)
    assert str(told["conclusion"]).partition("[")[0] in page
    counts = told["counts"]
    assert isinstance(counts, dict)
    for kind, number in counts.items():
        assert f"show={kind}" in page or not number
        assert f"<b>{number}</b>" in page


def test_a_filter_leaves_its_cases_and_a_case_opens_on_the_diff(
    browser: Browser, served: Served
) -> None:
    with Tab(browser, served) as tab:
        page = tab.open(MODELS)
        chosen = page.locator(".filter", has_text="broken")
        number = int(chosen.locator("b").inner_text())
        assert number
        chosen.click()
        expect(page).to_have_url(f"{served.origin}{MODELS}&show=broken")
        expect(page.locator("output.count")).to_have_text(
            f"{number} case" + ("s" if number > 1 else "")
        )
        expect(page.locator(".changes tbody tr")).to_have_count(min(number, 50))
        page.locator(".changes a", has_text="Diff").first.click()
        expect(page.locator(".diff ins, .diff del").first).to_be_visible()
        page.go_back()
        expect(page.locator(".diff")).to_have_count(0)


@pytest.mark.parametrize(
    ("query", "named"),
    [("&a=nobody", "given 2 times"), ("&show=worse", "expected one of all, broken")],
)
def test_an_unknown_value_is_refused_with_the_allowed_ones(
    served: Served, query: str, named: str
) -> None:
    reply = served.ask(MODELS + query)
    assert reply.status == 400
    assert named in reply.text


def test_runs_that_are_not_comparable_are_compared_only_if_forced(tmp_path: Path) -> None:
    calls = "{provider: simulated, name: m}"
    for name, judge in (("one", "none"), ("two", "offline")):
        (tmp_path / f"{name}.yaml").write_text(
            f"name: {name}\ndata: sample\ntasks: [qa]\njudge: {judge}\nmodels: [{calls}]\n"
        )
        done = commands.run("run", tmp_path / f"{name}.yaml", "--store", tmp_path / "runs.db")
        assert done.returncode == 0, done.stderr
    with serve(tmp_path / "runs.db") as served:
        served.enter()
        refused = compared(served, "/compare/1/2")
        assert "not comparable" in refused
        assert "/compare/1/2?force=true" in refused
        forced = compared(served, "/compare/1/2?force=true")
        assert "Cases that changed" in forced
        chosen = served.ask("/compare?first=1&second=2")
        assert chosen.headers["Location"] == "/compare/1/2"
        assert served.ask("/compare?first=1&second=9").status == 404
