"""Servers of objects: what reading and writing a folder of Parquet needs of the protocols.

    with serving_bucket() as bucket:
        run("query", "s3://bucket/run.parquet", "SELECT …", env=bucket.environment)

Every request to S3 must be signed with the secret of `environment` (Signature Version 4, calculated
by botocore), and every one to Google with the key of the service account, or it is refused.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from stub_servers import Answer, Behaviour, Bytes, Json, Request, Stub, serving

NAME = "bucket"
KEY_ID, SECRET, REGION = "AKIDEXAMPLE", "the-secret-of-the-test", "eu-test-1"
CHANGED = "Wed, 18 Nov 2026 12:00:00 GMT"


@dataclass
class Bucket:
    """The objects of one bucket, and the server that has them."""

    objects: dict[str, bytes] = field(default_factory=dict)
    full: bool = False
    """No upload is accepted."""
    _uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    stub: Stub | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables with which clients of S3 find this server, and may use it."""
        assert self.stub is not None
        return {
            "AWS_ENDPOINT_URL": self.stub.origin,
            "AWS_ACCESS_KEY_ID": KEY_ID,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def __call__(self, request: Request) -> Behaviour:
        if not is_signed(request):
            return _error(403, "SignatureDoesNotMatch")
        url = urlsplit(request.path)
        bucket, _, key = unquote(url.path).lstrip("/").partition("/")
        query = {name: each[0] for name, each in parse_qs(url.query, True).items()}
        if bucket != NAME:
            return _error(404, "NoSuchBucket")
        answer: Callable[[Request, str, Mapping[str, str]], Behaviour] = {
            "HEAD": self._head,
            "GET": self._get if key else self._list,
            "POST": self._post,
            "PUT": self._put,
        }[request.method]
        return answer(request, key, query)

    def _head(self, _: Request, key: str, __: object) -> Behaviour:
        found = self.objects.get(key)
        status, size = (404, 0) if found is None else (200, len(found))
        head = f"HTTP/1.1 {status} Stub\r\ncontent-length: {size}\r\nlast-modified: {CHANGED}"
        return Bytes(f"{head}\r\nconnection: close\r\n\r\n".encode())

    def _get(self, request: Request, key: str, _: object) -> Behaviour:
        if key not in self.objects:
            return _error(404, "NoSuchKey")
        first, last = re.findall(r"\d+", request.headers["range"])
        part = self.objects[key][int(first) : int(last) + 1]
        return Answer(part, 206, {"last-modified": CHANGED})

    def _list(self, _: Request, __: str, query: Mapping[str, str]) -> Behaviour:
        prefix, most = query.get("prefix", ""), int(query.get("max-keys", "1000"))
        after = query.get("continuation-token", "")
        keys = sorted(key for key in self.objects if key.startswith(prefix) and key > after)
        shown, more = keys[:most], len(keys) > most
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(self.objects[key])}</Size>"
            "<LastModified>2026-11-18T12:00:00.000Z</LastModified></Contents>"
            for key in shown
        )
        token = f"<NextContinuationToken>{shown[-1]}</NextContinuationToken>" if more else ""
        return _xml(
            f"<ListBucketResult><KeyCount>{len(shown)}</KeyCount>"
            f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{rows}</ListBucketResult>"
        )

    def _post(self, _: Request, key: str, query: Mapping[str, str]) -> Behaviour:
        if self.full:
            return _error(507, "InsufficientStorage")
        if "uploads" in query:
            number = str(len(self._uploads))
            self._uploads[number] = {}
            where = f"<Key>{escape(key)}</Key><UploadId>{number}</UploadId>"
            return _xml(f"<InitiateMultipartUploadResult>{where}</InitiateMultipartUploadResult>")
        parts = self._uploads.pop(query["uploadId"])
        self.objects[key] = b"".join(parts[number] for number in sorted(parts))
        return _xml("<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>")

    def _put(self, request: Request, key: str, query: Mapping[str, str]) -> Behaviour:
        body = request.body
        if "aws-chunked" in request.headers.get("content-encoding", ""):
            body = _without_chunks(body)
        if "uploadId" in query:
            self._uploads[query["uploadId"]][int(query["partNumber"])] = body
        else:
            self.objects[key] = body
        return Answer(b"", 200, {"etag": '"x"'})


