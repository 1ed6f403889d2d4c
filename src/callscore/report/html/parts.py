"""Small parts that every section uses: sections, tables, chips, pictures with their table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from callscore.report.cells import Tone
from callscore.report.markup import Child, Html, join, tag
from callscore.report.safe_text import plain

LONGEST_NAME = 60
SHADES = 9


def section(key: str, heading: str, *children: Child, note: str = "") -> Html:
    """A part of the report with its heading, and a line that says how to read it."""
    return tag(
        "section",
        tag("h2", heading, id=f"{key}-heading"),
        tag("p", note, class_="note") if note else None,
        *children,
        id=key,
        aria_labelledby=f"{key}-heading",
    )


def model_name(model: str) -> str:
    """The name of a model, on one line."""
    return plain(model, LONGEST_NAME)


def chip(shown: str, tone: Tone = "plain") -> Html:
    """A highlighted word; its tone is never the only sign."""
    return tag("span", shown, class_=f"chip {tone}")


def table(headings: Iterable[Child], rows: Iterable[Html], label: str, class_: str = "") -> Html:
    """A table that scrolls within itself if it is too wide, reachable by keyboard."""
    head = tag("thead", tag("tr", [tag("th", cell, scope="col") for cell in headings]))
    found = tag("table", tag("caption", label, class_="unseen"), head, tag("tbody", rows))
    return tag(
        "div", found, class_=f"scroll {class_}".strip(), tabindex=0, role="region", aria_label=label
    )


def row(label: Child, cells: Iterable[Child | Html], class_: str = "") -> Html:
    """A row whose first cell is its heading; a cell that is a `td` already stays as it is."""
    return tag(
        "tr",
        tag("th", label, scope="row"),
        [
            cell if isinstance(cell, Html) and cell.startswith("<td") else tag("td", cell)
            for cell in cells
        ],
        class_=class_ or None,
    )


def figure(picture: Html, caption: Child, behind: Html | None = None) -> Html:
    """A picture, what it shows, and its numbers as a table behind it."""
    return tag(
        "figure",
        picture,
        tag("figcaption", caption),
        collapsible("Numbers of this picture", behind) if behind is not None else None,
    )


def collapsible(summary: Child, *children: Child, class_: str = "") -> Html:
    """Something that opens on request."""
    return tag("details", tag("summary", summary), *children, class_=class_ or None)


def shade(share: float) -> str:
    """The class of a cell whose ground is the darker, the larger a share from 0 to 1."""
    return f"s{min(SHADES, max(0, round(share * SHADES)))}"


def join_with(parts: Sequence[Child], separator: str = ", ") -> Html:
    """Parts with something between them."""
    found: list[Child] = []
    for part in parts:
        if found:
            found.append(separator)
        found.append(part)
    return join(found)
