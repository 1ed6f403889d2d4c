"""The app: a page against its SQL and markup, many cases against few, memory, start, as ratios."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from bench.index import cpu_of, stored_run
from bench.measuring import best_of, sized
from callscore.results import open_results
from callscore.web.screen import Page, Site, Visit, WebSession
from callscore.web.screens import all_routes
from callscore.web.screens.matrix import MatrixParameters, show_matrix

CASES, FEW_CASES = sized(4_000, 40), sized(500, 20)
TIMES = sized(300, 3)
REQUESTS = sized(1_000, 5)
MOST_FOR_PAGE, MOST_FOR_MANY, MOST_MEMORY, MOST_START = 1.5, 1.5, 1.1, 1.5
"""The bars, which are printed with what was measured."""
MATRIX = "/runs/1/matrix?sort=worst"
_ADDRESS = re.compile(r"https?://\S+/start\?token=\S+")
_TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A `callscore serve` in its own process, with a session."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.pid = process.pid
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0)
        self._connection.request("GET", f"{parts.path}?{parts.query}")
        response = self._connection.getresponse()
        response.read()
        cookie = response.headers["Set-Cookie"].partition(";")[0]
        self._headers = {"Cookie": cookie, "HX-Request-Type": "partial", "HX-Target": "div#rows"}

    def ask(self, path: str) -> None:
        """Get the fragment of a page."""
        self._connection.request("GET", path, headers=self._headers)
        response = self._connection.getresponse()
        response.read()
        assert response.status == 200, (path, response.status)

    def cpu_of(self, path: str) -> float:
        """CPU seconds of the server for a page, the mean of several."""
        self.ask(path)
        before = self._cpu()
        for _ in range(TIMES):
            self.ask(path)
        return (self._cpu() - before) / TIMES

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory(self) -> float:
        """Resident memory in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024


@contextmanager
def served(store: Path) -> Iterator[Server]:
    """Serve a store until the end of the block."""
    words = ["serve", str(store), "--port", "0", "--no-open"]
    process = subprocess.Popen(
        [sys.executable, "-m", "callscore", *words], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        address = next(found[0] for line in process.stdout if (found := _ADDRESS.search(line)))
        yield Server(process, address)
    finally:
        process.terminate()
        process.communicate()


def own_work(store: Path) -> Callable[[], Page]:
    """What a page of the matrix takes without HTTP: its SQL and its markup."""
    results = open_results(store)
    site = Site(results, store, all_routes())
    query = MatrixParameters(sort="worst")
    visit = Visit(site, WebSession("bench"), "/runs/1/matrix", {"run": 1}, query, target="rows")

    def work() -> Page:
        page = show_matrix(visit)
        assert isinstance(page, Page)
        return page

    return work


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        many, few = (stored_run(Path(place) / str(size), size) for size in (CASES, FEW_CASES))
        for store in (many, few):
            with closing(open_results(store)) as results:
                if not results.is_fresh(1):
                    results.build(1)
        work = own_work(many)
        work()
        alone = cpu_of(work, TIMES)
        with served(many) as server, served(few) as other:
            page, small = server.cpu_of(MATRIX), other.cpu_of(MATRIX)
            before = server.memory()
            for number in range(REQUESTS):
                server.ask(("/", MATRIX, f"/runs/1/cases/{number % CASES + 1}")[number % 3])
            grown = server.memory() / before
        few_cases = f"against {FEW_CASES} cases"
        print(f"a page of the matrix of {CASES} cases: {1000 * page:.1f} ms of CPU in the server")
        print(f"against its SQL and markup alone: {page / alone:.2f} × (bar {MOST_FOR_PAGE})")
        print(f"{few_cases}: {page / max(small, 1 / _TICKS / TIMES):.2f} × (bar {MOST_FOR_MANY})")
        print(f"memory after {REQUESTS} requests: {grown:.2f} × (bar {MOST_MEMORY})")
    code = "import callscore.web.serving, callscore.web.screens as s; s.all_routes()"
    start = best_of(sized(5, 1), [sys.executable, "-c", code]).cpu_seconds
    bare = best_of(sized(5, 1), [sys.executable, "-c", "import aiohttp.web"]).cpu_seconds
    print(f"importing the server, against aiohttp.web: {start / bare:.2f} × (bar {MOST_START})")


if __name__ == "__main__":
    main()
