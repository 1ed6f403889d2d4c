"""`callscore.score(...)`, and the scoring of files for commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

import msgspec

from callscore.config.score import (
    DEFAULT_STORE,
    ScoreConfig,
    default_embedder,
    embedder_choice,
    is_json_file,
    judge_choice,
    read_decide,
)
from callscore.core.consent import trust_every_config
from callscore.core.errors import DataError, UsageError
from callscore.core.judging import Embedder, Judge
from callscore.core.run import JudgeSpec, ModelSpec
from callscore.core.scorecard import Scorecard
from callscore.engine.api_call import api_function
from callscore.evaluate.block_scoring import ONE_PROCESS, Workers, score_blocks
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.line_buffer import LineBuffer
from callscore.evaluate.scorecards import scorecard
from callscore.evaluate.scorer import LineSinks, OnCase, OnLines, OnProgress, Sinks, ignore_progress
from callscore.store.address import StoreAddress, read_address
from callscore.store.files import atomic_write, check_new_folder, check_targets
from callscore.store.memory_records import numbered_lines, record_rows
from callscore.store.parquet_cases import is_parquet, parquet_lines
from callscore.store.remote_files import is_remote, local_path
from callscore.store.verdict_records import to_file_record
from callscore.store.worklists import check_worklist, worklist_writer

if TYPE_CHECKING:
    from callscore.evaluate.case_checks import CaseCheck


class DataFrame(Protocol):
    """A data frame of pandas or polars."""

    @property
    def columns(self) -> Any:
        """The names of its columns."""


Records = str | os.PathLike[str] | Iterable[str | os.PathLike[str] | Mapping[str, Any]] | DataFrame
"""A file, several files, or the records themselves."""
JudgeSource = str | os.PathLike[str] | Mapping[str, Any] | Sequence[Mapping[str, Any]] | Judge
"""A name, a YAML file, one model or several with the keys of that file, or a Judge."""
EmbedderSource = str | os.PathLike[str] | Mapping[str, Any] | Embedder
"""A name, a YAML file, a model with the keys of that file, or an Embedder."""


@api_function
def score(  # noqa: PLR0913  the options of scoring are its parameters
    cases: Records,
    outputs: Records | None = None,
    *,
    verdicts: Records | None = None,
    labels: Records | None = None,
    judge: JudgeSource = "none",
    embedder: EmbedderSource | None = None,
    benchmarks: bool = False,
    intervals: bool = True,
    store: str | os.PathLike[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    weights: Mapping[str, float] | None = None,
    decide: Mapping[str, Any] | None = None,
    workload: Mapping[str, float] | None = None,
    cost_per_1000: Mapping[str, float] | None = None,
    tasks: Sequence[str] = (),
    metrics: Sequence[str] = (),
    limit: int | None = None,
    allow_bad_cases: bool = False,
    results: str | os.PathLike[str] | None = None,
    records: str | os.PathLike[str] | None = None,
    save_verdicts: str | os.PathLike[str] | None = None,
    open_items: str | os.PathLike[str] | None = None,
    progress: OnProgress = ignore_progress,
    workers: int = 1,
    trust_config: bool = False,
) -> Scorecard:
    """Score stored outputs against their cases, like `callscore score`.
    Cases, outputs, verdicts and labels are JSONL files, dicts, or the rows of a data frame.

    Args:
        cases: The calls with their expected outcomes; a `.json` file may have one case.
        outputs: The replies of models; without it, the `model_output` in each case is scored.
        verdicts: Verdicts by people or judges.
        labels: Verdicts by people on a sample of judged items, which correct the judged values.
        judge: Decides what code cannot: `none`, `offline`, another name, models, or a Judge.
        embedder: Compares sentences; by default `auto` with a judge, else `none`.
        benchmarks: Also run the eleven optional benchmarks.
        intervals: Give every number its 95 % interval.
        store: Store the replies of judges here (.callscore/runs.db).
        settings: Settings such as `call_gate_tolerance`.
        weights: Task weights.
        decide: What the recommended model is chosen by: `by`, `margin`, `allow_fail`.
        workload: The share of calls that need a task, for the cost of a call.
        cost_per_1000: Cost per 1000 calls in USD, by model.
        tasks: Only cases of these tasks.
        metrics: Metrics of other installed packages, measured in addition to those of the tasks.
        limit: Only the first `limit` cases.
        allow_bad_cases: Skip unusable cases and report them.
        results: Write one JSON line per case, model and run.
        records: Write one JSON line per case, model, run and metric.
        save_verdicts: Write the verdicts of judge and embedder as a verdicts file.
        open_items: Write the open items, to be filled in (JSONL or CSV).
        progress: Called with the number of scored cases and of all.
        workers: Processes that score; where they are spawned, the script needs a `__main__` guard.
        trust_config: Allow judge and embedder to send keys to new hosts.
    """
    config = ScoreConfig(
        cases=(),
        **_judging(judge, embedder),
        benchmarks=benchmarks,
        intervals=intervals,
        store=DEFAULT_STORE if store is None else read_address(store),
        settings=settings or {},
        weights=weights or {},
        decide=read_decide(decide or {}),
        workload=workload or {},
        cost_per_1000=cost_per_1000 or {},
        tasks=tasks,
        metrics=metrics,
        limit=limit,
        allow_bad_cases=allow_bad_cases,
    )
    targets = OutputPaths(*map(as_path, (results, records, save_verdicts, None, open_items)))
    score_with = partial(score_files, targets=targets, progress=progress, workers=Workers(workers))
    given = {"cases": cases, "outputs": outputs, "verdicts": verdicts, "labels": labels}
    return _score_given(given, config, score_with, trust_config=trust_config)


def _score_given(
    given: Mapping[str, Records | None],
    config: ScoreConfig,
    score_with: Callable[[ScoreConfig], Scorecard],
    *,
    trust_config: bool,
) -> Scorecard:
    """Score records from files or memory; those in memory are written to a file first."""
    import tempfile  # commands have their records in files

    with ExitStack() as stack:
        if trust_config:
            stack.enter_context(trust_every_config())
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="callscore-")))
        files = {
            name: _write_records(() if some is None else some, folder / f"{name}.jsonl")
            for name, some in given.items()
        }
        try:
            config = read_other_files(msgspec.structs.replace(config, **files))
            return score_with(config)
        except DataError as error:
            raise _with_record_number(error, folder) from None


def _judging(judge: JudgeSource, embedder: EmbedderSource | None) -> Mapping[str, Any]:
    """The judge and the embedder of a config."""
    return {"judge": _judge(judge), "embedder": _embedder(embedder, judge)}


def _judge(given: JudgeSource) -> str | Judge | tuple[JudgeSpec, ...]:
    if isinstance(given, os.PathLike):
        given = os.fspath(given)
    if isinstance(given, (str, Mapping, Sequence)):
        return judge_choice(given)
    return _check_method(given, "judge", "judge")


def _embedder(given: EmbedderSource | None, judge: object) -> str | Embedder | ModelSpec:
    if given is None:
        return default_embedder(judge)
    if isinstance(given, os.PathLike):
        given = os.fspath(given)
    if isinstance(given, (str, Mapping)):
        return embedder_choice(given)
    return _check_method(given, "embedder", "similarities")


T = TypeVar("T")


def _check_method(given: T, option: str, method: str) -> T:
    """Check an object that was passed as a judge or an embedder."""
    if not callable(getattr(given, method, None)):
        found = type(given).__name__
        raise UsageError(f"{option}: {found} was given; expected a name, a file, or `{method}()`")
    return given


class OutputPaths(msgspec.Struct, frozen=True):
    """The files that a job writes, each atomically."""

    results: Path | None = None
    """One line per case, model and run."""
    records: Path | None = None
    """One line per case, model, run and metric (C-100)."""
    save_verdicts: Path | None = None
    """The verdicts of judge and embedder, as a verdicts file."""
    card: Path | None = None
    """The scorecard as JSON; written by the caller."""
    open_items: Path | None = None
    """Items that await a verdict, for people to fill in: JSON Lines or CSV."""
    html: Path | None = None
    """The report as a page; written by the caller."""
    parquet: Path | None = None
    """A new folder with tables of cases and answers; written by the caller."""

    @property
    def files(self) -> Sequence[Path | None]:
        """All paths."""
        return tuple(getattr(self, name) for name in self.__struct_fields__)

    def check(self, inputs: Iterable[StoreAddress], *others: Path | None) -> None:
        """Refuse files that cannot be written or that the job reads; `others` are written too."""
        files = [*self.files, *others]
        if self.parquet is not None:
            from callscore.report.parquet import load_pyarrow

            load_pyarrow()
            check_new_folder(self.parquet)
            if is_remote(self.parquet):
                files.remove(self.parquet)
        check_targets(files, inputs)
        if self.open_items is not None:
            check_worklist(self.open_items)


NO_FILES = OutputPaths()


@contextmanager
def open_sinks(targets: OutputPaths, progress: OnProgress = ignore_progress) -> Iterator[Sinks]:
    """The sinks of results, records and verdicts: the requested files."""
    with (
        line_writer(targets.results) as on_result,
        line_writer(targets.records) as on_record,
        line_writer(targets.save_verdicts) as on_verdict,
        worklist_writer(targets.open_items) if targets.open_items else nullcontext() as on_open,
    ):
        yield Sinks(
            on_result,
            on_record if targets.records is not None else None,
            (lambda given: on_verdict(to_file_record(given)))
            if targets.save_verdicts is not None
            else None,
            progress,
            on_open,
            lines=LineSinks(on_result.on_lines, on_record.on_lines, on_verdict.on_lines),
        )


def score_files(
    config: ScoreConfig,
    targets: OutputPaths = NO_FILES,
    progress: OnProgress = ignore_progress,
    on_case: OnCase | None = None,
    workers: Workers = ONE_PROCESS,
) -> Scorecard:
    """Score the files of a config, and write the requested files.

    `on_case` receives every case with all its replies, for a report.
    """
    targets.check((*config.cases, *config.outputs, *config.verdicts, *config.labels))
    with open_sinks(targets, progress) as sinks:
        config.check()
        with _judge_runner(config) as judge_runner:
            sinks = msgspec.structs.replace(sinks, judge_runner=judge_runner, on_case=on_case)
            return scorecard(config, score_blocks(config, sinks, workers), judge_runner)


def read_other_files(config: ScoreConfig, *, need_output: bool = True) -> ScoreConfig:
    """The config with the cases of files that are not JSON Lines; raises DataError.

    These are `.json` files that have only one, Parquet, and scenarios of other packages
    (`SUITE:FOLDER`). A URL names a file on this machine (`file://`) or Parquet on another one.
    """
    if ":" in "".join(map(str, config.cases)):
        from callscore.config.scenarios import with_scenario_cases

        local = tuple(map(local_path, config.cases))
        config = with_scenario_cases(msgspec.structs.replace(config, cases=local))
    if any(map(is_parquet, config.cases)):
        cases, lines = parquet_lines(config.cases)
        config = msgspec.structs.replace(
            config, cases=cases, case_lines={**config.case_lines, **lines}
        )
    if not any(map(is_json_file, config.cases)):
        return config
    from callscore.evaluate.single_cases import read_json_files

    return read_json_files(config, need_output=need_output)


def _judge_runner(config: ScoreConfig) -> AbstractContextManager[JudgeRunner | None]:
    if not config.is_judged:
        return nullcontext()
    from callscore.evaluate.judge_setup import open_judge_runner  # imports the providers

    return open_judge_runner(config)


def check_cases(paths: Sequence[Path], workers: int | None = 1) -> CaseCheck:
    """Read every case like scoring, without stopping at the first problem."""
    from callscore.evaluate.case_checks import check_case_files  # scoring does not need it

    config = read_other_files(ScoreConfig(cases=paths), need_output=False)
    return check_case_files(config, workers)


class LineWriter:
    """Writes records as JSON lines; without a file, nothing."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self._file = file
        self._buffer = LineBuffer()

    def __call__(self, record: msgspec.Struct | Mapping[str, Any]) -> None:
        """Write a record."""
        if self._file is not None:
            self._buffer(record)
            if len(self._buffer) > MOST_BUFFERED:
                self.flush()

    def flush(self) -> None:
        """Write what is in memory."""
        if self._file is not None:
            self._file.write(self._buffer.take())

    @property
    def on_lines(self) -> OnLines | None:
        """Writes lines that are encoded already; None without a file."""
        return self._file.write if self._file is not None else None


