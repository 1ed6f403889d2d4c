"""Elements shared by all sections: sections, tables, chips, figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from callscore.report.cells import Tone
from callscore.report.markup import Child, Html, join, tag
from callscore.report.safe_text import plain

MAX_NAME_LENGTH = 60
SHADES = 9


def section(key: str, heading: str, *children: Child, note: str = "") -> Html:
    """Return a section with its heading and an optional note on how to read it."""
    return tag(
        "section",
        tag("h2", heading, id=f"{key}-heading"),
        tag("p", note, class_="note") if note else None,
        *children,
        id=key,
        aria_labelledby=f"{key}-heading",
    )


def model_name(model: str) -> str:
    """Return the name of a model on one line."""
    return plain(model, MAX_NAME_LENGTH)


def chip(text: str, tone: Tone = "plain") -> Html:
    """Return a highlighted word; it must be clear without its colour."""
    return tag("span", text, class_=f"chip {tone}")


def status_word(status: str) -> str:
    """Return the status of an answer as it is shown everywhere."""
    return status.replace("_", " ")


def in_words(code: str) -> str:
    """Return a metric or a flag as words: `qa.false_pass_rate` is `qa false pass rate`."""
    return plain(code, 80).replace(".", " ").replace("_", " ")


def table(headings: Iterable[Child], rows: Iterable[Html], label: str, class_: str = "") -> Html:
    """Return a table that scrolls by itself if it is too wide, also by keyboard."""
    head = tag("thead", tag("tr", [tag("th", cell, scope="col") for cell in headings]))
    content = tag("table", tag("caption", label, class_="unseen"), head, tag("tbody", rows))
    return tag(
        "div",
        content,
        class_=f"scroll {class_}".strip(),
        tabindex=0,
        role="region",
        aria_label=label,
    )


def row(label: Child, cells: Iterable[Child | Html], class_: str = "") -> Html:
    """Return a row with its heading; cells that are `td` elements already stay as they are."""
    return tag(
        "tr",
        tag("th", label, scope="row"),
        [
            cell if isinstance(cell, Html) and cell.startswith("<td") else tag("td", cell)
            for cell in cells
        ],
        class_=class_ or None,
    )


def figure(picture: Html, caption: Child, numbers: Html | None = None) -> Html:
    """Return a picture with its caption and its numbers as a collapsed table."""
    return tag(
        "figure",
        picture,
        tag("figcaption", caption),
        collapsible("Numbers of this picture", numbers) if numbers is not None else None,
    )


def collapsible(summary: Child, *children: Child, class_: str = "") -> Html:
    """Return an element that is collapsed until clicked."""
    return tag("details", tag("summary", summary), *children, class_=class_ or None)


def shade(share: float) -> str:
    """Return the class of a cell, with a darker background for a larger share (0 to 1)."""
    return f"s{min(SHADES, max(0, round(share * SHADES)))}"


def join_with(parts: Sequence[Child], separator: str = ", ") -> Html:
    """Join parts with a separator."""
    joined: list[Child] = []
    for part in parts:
        if joined:
            joined.append(separator)
        joined.append(part)
    return join(joined)
