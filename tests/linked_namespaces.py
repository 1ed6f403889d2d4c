"""A process with a network of its own: one link to the store, one to the vendor, each can be cut.

The links are pairs of virtual cables, which only root can lay. What is sent over a cut one vanishes
without an error, as in a network that loses packets.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import pytest


class Link(NamedTuple):
    """One cable: the end on this machine, the end in the namespace."""

    device: str
    other: str
    network: str
    """The first three numbers of its addresses and the last one before this end's."""

    @property
    def host(self) -> str:
        """The address of this machine on it."""
        prefix, number = self.network.rsplit(".", 1)
        return f"{prefix}.{int(number) + 1}"

    @property
    def guest(self) -> str:
        """The address of the namespace on it."""
        prefix, number = self.network.rsplit(".", 1)
        return f"{prefix}.{int(number) + 2}"

    def cut(self) -> None:
        """Lose all packets, in both directions."""
        _ip("link", "set", self.device, "down")

    def mend(self) -> None:
        """Carry packets again."""
        _ip("link", "set", self.device, "up")


class Namespace(NamedTuple):
    """A network of its own."""

    name: str
    store: Link
    vendor: Link

    @property
    def prefix(self) -> Sequence[str]:
        """What comes before a command that is to run in it."""
        return ("ip", "netns", "exec", self.name)


@contextmanager
def linked_namespace() -> Iterator[Namespace]:
    """A namespace with two links; skips the test without root or without `ip`."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and ip, to lay virtual cables")
    number = os.getpid() % 250
    name = f"callscore-{number}"
    links = [
        Link(f"cs{number}{kind}0", f"cs{number}{kind}1", f"10.213.{number}.{4 * position}")
        for position, kind in enumerate("sv")
    ]
    _ip("netns", "add", name)
    try:
        for link in links:
            _ip("link", "add", link.device, "type", "veth", "peer", "name", link.other)
            _ip("link", "set", link.other, "netns", name)
            _ip("address", "add", f"{link.host}/30", "dev", link.device)
            _ip("link", "set", link.device, "up")
            _ip("-n", name, "address", "add", f"{link.guest}/30", "dev", link.other)
            _ip("-n", name, "link", "set", link.other, "up")
        yield Namespace(name, *links)
    finally:
        _ip("netns", "delete", name)  # its ends go with it, and theirs with them


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
