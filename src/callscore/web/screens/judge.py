"""Judge: agreement with people in the random sample, by metric, and what the judge did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from callscore.report.html.card_sections import judge_section
from callscore.report.html.parts import collapsible, row, table
from callscore.report.markup import Child, Html, tag
from callscore.report.numbers import show, show_count
from callscore.report.safe_text import plain
from callscore.results.review_queues import (
    AuditItem,
    JudgeAgreement,
    MetricAgreement,
    audit_items,
    judge_agreement,
)
from callscore.web.scored import check_scored
from callscore.web.screen import Answer, Forbidden, Page, PageTable, Route, Visit, link
from callscore.web.tables import export_links

if TYPE_CHECKING:
    from callscore.judges.calibration import Calibration

ROWS = 50
NOTE = (
    "κ is computed from the random sample of the audit queue alone: reviews of disputed verdicts "
    "or of gates are no sample. They correct their item, and are counted apart."
)


def show_judge(visit: Visit) -> Answer:
    """Return the agreement of the judge with people, and how consistent it is."""
    run = visit.run_line()
    source = visit.results.scored(run.id).source
    if source is None:
        return Page("Judge", tag("p", "The run has no scores yet."), run, "judge")
    found = judge_agreement(visit.results, run.id)
    finished = _has_finished(visit)
    main = tag(
        "section",
        tag("h1", "Agreement with people"),
        tag("p", NOTE, class_="note"),
        _agreement(found, run.id) if finished else tag(
            "p", "Agreement is shown when you have decided your part of the sample: ",
            link("audit queue", f"/runs/{run.id}/review/audit"), class_="note",
        ),
        export_links(visit) if finished and found.metrics else None,
        _others(found),
        judge_section(source.card, visit.results.counts(run.id).verdicts),
    )  # fmt: skip
    return Page("Judge", main, run=run, tab="judge")


def _has_finished(visit: Visit) -> bool:
    """Whether a person has nothing left to decide blind; who may not review is never asked."""
    items = audit_items(visit.results, visit.run)
    mine = [visit.session.author in one.people for one in items]
    return not any(mine) or all(mine)


def _agreement(found: JudgeAgreement, run: int) -> Html:
    if not found.metrics:
        return tag(
            "p", "No sample was drawn yet: ", link("draw one", f"/runs/{run}/review/audit"),
        )  # fmt: skip
    headings = ("Metric", "Drawn", "Decided", "Agreement", "κ", "95 % interval", "People agree",
                "State")  # fmt: skip
    rows = [row(plain(one.metric, 80), _cells(one)) for one in found.metrics]
    return tag(
        "div",
        table(headings, rows, "Agreement of judge and people", "judge"),
        [_confusion(one) for one in found.metrics if one.calibration.confusion],
        _disagreements(found.disagreements),
        id="agreement",
    )


def _cells(one: MetricAgreement) -> Sequence[Child]:
    found: Calibration = one.calibration
    limits = found.kappa_interval
    alpha = None if found.people is None else found.people.alpha
    return (
        str(one.drawn),
        str(found.n),
        "—" if found.accuracy is None else f"{found.accuracy:.0%}",
        "—" if found.kappa is None else f"{found.kappa:.2f}",
        "—" if limits is None else f"{limits.low:.2f} to {limits.high:.2f}",
        "—" if alpha is None else f"α {show(alpha)}",
        found.shortfall or "calibrated",
    )


def _confusion(one: MetricAgreement) -> Html:
    rows = [
        row(_words(human), [_words(judge), str(number)])
        for (human, judge), number in sorted(one.calibration.confusion.items())
    ]
    title = f"{plain(one.metric, 80)}: words of people and of the judge"
    return collapsible(title, table(("People", "Judge", "Items"), rows, title))


def _disagreements(items: Sequence[AuditItem]) -> Html | None:
    if not items:
        return None
    rows = [
        row(plain(one.drawn.case_id, 80), [
            plain(f"{one.drawn.metric} {one.drawn.item}", 120), _words(one.drawn.word),
            plain("; ".join(f"{name}: {_words(word)}" for name, word in one.people.items()), 300),
        ])
        for one in items[:ROWS]
    ]  # fmt: skip
    title = f"{show_count(len(items), 'item')} on which people and judge differ"
    return collapsible(title, table(("Case", "Item", "Judge", "People"), rows, title))


def _others(found: JudgeAgreement) -> Html | None:
    if not found.others:
        return None
    rows = [
        row(plain(metric, 80), [str(counts.get(action, 0)) for action in ("confirm", "overrule")])
        for metric, counts in found.others.items()
    ]
    title = "Reviews outside of the sample"
    return tag("div", tag("h2", title), table(("Metric", "Confirmed", "Overruled"), rows, title))


def _words(word: str) -> str:
    return plain(word, 80).replace("_", " ")


COLUMNS = ("metric", "drawn", "decided", "agreement", "kappa", "low", "high", "alpha", "state")


def judge_table(visit: Visit) -> PageTable:
    """Return agreement by metric; blind, as the page."""
    check_scored(visit)
    if not _has_finished(visit):
        raise Forbidden("Agreement is shown when you have decided your part of the sample.")
    return PageTable(
        f"judge-{visit.run}",
        COLUMNS,
        [[_values(one) for one in judge_agreement(visit.results, visit.run).metrics]],
    )


def _values(one: MetricAgreement) -> Sequence[object]:
    found = one.calibration
    low, high = found.kappa_interval or (None, None)
    alpha = None if found.people is None else found.people.alpha
    return (
        one.metric, one.drawn, found.n, found.accuracy, found.kappa, low, high, alpha,
        found.shortfall or "calibrated",
    )  # fmt: skip


ROUTES = (Route("GET", "/runs/{run}/judge", show_judge, "review", table=judge_table),)
