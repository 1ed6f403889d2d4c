"""Signs dossiers and checks their signatures with the user's own key (extra `sign`)."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.errors import DataError, MissingExtra, UsageError
from callscore.core.strict_json import DECODE_ERRORS
from callscore.report.dossier import ENVELOPE, PAYLOAD_TYPE, pre_authentication_encoding
from callscore.report.source import DossierSignature
from callscore.store.files import open_for_reading

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
