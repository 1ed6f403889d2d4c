"""The frame of a page: head, navigation, tabs of a run; and the pages of errors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from callscore.core.version import __version__
from callscore.report.html.page import style_sheet
from callscore.report.html.parts import chip
from callscore.report.markup import Child, Html, join, tag
from callscore.report.safe_text import plain
from callscore.results.port import RunLine
from callscore.web.screen import Page, Site, WebSession, element, link

RUN_TABS = {
    "": "Decision",
    "scorecard": "Scorecard",
    "questions": "Questions",
    "matrix": "Matrix",
    "review": "Review",
    "judge": "Judge",
    "gold": "Gold",
    "agents": "Agents",
}
"""The words of paths, and the tabs of a run; a tab is shown if a screen serves its path."""
RUN_KEYS = {
    "": "d",
    "scorecard": "s",
    "questions": "q",
    "matrix": "m",
    "review": "r",
    "judge": "j",
    "gold": "g",
    "agents": "a",
}
"""The letter behind `g` that goes to a tab."""
SITE_TABS = {
    "/": "Runs",
    "/compare": "Compare",
    "/data": "Data",
    "/label": "Label",
    "/events": "Log",
}
SITE_KEYS = {"/": "h", "/compare": "c", "/data": "i", "/label": "l", "/events": "e"}
KEYS = {
    "j": "next",
    "k": "previous",
    "/": "search",
    "[ ]": "the model before or after",
    ".": "raw replies",
    "w": "the reference is wrong",
    "1 – 9": "the answer that is shown with the digit",
    "0": "cannot tell (Label)",
    "e": "evidence (Case); quote the selected words (Label)",
    "o": "write the reason (Review)",
    "u": "take the last word back (Review)",
    "?": "these keys",
}
SAMPLE = "SAMPLE DATA: made-up calls, simulated models"
HTMX_CONFIG = '{"prefix":"","includeIndicatorCSS":false}'
_SCRIPTS = Html(
    '<script src="/static/htmx.js" defer></script><script src="/static/app.js" defer></script>'
)
_STATIC = Path(__file__).with_name("static")


@cache
def static_files() -> dict[str, tuple[str, bytes, str]]:
    """Every static file: media type, content and ETag by name. Nothing else is served."""
    style = style_sheet() + (_STATIC / "app.css").read_text(encoding="utf-8")
    files = {
        "app.css": ("text/css", style.encode()),
        "app.js": ("text/javascript", (_STATIC / "app.js").read_bytes()),
        "icon.svg": ("image/svg+xml", (_STATIC / "icon.svg").read_bytes()),
        "label.js": ("text/javascript", (_STATIC / "label.js").read_bytes()),
        "htmx.js": ("text/javascript", (_STATIC / "htmx.js").read_bytes()),
    }
    return {
        name: (kind, content, f'"{sha256(content).hexdigest()[:32]}"')
        for name, (kind, content) in files.items()
    }


def render_page(page: Page, site: Site, session: WebSession | None) -> str:
    """Return a whole page."""
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="htmx-config", content=HTMX_CONFIG),
        tag("title", f"{plain(page.title, 120)} · Callscore"),
        element("link", rel="stylesheet", href="/static/app.css"),
        element("link", rel="icon", href="/static/icon.svg"),
        _SCRIPTS,
    ]
    body = [
        element("a", "Skip to the content", href="#main", class_="skip"),
        _top(site, session),
        _run_tabs(page, site) if page.run is not None else None,
        tag("main", page.main, id="main", tabindex=-1),
        _keys(page, site),
    ]
    return (
        f'<!doctype html><html lang="en"><head>{join(head)}</head>'
        f"{tag('body', body, class_='callscore app')}</html>\n"
    )


def _top(site: Site, session: WebSession | None) -> Html:
    tabs = [
        link(label, path, data_key=f"g {SITE_KEYS[path]}")
        for path, label in SITE_TABS.items()
        if site.has(path)
    ]
    who: list[Child] = []
    if session is not None:
        who = [tag("span", plain(session.author, 40), class_="who", title=f"role: {session.role}")]
    return tag(
        "header",
        link("Callscore", "/", class_="brand"),
        tag("nav", tabs if session is not None else None, aria_label="App"),
        chip(SAMPLE, "middling") if site.is_sample else None,
        tag("span", "read-only", class_="chip") if site.read_only else None,
        who,
        tag("button", "Dark / light", id="theme", type="button", hidden=True),
        class_="top",
    )


def _run_tabs(page: Page, site: Site) -> Html:
    run = page.run
    assert run is not None
    return tag(
        "div",
        tag("p", tag("b", plain(run.name, 80)), " ", _run_state(run), class_="run-name"),
        tag("nav", _tabs(run, page.tab, site), aria_label="Run"),
        None if page.searches else _search(run),
        class_="run",
    )


def _search(run: RunLine) -> Html:
    """Return the search for a call by its id; Matrix has its own."""
    entry = tag(
        "input",
        type="search",
        name="q",
        placeholder="Find a call",
        aria_label="Find a call by its id",
        data_key="/",
        required=True,
    )
    return element("form", entry, action=f"/runs/{run.id}/find", role="search", class_="find")


def _tabs(run: RunLine, here: str, site: Site) -> list[Html]:
    tabs = []
    for word, label in RUN_TABS.items():
        path = "/runs/{run}" + (f"/{word}" if word else "")
        if word == "review":
            path += "/disputed"
        if site.has(path):
            current = "page" if word == here else None
            to = path.replace("{run}", str(run.id))
            tabs.append(link(label, to, aria_current=current, data_key=f"g {RUN_KEYS[word]}"))
    return tabs


def _run_state(run: RunLine) -> Html:
    """Return the number of the run, and its state if it is not complete."""
    state = None if run.status == "complete" else chip(run.status, "middling")
    return join(tag("span", f"run {run.id}", class_="quiet"), " ", state)


def _keys(page: Page, site: Site) -> Html:
    tabs = {f"g {SITE_KEYS[path]}": label for path, label in SITE_TABS.items() if site.has(path)}
    if page.run is not None:
        tabs |= {f"g {RUN_KEYS[word]}": label for word, label in RUN_TABS.items()}
    rows = [
        tag("div", tag("dt", [join(tag("kbd", one), " ") for one in key.split()]), tag("dd", does))
        for key, does in (KEYS | tabs).items()
    ]
    return tag(
        "dialog",
        tag("h2", "Keys"),
        tag("dl", rows, class_="keys"),
        tag("form", tag("button", "Close"), method="dialog"),
        id="keys",
        aria_label="Keys",
    )


def error_page(status: int, why: str, remedy: Child = None) -> Page:
    """Return the page of an error; it keeps its address, so that reloading tries again."""
    headings = {
        400: "This address has a value that is not allowed",
        401: "No session",
        403: "Not allowed",
        404: "There is no such page",
        409: "Someone was faster",
        413: "The file is too large",
        422: "These files cannot be used",
        500: "Callscore has failed",
        501: "A package is missing",
        503: "The store does not answer",
    }
    heading = headings.get(status, "This is not possible")
    main = tag(
        "section",
        tag("h1", heading),
        tag("p", plain(why, 1_000), class_="why"),
        tag("p", remedy) if remedy is not None else None,
        class_="error",
    )
    return Page(heading, main, status=status)


def command(words: str) -> Html:
    """Return a command to be copied."""
    return tag(
        "span",
        tag("code", words),
        tag("button", "Copy", type="button", class_="copy", data_copy=words, hidden=True),
        class_="command",
    )


def empty(sentence: str, words: str) -> Html:
    """Return what is shown in place of an empty list: a sentence, and the command that fills it."""
    return tag("div", tag("p", sentence), tag("p", command(words)), class_="empty")


def not_scored(run: RunLine) -> Html:
    """Return what is shown of a run without scores: what it waits for."""
    if run.answered:
        return notice("This run is being scored. The page shows the scores when they are ready.")
    resume = f"callscore run {plain(run.eval_file, 200)} --resume"
    return empty("This run has no answers yet.", resume)


def notice(*children: Child) -> Html:
    """Return a sentence above the content of a page."""
    return tag("p", *children, class_="notice", role="status")


def field(label: str, control: Html) -> Html:
    """Return a control of a form with its label."""
    return tag("label", tag("span", label), control)


def choice(label: str, key: str, options: Mapping[str, str], chosen: str) -> Html:
    """Return a selection with its label; the first option is the default, and is not sent."""
    default = next(iter(options), "")
    entries = [
        tag("option", words, value="" if value == default else value, selected=value == chosen)
        for value, words in options.items()
    ]
    return field(label, tag("select", entries, name=key))


def version_line() -> str:
    """Return the version, which is part of every ETag."""
    return __version__
