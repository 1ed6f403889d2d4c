"""The HTML page: one self-contained file, written in chunks.

Style and script are files of this folder, included in the page. Its content security policy allows
only these two, by their hashes, and no connection. Cases after the first ones are text in inert
script elements, so that a page with thousands of cases opens at once; the script turns them into
elements when they are shown.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

import msgspec

from callscore.report.cells import tasks_run
from callscore.report.html.answers_sections import (
    confusion_section,
    document_decisions,
    documents_section,
    forms_section,
    plans_section,
    questions_section,
    slices_section,
)
from callscore.report.html.card_sections import (
    blockers_section,
    compliance_section,
    coverage_section,
    judge_section,
    ranks_section,
)
from callscore.report.html.case_collection import CaseCollection, RenderedCase, build_index
from callscore.report.html.first_screen import first_screen
from callscore.report.html.parts import model_name
from callscore.report.html.scorecard_section import scorecard_section, tasks_section
from callscore.report.markup import Html, join, tag, text
from callscore.report.names import simulated_share
from callscore.report.numbers import show_count
from callscore.report.safe_text import escape_json, plain
from callscore.report.source import ReportOptions, ReportSource
from callscore.report.svg.picture import read_style

FIRST_CASES, FIRST_BYTES = 20, 600_000
"""The most cases that are visible without the script, and printed; fewer if they are long."""
BODY = b'<div class="body">'
"""The start of the body of a case. Text cannot contain it, as text is escaped."""
NAV = {
    "decision": "Decision",
    "scorecard": "Scorecard",
    "tasks": "Metrics",
    "ranks": "Ranks",
    "blockers": "Blockers",
    "scenarios": "Scenarios",
    "decisions": "Call or reject",
    "plans": "Plans",
    "sentiment": "Sentiment",
    "form": "QA form",
    "questions": "Questions",
    "slices": "Slices",
    "judge": "Judge",
    "compliance": "Compliance",
    "provenance": "Provenance",
    "cases": "Cases",
}


@cache
def _file(kind: str) -> str:
    return Path(__file__).with_name(f"report.{kind}").read_text(encoding="utf-8")


@cache
def style_sheet() -> str:
    """Return the style of the report and its pictures, limited to `.callscore`."""
    colours = f".callscore {{\n{read_style('palette')}}}\n"
    return colours + read_style("picture") + _file("css")


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield the report in chunks."""
    collection = CaseCollection(source, options)
    head = _head(source.title).encode()
    body = _sections(source, collection)
    size = len(head) + len(_file("js")) + sum(len(part) for part in body.values())
    if collection.keep_within(options.max_bytes - size):
        body = _sections(source, collection)
    yield head
    yield _masthead(source, [*body, "cases"]).encode()
    yield from body.values()
    yield from _cases(source, collection)
    yield f"</main><script>{_file('js')}</script></body></html>\n".encode()


