"""Sections about the scorecard: ranks, blockers, judge, coverage, provenance, compliance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from callscore.core.judging import Judging
from callscore.core.scorecard import Blocker, MetricScore, ModelScore, Scorecard
from callscore.report.cells import tasks_run
from callscore.report.decision_statements import (
    sampled_unit,
    show_disagreement,
    show_flip_rate,
)
from callscore.report.html.answers_sections import undecided_values
from callscore.report.html.case_collection import CaseCollection
from callscore.report.html.parts import (
    collapsible,
    figure,
    join_with,
    model_name,
    row,
    section,
    table,
)
from callscore.report.markup import Child, Html, join, tag
from callscore.report.names import count_undecided_gates, marked_name, origins_of
from callscore.report.numbers import show, show_cost, show_count, show_money
from callscore.report.safe_text import plain
from callscore.report.source import Destination, Provenance, ReportSource
from callscore.report.svg.rank_bands import RankBar, draw_rank_bands
from callscore.scorecard.template import TemplateRow

CALLS_SHOWN = 12
MAX_NOTE_LENGTH = 500
NOTES_SHOWN = 200


def ranks_section(card: Scorecard) -> Html:
    """Return the rank bands, if known, and the official ranking."""
    bands = rank_bands_of(card)
    drawn = None
    if bands:
        sentence = (
            f"Bar: the ranks by quality that these {sampled_unit(card)}s cannot distinguish, for "
            "all models jointly at 95 %. Dot: the official rank by quality."
        )
        numbers = [row(model_name(band.model), [band.label, band.rank or "—"]) for band in bands]
        numbers_table = table(("Model", "Band", "Rank"), numbers, "Rank bands")
        drawn = figure(draw_rank_bands(bands), sentence, numbers_table)
    else:
        drawn = tag("p", "This scorecard has no rank bands.", class_="note")
    final = plain(card.final_heading, 120).replace("|", "/")
    unit = sampled_unit(card)
    headings = f"Rank|Model|Efficiency|{final}|$ / 1000 {unit}s|By quality|Pareto|Remark"
    rows = [
        row(
            "—" if entry.rank is None else str(entry.rank),
            (
                model_name(entry.model),
                "" if entry.efficiency is None else show(entry.efficiency),
                "n/a" if entry.final_score is None else show(entry.final_score),
                show_cost(entry.cost_per_1000_calls),
                "" if entry.quality_rank is None else str(entry.quality_rank),
                "yes" if entry.pareto else "",
                "estimate" if entry.estimate else plain(entry.reason or "", 300),
            ),
        )
        for entry in card.ranking
    ]
    return section("ranks", "Ranks", drawn, table(headings.split("|"), rows, "Ranking"))


def rank_bands_of(card: Scorecard) -> list[RankBar]:
    """Return the rank bands of a scorecard, best first."""
    bands = []
    for entry in card.ranking:
        band = entry.quality_band
        if band is not None:
            bands.append(RankBar(entry.model, int(band[0]), int(band[1]), entry.quality_rank))
    return sorted(bands, key=lambda band: (band.best, band.worst, band.rank or 0))


CaseLink = Callable[[str], Html]
"""Turns the id of a case into a link, or into text if the report does not contain the case."""
LinkOfGate = Callable[[str, str, str], Child]
"""Turns a model, a metric and its label into a link to the calls that breach the gate."""


def _plain_gate(_: str, __: str, label: str) -> Child:
    return label


def blockers_section(
    card: Scorecard,
    template: Sequence[TemplateRow],
    link: CaseLink,
    gate: LinkOfGate = _plain_gate,
) -> Html:
    """Return every breached blocker with the calls that breached it."""
    labels = {row.key: row.label for row in template}

    def calls(model: ModelScore, blocker: Blocker) -> Child:
        number = show_count(len(blocker.cases), "call")
        first = join_with([link(case) for case in blocker.cases[:CALLS_SHOWN]])
        more = f"{len(blocker.cases) - CALLS_SHOWN} more"
        rest = gate(model.model, blocker.metric, more) if len(blocker.cases) > CALLS_SHOWN else None
        return join(f"{number}: ", first, None if rest is None else join(" and ", rest))

    rows = [
        row(
            model_name(model.model),
            (
                labels.get(blocker.task, blocker.task).removesuffix(" Score"),
                gate(model.model, blocker.metric, labels.get(blocker.metric, blocker.metric)),
                _breach(blocker, model.tasks[blocker.task].metrics.get(blocker.metric)),
                calls(model, blocker)
                if blocker.cases
                else tag("span", "no single call", class_="quiet"),
            ),
        )
        for model in card.models
        for blocker in model.blockers
    ]
    if not rows:
        undecided = sum(map(count_undecided_gates, card.models))
        sentence = "No blocker was triggered."
        if undecided:
            sentence = f"No blocker was triggered; {show_count(undecided, 'row')} not decided."
        return section("blockers", "Blockers", tag("p", sentence))
    headings = ("Model", "Task", "Blocker", "Value", "Calls")
    return section("blockers", "Blockers", table(headings, rows, "Blockers and their calls"))


def _breach(blocker: Blocker, metric: MetricScore | None) -> Html:
    """Return the value with its limit; where a gate looks at each call, that of the worst one."""
    mark = " %" if metric is not None and metric.unit == "percent" else ""
    limit = "blocked at" if blocker.value == blocker.limit else "limit"
    remarks = [] if blocker.gating else ["not gating"]
    if metric is not None and metric.gate_value is None and metric.value is not None:
        remarks.append(f"in the worst call; {show(metric.value, metric.unit)} over all")
    return join(
        tag("b", f"{blocker.value:.4g}{mark}", class_="bad"),
        f" ({limit} {blocker.limit:g}{mark})",
        tag("small", "; ".join(remarks)) if remarks else None,
    )


def judge_section(card: Scorecard, verdicts: Mapping[str, int]) -> Html:
    """Describe the judge: who it is, how consistent it is, what it left undecided."""
    items = list(_judge_facts(card.judging, verdicts))
    items.append(("Undecided", _undecided_gates(card)))
    for model, number in undecided_values(card.documents).items():
        values = f"{show_count(number, 'argument value')} of {model_name(model)}"
        items.append(("Undecided in scenarios", values))
    return section("judge", "Judge", fact_list(items))


def _judge_facts(
    judging: Judging | None, verdicts: Mapping[str, int]
) -> Iterator[tuple[str, Child]]:
    if judging is None:
        yield "Judge", "no judge was used" + ("; verdicts are from files" if verdicts else "")
    else:
        yield "Judge", plain(judging.judge or "none", 200)
        yield "Embedder", plain(judging.embedder or "none", 200)
        yield "Judged", f"{judging.items} items{_requests(judging)}"
        yield "Verdicts that changed when asked again", show_flip_rate(judging)
        yield "Disagreement of a second judge", show_disagreement(judging)
        yield "Disputed", str(judging.disputed)
        yield "No usable verdict", str(judging.failed)
        if judging.overlap:
            yield "Models of the judge's own family", ", ".join(map(model_name, judging.overlap))
        if judging.flags:
            yield "Flags", ", ".join(f"{flag}: {n}" for flag, n in judging.flags.items())
        if judging.cost_usd is not None:
            yield "Cost of judging, as sent", show_money(judging.cost_usd)
    if verdicts:
        judges = sorted(verdicts.items(), key=lambda pair: (-pair[1], pair[0]))
        yield "Verdicts by", "; ".join(f"{plain(by or '?', 60)}: {n}" for by, n in judges[:12])
    yield "Agreement with people", "callscore judge calibrate measures it; --labels corrects scores"


def _requests(judging: Judging) -> str:
    """What was sent in this run, and what came from the store        C-140"""
    if not (judging.requests or judging.stored):
        return ""
    stored = f", {judging.stored} from the store" if judging.stored else ""
    return f"; {show_count(judging.requests, 'request')} sent{stored}"


def _undecided_gates(card: Scorecard) -> str:
    gates = [
        f"{model_name(model.model)}: {', '.join(task.undecided_gates)}"
        for model in card.models
        for task in model.tasks.values()
        if task.undecided_gates
    ]
    return "; ".join(gates[:12]) or "nothing"


def fact_list(items: Sequence[tuple[str, Child]]) -> Html:
    """Return names and values as a description list."""
    pairs = [tag("div", tag("dt", term), tag("dd", value)) for term, value in items]
    return tag("dl", pairs, class_="facts")


def coverage_section(source: ReportSource, statuses: Mapping[str, Mapping[str, int]]) -> Html:
    """Return how many cases were evaluated, and where the numbers come from."""
    card = source.card
    return section(
        "provenance",
        "Coverage and provenance",
        _coverage(card),
        _statuses(statuses),
        fact_list(list(_provenance(card, source.provenance))),
        _files(source.provenance),
        _notes(card),
    )


def _coverage(card: Scorecard) -> Html:
    tasks = tasks_run(card)
    rows = []
    for model in card.models:
        cells: list[Child] = []
        for key in tasks:
            task = model.tasks.get(key)
            if task is None:
                cells.append(tag("span", "not run", class_="quiet"))
                continue
            unread = sum(task.malformed.values())
            sentence = f"{task.n} of {task.cases} cases"
            cells.append(join(sentence, tag("small", f"{unread} malformed") if unread else None))
        rows.append(row(model_name(model.model), cells))
    return table(["Model", *tasks], rows, "Coverage: cases evaluated")


STATUSES = {
    "valid": "scored",
    "invalid": "invalid (blocked or malformed)",
    "error": "no reply (provider error)",
    "not_run": "not run",
    "incomplete": "waiting for a verdict",
}


def _statuses(statuses: Mapping[str, Mapping[str, int]]) -> Html | None:
    if not statuses:
        return None
    words = [word for word in STATUSES if any(word in counts for counts in statuses.values())]
    rows = [
        row(model_name(model), [counts.get(word, 0) for word in words])
        for model, counts in statuses.items()
    ]
    return table(["Model", *(STATUSES[word] for word in words)], rows, "Answers by status")


def _provenance(card: Scorecard, provenance: Provenance) -> Iterator[tuple[str, Child]]:
    yield "Framework", card.framework
    for part in card.signature.split("|"):
        key, _, value = part.partition(":")
        if key != "framework" and value:
            yield key.capitalize(), tag("code", plain(value, 200))
    run = provenance.run
    if run is not None:
        yield "Run", f"{run.id}: {plain(run.name, 100)}, {run.status}, started {run.started_at}"
    if provenance.models:
        yield (
            "Models",
            "; ".join(
                plain(f"{one.name} = {one.model}" if one.model else one.name, 120)
                for one in provenance.models
            ),
        )
    if provenance.weights:
        yield "Weights", ", ".join(f"{key} {value:g}" for key, value in provenance.weights.items())
    if provenance.versions:
        packages = (f"{package} {version}" for package, version in provenance.versions.items())
        yield "Versions", ", ".join(packages)


def _files(provenance: Provenance) -> Html | None:
    if not provenance.files:
        return None
    rows = [
        row(plain(file.name, 120), (file.role, tag("code", file.sha256), file.bytes))
        for file in provenance.files
    ]
    return collapsible(
        "Files and their hashes", table(("File", "Role", "SHA-256", "Bytes"), rows, "Input files")
    )


def _notes(card: Scorecard) -> Html | None:
    if not card.notes:
        return None
    items = [tag("li", plain(note, MAX_NOTE_LENGTH)) for note in card.notes[:NOTES_SHOWN]]
    more = len(card.notes) - NOTES_SHOWN
    if more > 0:
        items.append(tag("li", f"and {more} more"))
    return collapsible(show_count(len(card.notes), "note"), tag("ul", items))


LONGEST_PARAMETERS = 200
KEPT = (
    "replies and verdicts, in the store of the run, until `callscore purge`; they are not deleted "
    "by themselves"
)
DELETED = "no reply and no verdict: the run deletes them (--no-store-text)"
NOTHING_SENT: Mapping[str, str] = {
    "simulated": "nowhere: answers are simulated from the references",
    "baseline": "nowhere: answers are made by rules",
    "replay": "nowhere: recorded answers were read",
}


def compliance_section(source: ReportSource, collection: CaseCollection) -> Html:
    """Return how the data was handled."""
    destinations = source.provenance.destinations
    rows = [row(plain(one.name, 80), list(_cells(one))) for one in destinations]
    headings = ["Name", "Role", "Provider", "Sent to", "Parameters", "$ per million tokens"]
    return section(
        "compliance",
        "Compliance",
        table(headings, rows, "Where the data was sent") if rows else None,
        fact_list(list(_facts(source, collection))),
        note="Where the data was sent, what was redacted, what is kept, and who labelled.",
    )


def _cells(one: Destination) -> Iterator[Child]:
    yield one.role
    yield plain(f"{one.provider}, {one.model}" if one.model else one.provider, 120)
    yield (
        tag("code", plain(one.host, 120))
        if one.host
        else NOTHING_SENT.get(one.provider, "not recorded: its package decides")
    )
    yield plain(_show_parameters(one.params), LONGEST_PARAMETERS) or "none"
    price = one.price
    yield "not set" if price is None else f"{price.input:g} in, {price.output:g} out"


def _show_parameters(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in params.items())


def _facts(source: ReportSource, collection: CaseCollection) -> Iterator[tuple[str, Child]]:
    provenance, card = source.provenance, source.card
    if not any(one.role == "model" for one in provenance.destinations):
        yield "Sent", "answers were read from files; where models were reached is not recorded"
    counts = collection.placeholders
    if counts:
        kinds = ", ".join(f"{kind.lower()} {counts[kind]}" for kind in sorted(counts))
        yield "Redacted", f"placeholders in the transcripts: {plain(kinds, 300)}"
    elif len(source.cases):
        yield "Redacted", "nothing: no transcript has a placeholder of `callscore redact`"
    if provenance.run is not None:
        yield "Kept", DELETED if provenance.run.unstored else KEPT
    yield "Labelled by", _counted(collection.labels) or "none: no labels were given"
    if collection.verdicts:
        yield "Judged by", _counted(collection.verdicts)
    origins = origins_of(card.models)
    names = [marked_name(name, origins) for name in origins]
    yield "Not asked", ", ".join(names) or "none is recorded as simulated, by rules or replayed"


def _counted(counts: Mapping[str, int]) -> str:
    """Return names with the number of items each decided."""
    return ", ".join(
        f"{plain(name, 60) or 'unnamed'} ({show_count(number, 'item')})"
        for name, number in sorted(counts.items())
    )
