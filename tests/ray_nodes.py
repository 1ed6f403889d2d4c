"""A Ray cluster of two nodes on this machine, with a token; only its own processes are ended."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from commands import KEY, environment, is_running, wait_for

START_S = 120
MARK = "CALLSCORE_TEST_CLUSTER"
"""A variable of the processes of a cluster, by which they are found."""
NODE_KEY = "sk-node-5d1f0c7a9b3e42688e20f4b7c1a6d935"
"""A key that the nodes have in their own environment."""


class RayNodes(NamedTuple):
    """A running cluster."""

    address: str
    folder: Path
    env: dict[str, str]
    """What a command needs to connect."""

    @property
    def token(self) -> str:
        """The token of the cluster."""
        return Path(self.env["RAY_AUTH_TOKEN_PATH"]).read_text(encoding="utf-8")

    def files(self) -> Sequence[Path]:
        """Everything that Ray has written, logs included, also to the home of its user."""
        folders = (self.folder / "t", self.folder / "home")
        return [path for folder in folders for path in folder.rglob("*") if path.is_file()]

    def files_with_a_key(self, *texts: str) -> Sequence[Path]:
        """Those of the files in which a key of the nodes, the token or one of the texts is."""
        files = self.files()
        assert len(files) > 10
        hidden = [text.encode() for text in (KEY, NODE_KEY, self.token, *texts)]
        return [path for path in files if any(text in path.read_bytes() for text in hidden)]

    def computing(self) -> Sequence[int]:
        """The processes that compute a block now."""
        return self._running("ray::compute_block")

    def working(self) -> Sequence[int]:
        """The processes that send requests now."""
        return self._running("ray::NodeWorker")

    def _running(self, what: str) -> Sequence[int]:
        found = [pid for pid, words in _processes() if words.startswith(what)]
        raylets = self.raylets()
        return [pid for pid in found if _parent(pid) in raylets]

    def add_node(self) -> int:
        """Start one more node; returns the process of its raylet."""
        before = set(self.raylets())
        _ray(self.env, "start", f"--address={self.address}", "--num-cpus=1")
        (added,) = set(self.raylets()) - before
        return added

    def raylets(self) -> Sequence[int]:
        """The main process of every node."""
        return [
            pid for pid in _marked(self.env[MARK]) if "/raylet" in _words(pid).partition(" ")[0]
        ]


def write_token(path: Path) -> Path:
    """A new token in a file that only its owner can read."""
    path.touch(0o600)
    path.write_text(secrets.token_hex(32), encoding="utf-8")
    return path


def require_ray() -> None:
    """Skip a test, or the whole module, without Ray; fail in CI."""
    if find_spec("ray") is None:
        why = "ray is not installed: pip install 'callscore[ray]'"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why, allow_module_level=True)


@contextmanager
def ray_nodes(nodes: int = 2, mode: str = "token") -> Iterator[RayNodes]:
    """A cluster with one core per node; for tests that need Ray."""
    require_ray()
    folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))  # sockets need a short path
    (folder / "home").mkdir()
    env = {
        "HOME": str(folder / "home"),
        "RAY_AUTH_MODE": mode,
        "RAY_AUTH_TOKEN_PATH": str(write_token(folder / "token")),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_NUM_REDIS_GET_RETRIES": "5",
        MARK: secrets.token_hex(8),
    }
    address = f"127.0.0.1:{_free_port()}"
    cluster = RayNodes(address, folder, {**env, "RAY_ADDRESS": address})
    try:
        head = ("--head", f"--port={address.rpartition(':')[2]}", "--num-cpus=1")
        _ray(env, "start", *head, "--include-dashboard=false", f"--temp-dir={folder}/t")
        for _ in range(nodes - 1):
            cluster.add_node()
        yield cluster
    finally:
        for pid in _marked(env[MARK]):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_for(lambda: -len(_marked(env[MARK])), 0)
        shutil.rmtree(folder, ignore_errors=True)


def kill_one(running: Callable[[], Sequence[int]]) -> None:
    """Kill one of the processes that run, as soon as there is one; it may end before."""

    def has_killed() -> bool:
        for pid in running()[:1]:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                return True
        return False

    wait_for(has_killed, 1)


def kill(pid: int) -> None:
    """Kill a process, and wait for its end."""
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not is_running(pid), 1)


def _ray(env: dict[str, str], *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "ray.scripts.scripts", *words],
        env=environment({**env, "OPENAI_API_KEY": NODE_KEY}),
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _free_port() -> int:
    """A port that neither Ray's workers (10002 to 19999) nor outgoing connections use."""
    for port in range(6400 + os.getpid() % 1000, 10000):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is free")


def _marked(mark: str) -> Sequence[int]:
    return [pid for pid, _ in _processes() if mark.encode() in _environment(pid)]


def _processes() -> Iterator[tuple[int, str]]:
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and is_running(int(folder.name)):
            yield int(folder.name), _words(int(folder.name))


def _words(pid: int) -> str:
    with suppress(OSError):
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    return ""


def _parent(pid: int) -> int:
    with suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        return int(stat.rpartition(")")[2].split()[1])
    return 0


def _environment(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""
