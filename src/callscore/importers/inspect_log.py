"""Logs of Inspect: one JSON file, or an `.eval` archive, which may be compressed with zstd."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import msgspec

from callscore.core.errors import DataError, MissingExtra
from callscore.importers.source_file import MAX_BYTES, ZIP_ERRORS, Source

_HEADERS = ("header.json", "_journal/start.json")
"""The second is all that a log has whose run did not end."""
_ZSTD = 93
_LOCAL_HEADER = 30
_ATTACHMENT = "attachment://"


class InspectLog(msgspec.Struct):
    """The model of a log, and its samples with their long texts put back."""

    model: str
    samples: list[Any]


def is_inspect(source: Source) -> bool:
    """Whether the file is an Inspect log: JSON, or an `.eval` archive."""
    if not source.is_archive:
        value = source.json
        return isinstance(value, dict) and {"eval", "samples"} <= value.keys()
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            return any(name in archive.namelist() for name in _HEADERS)
    except ZIP_ERRORS:
        return False


def read_inspect_log(source: Source) -> InspectLog:
    """The log in the file; raises DataError if it is damaged, MissingExtra for zstd."""
    if not source.is_archive:
        value = source.json
        listed = value["samples"] if isinstance(value["samples"], list) else []
        return InspectLog(_model(value), [_with_attachments(sample) for sample in listed])
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            return _read_archive(archive, source)
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataError(f"a sample is not JSON: {error}", place=source.name) from None
    except ZIP_ERRORS as error:
        raise DataError(f"cannot be unpacked: {error}", place=source.name) from None


def _read_archive(archive: zipfile.ZipFile, source: Source) -> InspectLog:
    model, samples, unpacked = "", [], 0
    for info in sorted(archive.infolist(), key=lambda info: info.filename):
        is_sample = info.filename.startswith("samples/")
        if not is_sample and info.filename not in _HEADERS:
            continue
        unpacked += info.file_size
        if unpacked > MAX_BYTES:
            raise DataError(f"unpacks to more than {MAX_BYTES:,} bytes", place=source.name)
        value = msgspec.json.decode(_member(archive, info, source))
        if is_sample:
            samples.append(_with_attachments(value))
        else:
            model = model or _model(value)
    return InspectLog(model, samples)


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, source: Source) -> bytes:
    """The bytes of a part. Inspect may write zstd, which zipfile knows from Python 3.14 on."""
    if info.compress_type != _ZSTD:
        return archive.read(info)
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra(
            f"{source.name} is compressed with zstd, which needs pyarrow: "
            "pip install 'callscore[parquet]'"
        ) from None
    head = source.data[info.header_offset : info.header_offset + _LOCAL_HEADER]
    if len(head) < _LOCAL_HEADER:
        raise zipfile.BadZipFile("a part is missing")
    extra = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
    start = info.header_offset + _LOCAL_HEADER + extra
    packed = source.data[start : start + info.compress_size]
    unpacked: bytes = pyarrow.Codec("zstd").decompress(packed, info.file_size, asbytes=True)
    return unpacked


def _model(header: Any) -> str:
    about = header.get("eval") if isinstance(header, Mapping) else None
    return str(about.get("model") or "") if isinstance(about, Mapping) else ""


def _with_attachments(sample: Any) -> Any:
    """The sample with the long texts that the log has apart from their messages.

    Of its events, only the requests to models stay: the tools that they offer, and their replies.
    """
    if not isinstance(sample, Mapping):
        return sample
    given = sample.get("attachments")
    attached: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    requests = [
        {key: _attached(event.get(key), attached) for key in ("tools", "output")}
        for event in _list(sample.get("events"))
        if isinstance(event, Mapping) and event.get("event") == "model"
    ]
    rest = {key: value for key, value in sample.items() if key != "events"}
    return {**(_attached(rest, attached) if attached else rest), "requests": requests}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _attached(value: Any, attached: Mapping[str, Any]) -> Any:
    if isinstance(value, str) and value.startswith(_ATTACHMENT):
        return attached.get(value.removeprefix(_ATTACHMENT), value)
    if isinstance(value, list):
        return [_attached(one, attached) for one in value]
    if isinstance(value, Mapping):
        return {key: _attached(one, attached) for key, one in value.items()}
    return value