MOST_BUFFERED = 1 << 18


@contextmanager
def line_writer(path: Path | None) -> Iterator[LineWriter]:
    """Writes records as JSON lines; the file is written atomically."""
    if path is None:
        yield LineWriter()
        return
    with atomic_write(path) as file:
        writer = LineWriter(file)
        yield writer
        writer.flush()


def _with_record_number(error: DataError, folder: Path) -> DataError:
    """The error about a record in memory, such as `outputs: record 3`."""
    file, _, line = error.place.rpartition(":")
    if not file or Path(file).parent != folder:
        return error
    place = f"{Path(file).stem}: record {line}"
    return DataError(error.problem, field=error.field, case_id=error.case_id, place=place)


def as_path(path: str | os.PathLike[str] | None) -> Path | None:
    """The path, if one is given."""
    return Path(path) if path is not None else None


def _write_records(records: Records, spool: Path) -> Sequence[Path]:
    """The paths as they are; records in memory are written to a file, to be parsed like others."""
    if isinstance(records, (str, os.PathLike)):
        return (Path(records),)
    if isinstance(records, tuple) and not records:
        return ()
    paths: list[Path] = []
    with spool.open("wb") as file:
        for line in numbered_lines(record_rows(records), spool.stem):
            if isinstance(line, bytes):
                file.write(line)
            else:
                paths.append(Path(line))
    return (*paths, spool) if spool.stat().st_size else tuple(paths)
