"""Dossiers as files: untrusted ones are read with limits (S-09); signed with the user's own key."""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import msgspec

from callscore.core.errors import DataError, MissingExtra, UsageError
from callscore.core.strict_json import DECODE_ERRORS
from callscore.report.dossier import (
    CONTENT,
    ENVELOPE,
    MANIFEST,
    OF_SCENARIOS,
    PAYLOAD_TYPE,
    STATEMENT,
    pre_authentication_encoding,
)
from callscore.report.source import DossierSignature
from callscore.store.files import lines_of, open_for_reading

Record = TypeVar("Record")

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


def decoded_lines(paths: Sequence[Path], kind: type[Record]) -> Iterator[Record]:
    """The lines of files of a dossier; DataError names the file and the line it cannot read."""
    decode = msgspec.json.Decoder(kind).decode
    for line in lines_of(paths):
        try:
            yield decode(line.raw)
        except DECODE_ERRORS as error:
            raise DataError(
                f"{error}; expected a line that `callscore report` wrote",
                place=f"{line.path.name}:{line.number}",
            ) from None


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


MAX_KEY_BYTES = 100_000


def load_signer(key_file: Path) -> Callable[[bytes], DossierSignature]:
    """Return a function that signs with a PEM private key: Ed25519, ECDSA or RSA (PSS)."""
    serialization = _serialization()
    try:
        key: Any = serialization.load_pem_private_key(_read_key(key_file), password=None)
    except (ValueError, TypeError) as error:
        raise UsageError(
            f"{key_file}: {error}; expected a private key in PEM without a password"
        ) from None
    key_id, scheme = _key_id(key.public_key()), _scheme(key.public_key())
    return lambda payload: DossierSignature(key_id, key.sign(payload, *scheme))


def check_envelope(envelope: bytes, statement: bytes, key_file: Path) -> str | None:
    """Return what is wrong with the signature of a dossier, or None if it is valid for the key."""
    serialization = _serialization()
    try:
        key: Any = serialization.load_pem_public_key(_read_key(key_file))
    except ValueError as error:
        raise UsageError(f"{key_file}: {error}; expected a public key in PEM") from None
    signed = read_envelope(envelope)
    if base64.b64decode(signed.payload) != statement:
        return "the signed statement is not the one in the dossier"
    key_id = _key_id(key)
    for entry in signed.signatures:
        if entry.keyid == key_id and _is_valid(key, base64.b64decode(entry.sig), statement):
            return None
    return f"no valid signature by this key (sha256:{key_id[:16]}…)"


class _EnvelopeSignature(msgspec.Struct):
    keyid: str
    sig: str


class Envelope(msgspec.Struct):
    """A DSSE envelope."""

    payloadType: str  # noqa: N815  the name in the format
    payload: str
    signatures: list[_EnvelopeSignature]


def read_envelope(raw: bytes) -> Envelope:
    """Decode and validate the envelope of a dossier; raises DataError."""
    try:
        envelope = msgspec.json.decode(raw, type=Envelope)
        for text in (envelope.payload, *(entry.sig for entry in envelope.signatures)):
            base64.b64decode(text, validate=True)
    except (*DECODE_ERRORS, binascii.Error) as error:
        raise DataError(f"{error}; expected a DSSE envelope", place=ENVELOPE) from None
    if envelope.payloadType != PAYLOAD_TYPE:
        raise DataError(
            f"{envelope.payloadType!r}; expected {PAYLOAD_TYPE}",
            field="payloadType",
            place=ENVELOPE,
        )
    return envelope


def _is_valid(key: Any, signature: bytes, statement: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    try:
        key.verify(signature, pre_authentication_encoding(statement), *_scheme(key))
    except InvalidSignature:
        return False
    return True


def _scheme(public_key: Any) -> tuple[Any, ...]:
    """Return the extra arguments of `sign` and `verify` for a key; UsageError for other types."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

    if isinstance(public_key, ed25519.Ed25519PublicKey):
        return ()
    if isinstance(public_key, ec.EllipticCurvePublicKey):
        return (ec.ECDSA(hashes.SHA256()),)
    if isinstance(public_key, rsa.RSAPublicKey):
        pss = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.MAX_LENGTH)
        return (pss, hashes.SHA256())
    kind = type(public_key).__name__
    raise UsageError(f"a key of type {kind} cannot be used; expected Ed25519, ECDSA or RSA")


def _key_id(public_key: Any) -> str:
    """Return the SHA-256 of the key in DER, in hexadecimal."""
    serialization = _serialization()
    der: bytes = public_key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return hashlib.sha256(der).hexdigest()


def _serialization() -> Any:
    """Import the module that reads keys; raises MissingExtra."""
    try:
        from cryptography.hazmat.primitives import serialization
    except ImportError:
        raise MissingExtra("signing needs a package: pip install 'callscore[sign]'") from None
    return serialization


def _read_key(path: Path) -> bytes:
    with open_for_reading(path) as file:
        return file.read(MAX_KEY_BYTES)
