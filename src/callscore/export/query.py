"""SQL on the tables of a run: one SELECT in DuckDB's memory, without files, settings or network.

The tables are registered as Arrow datasets, so that SQL needs no access to files at all.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from callscore.core.errors import MissingExtra, UsageError
from callscore.export.report_file import write_folder
from callscore.export.sources import RunOpener, SourceRequest, open_source
from callscore.report.parquet import (
    PARTITION,
    SUCCESS,
    TABLES,
    TableColumns,
    load_pyarrow,
    write_files,
)
from callscore.report.source import ReportOptions
from callscore.store.remote_files import Place, is_remote, open_place

T = TypeVar("T")
NEAR = ("Did you mean", "Candidate bindings")
"""How the line of an error begins that names what the query may have meant."""
LOCKS = (
    "SET temp_directory = ''",  # first: it is refused once files are
    "SET python_enable_replacements = false",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET memory_limit = '{megabytes}MB'",
    "SET threads = 2",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
"""In this order. Never `allowed_paths`: COPY could then overwrite the files of the run."""
BESIDE_MB = 256
"""Memory for what DuckDB does not count: Arrow and Python."""
GRACE_S = 5.0
"""How long a query that was interrupted may take to end."""
ROWS_AT_ONCE = 10_000


OnOverrun = Callable[[BaseException], None]
"""Ends the process, as the query does not end after the deadline or an interrupt."""


class QueryLimits(NamedTuple):
    """What a query may use."""

    seconds: float
    megabytes: int


class Tables(NamedTuple):
    """A Parquet export; `discard` deletes it if it is temporary."""

    folder: Path | Place
    discard: Callable[[], object]


class QueryResult(NamedTuple):
    """The names of the columns, and the rows in batches."""

    columns: Sequence[str]
    batches: Iterator[Sequence[Sequence[Any]]]


@contextmanager
def tables_of(request: SourceRequest, open_run: RunOpener) -> Iterator[Tables]:
    """The folder of a Parquet export, or of one of a run that is deleted at the end."""
    folder = Path(request.target)
    if is_remote(folder):
        place = open_place(folder)
        _check_complete(place.url, (place / SUCCESS).exists())
        yield Tables(place, lambda: None)
        return
    if folder.is_dir():
        _check_complete(str(folder), (folder / SUCCESS).exists())
        yield Tables(folder, lambda: None)
        return
    load_pyarrow()
    temporary = tempfile.TemporaryDirectory(prefix="callscore-")
    with temporary as name:
        folder = Path(name) / "tables"
        with open_source(request, open_run) as source:
            if not len(source.cases):
                raise UsageError("; ".join(source.absent) or f"{request.target}: has no cases")
            write_folder(write_files(source, ReportOptions()), folder)
        yield Tables(folder, temporary.cleanup)


def _check_complete(folder: str, is_complete: bool) -> None:
    if not is_complete:
        raise UsageError(f"{folder}: has no {SUCCESS}; expected a complete Parquet export")


@contextmanager
def run_query(
    folder: Path | Place, sql: str, limits: QueryLimits, on_overrun: OnOverrun
) -> Iterator[QueryResult]:
    """Run one SELECT on the tables in a folder; raises UsageError if it is refused or stopped."""
    # Its other allocator reserves a gigabyte, which counts towards the limit: two queries of five
    # on 100,000 cases failed for want of a thread.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    with _connect(limits) as connection, _memory_limit(limits):
        session = _Session(connection, limits, on_overrun)
        statement = session.single_select(sql)
        for name, table in TABLES.items():
            connection.register(name, _dataset(folder / name, table))
        session.call(connection.execute, statement)
        columns = [column[0] for column in connection.description]
        yield QueryResult(columns, session.batches())


@contextmanager
def _connect(limits: QueryLimits) -> Iterator[Any]:
    try:
        import duckdb
    except ImportError:
        raise MissingExtra("a query needs a package: pip install 'callscore[parquet]'") from None
    with duckdb.connect(":memory:") as connection:
        for lock in LOCKS:
            connection.execute(lock.format(megabytes=limits.megabytes))
        try:
            yield connection
        finally:
            connection.interrupt()  # or closing waits for rows that are not read


def _dataset(folder: Path | Place, table: TableColumns) -> Any:
    arrow = load_pyarrow()
    import pyarrow.dataset

    path, system = (folder, None) if isinstance(folder, Path) else (folder.path, folder.system)
    model = arrow.schema([(PARTITION, arrow.string())])
    schema = table.schema()
    if table.by_model:
        schema = arrow.unify_schemas([schema, model])
    hive = pyarrow.dataset.partitioning(model, flavor="hive")
    try:
        return pyarrow.dataset.dataset(
            path, schema, filesystem=system, format="parquet", partitioning=hive
        )
    except (OSError, arrow.ArrowException) as error:
        raise UsageError(f"{path}: {error}; expected a table of a Parquet export") from None


class _Session:
    """The calls of DuckDB, with a deadline for all of them together."""

    def __init__(self, connection: Any, limits: QueryLimits, on_overrun: OnOverrun) -> None:
        self._connection = connection
        self._limits = limits
        self._left = limits.seconds
        self._on_overrun = on_overrun
        self._thread = ThreadPoolExecutor(1)

    def single_select(self, sql: str) -> Any:
        """The statement, if it is one SELECT."""
        found = self.call(self._connection.extract_statements, sql)
        kinds = [statement.type.name for statement in found]
        if kinds != ["SELECT"]:
            what = ", ".join(kinds) or "no statement"
            raise UsageError(f"the query is {what}; expected one SELECT")
        return found[0]

    def batches(self) -> Iterator[Sequence[Sequence[Any]]]:
        """The rows, as they are calculated."""
        while rows := self.call(self._connection.fetchmany, ROWS_AT_ONCE):
            yield rows

    def call(self, function: Callable[..., T], *given: object) -> T:
        """Call DuckDB in a thread, so that signals reach this one.

        Only its time counts, not that of the reader of the rows.
        """
        import duckdb

        began = time.monotonic()
        running = self._thread.submit(function, *given)
        try:
            return running.result(max(self._left, 0))
        except TimeoutError:
            stopped = UsageError(
                f"the query was stopped after {self._limits.seconds:g} seconds; "
                "expected one that ends earlier, or --timeout"
            )
            self._stop(running, stopped)
            raise stopped from None
        except (duckdb.OutOfMemoryException, MemoryError):
            raise UsageError(
                f"the query needs more than {self._limits.megabytes} MB of memory; "
                "expected a smaller result, or --max-mb"
            ) from None
        except duckdb.Error as error:
            said, *more = str(error).splitlines()
            near = f" {more[0]}" if more and more[0].startswith(NEAR) else ""
            raise UsageError(f"the query is refused: {said}{near}") from None
        except KeyboardInterrupt as interrupt:
            self._stop(running, interrupt)
            raise
        finally:
            self._left -= time.monotonic() - began

    def _stop(self, running: Future[T], why: BaseException) -> None:
        until = time.monotonic() + GRACE_S
        while not running.done():
            self._connection.interrupt()
            if time.monotonic() > until:  # inside one function of one row
                self._on_overrun(why)
            wait([running], 0.05)


@contextmanager
def _memory_limit(limits: QueryLimits) -> Iterator[None]:
    """Limit the memory of the process, as DuckDB does not count what `repeat('x', 3e9)` takes.

    Nothing is limited on systems that cannot.
    """
    before = None
    with suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
        before = resource.getrlimit(resource.RLIMIT_DATA)
        most = pages * resource.getpagesize() + (limits.megabytes + BESIDE_MB) * 1_000_000
        if before[1] == resource.RLIM_INFINITY or most < before[1]:
            resource.setrlimit(resource.RLIMIT_DATA, (most, before[1]))
    try:
        yield
    finally:
        if before is not None:
            resource.setrlimit(resource.RLIMIT_DATA, before)
