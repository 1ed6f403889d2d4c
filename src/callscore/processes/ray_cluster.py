"""A connection to a Ray cluster that exists: its address, its token, and what they must be."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from callscore.core.errors import MissingExtra, UsageError
from callscore.processes.ray_node import AUTH_MODE, TOKEN

ADDRESS = "RAY_ADDRESS"
OLDEST = (2, 60)
"""The first version whose nodes all know tokens."""
CONNECT_S = 5.0
ATTEMPTS = "3"
"""Ray asks once per second whether the cluster accepts the token; 20 times by default."""
_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):([0-9]{1,5})")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def cluster_address(given: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """The address of a cluster: `given`, else RAY_ADDRESS; raises UsageError."""
    address = given or environment.get(ADDRESS, "")
    if not address:
        raise UsageError(
            f"engine ray: no cluster was given, and Callscore starts none; "
            f"expected --ray-address HOST:PORT or {ADDRESS}"
        )
    if not _HOST_AND_PORT.fullmatch(address):
        raise UsageError(
            f"Ray address {address!r}; expected HOST:PORT of the head, on a node of the cluster"
        )
    return address


def check_token(environment: Mapping[str, str] = os.environ) -> None:
    """Refuse to talk to a cluster without a token, or with one that other users can read.

    The token itself is for Ray; it is not read here.
    """
    if environment.get(AUTH_MODE) != TOKEN:
        raise UsageError(
            f"engine ray: {AUTH_MODE} is {environment.get(AUTH_MODE, 'not set')!r}; expected "
            f"{TOKEN!r}, here and on every node, as a cluster without tokens obeys everybody"
        )
    if environment.get("RAY_AUTH_TOKEN"):
        return
    home = environment.get("HOME") or str(Path.home())
    path = Path(environment.get("RAY_AUTH_TOKEN_PATH") or Path(home, ".ray", "auth_token"))
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
    except OSError:
        raise UsageError(
            f"{path}: no token of the Ray cluster; expected it there, in the file that "
            "RAY_AUTH_TOKEN_PATH names, or in RAY_AUTH_TOKEN"
        ) from None
    if mode & _OTHERS and os.name == "posix":
        raise UsageError(
            f"{path}: other users can read the token of the Ray cluster (mode {mode:o}); "
            "expected mode 600"
        )


@contextmanager
def open_cluster(address: str) -> Iterator[Any]:
    """The module `ray`, connected to the cluster; raises UsageError and MissingExtra.

    Nothing of this process's environment goes to the nodes: keys come from their own secrets.
    """
    check_token()
    _check_answers(address)
    ray = _import_ray()
    handler = signal.getsignal(signal.SIGTERM)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what Ray says about its own future versions
            ray.init(
                address=address,
                log_to_driver=False,
                configure_logging=False,
                include_dashboard=False,
                namespace="callscore",
            )
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        raise UsageError(_refusal(address, error)) from None
    finally:
        signal.signal(signal.SIGTERM, handler)  # Ray sets its own
    try:
        with redirect_stdout(sys.stderr):  # where Ray says that it has lost a process
            yield ray
    finally:
        ray.shutdown()


def _check_answers(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_S).close()
    except (OSError, OverflowError):
        raise UsageError(
            f"Ray address {address}: nothing answers there; expected the head of a Ray cluster"
        ) from None


def _import_ray() -> Any:
    os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", ATTEMPTS)
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise MissingExtra("engine ray needs a package: pip install 'callscore[ray]'") from None
    version = tuple(int(part) for part in ray.__version__.split(".")[:2])
    if version < OLDEST:
        expected = ".".join(map(str, OLDEST))
        raise UsageError(f"ray {ray.__version__} is installed; expected {expected} or newer")
    return ray


def _refusal(address: str, error: Exception) -> str:
    if isinstance(error, ConnectionError):
        why = "the cluster does not accept this token, or is no Ray cluster"
    elif type(error).__name__ == "AuthenticationError":
        why = "the token of the cluster was not found, or is not accepted"
    else:
        why = str(error).partition("\n")[0]
    return f"Ray address {address}: cannot connect: {why}"
