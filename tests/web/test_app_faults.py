"""Faults, read-only stores and roles: every answer is a page, and nothing is written."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

import commands
from callscore.report.markup import tag
from callscore.results.stored_results import StoredResults
from callscore.store import results_index
from callscore.web.screen import (
    ROLES,
    Answer,
    Page,
    Redirect,
    Role,
    Route,
    Site,
    Visit,
    WebSession,
)
from callscore.web.screens import all_routes
from callscore.web.security import Guard
from callscore.web.server import build_app
from command_server import NEVER_S
from eval_files import cases_file, eval_file
from web_server import serve


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


def ask(
    store: Path,
    requests: Sequence[tuple[str, str]],
    read_only: bool = False,
    role: Role = "admin",
    routes: Sequence[Route] = ROUTES,
    most_s: float | None = None,
    headers: Mapping[str, str] | None = None,
) -> list[tuple[int, str]]:
    """The answers of an app with these routes to a person with this role."""

    async def talk() -> list[tuple[int, str]]:
        results = StoredResults(store, most_s=most_s)
        guard = Guard([], "callscore-1")
        server = TestServer(build_app(Site(results, store, routes, read_only=read_only), guard))
        async with TestClient(server) as client:
            origin = f"http://{server.host}:{server.port}"
            guard.origins, guard.hosts = frozenset([origin]), frozenset([origin[7:]])
            opened = guard.redeem(guard.issue_start_token(WebSession("ana", role)))
            sent = {"Cookie": f"callscore-1={opened}", "Origin": origin} | dict(headers or {})
            found = []
            for method, path in requests:
                reply = await client.request(method, path, headers=sent, allow_redirects=False)
                found.append((reply.status, await reply.text()))
        results.close()
        return found

    return asyncio.run(talk())


def test_a_fault_is_a_page_that_keeps_the_inside_to_the_terminal(
    sample_store: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (status, page), (after, _) = ask(sample_store, [("GET", "/fail"), ("GET", "/shown")])
    assert (status, after) == (500, 200)
    assert "Callscore has failed" in page
    assert 'href="/fail"' in page
    assert "secret" not in page
    assert "secret of the inside" in caplog.text


def test_a_search_that_takes_too_long_is_stopped_and_the_page_says_so(
    sample_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_index, "STEPS", 10)  # the sample needs fewer than are checked
    search = [("GET", "/runs/1/matrix?q=refund"), ("GET", "/runs/1")]
    routes = all_routes()
    (status, page), (after, _) = ask(sample_store, search, routes=routes, most_s=0.0)
    assert (status, after) == (503, 200)
    assert "The store does not answer" in page
    assert "stopped, as it took longer than 0 seconds" in page
    ((_, found),) = ask(sample_store, search[:1], routes=routes, most_s=NEVER_S)
    assert "52 cases" not in found
    assert re.search("[0-9]+ cases", found)


def test_an_error_replaces_the_rows_and_leaves_the_filters(sample_store: Path) -> None:
    asked = {"HX-Request": "true", "HX-Request-Type": "partial", "HX-Target": "div#rows"}
    wrong = [("GET", "/runs/1/matrix?min=low")]
    ((status, part),) = ask(sample_store, wrong, routes=all_routes(), headers=asked)
    assert status == 400
    assert part.startswith('<div id="rows">')
    assert "expected a number" in part


def test_a_read_only_store_is_shown_and_not_written(sample_store: Path) -> None:
    asked = [("GET", "/shown"), ("POST", "/write"), ("POST", "/keep")]
    (shown, page), (refused, why), (kept, _) = ask(sample_store, asked, True)
    assert (shown, refused, kept) == (200, 403, 303)
    assert '<span class="chip">read-only</span>' in page
    assert "The store is read-only" in why


def address(route: Route) -> tuple[str, str]:
    return route.method, re.sub(r"\{\w+\}", "1", route.path)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_that_is_too_low_is_refused_on_every_route(sample_store: Path, role: Role) -> None:
    routes = all_routes()
    refused = [one for one in routes if ROLES.index(one.role) > ROLES.index(role)]
    assert refused or role in ("review", "admin")
    found = ask(sample_store, [address(one) for one in refused], role=role, routes=routes)
    for route, (status, page) in zip(refused, found, strict=True):
        assert status == 403, route
        assert f"Your role is {role}; this needs the role {route.role}" in page


def test_every_route_that_writes_refuses_the_origin_of_another_page(sample_store: Path) -> None:
    routes = all_routes()
    writes = [address(one) for one in routes if one.method == "POST"]
    asked = [*writes, ("POST", "/login"), ("POST", "/logout")]
    assert len(writes) > 10
    foreign = {"Origin": "http://127.0.0.1:1"}
    for asking, (status, page) in zip(
        asked, ask(sample_store, asked, routes=routes, headers=foreign), strict=True
    ):
        assert status == 403, asking
        assert "does not come from a page of this server" in page


def test_every_write_needs_more_than_the_role_read() -> None:
    writes = [one for one in all_routes() if one.method == "POST" and one.writes != "log"]
    assert [one for one in writes if one.role == "read"] == []


def test_a_run_whose_data_file_has_changed_keeps_its_scores_and_says_why(tmp_path: Path) -> None:
    cases = cases_file(tmp_path, 2)
    eval_file(tmp_path, [{"name": "m", "provider": "simulated"}])
    done = commands.run("run", tmp_path / "eval.yaml", "--store", tmp_path / "runs.db")
    assert done.returncode == 0, done.stderr
    with serve(tmp_path / "runs.db") as served:
        served.enter()
        cases.write_text(cases.read_text().replace("Good morning 1", "Good evening"))
        why = "The scores of the run as it was: run 1 was made with other data"
        commands.wait_for(lambda: served.ask("/runs/1").text.count(why), 1)
        page = served.ask("/runs/1").text
    assert "being computed" not in page
    assert "Scorecard, one row per model" in page
