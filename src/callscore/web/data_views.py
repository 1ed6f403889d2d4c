"""What a data set is read as: its outcome, its files, the form of its columns, its questions and
its first case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from callscore.importers.conversation import ROLES as SPEAKERS
from callscore.importers.turn_fields import MAPPED
from callscore.report.html.parts import chip, collapsible, row, table
from callscore.report.markup import Child, Html, join, tag
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain
from callscore.uploads.data_folder import CASES, EVAL, DataSet
from callscore.web.page import command
from callscore.web.screen import element, link
from callscore.web.tables import export_form

if TYPE_CHECKING:
    from callscore.uploads.inspection import Inspection, TableView

AS_READ, IGNORE = "", "-"
"""Values of the fields of columns: as their heading says; not at all."""
MEANINGS = {
    "call": "the call",
    "question": "marks of",
    "comment": "comments on",
    "evaluator": "who marked",
    "unread": "not read",
    "unknown": "unknown",
    "ignored": "ignored",
}
SHOWN_LINES = 20
FIELDS = {
    "--columns": "Columns of marks",
    "--roles": "Speakers",
    "--format": "Read every file as this format",
    "--allow-unmarked": "Leave out questions without a mark on any call",
}
"""What the options of `callscore import`, which messages name, are called on this page."""


def outcome_section(data: DataSet, found: Inspection) -> Html:
    """What would be written or why nothing can be, and what was."""
    from callscore.uploads.inspection import command_of

    if found.problem:
        state = tag("p", chip("cannot be written", "bad"), " ", plain(found.problem, 2000),
                    class_="why", role="alert", dir="auto")  # fmt: skip
        fields = [
            f"{option} is “{label}”" for option, label in FIELDS.items() if option in found.problem
        ]
        here = tag("p", f"On this page, {' and '.join(fields)}.", class_="note") if fields else None
        return tag("div", state, here, id="outcome")
    number = data.number
    cases = data.out == CASES
    button = element(
        "form",
        tag("button", f"Write {found.written}" + (" and an eval file" if cases else "")),
        action=f"/data/{number}/write",
        method="post",
    )
    done = (data.folder / data.out).exists()
    downloads: list[Child] = []
    if done:
        downloads = [chip("written", "good"), export_form(data.out, f"/data/{number}/written")]
        if cases:
            run = command(f"callscore run {data.folder / EVAL}")
            downloads += [link(EVAL, f"/data/{number}/eval"), tag("p", "Start a run: ", run)]
        elif data.has_form:
            downloads += [link("Label these calls", f"/label/{number}")]
    return tag(
        "div",
        tag("p", chip("ready", "good"), f" {found.written}"),
        button,
        tag("div", downloads, class_="downloads") if downloads else None,
        collapsible("The same on the command line", command(command_of(data))),
        id="outcome",
    )


def files_section(data: DataSet, found: Inspection) -> Html:
    """Format, calls, turns, and what was skipped or guessed, file by file."""
    rows = []
    for report in found.files:
        counts = f"{show_count(report.calls, 'call')}, {show_count(report.turns, 'turn')}"
        lines = [f"skipped {one.where}: {one.why}" for one in report.skipped] + list(report.notes)
        told: Child = plain(report.problem, 400)
        if not report.problem:
            told = counts
        rows.append(
            row(
                plain(report.path, 80),
                [
                    chip("not imported", "bad") if report.problem else plain(report.format, 80),
                    told,
                    _lines(lines),
                    _remove_button(data, report.path),
                ],
            )
        )
    read = {report.path for report in found.files}
    for file in data.files:
        if file.name in read:
            continue
        kind: Child = file.role if file.role != "calls" else chip("not read", "bad")
        cells = [kind, f"{file.size:,} bytes", "", _remove_button(data, file.name)]
        rows.append(row(plain(file.name, 80), cells))
    notes = (
        tag("ul", [tag("li", plain(note, 400)) for note in found.notes]) if found.notes else None
    )
    headings = ("File", "Read as", "Content", "Skipped or guessed", "")
    return tag("section", tag("h2", "Files"), table(headings, rows, "Files"), notes)


def _remove_button(data: DataSet, name: str) -> Html:
    """Return the button that takes a file out of the data set."""
    return element(
        "form",
        element("input", type="hidden", name="file", value=name),
        tag("button", "Remove", aria_label=f"Remove {plain(name, 80)}"),
        action=f"/data/{data.number}/remove",
        method="post",
    )


def _lines(lines: Sequence[str]) -> Child:
    if not lines:
        return "nothing"
    items = [tag("li", plain(line, 300)) for line in lines[:SHOWN_LINES]]
    more = len(lines) - SHOWN_LINES
    if more > 0:
        items.append(tag("li", f"and {more} more"))
    return collapsible(show_count(len(lines), "line"), tag("ul", items))


def mapping_form(data: DataSet, found: Inspection) -> Html:
    """The form that says what columns, speakers and questions mean."""
    fields = [*_call_fields(data, found), *_speaker_fields(found), *_mark_fields(data, found)]
    choices = data.choices
    fields += [
        tag(
            "fieldset",
            tag("legend", "All files"),
            _text_field("lang", "Language of calls whose file does not name it", choices.lang),
            _text_field("format", FIELDS["--format"], choices.format),
            _check("redact", "Replace personal data by placeholders", choices.redact),
            _check(
                "allow_unmarked",
                FIELDS["--allow-unmarked"],
                choices.allow_unmarked,
            )
            if data.names("marks")
            else None,
        )
    ]
    is_open = bool(found.problem)
    form = element(
        "form", fields, tag("button", "Look again"), action=f"/data/{data.number}", method="post",
        class_="fields",
    )  # fmt: skip
    return tag("details", tag("summary", "What columns and speakers mean"), form, open=is_open)


def _text_field(name: str, label: str, value: str) -> Html:
    entry = element("input", name=name, value=value, maxlength=200)
    return tag("label", label, " ", entry)


def _check(name: str, label: str, value: bool) -> Html:
    box = element("input", type="checkbox", name=name, value="true", checked=value)
    return tag("label", box, " ", label)


def _select(name: str, options: Sequence[tuple[str, str]], chosen: str, label: str) -> Html:
    items = [tag("option", text, value=value, selected=value == chosen) for value, text in options]
    return tag("select", items, name=name, aria_label=label)


def _call_fields(data: DataSet, found: Inspection) -> Iterator[Html]:
    """Columns of tables of calls → fields of turns."""
    for view in found.tables[:3]:
        by_column = {column: field for field, column in data.choices.fields.items()}
        options = [(AS_READ, "as read"), *((field, field) for field in MAPPED if field != "turns")]
        heads = [
            tag(
                "th",
                tag("span", plain(heading, 60)),
                _select(f"field:{heading}", options, by_column.get(heading, AS_READ),
                        f"What {plain(heading, 60)} is"),
                scope="col",
            )
            for heading in view.headings
        ]  # fmt: skip
        yield _preview(view, heads, "Columns of calls")


def _preview(view: TableView, heads: Sequence[Html], legend: str) -> Html:
    body = [
        tag("tr", [tag("td", plain(cell, 80), dir="auto") for cell in cells]) for cells in view.rows
    ]
    more = f", and {view.more:,} more columns" if view.more else ""
    shown = tag("table", tag("thead", tag("tr", heads)), tag("tbody", body))
    return tag(
        "fieldset",
        tag("legend", f"{legend}: {plain(view.file, 60)} {plain(view.name, 40)}{more}"),
        tag("div", shown, class_="scroll", tabindex=0, role="region", aria_label=legend),
    )


def _speaker_fields(found: Inspection) -> Iterator[Html]:
    """Labels of speakers → roles."""
    if not found.speakers:
        return
    options = [(AS_READ, "as read"), *((one, one) for one in SPEAKERS)]
    fields = [
        tag(
            "label",
            tag("bdi", plain(label, 60)),
            " ",
            _select(f"role:{label}", options, role if role != label else AS_READ,
                    f"The role of {plain(label, 60)}"),
        )
        for label, role in found.speakers.items()
    ]  # fmt: skip
    yield tag("fieldset", tag("legend", FIELDS["--roles"]), fields)


def _mark_fields(data: DataSet, found: Inspection) -> Iterator[Html]:
    """Columns of marks → questions, with the nearest name for an unknown one."""
    questions = [(one.id, f"{one.id}: {plain(one.title, 60)}") for one in found.questions]
    options = [(AS_READ, "as read"), (IGNORE, "ignore"), ("call_id", "the call"), *questions]
    for view in found.marks[:3]:
        heads = []
        for column in view.columns:
            given = data.choices.columns.get(column.heading)
            chosen = AS_READ if given is None else given or IGNORE
            about = f" {column.question}" if column.question else ""
            near = f"nearest: {column.nearest}" if column.nearest else ""
            tone = "bad" if column.meaning == "unknown" else "plain"
            heads.append(
                tag(
                    "th",
                    tag("bdi", plain(column.heading, 60)),
                    tag("span", MEANINGS[column.meaning] + plain(about, 60), class_=f"chip {tone}"),
                    tag("small", plain(near, 80)) if near else None,
                    _select(f"column:{column.heading}", options, chosen,
                            f"What {plain(column.heading, 60)} is"),
                    scope="col",
                )
            )  # fmt: skip
        yield _preview(view, heads, FIELDS["--columns"])


def questions_section(data: DataSet, found: Inspection) -> Html | None:
    """The questions of the form, and how many calls have a mark for each (C-139)."""
    if not found.questions:
        return None
    has_marks = data.out == CASES and not found.problem
    rows = []
    for one in found.questions:
        cells: list[Child] = [plain(one.section, 60), plain(" · ".join(one.options), 120)]
        if has_marks:
            unmarked = found.calls - one.marked
            cells.append(
                join(f"{one.marked} of {found.calls} ",
                     chip(f"{unmarked} not marked", "middling") if unmarked else None)
            )  # fmt: skip
        critical = chip("critical", "bad") if one.critical else None
        rows.append(row(join(plain(one.title, 200), " ", critical), cells))
    headings = ["Question", "Section", "Answers", *(["Marked"] if has_marks else [])]
    note = "A cell without a mark is no N/A: the question is not asked on that call."
    return tag(
        "section",
        tag("h2", "Questions"),
        tag("p", note, class_="note") if has_marks else None,
        table(headings, rows, "Questions of the form"),
    )


def first_case_section(found: Inspection) -> Html | None:
    """The first case as it would be written."""
    if found.first is None:
        return None
    first = found.first
    transcript = first["transcript"]
    said: Child = transcript if isinstance(transcript, str) else [
        tag("li", tag("b", plain(turn["speaker"], 40)), " ", tag("span", turn["text"], dir="auto"))
        for turn in transcript
    ]  # fmt: skip
    left = first.get("turns", 0) - len(transcript) if not isinstance(transcript, str) else 0
    marks = [
        row(plain(str(one["question_id"]), 60),
            ["N/A" if one.get("score") is None else f"{one['score']:g}",
             plain(str(one.get("reason") or ""), 300)])
        for one in first.get("expected_outcome", {}).get("questions", ())
    ]  # fmt: skip
    return tag(
        "section",
        tag("h2", f"First: {plain(str(first['id']), 80)}"),
        tag("ol", said, class_="said"),
        tag("p", f"and {show_count(left, 'turn')} more", class_="note") if left > 0 else None,
        table(("Question", "Points", "Reason"), marks, "Marks of the first case")
        if marks
        else None,
    )
