"""Faults and read-only stores: every answer is a page, and nothing is written."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

from callscore.report.markup import tag
from callscore.results.stored import StoredResults
from callscore.web.screen import Answer, Page, Redirect, Route, Site, Visit, WebSession
from callscore.web.security import Guard
from callscore.web.server import build_app


def fail(_: Visit) -> Answer:
    raise ZeroDivisionError("secret of the inside")


def show(_: Visit) -> Answer:
    return Page("Shown", tag("p", "shown"))


def write(_: Visit) -> Answer:
    return Redirect("/shown")


ROUTES = (
    Route("GET", "/fail", fail),
    Route("GET", "/shown", show),
    Route("POST", "/write", write),
    Route("POST", "/keep", write, writes="data"),
)


def ask(store: Path, requests: Sequence[tuple[str, str]], read_only: bool) -> list[tuple[int, str]]:
    """The answers of an app with these routes."""

    async def talk() -> list[tuple[int, str]]:
        results = StoredResults(store)
        guard = Guard([], "callscore-1")
        server = TestServer(build_app(Site(results, store, ROUTES, read_only=read_only), guard))
        async with TestClient(server) as client:
            origin = f"http://{server.host}:{server.port}"
            guard.origins, guard.hosts = frozenset([origin]), frozenset([origin[7:]])
            opened = guard.redeem(guard.issue_start_token(WebSession("ana")))
            headers = {"Cookie": f"callscore-1={opened}", "Origin": origin}
            found = []
            for method, path in requests:
                reply = await client.request(method, path, headers=headers, allow_redirects=False)
                found.append((reply.status, await reply.text()))
        results.close()
        return found

    return asyncio.run(talk())


def test_a_fault_is_a_page_that_keeps_the_inside_to_the_terminal(
    sample_store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (status, page), (after, _) = ask(sample_store, [("GET", "/fail"), ("GET", "/shown")], False)
    assert (status, after) == (500, 200)
    assert "Callscore has failed" in page
    assert 'href="/fail"' in page
    assert "secret" not in page
    assert "secret of the inside" in caplog.text


def test_a_read_only_store_is_shown_and_not_written(sample_store: Path) -> None:
    asked = [("GET", "/shown"), ("POST", "/write"), ("POST", "/keep")]
    (shown, page), (refused, why), (kept, _) = ask(sample_store, asked, True)
    assert (shown, refused, kept) == (200, 403, 303)
    assert '<span class="chip">read-only</span>' in page
    assert "The store is read-only" in why
