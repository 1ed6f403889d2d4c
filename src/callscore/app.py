"""The public Python API: configuration in, frozen Scorecard out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from callscore.config import ScoreConfig
from callscore.core.errors import DataError
from callscore.core.scorecard import Scorecard
from callscore.scoring.cases import NamedEmotions, duplicate_id, open_case
from callscore.scoring.examiners import opened_examiner
from callscore.scoring.pipeline import Outlets, Progress, Tallying, no_progress
from callscore.scoring.scorecards import scorecard
from callscore.store.files import check_targets, lines_of, written_whole
from callscore.store.records import read_case_id
from callscore.suites import catalog
from callscore.suites.calls import spec

Records = str | os.PathLike[str] | Iterable[str | os.PathLike[str] | Mapping[str, Any]]
"""A file, several files, or the records themselves."""


def score(
    cases: Records,
    outputs: Records = (),
    *,
    verdicts: Records = (),
    results: str | os.PathLike[str] | None = None,
    records: str | os.PathLike[str] | None = None,
    progress: Progress = no_progress,
    **options: Any,
) -> Scorecard:
    """Score stored outputs against their cases (the calls suite).

    `cases`, `outputs` and `verdicts` are paths of JSONL files or iterables of dicts in the same
    form; without outputs the `model_output` embedded in each case is scored. `results` names a
    JSONL file for one line a case, model and run; `records` one for each metric of those, too.
    `judge` is `none`, `offline` or a Judge, `embedder` a name or an Embedder; `benchmarks` runs
    the second layer. Further options: `settings`, `weights`, `cost_per_1000`, `allow_bad_cases`.
    """
    import tempfile  # a command has its records in files already

    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="callscore-")))
        config = ScoreConfig(
            cases=_as_files(cases, folder / "cases.jsonl"),
            outputs=_as_files(outputs, folder / "outputs.jsonl"),
            verdicts=_as_files(verdicts, folder / "verdicts.jsonl"),
            **options,
        )
        try:
            return score_files(config, Targets(_path(results), _path(records)), progress)
        except DataError as error:
            raise _in_memory(error, folder) from None


class Targets(msgspec.Struct, frozen=True):
    """The files that a job writes; each appears whole or not at all."""

    results: Path | None = None
    """One line a case, model and run."""
    records: Path | None = None
    """One line a case, model, run and metric (C-100)."""
    verdicts: Path | None = None
    """What judge and embedder said, as a verdicts file."""
    card: Path | None = None
    """The scorecard as JSON; whoever asks for it writes it."""

    @property
    def files(self) -> Sequence[Path | None]:
        """All of them."""
        return (self.results, self.records, self.verdicts, self.card)

    def check(self, inputs: Iterable[Path]) -> None:
        """Refuse what cannot be written, or would be written over something that is read."""
        check_targets(self.files, inputs)


NO_FILES = Targets()


@contextmanager
def opened_outlets(targets: Targets, progress: Progress = no_progress) -> Iterator[Outlets]:
    """Where results, records and verdicts go: the files that are asked for, else nowhere."""
    with (
        line_writer(targets.results) as on_result,
        line_writer(targets.records) as on_record,
        line_writer(targets.verdicts) as on_verdict,
    ):
        yield Outlets(
            on_result,
            on_record if targets.records is not None else None,
            on_verdict if targets.verdicts is not None else None,
            progress,
        )


def score_files(
    config: ScoreConfig, targets: Targets = NO_FILES, progress: Progress = no_progress
) -> Scorecard:
    """Score the files of a config, and write what is asked for."""
    targets.check((*config.cases, *config.outputs, *config.verdicts))
    with opened_outlets(targets, progress) as outlets:
        return _score(config, outlets)


def _score(config: ScoreConfig, outlets: Outlets) -> Scorecard:
    config.check()
    with opened_examiner(config) as examiner:
        outlets = msgspec.structs.replace(outlets, examiner=examiner)
        with closing(Tallying(config, outlets)) as tallying:
            return scorecard(config, tallying.finish(), examiner)


class CaseCheck(msgspec.Struct, frozen=True):
    """What a look at case files found: usable cases by task, and one error a case that is not.

    `warnings` are about cases that are usable, but would be asked otherwise than they are scored.
    """

    tasks: Mapping[str, int]
    problems: Sequence[DataError]
    warnings: Sequence[DataError]
    notes: Sequence[str] = ()
    """What an answer that reads nothing would score, and what the data cannot show (C-135)."""


def check_cases(paths: Sequence[Path]) -> CaseCheck:
    """Read every case as scoring would, without stopping at the first problem."""
    from callscore.suites.calls.askable import oversights
    from callscore.suites.calls.floors.card import data_notes
    from callscore.suites.calls.floors.tally import Floors

    tasks = catalog.tasks(spec.settings(), NamedEmotions(paths))
    seen: set[str] = set()
    counts: dict[str, int] = {}
    found: list[DataError] = []
    warnings: list[DataError] = []
    floors = Floors(spec.settings())
    for line in lines_of(paths):
        try:
            opened = open_case(line, tasks)
            case = opened.case
            if read_case_id(line) in seen:
                raise duplicate_id(case.id, line)
        except DataError as error:
            found.append(error)
            continue
        seen.add(case.id)
        counts[case.task] = counts.get(case.task, 0) + 1
        floors.add(case.task, opened.reference)
        found_in = oversights(case, opened.reference)
        warnings += [warning.located(line.place, case.id) for warning in found_in]
    notes = list(data_notes(floors.found(), *floors.failures))
    return CaseCheck(counts, found, warnings, notes)


@contextmanager
def line_writer(path: Path | None) -> Iterator[Callable[[msgspec.Struct], None]]:
    """Something that writes structs, one JSON line each; the file appears whole or not at all."""
    if path is None:
        yield lambda result: None
        return
    encoder = msgspec.json.Encoder()
    with written_whole(path) as file:
        buffer = bytearray()

        def write(result: msgspec.Struct) -> None:
            nonlocal buffer
            encoder.encode_into(result, buffer, -1)
            buffer += b"\n"
            if len(buffer) > 1 << 18:
                file.write(buffer)
                buffer = bytearray()

        yield write
        file.write(buffer)


def _in_memory(error: DataError, folder: Path) -> DataError:
    """The error about a record that was no line of a file: `outputs: record 3`."""
    file, _, line = error.place.rpartition(":")
    if not file or Path(file).parent != folder:
        return error
    place = f"{Path(file).stem}: record {line}"
    return DataError(error.problem, field=error.field, case_id=error.case_id, place=place)


def _path(path: str | os.PathLike[str] | None) -> Path | None:
    return Path(path) if path is not None else None


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
