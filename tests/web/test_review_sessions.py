"""Several sessions on one server: who has which item of a queue, and what follows a review."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from aiohttp import DummyCookieJar, web
from aiohttp.test_utils import TestClient, TestServer

import commands
from callscore.results import open_results
from callscore.results.stored_results import StoredResults
from callscore.web.reviewers import new_reviewer, read_reviewers
from callscore.web.screen import Site
from callscore.web.screens import all_routes
from callscore.web.security import Guard
from callscore.web.server import build_app
from review_pages import EVAL, GATES, form_of


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A judged run."""
    path = tmp_path / "runs.db"
    path.with_name("eval.yaml").write_text(EVAL, encoding="utf-8")
    done = commands.run("run", path.with_name("eval.yaml"), "--store", path)
    assert done.returncode == 0, done.stderr
    return path


async def start(app: web.Application) -> TestClient[web.Request, web.Application]:
    client = TestClient(TestServer(app), cookie_jar=DummyCookieJar())
    await client.start_server()
    return client


@contextmanager
def logged_in(store: Path, *names: str) -> Iterator[list[Callable[..., str]]]:
    """One server, and for every person a function that asks it in a session of their own."""
    made = [new_reviewer(f"{name}=review") for name in names]
    file = store.with_name("reviewers.yaml")
    file.write_text("\n".join(entry for entry, _ in made) + "\n", encoding="utf-8")
    origin = "https://calls.example"
    guard = Guard([origin], "callscore-1", read_reviewers(file))
    with closing(StoredResults(store)) as results, asyncio.Runner() as runner:
        client = runner.run(start(build_app(Site(results, store, all_routes()), guard)))
        headers = {"Host": "calls.example", "Origin": origin}

        async def ask(token: str, path: str, form: dict[str, str] | None = None) -> str:
            login = await client.post(
                "/login", data={"token": token}, headers=headers, allow_redirects=False
            )
            cookie = {"Cookie": login.headers["Set-Cookie"].partition(";")[0]}
            method = "GET" if form is None else "POST"
            reply = await client.request(method, path, data=form, headers=headers | cookie)
            return await reply.text()

        yield [
            lambda path, form=None, token=token: runner.run(ask(token, path, form))
            for _, token in made
        ]
        runner.run(client.close())


def test_two_reviewers_of_one_queue_get_different_items_until_one_answers(store: Path) -> None:
    with logged_in(store, "Ana", "Ben") as (ana, ben):
        first, second = form_of(ana(GATES)), form_of(ben(GATES))
        assert first != second
        assert form_of(ana(GATES)) == first
        assert form_of(ben(GATES)) == second
        case = f"/runs/1/cases/{first['place']}"
        assert "transcript" in ben(case)
        word = first["words"].split()[0]
        ana(GATES, {**first, "word": word, "note": "I listened"})
        assert form_of(ana(GATES)) not in (first, second)
        assert form_of(ana(f"{GATES}?after=1")) != second


def test_what_follows_a_review_is_grey_until_its_intervals_are_there(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callscore.results.updates.ScoringUpdates.in_background", lambda *_: "")
    with closing(open_results(store)) as results:
        results.refresh(1)
    with logged_in(store, "Ana") as (ana,):
        assert 'class="follows"' not in ana("/runs/1")
        form = form_of(ana(GATES))
        word = form["words"].split()[-1]
        assert "Intervals follow" in ana(GATES, {**form, "word": word, "note": "I listened"})
        assert 'class="follows"' in ana("/runs/1")
        with closing(open_results(store)) as results:
            results.refresh(1)
        assert 'class="follows"' not in ana("/runs/1")
