"""The example of docker compose: what it names exists, and only the proxy is reachable."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from callscore.cli.serve import serve

FOLDER = Path(__file__).parents[2] / "docs" / "examples" / "compose"
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
