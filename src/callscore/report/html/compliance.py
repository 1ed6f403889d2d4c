"""The section for compliance: where calls were sent, what was redacted and kept, who labelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from callscore.report.html.card_sections import fact_list
from callscore.report.html.case_collection import CaseCollection
from callscore.report.html.parts import row, section, table
from callscore.report.markup import Child, Html, tag
from callscore.report.names import marked_name, origins_of
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.report.source import Destination, ReportSource

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
    """Return how the data of the calls was handled."""
    destinations = source.provenance.destinations
    rows = [row(plain(one.name, 80), list(_cells(one))) for one in destinations]
    headings = ["Name", "Role", "Provider", "Sent to", "Parameters", "$ per million tokens"]
    return section(
        "compliance",
        "Compliance",
        table(headings, rows, "Where calls were sent") if rows else None,
        fact_list(list(_facts(source, collection))),
        note="Where calls were sent, what was redacted, what is kept, and who labelled.",
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
