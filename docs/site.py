"""Writes the documentation as HTML into a folder: `make site`. No script, no network."""

from __future__ import annotations

import html
import re
import shutil
import sys
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

DOCS = Path(__file__).parent
STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 16px/1.6 system-ui, sans-serif; max-width: 60rem;
  margin: 0 auto; padding: 1rem 1.25rem 4rem; }
nav { border-bottom: 1px solid var(--line); padding-bottom: .5rem; }
nav a { margin-right: 1rem; }
pre { background: var(--soft); padding: .75rem 1rem; overflow-x: auto; border-radius: 6px; }
code { font-size: .92em; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .3rem .6rem; text-align: left;
  vertical-align: top; }
img { max-width: 100%; }
"""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src 'self'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<nav><a href="{root}index.html">Callscore documentation</a></nav>
<main>
{body}
</main>
</body>
</html>
"""  # noqa: E501
LINK = re.compile(r'(href="(?!https?:)[^"#]*)\.md(#[^"]*)?"')
HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
ANCHOR = re.compile(r'<a id="[a-z0-9-]+"></a>')


def render(text: str, depth: int) -> str:
    """A page of Markdown as HTML; raw HTML in it stays text, except anchors. Links lead to HTML
    pages, headings have the ids that GitHub gives them.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    parser.inline.ruler.before("autolink", "anchor", keep_anchor)
    tokens = parser.parse(text)
    for opening, inline in zip(tokens, tokens[1:], strict=False):
        if opening.type == "heading_open":
            opening.attrSet("id", heading_id(inline.content))
    body = LINK.sub(r'\1.html\2"', parser.renderer.render(tokens, parser.options, {}))
    found = HEADING.search(text)
    title = html.escape(found[1].replace("`", "")) if found else "Callscore"
    return PAGE.format(title=title, style=STYLE, root="../" * depth, body=body)


def keep_anchor(state: StateInline, silent: bool) -> bool:
    """A rule of the parser: `<a id="c-115"></a>` marks a place to link to."""
    found = ANCHOR.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("html_inline", "", 0).content = found[0]
    state.pos = found.end()
    return True


def heading_id(heading: str) -> str:
    """Letters, digits and hyphens of a heading in lower case, as in links on GitHub."""
    text = ANCHOR.sub("", heading).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def build(target: Path) -> list[Path]:
    """Write every page and picture below `target`; the pages that were written."""
    written = []
    for source in sorted(DOCS.rglob("*.md")):
        inside = source.relative_to(DOCS)
        page = target / inside.with_suffix(".html")
        page.parent.mkdir(parents=True, exist_ok=True)
        text = re.sub(r"^<!--.*?-->\n", "", source.read_text(encoding="utf-8"), flags=re.DOTALL)
        page.write_text(render(text, len(inside.parts) - 1), encoding="utf-8")
        written.append(page)
    for picture in (DOCS / "pictures").glob("*.*"):
        (target / "pictures").mkdir(parents=True, exist_ok=True)
        shutil.copy(picture, target / "pictures" / picture.name)
    return written


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "site")
    sys.stdout.write(f"{folder}: {len(build(folder))} pages\n")