def _head(title: str) -> str:
    policy = "; ".join(
        [
            "default-src 'none'",
            f"style-src '{_hash(style_sheet())}'",
            f"script-src '{_hash(_file('js'))}'",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", plain(title, 120)),
        Html(f"<style>{style_sheet()}</style>"),
    ]
    return f'<!doctype html><html lang="en"><head>{join(head)}</head><body class="callscore">'


def _hash(content: str) -> str:
    return "sha256-" + b64encode(sha256(content.encode()).digest()).decode()


def _masthead(source: ReportSource, keys: Sequence[str]) -> str:
    links = [tag("a", NAV[key], href=f"#{key}") for key in keys]
    card = source.card
    tasks = tasks_run(card)
    counts = [show_count(len(card.models), "model"), show_count(len(tasks), "task")]
    if len(source.cases):
        counts.append(show_count(len(source.cases), "case"))
    header = tag(
        "header",
        tag("a", "Skip to the cases", href="#cases", class_="skip"),
        tag("h1", plain(source.title, 120) + simulated_share(card.models)),
        tag("p", " · ".join(counts), class_="note"),
        tag("button", "Dark / light", id="theme", type="button", hidden=True),
        tag("nav", links, aria_label="Sections"),
    )
    return f"{header}<main>"


def _sections(source: ReportSource, collection: CaseCollection) -> dict[str, bytes]:
    """Return every section that has content, by its key."""
    sections = _all_sections(source, collection)
    return {key: part.encode("utf-8", "replace") for key, part in sections if part is not None}


def _all_sections(
    source: ReportSource, collection: CaseCollection
) -> list[tuple[str, Html | None]]:
    card, template, models = source.card, source.template, collection.models
    links = {rendered.entry.id: rendered.entry.place for rendered in collection.cases()}

    def link(case: str) -> Html:
        place = links.get(case)
        label = plain(case, 80)
        return text(label) if place is None else tag("a", label, href=f"#case-{place}")

    decisions = "Rows: expected decision. Columns: decision of the model."
    recorded = document_decisions(source.documents)
    return [
        ("decision", first_screen(card, template)),
        ("scorecard", scorecard_section(card, template)),
        ("tasks", tasks_section(card, template)),
        ("ranks", ranks_section(card)),
        ("blockers", blockers_section(card, template, link)),
        ("scenarios", documents_section(source.documents)),
        (
            "decisions",
            confusion_section(
                "decisions",
                "Call or reject",
                recorded if recorded.models else collection.decisions,
                decisions,
                list(source.documents) or models,
            ),
        ),
        ("plans", plans_section(collection.plans, collection.plan_count - len(collection.plans))),
        (
            "sentiment",
            confusion_section(
                "sentiment",
                "Sentiment",
                collection.sentiments,
                "Sentences by expected label (rows) and given label (columns).",
                models,
            ),
        ),
        ("form", forms_section(collection.forms, models)),
        ("questions", questions_section(collection.questions.worst_first(), models)),
        ("slices", slices_section(collection.slices, models)),
        ("judge", judge_section(card, collection.verdicts)),
        ("compliance", compliance_section(source, collection)),
        ("provenance", coverage_section(source, collection.statuses)),
    ]


def _cases(source: ReportSource, collection: CaseCollection) -> Iterator[bytes]:
    rendered = collection.cases()
    heading = tag("h2", "Cases", id="cases-heading")
    yield f'<section id="cases" aria-labelledby="cases-heading">{heading}'.encode()
    yield tag("p", _cases_note(source, collection, len(rendered)), class_="note").encode()
    if rendered:
        yield _controls(rendered, collection.models).encode()
        yield b'<div id="case-list">'
        first = _count_first(rendered)
        for one in rendered[:first]:
            yield one.markup
        yield b"</div>"
        yield tag("button", "Show more cases", id="more", type="button", hidden=True).encode()
        for one in rendered[first:]:
            yield from _inert_case(one)
        yield _index_element(msgspec.json.encode(build_index(rendered)))
    yield b"</section>"


def _count_first(rendered: Sequence[RenderedCase]) -> int:
    """Return how many cases are elements from the start, so that the page opens at once."""
    used = 0
    for number, one in enumerate(rendered[:FIRST_CASES]):
        used += len(one.markup)
        if used > FIRST_BYTES:
            return max(1, number)
    return min(len(rendered), FIRST_CASES)


def _cases_note(source: ReportSource, collection: CaseCollection, number: int) -> str:
    if not collection.total:
        return "; ".join(source.absent) or "This scorecard has no cases."
    if collection.left_out:
        return (
            f"The {number} worst of {show_count(collection.total, 'case')}, worst first; "
            f"{collection.left_out} others are left out to limit the size of the file (--max-mb)."
        )
    return f"All {show_count(number, 'case')}, worst first."


def _inert_case(one: RenderedCase) -> Iterator[bytes]:
    """Yield a case as text in two script elements: summary and body.

    Escaped text cannot end an element; ValueError if it could.
    """
    lowered = one.markup.lower()
    if b"<script" in lowered or b"</script" in lowered or b"<!--" in lowered:
        raise ValueError("the HTML of a case contains a script or a comment")
    summary, separator, body = one.markup.partition(BODY)
    place = one.entry.place
    yield f'<script type="text/plain" id="head-{place}">'.encode() + summary
    yield f'</details></script><script type="text/plain" id="body-{place}">'.encode()
    yield separator + body.removesuffix(b"</details>") + b"</script>"


def _index_element(encoded: bytes) -> bytes:
    """Return the index as a script element that its JSON cannot end."""
    for char in (b"<", b">", b"&"):
        encoded = encoded.replace(char, b"\\u%04x" % ord(char))
    return b'<script type="application/json" id="index">' + escape_json(encoded) + b"</script>"


SORTS = {
    "worst": "Worst first",
    "best": "Best first",
    "spread": "Models differ most",
    "long": "Longest first",
    "id": "By id",
}
MARKS = {
    "": "All",
    "invalid": "Invalid",
    "error": "Error",
    "unjudged": "Waiting for a verdict",
    "different": "Models differ",
}


def _controls(rendered: Sequence[RenderedCase], models: Sequence[str]) -> Html:
    """Return the filter and sort controls; the script unhides them, as they need it."""
    entries = [one.entry for one in rendered]
    tags = sorted({one for entry in entries for one in entry.tags})[:200]
    return tag(
        "form",
        _field("Search", tag("input", type="search", name="text", autocomplete="off")),
        _choice("Show", "mark", MARKS),
        _choice("Task", "task", _options(entry.task for entry in entries)),
        _choice("Language", "lang", _options(entry.lang for entry in entries)),
        _choice("Tag", "tag", _options(tags)),
        _choice("Score of", "model", _model_options(models)),
        _choice("Sort", "sort", SORTS),
        tag("output", "", id="found", aria_live="polite"),
        id="controls",
        class_="controls",
        hidden=True,
    )


def _model_options(models: Sequence[str]) -> dict[str, str]:
    return {"": "All models"} | {str(place): model_name(one) for place, one in enumerate(models)}


def _options(values: Iterator[str] | Sequence[str]) -> dict[str, str]:
    return {"": "All"} | {one: plain(one, 40) for one in sorted({*values}) if one}


def _choice(label: str, key: str, options: dict[str, str]) -> Html | None:
    if len(options) < 3 and key not in ("sort", "mark"):
        return None
    choices = [tag("option", text, value=value) for value, text in options.items()]
    return _field(label, tag("select", choices, name=key))


def _field(label: str, control: Html) -> Html:
    return tag("label", tag("span", label), control)
