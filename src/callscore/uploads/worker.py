"""The process that reads the files of a data set, with limits on memory, time and output.

A spreadsheet or an archive can be made to fill the memory of its reader, or to take hours. The
process that reads it has no secrets of the environment, and dies alone.
"""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from callscore.core.errors import CallscoreError, DataError
from callscore.importers.tables import MAX_MEMORY
from callscore.uploads.data_folder import DataSet, ImportChoices, UploadedFile
from callscore.uploads.inspection import Inspection, inspect, write

NO_MEMORY = 71
"""The exit code of a process that has no more memory."""
TOO_LARGE = 72
"""The exit code of a process that may not write a file of this size."""
KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT", "TZ")
"""The variables of the environment that the process gets."""


class ReaderLimits(msgspec.Struct, frozen=True):
    """What a process may take."""

    memory: int = MAX_MEMORY
    """Bytes of address space."""
    cpu_s: int = 120
    wall_s: float = 600.0
    file: int = 1_000_000_000
    """Bytes of a file that it writes."""
    reply: int = 4_000_000
    """Bytes of what it answers."""


LIMITS = ReaderLimits()


def apply_limits(limits: ReaderLimits) -> None:
    """Limit the process that calls this; where the system has no limits, only time is limited."""
    try:
        import resource
    except ImportError:  # Windows: the parent ends the process when its time is over
        return
    for kind, most in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CPU, limits.cpu_s),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (most, most))


def run_limited(module: str, request: bytes, folder: Path, limits: ReaderLimits = LIMITS) -> bytes:
    """The answer of a module to a request; raises DataError in one sentence if it fails.

    The module calls `apply_limits` first, reads the request from its input, works in the folder,
    and writes its answer to its output.
    """
    command = [sys.executable, "-I", "-m", module]
    with tempfile.TemporaryFile() as answer:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=answer,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=_environment(),
            start_new_session=True,
        )
        try:
            process.communicate(request, timeout=limits.wall_s)
        except subprocess.TimeoutExpired:
            _end(process)
            raise DataError(_too_long(limits.wall_s)) from None
        except BaseException:
            _end(process)
            raise
        if process.returncode:
            raise DataError(_why(process.returncode, limits))
        if answer.tell() > limits.reply:
            raise DataError(f"what was read takes more than {limits.reply:,} bytes to describe")
        answer.seek(0)
        return answer.read()


def _environment() -> Mapping[str, str]:
    return {name: os.environ[name] for name in KEPT if name in os.environ}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and those that it has started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    if process.stdin is not None:
        with suppress(BrokenPipeError):
            process.stdin.close()
    process.wait()


def _why(code: int, limits: ReaderLimits) -> str:
    """Why a process ended, in one sentence."""
    if code == NO_MEMORY or code == -signal.SIGABRT:
        return (
            f"the files need more than {limits.memory / 1e9:g} GB of memory to be read; expected "
            "smaller files"
        )
    if code == TOO_LARGE:
        return f"the result would be larger than {limits.file:,} bytes; expected smaller files"
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return _too_long(limits.cpu_s)
    return f"the files cannot be read: their reader ended with code {code}"


def _too_long(seconds: float) -> str:
    return f"the files take more than {seconds:g} s to be read; expected smaller files"


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


def write_limited(data: DataSet) -> str:
    """Import a data set by a process with limits; returns what was written, raises DataError."""
    reply = _ask("write", data, LIMITS)
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
