"""Reviewers and roles: who may log in from elsewhere, and what a server beyond loopback needs."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from aiohttp.test_utils import TestClient, TestServer

import commands
from callscore.core.errors import ConfigError
from callscore.results.stored_results import StoredResults
from callscore.web.reviewers import new_reviewer, read_reviewers
from callscore.web.screen import Site, WebSession
from callscore.web.screens import all_routes
from callscore.web.security import Guard
from callscore.web.server import build_app


def write(folder: Path, *people: str) -> tuple[Path, list[str]]:
    made = [new_reviewer(one) for one in people]
    path = folder / "reviewers.yaml"
    path.write_text("\n".join(entry for entry, _ in made) + "\n", encoding="utf-8")
    return path, [token for _, token in made]


def test_a_token_opens_a_session_with_its_name_and_role(tmp_path: Path) -> None:
    path, (ana, ben) = write(tmp_path, "Ana=review", "Ben=read")
    assert ana not in path.read_text(encoding="utf-8")
    guard = Guard(["https://calls.example"], "callscore-1", read_reviewers(path))
    for token, session in ((ana, WebSession("Ana", "review")), (ben, WebSession("Ben", "read"))):
        opened = guard.log_in(token)
        assert opened is not None
        assert guard.session(opened) == session
    assert guard.log_in("guess") is None
    assert guard.is_secure


def test_a_login_is_in_the_log_and_a_wrong_token_is_not(sample_store: Path, tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    with closing(sqlite3.connect(sample_store)) as old, closing(sqlite3.connect(store)) as new:
        old.backup(new)
    path, (token,) = write(tmp_path, "Ana=admin")

    async def talk() -> str:
        origin = "https://calls.example"
        guard = Guard([origin], "callscore-1", read_reviewers(path))
        results = StoredResults(store)
        server = TestServer(build_app(Site(results, store, all_routes()), guard))
        headers = {"Host": "calls.example", "Origin": origin}
        async with TestClient(server) as client:
            for sent, status in ((token[:-1], 401), (token, 303)):
                form = {"token": sent}
                reply = await client.post(
                    "/login", data=form, headers=headers, allow_redirects=False
                )
                assert reply.status == status
            cookie = {"Cookie": reply.headers["Set-Cookie"].partition(";")[0]}
            log = await (await client.get("/events", headers=headers | cookie)).text()
        results.close()
        return log

    log = asyncio.run(talk())
    assert log.count("<td>login</td>") == 1
    assert "<td>Ana</td>" in log
    assert token not in log


def test_each_role_includes_those_before_it() -> None:
    review = WebSession("Ana", "review")
    assert [review.may(role) for role in ("read", "label", "review", "admin")] == [
        True,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "expected a list"),
        ("- {name: Ana, role: review}", "entry 1: expected exactly name, role and token_sha256"),
        ("- {name: Ana, role: boss, token_sha256: HASH}", "expected one of read, label, review"),
        ("- {name: Ana, role: read, token_sha256: abc}", "expected 64 hexadecimal digits"),
        ("- {name: '<b>', role: read, token_sha256: HASH}", "name: expected 1 to 60 letters"),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "reviewers.yaml"
    path.write_text(text.replace("HASH", "0" * 64), encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        read_reviewers(path)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--host", "0.0.0.0"), "expected --reviewers FILE"),
        (("--proxy", "https://calls.example"), "expected --reviewers FILE"),
        (("--host", "0.0.0.0", "--reviewers", "FILE"), "expected TLS"),
        (("--cert", "x.pem"), "--cert and --key: expected both or none"),
        (("--proxy", "http://calls.example", "--reviewers", "FILE"), "expected an origin such as"),
    ],
)
def test_beyond_loopback_it_needs_reviewers_and_tls(
    sample_store: Path, tmp_path: Path, options: tuple[str, ...], sentence: str
) -> None:
    path, _ = write(tmp_path, "Ana=review")
    words = [str(path) if one == "FILE" else one for one in options]
    done = commands.run("serve", sample_store, "--port", 0, "--no-open", *words)
    assert done.returncode == 2
    assert sentence in done.stderr
