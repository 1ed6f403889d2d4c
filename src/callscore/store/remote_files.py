"""Parquet in object stores (`s3://`, `gs://`, `az://`) and on web servers (`https://`).

Credentials are those of the user's environment and configuration, as the libraries of the vendors
find them. A URL has none: it would be in the history of the shell, in eval files and in messages.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from callscore.core.errors import MissingExtra, StoreError, UsageError

WEB = ("http", "https")
TIMEOUT_S = 60.0
CONNECT_S = 10.0
RETRY_S = 20.0
SHOWN = 300
"""Characters of what another library says."""
COPIED_AT_ONCE = 1 << 20
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]+):/+(?P<rest>.*)", re.DOTALL)
_REFUSED_REDIRECT = "leads to another scheme than https"


class Place(NamedTuple):
    """A file or a folder on a file system of pyarrow."""

    url: str
    system: Any
    path: str

    def __truediv__(self, name: str) -> Place:
        return Place(f"{self.url}/{name}", self.system, f"{self.path}/{name}")

    def exists(self) -> bool:
        """Whether a file or a folder is there."""
        from pyarrow.fs import FileType

        with _readable(self.url):
            found = self.system.get_file_info(self.path)
        return bool(found.type != FileType.NotFound)


class RemoteFile(NamedTuple):
    """A file on another machine."""

    path: Path
    """Its URL as a path, which errors show."""
    place: Place | None = None
    """Where it is in an object store; None for a web server."""
    stamp: object = None
    """What changes if a file of an object store is written again; one of a web server is read once
    by a process."""


def shown(path: Path) -> str:
    """The path, or the URL that it was: a path has one slash where a URL has two."""
    given = str(path)
    if ":" not in given or not is_remote(path):  # asked for every line of some files
        return given
    scheme, _, rest = path.as_posix().partition(":")
    return f"{scheme}://{rest.lstrip('/')}"


def is_remote(path: Path) -> bool:
    """Whether the path is the URL of a file on another machine."""
    found = _URL.match(path.as_posix())
    return found is not None and found["scheme"] in (*SYSTEMS, *WEB)


def local_path(path: Path) -> Path:
    """The file or folder that a `file://` URL names, or the path itself.

    Raises UsageError for a URL that cannot be read.
    """
    found = _URL.match(path.as_posix())
    if found is None or is_remote(path):
        return path
    if found["scheme"] != "file":
        known = ", ".join(f"{scheme}://" for scheme in ("file", *SYSTEMS, *WEB))
        raise UsageError(
            f"{found['scheme']}://{found['rest']}: cannot be read; expected a path or {known}"
        )
    return Path("/", unquote(found["rest"]))


def find_files(path: Path, suffix: str) -> Sequence[RemoteFile]:
    """The file at a URL, or the files in a folder of an object store that end in `suffix`."""
    url = _checked(path)
    if url.scheme in WEB:
        found = [RemoteFile(path)]
    else:
        place = open_place(path)
        found = [
            RemoteFile(
                Path(place.url + file.path[len(place.path) :]),
                place._replace(path=file.path),
                (file.size, file.mtime_ns),
            )
            for file in _files_at(place)
        ]
    files = [file for file in found if file.path.suffix.lower() == suffix]
    if not files:
        raise UsageError(f"{url.geturl()}: is no {suffix} file, nor a folder with such files")
    return files


def _files_at(place: Place) -> Sequence[Any]:
    """The file, or all files in the folder, sorted."""
    from pyarrow.fs import FileSelector, FileType

    with _readable(place.url):
        found = place.system.get_file_info(place.path)
        if found.type == FileType.NotFound:
            raise UsageError(f"{place.url}: no such file or folder")
        if found.type == FileType.File:
            return [found]
        inside = place.system.get_file_info(FileSelector(place.path, recursive=True))
    files = [file for file in inside if file.type == FileType.File]
    return sorted(files, key=lambda file: str(file.path))


def open_place(path: Path) -> Place:
    """The place that a URL of an object store names; raises UsageError and MissingExtra."""
    url = _checked(path)
    if url.scheme not in SYSTEMS:
        known = ", ".join(f"{scheme}://" for scheme in SYSTEMS)
        raise UsageError(f"{shown(path)}: is not in an object store; expected a path or {known}")
    if not (url.netloc and url.path.strip("/")):
        raise UsageError(f"{shown(path)}: expected {url.scheme}://BUCKET/NAME")
    where = f"{url.netloc}/{url.path.strip('/')}"
    try:
        import pyarrow.fs
    except ImportError:
        raise MissingExtra(
            f"{url.scheme}:// needs a package: pip install 'callscore[parquet]'"
        ) from None
    try:
        system = SYSTEMS[url.scheme](pyarrow.fs, url.netloc)
    except (ImportError, AttributeError):
        raise MissingExtra(
            f"{url.scheme}:// is not part of this pyarrow {pyarrow.__version__}; "
            "pip install --force-reinstall pyarrow"
        ) from None
    return Place(f"{url.scheme}://{where}", system, where)


def _checked(path: Path) -> Any:
    """The parts of a URL without credentials; they are not repeated in the message."""
    url = urlsplit(shown(path))
    if "@" in url.netloc or url.query or url.fragment:
        raise UsageError(
            f"{url.scheme}://{url.netloc.rpartition('@')[2]}: a URL with a user or with `?`, which "
            "may be credentials; expected none: they come from the environment (docs/formats.md)"
        )
    return url


def _s3(fs: Any, bucket: str) -> Any:
    # pyarrow reads the credentials, not the address of a server that is not Amazon's
    # (apache/arrow issue 49643).
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region and not endpoint:
        with suppress(OSError):  # what is wrong is said when the file is read
            region = fs.resolve_s3_region(bucket)
    return fs.S3FileSystem(
        region=region,
        endpoint_override=endpoint,
        connect_timeout=CONNECT_S,
        request_timeout=TIMEOUT_S,
    )


def _gs(fs: Any, _: str) -> Any:
    from datetime import timedelta

    # Its default is to try for 15 minutes.
    return fs.GcsFileSystem(retry_time_limit=timedelta(seconds=RETRY_S))


def _az(fs: Any, _: str) -> Any:
    # The names of the Azure CLI; without a key, what the machine or its user is logged in with.
    account = os.environ.get("AZURE_STORAGE_ACCOUNT")
    if not account:
        raise UsageError("az:// needs the variable AZURE_STORAGE_ACCOUNT, the name of the account")
    key, token = map(os.environ.get, ("AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN"))
    return fs.AzureFileSystem(account, account_key=key, sas_token=None if key else token)


SYSTEMS: Mapping[str, Callable[[Any, str], Any]] = {"s3": _s3, "gs": _gs, "az": _az}
"""By scheme, what opens the file system of a bucket or container."""


@contextmanager
def _readable(url: str) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except (OSError, pyarrow.ArrowException) as error:  # Azure has no OSError
        raise UsageError(f"{url}: cannot be read: {first_line(error)}") from None


def first_line(error: Exception) -> str:
    """What an error says, without the further lines and repetitions of other libraries."""
    return (str(error) or type(error).__name__).partition("\n")[0][:SHOWN]


def download(remote: RemoteFile, target: Path) -> None:
    """Copy a file to this machine; raises UsageError."""
    import shutil
    from http.client import HTTPException

    url = shown(remote.path)
    try:
        with target.open("wb") as file:
            if remote.place is not None:
                with (
                    _readable(url),
                    remote.place.system.open_input_stream(remote.place.path) as stream,
                ):
                    shutil.copyfileobj(stream, file, COPIED_AT_ONCE)
                return
            with _opener().open(_request(remote.path), timeout=TIMEOUT_S) as reply:
                shutil.copyfileobj(reply, file, COPIED_AT_ONCE)
                length = int(reply.headers.get("Content-Length") or file.tell())
            if length != file.tell():
                raise UsageError(f"{url}: ended after {file.tell()} of {length} bytes; try again")
    except (OSError, HTTPException, ValueError) as error:
        raise UsageError(f"{url}: cannot be read: {first_line(error)}") from None


def _request(path: Path) -> Any:
    """The request for a file of a web server.

    A user and a password are read from the file that NETRC names or from `~/.netrc`, and go only
    to that host and only through https or to this machine.
    """
    from urllib.request import Request

    url = _checked(path)
    request = Request(url.geturl())
    if known := _login(url.hostname or ""):
        if url.scheme == "http" and url.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise UsageError(f"{url.geturl()}: a password is not sent without https")
        request.add_unredirected_header("Authorization", f"Basic {known}")  # not to other hosts
    return request


def _login(host: str) -> str | None:
    """User and password of a host, encoded for HTTP."""
    from base64 import b64encode
    from netrc import NetrcParseError, netrc

    file = Path(os.environ.get("NETRC") or Path.home() / ".netrc")
    try:
        found = netrc(file).authenticators(host) if file.is_file() else None
    except (OSError, NetrcParseError) as error:
        raise UsageError(f"{file}: cannot be read: {error}") from None
    return b64encode(f"{found[0]}:{found[2]}".encode()).decode() if found else None


def _opener() -> Any:
    from urllib.error import URLError
    from urllib.request import HTTPRedirectHandler, build_opener

    class HttpsStays(HTTPRedirectHandler):
        """Follows no redirect from https to http."""

        def redirect_request(self, req: Any, *others: Any) -> Any:
            if req.type == "https" and not others[-1].startswith("https:"):
                raise URLError(_REFUSED_REDIRECT)
            return super().redirect_request(req, *others)

    return build_opener(HttpsStays)


def check_new_place(path: Path) -> None:
    """Refuse a folder that exists, or cannot be looked at, before any work."""
    place = open_place(path)
    if place.exists():
        raise UsageError(f"{place.url}: exists; expected the name of a new folder")


def write_files(files: Iterable[tuple[str, bytes]], path: Path) -> None:
    """Write the files of a new folder of an object store, in order; each appears complete."""
    import pyarrow

    check_new_place(path)
    place = open_place(path)
    for name, content in files:
        target = place / name
        try:
            with target.system.open_output_stream(target.path) as file:
                file.write(content)
        except (OSError, pyarrow.ArrowException) as error:
            raise StoreError(f"{target.url}: cannot be written: {first_line(error)}") from None
