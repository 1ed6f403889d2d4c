"""HTML and SVG elements whose text is always escaped.

`text` is the only place where a string becomes markup; `tag` passes every child and every attribute
through it. `tag` refuses styles, event handlers and links to other documents; its link policy says
which links are allowed: within the page, or also to pages of the app.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from html import escape
from typing import NamedTuple, TypeAlias

from callscore.core.lazy import lazy_regex

VOID = frozenset({"br", "hr", "input", "link", "meta"})
_UNSAFE = lazy_regex(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff]"
)
"""Control characters, direction marks and lone surrogates, which no text needs."""
_REFUSED = re.compile(
    r"^(on|style$|src$|srcdoc$|formaction$|data-hx-|hx-(on|vals|headers|config|boost|put|patch|delete))",
    re.IGNORECASE,
)
"""Attributes whose value a browser, or htmx, may execute, and those that no page needs."""
_LINKS = frozenset({"href", "action", "hx-get", "hx-post"})


class Html(str):
    """Text that is markup already; only `tag`, `text` and `join` create it."""

    __slots__ = ()


class LinkPolicy(NamedTuple):
    """Which links an element may have."""

    allowed: re.Pattern[str]
    attributes: frozenset[str]
    """Of `href`, `action`, `hx-get` and `hx-post`."""
    described: str


IN_PAGE = LinkPolicy(re.compile(r"#"), frozenset({"href"}), "links in a report must start with #")
IN_APP = LinkPolicy(
    # browsers drop control characters from links, and read a backslash as a slash
    re.compile(r"\A(?:#|/(?![/\\])[^\\\x00-\x1f\x7f]*\Z)"),
    _LINKS,
    "links in the app must start with # or with one /",
)


Child: TypeAlias = "str | int | float | None | Iterable[Child]"
Attribute: TypeAlias = "str | int | float | bool | None"


def text(value: str | int | float) -> Html:
    """Return a value as markup: unsafe characters become U+FFFD, special characters entities."""
    if isinstance(value, Html):
        return value
    content = str(value)
    if not (content.isascii() and content.isprintable()):
        content = _UNSAFE.sub("\ufffd", content)
    return Html(escape(content))


def join(*children: Child) -> Html:
    """Concatenate children; None is skipped."""
    parts: list[str] = []
    _collect(children, parts)
    return Html("".join(parts))


def tag(
    name: str, /, *children: Child, links: LinkPolicy = IN_PAGE, **attributes: Attribute
) -> Html:
    """Return an element: `tag("td", "5 < 7", class_="number", data_model=3)`.

    Underscores in the name of an attribute become hyphens, one at its end is dropped. An attribute
    that is None or False is left out.
    """
    parts = ["<", name]
    for key, value in attributes.items():
        if value is not None and value is not False:
            parts.append(_attribute(_attribute_name(key), value, links))
    parts.append(">")
    if name not in VOID:
        _collect(children, parts)
        parts += ("</", name, ">")
    return Html("".join(parts))


@cache
def _attribute_name(key: str) -> str:
    name = key.rstrip("_").replace("_", "-")
    if _REFUSED.match(name):
        raise ValueError(f"the attribute {name} is not allowed")
    return name


def _attribute(name: str, value: str | int | float | bool, links: LinkPolicy) -> str:
    if name in _LINKS:
        if name not in links.attributes:
            raise ValueError(f"the attribute {name} is not allowed in a report")
        if not links.allowed.match(str(value)):
            raise ValueError(links.described)
    return f" {name}" if value is True else f' {name}="{text(value)}"'


def _collect(children: Iterable[Child], parts: list[str]) -> None:
    for child in children:
        if child.__class__ is Html:
            parts.append(child)
        elif isinstance(child, (str, int, float)):
            parts.append(text(child))
        elif child is not None:
            _collect(child, parts)
