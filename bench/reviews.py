"""A review: from the word to the new values, against a rescore; its page, by number of cases."""

from __future__ import annotations

import resource
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from bench.index import cpu_of, stored_run
from bench.measuring import sized
from callscore.core.events import Review
from callscore.export.sources import rescore_run
from callscore.results import open_results
from callscore.results.port import VerdictFilter, VerdictItem
from callscore.results.reviews import RunReviewer, item_of, key_of, review_of, write_review
from callscore.results.stored_results import StoredResults
from callscore.runner.prepare import RunOptions
from callscore.store.address import open_store
from callscore.web.queues import ReviewQuery
from callscore.web.screen import Site, Visit, WebSession
from callscore.web.screens import all_routes
from callscore.web.screens.review import show_queue

CASES, FEW_CASES = sized(20_000, 60), sized(500, 30)
EVENTS = sized(5_000, 10)
REVIEWS, PAGES = sized(15, 2), sized(50, 2)
LEAST_FASTER, MOST_FOR_MANY = 500, 1.5
"""The bars, which are printed with what was measured."""


def judged_items(results: StoredResults) -> Sequence[VerdictItem]:
    """Items that people can review."""
    rows = results.verdict_items(1, VerdictFilter(queue="gates", limit=1_000_000)).items
    return [row for row in rows if row.item]


def add_events(results: StoredResults, store: Path) -> None:
    """Let three people confirm items, without a new score after each.

    Half of a queue stays, so that a page of few cases shows an item, too.
    """
    rows = judged_items(results)
    rows = rows[: -(-len(rows) // 2)]
    with open_store(store) as opened, opened.events() as events:
        for number in range(EVENTS):
            row = rows[number % len(rows)]
            reply = results.reply_key(1, row.case_id, row.model, row.rep).hex()
            reference = results.reference_of(1, row.case_id)
            review = Review(
                reply, row.case_id, row.metric, row.item, "confirm", row.word,
                text=str(number // len(rows)), reference=reference, judged=row.word,
            )  # fmt: skip
            events.append("verdict", review.subject, review, f"person {number % 3}")
    results.refresh(1)


def page_cpu(results: StoredResults, store: Path) -> float:
    """CPU seconds of a page of the queue of gates."""
    site = Site(results, store, all_routes())
    visit = Visit(site, WebSession("bench"), "/runs/1/review/gates", {"run": 1}, ReviewQuery())
    show_queue(visit, "gates")
    return cpu_of(lambda: show_queue(visit, "gates"), PAGES)


def review_cpu(results: StoredResults, store: Path) -> float:
    """CPU seconds from a word to the new values, the median of several reviews."""
    rows = [row for row in judged_items(results) if not row.by.startswith("human:")]
    who = RunReviewer(results, store, 1, "ada")
    taken = []
    for number in range(REVIEWS):
        shown = item_of(results, 1, key_of(rows[len(rows) * number // REVIEWS]))
        word = next(word for word in shown.words if word != shown.base.judged)
        review = review_of(shown, word, "I listened to it")
        taken.append(cpu_of(lambda: write_review(who, shown, review, shown.prior())))  # noqa: B023
    return statistics.median(taken)


def cpu_of_intervals(results: StoredResults) -> float:
    """CPU seconds of the process that adds the intervals after a review."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    before = usage.ru_utime + usage.ru_stime
    results.scored(1)
    results.finish_build(1)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime - before


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        many, few = (
            stored_run(Path(place) / str(size), size, "offline") for size in (CASES, FEW_CASES)
        )
        views: list[int] = []
        options = RunOptions(on_case=lambda view: views.append(len(view.answers)))
        scoring = cpu_of(lambda: rescore_run(1, many, None, options))
        with closing(open_results(many)) as results, closing(open_results(few)) as others:
            results.refresh(1)
            others.refresh(1)
            size = many.with_name("runs.db-index").stat().st_size
            review = review_cpu(results, many)
            results.finish_build(1)
            results.refresh(1)
            who = RunReviewer(results, many, 1, "bob")
            last = judged_items(results)[-1]
            shown = item_of(results, 1, key_of(last))
            write_review(who, shown, review_of(shown, shown.base.judged, ""), 0)
            intervals = cpu_of_intervals(results)
            add_events(results, many)
            add_events(others, few)
            pages = [page_cpu(results, many), page_cpu(others, few)]
            reviewed = review_cpu(results, many)
    print(f"{CASES} cases of 2 models, judged by rules: rescoring {scoring:.1f} s of CPU")
    print(
        f"a review to its values: {1000 * review:.0f} ms of CPU, 1/{scoring / review:.0f} of a"
        f" rescore (bar 1/{LEAST_FASTER}); after {EVENTS} reviews {1000 * reviewed:.0f} ms"
    )
    print(f"the intervals behind it, in a process of their own: {intervals:.1f} s of CPU")
    print(f"a page of a queue after {EVENTS} reviews: {1000 * pages[0]:.1f} ms of CPU")
    print(f"against {FEW_CASES} cases: {pages[0] / pages[1]:.2f} × (bar {MOST_FOR_MANY})")
    print(f"the index: {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