@dataclass
class GoogleBucket:
    """The objects of one bucket, by the JSON API of Google Cloud Storage."""

    folder: Path
    """Where the key of the service account is."""
    objects: dict[str, bytes] = field(default_factory=dict)
    stub: Stub | None = None
    _uploads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._key = generate_private_key(65537, 2048)
        pem = self._key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        account = {
            "type": "service_account",
            "private_key_id": "1",
            "private_key": pem.decode(),
            "client_email": "evaluator@example.iam.gserviceaccount.com",
            "token_uri": "http://127.0.0.1:1/token",
        }
        (self.folder / "account.json").write_text(json.dumps(account), encoding="utf-8")

    @property
    def environment(self) -> Mapping[str, str]:
        """The variables with which clients find this server, and may use it."""
        assert self.stub is not None
        return {
            "CLOUD_STORAGE_EMULATOR_ENDPOINT": self.stub.origin,
            "GOOGLE_APPLICATION_CREDENTIALS": str(self.folder / "account.json"),
        }

    def __call__(self, request: Request) -> Behaviour:
        if not self._is_signed(request):
            return Answer({"error": {"code": 401, "message": "not signed"}}, 401)
        url = urlsplit(request.path)
        query = {name: each[0] for name, each in parse_qs(url.query, True).items()}
        if request.method == "POST":
            self._uploads.append(query["name"])
            assert self.stub is not None
            where = f"{self.stub.origin}/upload?upload_id={len(self._uploads) - 1}"
            return Answer({}, 200, {"location": where})
        if request.method == "PUT":
            name = self._uploads[int(query["upload_id"])]
            self.objects[name] = self.objects.get(name, b"") + request.body
            is_last = not request.headers["content-range"].endswith("/*")
            return Answer(self._about(name) if is_last else {}, 200 if is_last else 308)
        _, _, name = unquote(url.path).partition(f"/b/{NAME}/o")
        if not name:
            found = [key for key in sorted(self.objects) if key.startswith(query["prefix"])]
            return Answer({"items": [self._about(key) for key in found]})
        if name[1:] not in self.objects:
            return Answer({"error": {"code": 404, "message": "no such object"}}, 404)
        if query.get("alt") != "media":
            return Answer(self._about(name[1:]))
        return _part(request, self.objects[name[1:]])

    def _is_signed(self, request: Request) -> bool:
        _, _, token = request.headers.get("authorization", "").partition("Bearer ")
        text, _, signature = token.rpartition(".")
        padded = signature + "=" * (-len(signature) % 4)
        try:
            self._key.public_key().verify(
                urlsafe_b64decode(padded), text.encode(), PKCS1v15(), SHA256()
            )
        except (InvalidSignature, ValueError):
            return False
        return True

    def _about(self, name: str) -> Json:
        size, when = str(len(self.objects[name])), "2026-11-18T12:00:00Z"
        about = {"name": name, "bucket": NAME, "size": size, "generation": "1"}
        return {**about, "metageneration": "1", "updated": when, "timeCreated": when}


def _part(request: Request, content: bytes) -> Answer:
    """The whole object, or the range that the request asks for."""
    if "range" not in request.headers:
        return Answer(content)
    first, last = re.findall(r"\d*", request.headers["range"].partition("=")[2])[0:3:2]
    end = int(last) + 1 if last else len(content)
    shown = f"bytes {first}-{end - 1}/{len(content)}"
    return Answer(content[int(first) : end], 206, {"content-range": shown})


def is_signed(request: Request) -> bool:
    """Whether the signature is the one that the secret makes of this request."""
    given = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=(\w+)/\d+/([\w-]+)/s3/aws4_request, "
        r"SignedHeaders=([\w;-]+), Signature=(\w+)",
        request.headers.get("authorization", ""),
    )
    if given is None or given[1] != KEY_ID:
        return False
    headers = {name: request.headers[name] for name in given[3].split(";")}
    url = f"http://{request.headers['host']}{request.path}"
    sent = AWSRequest(request.method, url, headers, request.body)
    sent.context["timestamp"] = request.headers["x-amz-date"]
    auth = S3SigV4Auth(Credentials(KEY_ID, SECRET), "s3", given[2])
    text = auth.string_to_sign(sent, auth.canonical_request(sent))
    return bool(auth.signature(text, sent) == given[4])


def _without_chunks(body: bytes) -> bytes:
    found, rest = b"", body
    while True:
        head, _, rest = rest.partition(b"\r\n")
        size = int(head.partition(b";")[0], 16)
        if size == 0:
            return found
        found, rest = found + rest[:size], rest[size + 2 :]


def _xml(text: str) -> Answer:
    return Answer(f'<?xml version="1.0"?>{text}'.encode(), 200, {"content-type": "text/xml"})


def _error(status: int, code: str) -> Answer:
    text = f"<Error><Code>{code}</Code><Message>{code} of the stub</Message></Error>"
    return Answer(text.encode(), status, {"content-type": "text/xml"})


@contextmanager
def serving_bucket(objects: Mapping[str, bytes] | None = None) -> Iterator[Bucket]:
    """Serve one bucket until the end of the block."""
    bucket = Bucket(dict(objects or {}))
    with serving(bucket) as stub:
        bucket.stub = stub
        yield bucket


@contextmanager
def serving_google(folder: Path, objects: Mapping[str, bytes]) -> Iterator[GoogleBucket]:
    """Serve one bucket until the end of the block; the key of its user is in the folder."""
    bucket = GoogleBucket(folder, dict(objects))
    with serving(bucket) as stub:
        bucket.stub = stub
        yield bucket
