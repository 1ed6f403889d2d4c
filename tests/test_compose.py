"""The example of docs/examples/compose reaches a PostgreSQL server without TLS, as its image is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from callscore.core.errors import StoreError
from callscore.store.address import open_store, read_address
from postgres_server import postgres_server

COMPOSE = Path(__file__).parents[1] / "docs" / "examples" / "compose" / "compose.yaml"


def store_url() -> str:
    services = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    (url,) = (word for word in services["app"]["command"] if word.startswith("postgresql:"))
    return str(url)


def test_what_is_mounted_and_named_exists_or_is_explained() -> None:
    text = COMPOSE.read_text(encoding="utf-8")
    compose, head = yaml.safe_load(text), text.partition("services:")[0]
    app = compose["services"]["app"]
    sources = [volume.partition(":")[0] for volume in app["volumes"]]
    sources += [secret["file"] for secret in compose["secrets"].values()]
    files = [source.removeprefix("./") for source in sources if source.startswith("./")]
    assert files and all(file.rstrip("/") in head for file in files)
    assert "[excel,import,redact,sign,fast,postgres]" in (
        COMPOSE.parents[3] / "Dockerfile"
    ).read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_app_connects_with_a_password_and_without_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords = tmp_path / "pgpass"
    passwords.write_text("*:*:callscore:callscore:word\n", encoding="utf-8")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    with postgres_server() as server:
        server.execute("CREATE ROLE callscore LOGIN PASSWORD 'word'")
        server.execute("CREATE DATABASE callscore OWNER callscore")
        server.ask_for_password("callscore", "127.0.0.2")
        there = f"127.0.0.2:{server.port}"
        url = store_url().replace("@store/", f"@{there}/")
        open_store(read_address(url, tmp_path)).close()
        with pytest.raises(StoreError, match="sslmode=verify-full"):
            open_store(read_address(url.partition("?")[0], tmp_path))
