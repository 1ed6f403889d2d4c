"""Run the command line: forked from a warm process, in a new process, or in the background."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import command_server
from command_server import NEVER_S

CompletedCommand = subprocess.CompletedProcess[str]

KEY = "sk-test-9f8e7d6c5b4a39281706f5e4d3c2b1a0"
"""The API key for the stub servers."""


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of this process, with a key for the stub servers and without real keys.

    COLUMNS is removed: the workers of pytest-xdist set it, and it would narrow the scorecards.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if "API_KEY" not in name and name != "COLUMNS"
    }
    return {**kept, "STUB_KEY": KEY, "NO_PROXY": "127.0.0.1", **(extra or {})}


def run(
    *args: object, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> CompletedCommand:
    """Run a command to its end, in a process forked from one that has all modules loaded."""
    server, words = _server(), [str(arg) for arg in args]
    assert server.stdin is not None
    assert server.stdout is not None
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in ("out", "err")}
        for file in files.values():
            file.touch()
        call = {
            "args": words,
            "env": environment(env),
            "cwd": str(cwd or Path.cwd()),
            **{name: str(file) for name, file in files.items()},
        }
        server.stdin.write(json.dumps(call) + "\n")
        server.stdin.flush()
        code = server.stdout.readline()
        assert code, "the command server has ended"
        out, err = (file.read_text(encoding="utf-8") for file in files.values())
    return subprocess.CompletedProcess(words, int(code), out, err)


def run_in_new_process(
    *args: object, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> CompletedCommand:
    """Run a command to its end in a new interpreter, which shares no imports or state."""
    process = start(*args, env=env, cwd=cwd)
    out, err = process.communicate(timeout=NEVER_S)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run_python(code: str, *args: object) -> CompletedCommand:
    """Run code in a new interpreter with the module search path of this one."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=NEVER_S,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )


def start(
    *args: object,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    prefix: Sequence[str] = (),
) -> subprocess.Popen[str]:
    """Start a command in a new interpreter, and do not wait for its end; `prefix` comes before
    it.
    """
    return subprocess.Popen(
        [*prefix, sys.executable, "-m", "callscore", *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment(env),
        cwd=cwd,
    )


def wait_for(count: Callable[[], int], number: int) -> None:
    """Wait until a running command has brought the count to a number."""
    end = time.monotonic() + NEVER_S
    while count() < number:
        assert time.monotonic() < end, "the command makes no progress"
        time.sleep(0.005)


def is_running(pid: int) -> bool:
    """Whether a process has not ended."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
            != "Z"
        )
    except FileNotFoundError:
        return False


def line_of(process: subprocess.Popen[str], words: str) -> str:
    """Wait for the next line of errors that has these words."""
    assert process.stderr is not None
    read = []
    for line in process.stderr:
        read.append(line)
        if words in line:
            return line
    raise AssertionError(f"the command ended without {words!r}: {''.join(read)}")


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, "-P", command_server.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )
    atexit.register(server.communicate)
    return server
