"""The HTML report: how long writing takes, and how soon a browser shows and filters it.

Cases are those of the bundled sample, again and again under other names, so that nothing is scored
for it. The browser is Debian's Chromium; without one, only the writing is measured.
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bench.measuring import sized

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from callscore.report.html import FORMAT
from callscore.report.source import ReportOptions, ReportSource
from report_samples import large_source, sample_source

MODELS, CASES, LARGE = sized(20, 3), sized(5_000, 20), sized(100_000, 40)
PAINTED = """() => new Promise(done => requestAnimationFrame(() => setTimeout(() => done(
  [performance.getEntriesByName("first-contentful-paint")[0].startTime,
   performance.getEntriesByType("navigation")[0].domInteractive])))) """
FILTERS: Mapping[str, tuple[str, str]] = {
    "by task": ("task", "qa"),
    "by language": ("lang", "es"),
    "by tag": ("tag", "refund"),
    "blocked only": ("mark", "invalid"),
    "sorted by difference": ("sort", "spread"),
    "sorted by one model": ("model", "3"),
}
CHOSEN = """([name, value]) => {
  const start = performance.now();
  const field = document.querySelector(`[name=${name}]`);
  field.value = value;
  field.dispatchEvent(new Event("change", { bubbles: true }));
  document.body.offsetHeight;
  const took = performance.now() - start;
  field.value = name === "sort" ? "worst" : "";
  field.dispatchEvent(new Event("change", { bubbles: true }));
  return took;
}"""
SEARCHED = """() => new Promise(done => {
  const field = document.querySelector("[name=text]"), found = document.getElementById("found");
  const start = performance.now();
  new MutationObserver(() => done(performance.now() - start)).observe(found, { childList: true });
  field.value = "RF-20418";
  field.dispatchEvent(new Event("input", { bubbles: true }));
})"""


class Written(NamedTuple):
    """What writing a page took."""

    seconds: float
    cpu: float
    megabytes: float
    grown: float


def written(source: ReportSource, options: ReportOptions, target: Path) -> Written:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    with target.open("wb") as file:
        for chunk in FORMAT.write(source, options):
            file.write(chunk)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    size = target.stat().st_size / 1e6
    return Written(time.perf_counter() - wall, time.process_time() - cpu, size, grown)


def shown(path: Path) -> None:
    """First paint and every filter, in a browser."""
    chromium = shutil.which("chromium")
    if chromium is None or sized(0, 1):  # the tests of the report open it in a browser
        print("  not opened")
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(path.as_uri())
        paint, ready = page.evaluate(PAINTED)
        print(f"  first paint {paint:7.0f} ms, all parsed {ready:7.0f} ms")
        for label, chosen in FILTERS.items():
            if page.locator(f"[name={chosen[0]}]").count():
                print(f"  {label:21} {page.evaluate(CHOSEN, list(chosen)):7.0f} ms")
        first, again = page.evaluate(SEARCHED), page.evaluate(SEARCHED)
        print(f"  search {first:7.0f} ms the first time, {again:7.0f} ms after (150 ms of waiting)")
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sample_source() as source:
        target = Path(folder) / "report.html"
        models = len(source.card.models)
        took = written(
            large_source(source, models, LARGE), ReportOptions(), target
        )  # first: memory peaks
        print(f"{models} models, {LARGE} cases")
        print(f"  written in {took.cpu:.1f} s CPU, {took.seconds:.1f} s, {took.megabytes:.1f} MB")
        print(f"  memory grown by {took.grown:.0f} MB (limit 200)")
        five_thousand = large_source(source, MODELS, CASES)
        for label, options in (
            ("the worst cases with text, below 20 MB", ReportOptions()),
            ("all cases, without text", ReportOptions(without_text=True, max_bytes=200_000_000)),
        ):
            took = written(five_thousand, options, target)
            print(f"{MODELS} models, {CASES} cases: {label}")
            print(f"  written in {took.cpu:.1f} s CPU, {took.megabytes:.1f} MB")
            shown(target)
