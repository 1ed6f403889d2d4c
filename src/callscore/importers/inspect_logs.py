"""Inspect logs: JSON files, and `.eval` archives with one file per sample."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.importers.conversation import ImportIterator, RecordedOutput
from callscore.importers.conversation_builder import ImportContext
from callscore.importers.eval_sets import EvalExample, convert_examples, group_examples
from callscore.importers.source import MAX_BYTES, ZIP_ERRORS, Source


class _InspectOutput(msgspec.Struct):
    completion: str | None = None
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    error: str | None = None


class _InspectSample(msgspec.Struct):
    id: str | int
    input: Any = None
    target: Any = None
    output: _InspectOutput | None = None


def is_inspect(source: Source) -> bool:
    """Whether the file is an Inspect log: JSON, or an `.eval` archive."""
    if source.is_archive:
        return "header.json" in _member_names(source)
    value = source.json
    return isinstance(value, dict) and {"eval", "samples"} <= value.keys()


def _member_names(source: Source) -> list[str]:
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            return archive.namelist()
    except ZIP_ERRORS:
        return []


def read_inspect(source: Source, context: ImportContext) -> ImportIterator:
    """Read the samples of an Inspect log: input, target and output."""
    samples = _read_archive(source) if source.is_archive else source.json["samples"]
    examples = group_examples(map(_example, _convert_samples(samples, source)))
    yield from convert_examples("inspect", examples, source, context)


def _convert_samples(samples: Any, source: Source) -> Iterator[tuple[str, _InspectSample]]:
    for number, sample in enumerate(samples if isinstance(samples, list) else []):
        where = f"$.samples[{number}]"
        try:
            yield where, msgspec.convert(sample, _InspectSample, strict=False)
        except msgspec.ValidationError as error:
            raise DataError(str(error), place=source.name, field=where) from None


def _read_archive(source: Source) -> list[Any]:
    samples: list[Any] = []
    unpacked = 0
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            for info in sorted(archive.infolist(), key=lambda info: info.filename):
                if not info.filename.startswith("samples/"):
                    continue
                unpacked += info.file_size
                if unpacked > MAX_BYTES:
                    raise DataError(f"unpacks to more than {MAX_BYTES:,} bytes", place=source.name)
                samples.append(msgspec.json.decode(archive.read(info)))
    except (msgspec.DecodeError, RecursionError) as error:
        raise DataError(f"a sample is not JSON: {error}", place=source.name) from None
    except ZIP_ERRORS as error:
        raise DataError(f"cannot be unpacked: {error}", place=source.name) from None
    return samples


def _example(located: tuple[str, _InspectSample]) -> EvalExample:
    where, sample = located
    output = sample.output or _InspectOutput()
    usage = output.usage or {}
    tokens = {key: usage[key] for key in ("input_tokens", "output_tokens") if key in usage}
    outputs = []
    if output.completion is not None or output.error:
        outputs = [
            RecordedOutput(
                output.model or "model",
                output.completion,
                error=output.error if output.completion is None else None,
                usage=tokens if len(tokens) == 2 else None,
            )
        ]
    target = sample.target
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    return EvalExample(sample.input, where, str(sample.id), target, outputs)
