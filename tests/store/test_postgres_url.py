from __future__ import annotations

from pathlib import Path

import pytest

from callscore.core.errors import ConfigError, StoreError
from callscore.store.address import open_store, read_address
from callscore.store.postgres.url import REMOTE, DatabaseUrl, read_url

SECRET = "s3cret-word"


def read(text: str) -> DatabaseUrl:
    return read_url(text, Path("here"))


def test_a_url_names_user_host_port_and_database() -> None:
    url = read("postgresql://writer@db.example.org:5433/evals?lease_s=60")
    assert (url.user, url.host, url.port, url.database) == (
        "writer",
        "db.example.org",
        5433,
        "evals",
    )
    assert url.lease_s == 60
    assert str(url) == "postgresql://writer@db.example.org:5433/evals"


def test_another_machine_must_prove_who_it_is_unless_the_url_says_otherwise() -> None:
    strict = read("postgresql://w@db.example.org/evals").parameters({})
    assert {name: strict[name] for name in REMOTE} == REMOTE
    weaker = read("postgresql://w@db.example.org/evals?sslmode=require").parameters({})
    assert weaker["sslmode"] == "require"
    assert weaker["require_auth"] == "scram-sha-256"
    assert "sslrootcert" not in weaker, "libpq would refuse it"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_this_machine_needs_no_certificate(host: str) -> None:
    assert "sslmode" not in read(f"postgresql://w@{host}/evals").parameters({})


def test_a_socket_is_named_by_its_folder() -> None:
    url = read("postgresql://w@/evals?host=/var/run/postgresql")
    assert url.parameters({})["host"] == "/var/run/postgresql"
    assert str(url) == "postgresql://w@/evals"


def test_a_password_comes_from_a_variable_and_is_in_no_text() -> None:
    url = read("postgresql://w@localhost/evals?password_env=PG_WORD")
    assert url.parameters({"PG_WORD": SECRET})["password"] == SECRET
    assert SECRET not in repr(url)
    with pytest.raises(ConfigError, match="the variable PG_WORD is not set; expected the password"):
        url.parameters({})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"postgresql://w:{SECRET}@db/evals", "contains a password; expected none"),
        (f"postgresql://w:{SECRET}%zz@db/evals", "has a % that begins no escape"),
        (f"postgresql://w:{SECRET}@db:port/evals", "cannot be read"),
        (f"postgresql://w@[{SECRET}/evals", "cannot be read"),
        (f"postgresql://w@db/evals?passwrd={SECRET}", "has unknown settings: 1"),
        (f"postgresql://w@db/evals?{SECRET}", "cannot be read"),
        ("postgresql://w@db/evals?sslmode=a&sslmode=b", "names a setting twice"),
        ("postgresql://db/evals", "expected postgresql://USER@HOST"),
        ("postgresql://w@db", "expected postgresql://USER@HOST"),
        ("postgresql:/w@db/evals", "expected postgresql://USER@HOST"),
        ("postgresql://w@db/evals?lease_s=0.1", "lease_s: expected seconds from 1 to 3600"),
        ("postgresql://w@db/evals?lease_s=long", "lease_s: expected seconds from 1 to 3600"),
    ],
)
def test_a_bad_url_is_refused_without_showing_what_may_be_secret(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match="the URL of the store") as refused:
        read(text)
    assert message in str(refused.value)
    assert SECRET not in str(refused.value)


def test_a_server_on_another_machine_that_refuses_is_named_with_what_the_url_demands(
    tmp_path: Path,
) -> None:
    url = read_address("postgresql://w@127.0.0.9:1/evals?sslmode=disable", tmp_path)
    with pytest.raises(StoreError) as refused:
        open_store(url, only_reading=True)
    assert str(refused.value) == (
        "postgresql://w@127.0.0.9:1/evals: cannot be reached: OperationalError; the URL demands"
        " sslmode=disable, require_auth=scram-sha-256, channel_binding=require (docs/scale.md)"
    )


@pytest.mark.parametrize("only_reading", [True, False])
def test_a_server_that_cannot_be_reached_is_named_at_once_and_without_libpq_s_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, only_reading: bool
) -> None:
    monkeypatch.setenv("PG_WORD", SECRET)
    url = read_address("postgresql://w@127.0.0.1:1/evals?password_env=PG_WORD", tmp_path)
    with pytest.raises(StoreError) as refused:
        open_store(url, only_reading=only_reading)
    assert str(refused.value) == (
        "postgresql://w@127.0.0.1:1/evals: cannot be reached: OperationalError"
    )
