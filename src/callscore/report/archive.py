"""Writes a zip in chunks; its bytes depend only on the files in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

TIMESTAMP = (1980, 1, 1, 0, 0, 0)
"""The modification time of every file in the zip, fixed so that equal results give equal bytes."""
COMPRESSION_LEVEL = 3
BLOCK_BYTES = 1 << 18


class _ChunkBuffer:
    """A write-only file without seek, emptied by `take`."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._chunks.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: `take` returns everything written."""

    def close(self) -> None:
        """Do nothing: there is no resource to release."""

    def take(self) -> bytes:
        chunk = b"".join(self._chunks)
        self._chunks.clear()
        return chunk


class Archive:
    """Builds a zip and records the hash and size of every file in it."""

    def __init__(self) -> None:
        self._out = _ChunkBuffer()
        self._zip = ZipFile(self._out, "w", ZIP_DEFLATED, compresslevel=COMPRESSION_LEVEL)
        self.digests: dict[str, dict[str, Any]] = {}

    def add(self, name: str, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Add a file; yield the bytes of the zip as they are ready."""
        digest, size = hashlib.sha256(), 0
        info = ZipInfo(name, TIMESTAMP)
        info.compress_type, info.external_attr = ZIP_DEFLATED, 0o600 << 16
        with self._zip.open(info, "w", force_zip64=True) as member:
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                member.write(chunk)
                yield self._out.take()
        self.digests[name] = {"sha256": digest.hexdigest(), "bytes": size}
        yield self._out.take()

    def finish(self) -> bytes:
        """Return the last bytes of the zip."""
        self._zip.close()
        return self._out.take()


def read_blocks(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the blocks of a file from its beginning."""
    file.seek(0)
    while block := file.read(BLOCK_BYTES):
        yield block
