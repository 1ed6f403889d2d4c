"""The example of docker compose: what it names exists, only the proxy is reachable, and the app
reaches a PostgreSQL server without TLS, as the image of it is.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from callscore.cli.serve import serve
from callscore.core.errors import StoreError
from callscore.store.address import open_store, read_address
from postgres_server import postgres_server

FOLDER = Path(__file__).parents[1] / "docs" / "examples" / "compose"
FILE = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))


def test_the_example_uses_options_that_exist() -> None:
    known = {name for option in serve.params for name in (*option.opts, *option.secondary_opts)}
    command, store, *options = FILE["services"]["app"]["command"]
    assert command == "serve"
    assert store.startswith("postgresql://")
    assert {one.partition("=")[0] for one in options} <= known


def test_only_the_proxy_has_a_port_and_the_store_is_internal() -> None:
    services = FILE["services"]
    assert [name for name, one in services.items() if "ports" in one] == ["proxy"]
    assert services["store"]["networks"] == ["inside"]
    assert FILE["networks"]["inside"] == {"internal": True}
    for kind in ("networks", "secrets"):
        used = {name for one in services.values() for name in one.get(kind, ())}
        assert used == set(FILE[kind])
    assert "app:8420" in (FOLDER / "Caddyfile").read_text(encoding="utf-8")


def test_docker_accepts_the_example() -> None:
    client = shutil.which("docker")
    has_compose = client and subprocess.run([client, "compose", "version"], capture_output=True)
    if not has_compose or has_compose.returncode:
        pytest.skip("docker compose is not installed")
    done = subprocess.run(
        ["docker", "compose", "-f", FOLDER / "compose.yaml", "config", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_what_is_mounted_and_named_exists_or_is_explained() -> None:
    head = (FOLDER / "compose.yaml").read_text(encoding="utf-8").partition("services:")[0]
    app = FILE["services"]["app"]
    sources = [volume.partition(":")[0] for volume in app["volumes"]]
    sources += [secret["file"] for secret in FILE["secrets"].values()]
    files = [source.removeprefix("./") for source in sources if source.startswith("./")]
    assert files and all(file.rstrip("/") in head for file in files)
    assert "[excel,import,redact,sign,fast,postgres]" in (
        FOLDER.parents[2] / "Dockerfile"
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
        (named,) = (one for one in FILE["services"]["app"]["command"] if "postgresql:" in one)
        url = named.replace("@store/", f"@{there}/")
        open_store(read_address(url, tmp_path)).close()
        with pytest.raises(StoreError, match="sslmode=verify-full"):
            open_store(read_address(url.partition("?")[0], tmp_path))
