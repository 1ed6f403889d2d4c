"""Reads untrusted dossiers: known file names only, each once, up to a size limit (S-09)."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import msgspec

from callscore.core.errors import DataError
from callscore.report.dossier import CONTENT, ENVELOPE, MANIFEST, OF_SCENARIOS, STATEMENT
from callscore.store.files import open_for_reading

KNOWN_NAMES = frozenset({*CONTENT, *OF_SCENARIOS, MANIFEST, STATEMENT, ENVELOPE})
MAX_BYTES = 1_000_000_000
MAX_RATIO = 100
SMALL_BYTES = 10_000_000
"""Below this size, the compression ratio is not checked."""
BLOCK_BYTES = 1 << 18
ENCRYPTED_FLAG = 0x1


class UnpackedDossier(msgspec.Struct, frozen=True):
    """The files of a dossier in a temporary folder, under their fixed names, with their hashes."""

    folder: Path
    digests: Mapping[str, str]

    def path(self, name: str) -> Path:
        """Return the path of a file of the dossier."""
        return self.folder / name


def unpack(path: Path, folder: Path, max_bytes: int = MAX_BYTES) -> UnpackedDossier:
    """Extract the files of a dossier into a folder.

    DataError if the file is not a dossier. Names in the zip are compared with the known ones and
    are never used as paths.
    """
    digests: dict[str, str] = {}
    left = max_bytes
    try:
        with open_for_reading(path) as raw, ZipFile(raw) as archive:
            for info in archive.infolist():
                _check(path, info, digests)
                digests[info.filename], size = _extract(path, archive, info, folder, left)
                left -= size
    except (BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise _bad_dossier(path, f"cannot be read as a zip file: {error}") from None
    needed = [*CONTENT, MANIFEST, STATEMENT]
    if any(name in digests for name in OF_SCENARIOS):
        needed += OF_SCENARIOS
    missing = [name for name in needed if name not in digests]
    if missing:
        raise _bad_dossier(path, f"has no {', '.join(missing)}")
    return UnpackedDossier(folder, digests)


def _check(path: Path, info: ZipInfo, seen: Mapping[str, str]) -> None:
    name = info.filename
    if name not in KNOWN_NAMES:
        raise _bad_dossier(path, f"contains {name[:100]!r}, which is not a file of a dossier")
    if name in seen:
        raise _bad_dossier(path, f"contains {name} twice")
    if info.flag_bits & ENCRYPTED_FLAG or info.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise _bad_dossier(path, f"{name} is encrypted, or compressed in an unknown way")


def _extract(
    path: Path, archive: ZipFile, info: ZipInfo, folder: Path, left: int
) -> tuple[str, int]:
    """Extract one file and return its hash and size; sizes declared in the zip are not trusted."""
    digest, size = hashlib.sha256(), 0
    packed = max(1, info.compress_size)
    with archive.open(info) as member, (folder / info.filename).open("xb") as file:
        while block := member.read(BLOCK_BYTES):
            size += len(block)
            if size > left:
                raise _bad_dossier(path, f"{info.filename} exceeds the size limit (--max-gb)")
            if size > SMALL_BYTES and size > MAX_RATIO * packed:
                raise _bad_dossier(path, f"{info.filename} is a zip bomb: {size} bytes in {packed}")
            digest.update(block)
            file.write(block)
    return digest.hexdigest(), size


def _bad_dossier(path: Path, why: str) -> DataError:
    return DataError(f"{why}; expected a dossier as `callscore report` writes it", place=str(path))
