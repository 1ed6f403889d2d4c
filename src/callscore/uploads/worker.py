"""The process that reads the files of a data set: a request in, an inspection or a file out."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Literal

import msgspec

from callscore.core.errors import CallscoreError, DataError
from callscore.uploads.data_folder import DataSet, ImportChoices, UploadedFile
from callscore.uploads.inspection import Inspection, inspect, write
from callscore.uploads.limits import (
    LIMITS,
    NO_MEMORY,
    TOO_LARGE,
    ReaderLimits,
    apply_limits,
    run_limited,
)

WORKER = "callscore.uploads.worker"


class WorkerRequest(msgspec.Struct, frozen=True):
    """What to do with a data set."""

    action: Literal["inspect", "write"]
    number: int
    folder: str
    files: list[UploadedFile]
    choices: ImportChoices
    limits: ReaderLimits


class WorkerReply(msgspec.Struct, frozen=True):
    """What was found or written, or why nothing was."""

    inspection: Inspection | None = None
    written: str = ""
    problem: str = ""


def inspect_limited(data: DataSet, limits: ReaderLimits = LIMITS) -> Inspection:
    """Describe how the files of a data set are read, by a process with limits; never raises."""
    try:
        reply = _ask("inspect", data, limits)
    except CallscoreError as error:
        return Inspection(problem=str(error))
    return reply.inspection or Inspection(problem=reply.problem)


def write_limited(data: DataSet, limits: ReaderLimits = LIMITS) -> str:
    """Import a data set by a process with limits; returns what was written, raises DataError."""
    reply = _ask("write", data, limits)
    if reply.problem:
        raise DataError(reply.problem)
    return reply.written


def _ask(action: Literal["inspect", "write"], data: DataSet, limits: ReaderLimits) -> WorkerReply:
    folder = data.folder.absolute()
    request = WorkerRequest(
        action, data.number, str(folder), list(data.files), data.choices, limits
    )
    raw = run_limited(WORKER, msgspec.json.encode(request), folder / "files", limits)
    return msgspec.json.decode(raw, type=WorkerReply)


def answer(request: WorkerRequest) -> WorkerReply:
    """Carry out a request in the folder of the files."""
    data = DataSet(request.number, Path(request.folder), request.files, request.choices)
    try:
        if request.action == "inspect":
            return WorkerReply(inspection=inspect(data))
        return WorkerReply(written=write(data))
    except CallscoreError as error:
        return WorkerReply(problem=str(error))


def main() -> int:
    """Read the request, limit this process, and answer."""
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=WorkerRequest)
    apply_limits(request.limits)
    try:
        sys.stdout.buffer.write(msgspec.json.encode(answer(request)))
        sys.stdout.buffer.flush()
    except MemoryError:
        return NO_MEMORY
    except OSError as error:  # without memory, the system cannot even list a folder
        return {errno.EFBIG: TOO_LARGE, errno.ENOMEM: NO_MEMORY}.get(error.errno or 0, 1)
    return 0


if __name__ == "__main__":
    os._exit(main())
