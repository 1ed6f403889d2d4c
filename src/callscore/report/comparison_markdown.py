"""A comparison as Markdown for a pull request; names and texts are code spans, never markup."""

from __future__ import annotations

from collections.abc import Iterator

from callscore.core.comparison import Comparison, RowDifference
from callscore.report import comparison_rows as cells
from callscore.report.markdown_text import code, statement_items, table

MARKS = {"better": "🟢", "worse": "🔴", "": ""}
MAX_BYTES = 60_000
"""GitHub limits a comment to 65,536 characters."""


def comparison_markdown(
    comparison: Comparison, *, all_rows: bool = False, max_cases: int = 20
) -> str:
    """Return the comparison, with fewer cases if it would exceed the size of a comment."""
    for count in (max_cases, max_cases // 4, 0):
        text = "\n".join(_parts(comparison, count, all_rows=all_rows)) + "\n"
        if len(text) <= MAX_BYTES:
            break
    return text


def _parts(comparison: Comparison, max_cases: int, *, all_rows: bool) -> Iterator[str]:
    first, second = comparison.first, comparison.second
    names = [code(side.label, 60, in_table=False) for side in (first, second)]
    yield f"### Callscore: {names[0]} → {names[1]}"
    yield ""
    if comparison.not_comparable:
        sentence = code("; ".join(comparison.not_comparable), 400, in_table=False)
        yield f"**⚠️ NOT COMPARABLE (C-126):** {sentence}"
        yield ""
    yield f"> {code(comparison.conclusion, 400, in_table=False)}"
    yield ""
    yield from statement_items(cells.state_comparison(comparison))
    headings = ["", "first", "second", "change", "95 % interval", "p (Holm)", ""]
    rows = [row for row in comparison.rows if cells.is_shown(row, all_rows=all_rows)]
    yield from table(headings, [_row(row) for row in rows])
    yield ""
    for head, slugs in (
        ("🔴 New official blockers", comparison.new_blockers),
        ("🟢 Official blockers that are gone", comparison.gone_blockers),
    ):
        if slugs:
            yield f"{head}: {', '.join(code(slug, in_table=False) for slug in slugs)}"
            yield ""
    yield from _cases(comparison, max_cases)
    foot = [cells.describe_pairing(comparison)] if comparison.calls else []
    for note in [*foot, *comparison.notes]:
        yield f"- {code(note, 400, in_table=False)}"


def _row(row: RowDifference) -> list[str]:
    shown = cells.show_label(row)
    label = f"**{shown}**" if row.kind in ("final", "task") else shown
    return [
        label,
        cells.show_value(row.first, row.unit),
        cells.show_value(row.second, row.unit),
        cells.show_difference(row.difference, row.unit),
        cells.show_row_interval(row),
        cells.show_p_value(row.p if row.kind == "final" else row.p_holm).replace("<", "&lt;"),
        MARKS[cells.direction_word(row)],
    ]


def _cases(comparison: Comparison, max_cases: int) -> Iterator[str]:
    if not comparison.cases:
        return
    yield "<details>"
    yield f"<summary>Cases: {cells.describe_counts(comparison)}</summary>"
    yield ""
    changed = cells.worst_first(comparison.cases)
    rows = [
        [
            code(change.case_id),
            code(change.task),
            cells.show_difference(change.change, "fraction") if change.change else "",
            code(cells.describe_case(change), 200),
        ]
        for change in changed[:max_cases]
    ]
    if rows:
        yield from table(["case", "task", "change", ""], rows)
    if len(changed) > max_cases:
        yield ""
        yield f"{len(changed) - max_cases} more."
    yield ""
    yield "</details>"
    yield ""
