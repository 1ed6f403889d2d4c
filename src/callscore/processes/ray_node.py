"""What runs on the nodes of a Ray cluster: bytes in, bytes out.

No error leaves a node as an exception, as Ray would write its text, which may quote a call, to its
logs.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from callscore.core.errors import CallscoreError
from callscore.core.gc_policy import relaxed_gc
from callscore.processes.installation import installation_digest
from callscore.processes.value_bytes import PACKAGE, from_bytes, to_bytes

AUTH_MODE = "RAY_AUTH_MODE"
TOKEN = "token"
_opened: dict[bytes, Callable[..., Any]] = {}
"""The job of this process, by the digest of what it was opened with."""


class NodeReport(NamedTuple):
    """What a node says about a block, or about itself."""

    node: str
    """The name of its machine."""
    refused: str = ""
    """Why it does not compute."""
    failed: str = ""
    """The error of the block, if it has one."""
    result: Any = None


def describe_node(installed: str) -> bytes:
    """What a node says about itself, without any work."""
    return to_bytes(NodeReport(platform.node(), refused=_why_refused(installed)))


def compute_block(opener: str, installed: str, context: bytes, work: bytes) -> bytes:
    """Compute one block with the job that `opener` opens, which is kept for the next one."""
    return _report(installed, lambda: _job(opener, context)(from_bytes(work)))


class NodeWorker:
    """An actor: one job that goes on until it ends, or is stopped."""

    def __init__(self) -> None:
        self._job: Any = None

    def work(self, opener: str, installed: str, context: bytes) -> bytes:
        """Carry out the job that `opener` opens."""
        return _report(installed, lambda: self._carry_out(opener, context))

    def _carry_out(self, opener: str, context: bytes) -> Any:
        self._job = _job(opener, context)
        return self._job()

    def stop(self) -> None:
        """End the job soon; nothing if it has not begun."""
        if self._job is not None:
            self._job.stop()


def _report(installed: str, compute: Callable[[], Any]) -> bytes:
    node, refused = platform.node(), _why_refused(installed)
    if refused:
        return to_bytes(NodeReport(node, refused=refused))
    try:
        with relaxed_gc():
            return to_bytes(NodeReport(node, result=compute()))
    except Exception as error:
        # The message of a bug may quote anything; it is raised again on the machine of the driver.
        why = str(error) if isinstance(error, CallscoreError) else type(error).__name__
        return to_bytes(NodeReport(node, failed=why))


def _why_refused(installed: str) -> str:
    if os.environ.get(AUTH_MODE) != TOKEN:
        return f"the cluster runs without tokens; expected {AUTH_MODE}={TOKEN} on every node"
    if installation_digest() != installed:
        return (
            "has another Callscore than this machine, or other versions of what it computes with; "
            "expected the same on every node"
        )
    return ""


def _job(opener: str, context: bytes) -> Callable[..., Any]:
    key = hashlib.blake2b(opener.encode() + b"\n" + context).digest()
    job = _opened.get(key)
    if job is None:
        module, _, name = opener.partition(":")
        if not module.startswith(PACKAGE):
            raise CallscoreError(f"{module}: not a module of Callscore")
        job = getattr(import_module(module), name)(from_bytes(context))
        _opened.clear()
        _opened[key] = job
    return job
