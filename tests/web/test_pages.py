"""The frame of pages: navigation, errors, ETags, the vendored script."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

import callscore.web
from callscore.report.markup import IN_APP, IN_PAGE, tag
from callscore.results.port import RunLine
from callscore.web.screens.home import seconds_left, show_left
from decision_cards import race
from web_server import Served

STATIC = Path(callscore.web.__file__).with_name("static")
HTMX_SHA256 = "a0abb04f2f45a1f89d1d4844023245537e5e6014c87b144553e0607b4cc32130"


def test_htmx_is_the_published_file() -> None:
    content = (STATIC / "htmx.js").read_bytes()
    assert sha256(content).hexdigest() == HTMX_SHA256
    assert "Zero-Clause BSD" in (STATIC / "htmx.LICENSE").read_text(encoding="utf-8")


def test_the_own_script_stays_small() -> None:
    assert len((STATIC / "app.js").read_bytes()) <= 4 * 1024


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("a", {"href": "//evil.example"}),
        ("a", {"href": "/\t/evil.example"}),
        ("a", {"href": "/\\evil.example"}),
        ("a", {"href": "javascript:alert(1)"}),
        ("a", {"href": "https://evil.example"}),
        ("form", {"action": "https://evil.example"}),
        ("div", {"hx_get": "https://evil.example"}),
        ("div", {"hx_on__click": "alert(1)"}),
        ("div", {"data_hx_get": "/"}),
        ("div", {"hx_vals": "js:{a: 1}"}),
        ("div", {"onclick": "alert(1)"}),
        ("div", {"style": "color: red"}),
    ],
)
def test_an_element_of_the_app_has_no_foreign_link_and_no_code(
    name: str, attributes: dict[str, str]
) -> None:
    with pytest.raises(ValueError, match="not allowed|must start with"):
        tag(name, links=IN_APP, **attributes)


def test_a_report_has_no_links_of_the_app() -> None:
    for attributes in ({"href": "/runs/1"}, {"action": "/x"}, {"hx_get": "/x"}):
        with pytest.raises(ValueError, match="in a report"):
            tag("a", links=IN_PAGE, **attributes)
    assert tag("a", "x", links=IN_APP, href="/runs/1?a=1&b=2") == (
        '<a href="/runs/1?a=1&amp;b=2">x</a>'
    )


def test_home_lists_the_runs(served: Served) -> None:
    reply = served.ask("/")
    assert reply.status == 200
    assert '<a href="/runs/1">sample</a>' in reply.text
    assert "208 of 208" in reply.text


AT_ONE = datetime(2026, 1, 1, 13, tzinfo=UTC)
RUNNING = RunLine(
    1, "r", "eval.yaml", "running", "2026-01-01T12:00:00+00:00", None, 100, 20, 5, 0, 0, 0,
    "missing", held_since="2026-01-01T12:00:01+00:00",
)  # fmt: skip


def test_the_time_left_follows_from_what_is_done_by_one_process() -> None:
    assert seconds_left(RUNNING, AT_ONE) == 3 * 3600  # 25 of 100 in an hour
    assert show_left(3 * 3600) == "about 3 hours left"
    assert show_left(61) == "about 2 min left"
    assert show_left(0) == "about a minute left"
    for changes in (
        {"held_since": "2026-01-01T12:30:00+00:00"},  # resumed: begun by another process
        {"held_since": None},
        {"answered": 0, "failed": 0},
        {"race": race("open", None, ["m"])},
        {"status": "broken off"},
    ):
        assert seconds_left(msgspec.structs.replace(RUNNING, **changes), AT_ONE) is None


def test_a_page_that_has_not_changed_is_not_sent_again(served: Served) -> None:
    etag = served.ask("/").headers["ETag"]
    again = served.ask("/", headers={"If-None-Match": etag})
    assert (again.status, again.text) == (304, "")


def test_errors_are_pages_that_say_what_is_allowed(served: Served) -> None:
    unknown = served.ask("/?colour=red")
    assert unknown.status == 400
    assert "&#x27;colour&#x27;: unknown; this page has no parameters" in unknown.text
    assert '<a href="/">The page without parameters</a>' in unknown.text
    assert served.ask("/runs/0").status == 404
    assert served.ask("/nothing").status == 404
    assert served.ask("/", "POST").status == 405
