"""The public Python API: configuration in, frozen Scorecard out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from callscore import __version__
from callscore.config import ScoreConfig
from callscore.core.errors import DataError
from callscore.core.scorecard import BenchmarkScore, CaseResult, ModelScore, Scorecard
from callscore.pipeline import Progress, Tallied, duplicate_id, open_case, tally_cases
from callscore.store.files import lines_of, written_whole
from callscore.suites import catalog
from callscore.suites.calls import spec
from callscore.suites.calls.final import final_score, option_weights
from callscore.suites.calls.model_score import score_task
from callscore.suites.calls.ranking import cost_of, rank
from callscore.suites.calls.tally import TaskTally

Records = str | os.PathLike[str] | Iterable[str | os.PathLike[str] | Mapping[str, Any]]
"""A file, several files, or the records themselves."""


def no_progress(done: int, total: int) -> None:
    """Progress nobody watches."""


def score(
    cases: Records,
    outputs: Records = (),
    *,
    verdicts: Records = (),
    results: str | os.PathLike[str] | None = None,
    progress: Progress = no_progress,
    **options: Any,
) -> Scorecard:
    """Score stored outputs against their cases (the calls suite).

    `cases`, `outputs` and `verdicts` are paths of JSONL files or iterables of dicts in the same
    form; without outputs the `model_output` embedded in each case is scored. `results` names a
    JSONL file for one line a case, model and run. Further options: `settings`, `weights`,
    `cost_per_1000`, `allow_bad_cases`, `judge`.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="callscore-")))
        config = ScoreConfig(
            cases=_as_files(cases, folder / "cases.jsonl"),
            outputs=_as_files(outputs, folder / "outputs.jsonl"),
            verdicts=_as_files(verdicts, folder / "verdicts.jsonl"),
            **options,
        )
        return score_files(config, Path(results) if results is not None else None, progress)


def score_files(
    config: ScoreConfig, results: Path | None = None, progress: Progress = no_progress
) -> Scorecard:
    """Score the files of a config; the results file appears whole or not at all."""
    config.check()
    with _result_writer(results) as on_result:
        tallied = tally_cases(config, on_result, progress)
    return _scorecard(config, tallied)


class CaseCheck(msgspec.Struct, frozen=True):
    """What a look at case files found: usable cases by task, and one error a case that is not."""

    tasks: Mapping[str, int]
    problems: Sequence[DataError]


def check_cases(paths: Sequence[Path]) -> CaseCheck:
    """Read every case as scoring would, without stopping at the first problem."""
    tasks = catalog.tasks(spec.settings())
    seen: set[str] = set()
    counts: dict[str, int] = {}
    found: list[DataError] = []
    for line in lines_of(paths):
        try:
            case = open_case(line, tasks).case
            if case.id in seen:
                raise duplicate_id(case.id, line)
        except DataError as error:
            found.append(error)
            continue
        seen.add(case.id)
        counts[case.task] = counts.get(case.task, 0) + 1
    return CaseCheck(counts, found)


@contextmanager
def _result_writer(path: Path | None) -> Iterator[Any]:
    if path is None:
        yield lambda result: None
        return
    encoder = msgspec.json.Encoder()
    with written_whole(path) as file:
        buffer = bytearray()

        def write(result: CaseResult) -> None:
            nonlocal buffer
            encoder.encode_into(result, buffer, -1)
            buffer += b"\n"
            if len(buffer) > 1 << 18:
                file.write(buffer)
                buffer = bytearray()

        yield write
        file.write(buffer)


def _as_files(records: Records, spool: Path) -> Sequence[Path]:
    """Paths as they are; dicts are written to a file first, so that there is one way to read."""
    if isinstance(records, (str, os.PathLike)):
        return (Path(records),)
    paths: list[Path] = []
    encoder = msgspec.json.Encoder()
    with spool.open("wb") as file:
        for record in records:
            if isinstance(record, (str, os.PathLike)):
                paths.append(Path(record))
            else:
                file.write(encoder.encode(record) + b"\n")
    return (*paths, spool) if spool.stat().st_size else tuple(paths)


def _scorecard(config: ScoreConfig, tallied: Tallied) -> Scorecard:
    settings = config.checked_settings()
    models = [
        _model_score(model, tallies, config, settings) for model, tallies in tallied.tallies.items()
    ]
    return Scorecard(
        framework=spec.load().framework,
        signature=_signature(config, tallied, settings),
        models=models,
        ranking=rank(models),
        notes=_notes(config, tallied),
    )


def _model_score(
    model: str, tallies: Mapping[str, TaskTally], config: ScoreConfig, settings: spec.Settings
) -> ModelScore:
    scored = {
        task: score_task(catalog.formula_for(task, settings), tallies[task], settings)
        for task in catalog.tasks(settings)
        if task in tallies
    }
    tasks = {task: entry.score for task, entry in scored.items()}
    benchmarks = _benchmarks_not_run()
    final = final_score(tasks, benchmarks, settings, config.weights or None)
    cost_weights = option_weights("b", settings, config.weights or None)
    return ModelScore(
        model=model,
        tasks=tasks,
        benchmarks=benchmarks,
        final=final,
        cost=cost_of(tallies, cost_weights, config.cost_per_1000.get(model)),
        blockers=[blocker for entry in scored.values() for blocker in entry.blockers],
        blocked_calls=sum(task.blocked_calls for task in tasks.values()),
    )


def _benchmarks_not_run() -> BenchmarkScore:
    criteria = spec.load().benchmarks.criteria
    return BenchmarkScore(
        status="not_run",
        score=None,
        criteria={slug: {"value": None, "binary": None} for slug in criteria},
    )


def _signature(config: ScoreConfig, tallied: Tallied, settings: spec.Settings) -> str:
    """What must agree before two results may be compared (C-126)."""
    changed = {
        key: value
        for key, value in msgspec.to_builtins(settings).items()
        if value != msgspec.to_builtins(spec.load().settings)[key]
    }
    weights = ",".join(f"{task}={weight:g}" for task, weight in config.weights.items())
    parts = {
        "suite": "calls",
        "framework": spec.load().framework,
        "data": tallied.dataset[:16],
        "settings": ",".join(f"{k}={v}" for k, v in changed.items()) or "default",
        "judge": "+".join(tallied.judges) or config.judge,
        "embedder": "none",
        "weights": weights or settings.weights,
        "callscore": __version__,
    }
    return "|".join(f"{key}:{value}" for key, value in parts.items())


def _notes(config: ScoreConfig, tallied: Tallied) -> list[str]:
    notes = [f"skipped: {problem}" for problem in tallied.skipped]
    if tallied.unused_verdicts:
        notes.append(
            f"{tallied.unused_verdicts} verdicts name a model without outputs and were not used"
        )
    return notes
