"""`callscore grant`: what users of a PostgreSQL store can do by their role, and what not."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

import commands
from callscore.core.events import Events
from callscore.store.address import open_store, read_address
from eval_files import cases_file, eval_file, remote_model, right_answer
from postgres_server import OWNER, PostgresServer
from stub_servers import FaultyChat, serving

ROLES = ("writer", "reviewer", "reader")
SUBJECT = b"case-1"


@pytest.fixture
def stores(postgres: PostgresServer) -> dict[str, str]:
    """The URL of a new store by the role of its user, `owner` included."""
    found = {"owner": postgres.new_store()}
    for role in ROLES:
        if not postgres.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", f"a_{role}"):
            postgres.execute(f"CREATE ROLE a_{role} LOGIN")
        done = commands.run("grant", role, f"a_{role}", "--store", found["owner"])
        assert done.returncode == 0, done.stderr
        found[role] = found["owner"].replace(f"{OWNER}@", f"a_{role}@")
    return found


def refused(url: str, statement: str) -> bool:
    """Whether the server does not let the user of this URL do something."""
    with psycopg.connect(url, autocommit=True) as connection:
        try:
            connection.execute(statement.encode())
        except psycopg.errors.InsufficientPrivilege:
            return True
        return False


def test_a_writer_runs_a_reviewer_reviews_and_a_reader_sees_no_reply(
    stores: dict[str, str], tmp_path: Path
) -> None:
    cases_file(tmp_path, 3)
    with serving(FaultyChat(right_answer)) as stub:
        config = eval_file(tmp_path, [remote_model(stub.url)], store=stores["writer"])
        ran = commands.run("run", config, "--no-preflight")
        assert ran.returncode == 0, ran.stderr
    for role in ("reviewer", "reader"):
        listed = commands.run("runs", "--store", stores[role])
        assert (listed.returncode, "complete" in listed.stdout) == (0, True), listed.stderr
    with open_store(read_address(stores["reviewer"], tmp_path)) as store:
        events: Events = store.events()
        assert events.append("comment", SUBJECT, {"says": "no"}, "her").seq == 1
        events.close()
    read = "SELECT case_id, cost_usd FROM callscore.run_replies ORDER BY case_id"
    with psycopg.connect(stores["reader"]) as connection:
        assert [row[0] for row in connection.execute(read)] == ["c0", "c1", "c2"]
    texts = ("SELECT reply FROM callscore.answers", "SELECT body FROM callscore.events")
    assert [refused(stores["reader"], text) for text in texts] == [True, True]
    assert [refused(stores["reviewer"], text) for text in texts] == [False, False]
    for statement in (
        "DELETE FROM callscore.answers",
        "UPDATE callscore.events SET body = NULL",
        "UPDATE callscore.runs SET status = 'complete'",
    ):
        assert refused(stores["reviewer"], statement), statement
        assert refused(stores["reader"], statement), statement
    for statement in (
        "DROP TABLE callscore.answers",
        "INSERT INTO callscore.schema_version VALUES (99)",
        "UPDATE callscore.events SET body = NULL",
    ):
        assert refused(stores["writer"], statement), statement


def test_a_new_role_takes_the_place_of_the_old_one_and_its_limits_are_said_in_words(
    stores: dict[str, str], tmp_path: Path
) -> None:
    commands.run("grant", "reader", "a_writer", "--store", stores["owner"])
    assert refused(stores["writer"], "SELECT reply FROM callscore.answers")
    cases_file(tmp_path, 1)
    config = eval_file(tmp_path, [{"name": "m", "provider": "baseline"}], store=stores["writer"])
    done = commands.run("run", config)
    assert done.returncode == 4
    assert "this user may not do that (SQLSTATE 42501)" in done.stderr
    assert "`callscore grant`" in done.stderr
    for user, as_, message in (
        ("nobody'; DROP", "owner", 'has no user "nobody\'; DROP"'),
        (OWNER, "owner", f"{OWNER!r} owns the tables"),
        ("a_writer", "reader", "this user may not do that"),
    ):
        done = commands.run("grant", "writer", user, "--store", stores[as_])
        assert (done.returncode in (2, 4), message in done.stderr) == (True, True), done.stderr


def test_a_file_has_no_users(tmp_path: Path) -> None:
    done = commands.run("grant", "reader", "me", "--store", tmp_path / "runs.db")
    assert (done.returncode, "expected a store with users" in done.stderr) == (2, True)
