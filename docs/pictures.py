"""`make pictures`: the pictures of README and docs, from the bundled sample calls.

They are SVG that Callscore draws itself, so that the same code gives the same bytes; a test
compares the files with what the code draws today.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

from callscore.app import score_files
from callscore.core.scorecard import Scorecard
from callscore.demo import sample_calls
from callscore.report.html.first_screen import first_screen as first_screen_of
from callscore.results.port import Results, RunLine
from callscore.suites.registry import template_of
from callscore.web.page import render_page, static_files
from callscore.web.screen import Page, Site, WebSession
from callscore.web.screens import all_routes

HERE = Path(__file__).parent / "pictures"
WIDTH, HEIGHT = 1200, 790
SVG = "http://www.w3.org/2000/svg"


def first_screen(card: Scorecard) -> str:
    """The first screen of the report, as a picture that a browser draws."""
    inside = card._repr_html_()
    return _as_svg(inside.replace('class="callscore"', 'class="callscore" data-theme="light"'))


def _as_svg(inside: str, height: int = HEIGHT) -> str:
    """HTML as XML, in a picture of a fixed size."""
    for html, xml in (
        ("<style>", "<style><![CDATA["),
        ("</style>", "]]></style>"),
        ("<details", '<details hidden="hidden"'),
        ('<svg class="picture"', f'<svg xmlns="{SVG}" class="picture"'),
        ("@media (max-width:", "@media (width < 0) and (max-width:"),  # a page may show it small
    ):
        inside = inside.replace(html, xml)
    sheet = f"background:#fff;padding:24px;height:{height}px"
    return (
        f'<svg xmlns="{SVG}" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}"><foreignObject width="100%" height="100%">'
        f'<div xmlns="http://www.w3.org/1999/xhtml" style="{sheet}">{inside}</div>'
        "</foreignObject></svg>\n"
    )


def decision_screen(card: Scorecard) -> str:
    """The Decision screen of the app, as a picture that a browser draws."""
    run = RunLine(
        1, "sample", "eval.yaml", "complete", "", None, 208, 208, 0, 0.0, 0.0, 0.0, "fresh"
    )
    main = first_screen_of(card, template_of(card), standalone=True)
    site = Site(cast(Results, None), Path("runs.db"), all_routes())
    page = render_page(Page("Decision", main, run=run), site, WebSession("you"))
    body = page[page.index("<header") : page.index("<dialog")]
    style = static_files()["app.css"][1].decode().replace("body.callscore", ".callscore")
    inside = f'<div class="callscore app" data-theme="light"><style>{style}</style>{body}</div>'
    inside = inside.replace(" hidden>", ' hidden="hidden">').replace(" required>", ">")
    return _as_svg(re.sub("<input([^>]*)>", r"<input\1/>", inside), HEIGHT + 130)


PICTURES: Mapping[str, Callable[[Scorecard], str]] = {
    "report.svg": first_screen,
    "app.svg": decision_screen,
    "metric.svg": lambda card: card.plot("metric", "qa.question_score_accuracy"),
}


def pictures() -> dict[str, str]:
    """Every picture by its file name."""
    with sample_calls() as config:
        card = score_files(config)
    return {name: str(draw(card)) for name, draw in PICTURES.items()}


if __name__ == "__main__":
    for name, drawn in pictures().items():
        (HERE / name).write_text(drawn, encoding="utf-8")
