"""Builds the index of a stored run, in this process or in one of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from callscore.core.errors import CallscoreError
from callscore.evaluate.block_scoring import ONE_PROCESS, Workers
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.export.sources import rescore_run, source_of_run
from callscore.export.step_cases import StepCases
from callscore.results.writer import IndexWriter, verdicts_on_steps
from callscore.runner.prepare import RunOptions
from callscore.store.address import StoreAddress
from callscore.store.results_index import ResultsIndex

PEOPLE = "people.jsonl"
"""The name under which reports list the verdicts of people in the index."""


def build_index(
    index: ResultsIndex,
    fingerprint: str,
    run_id: int,
    store: StoreAddress,
    eval_file: Path | None = None,
    workers: Workers = ONE_PROCESS,
) -> None:
    """Score a stored run from its stored replies, and write what is found to the index."""
    scored: list[ScoringResult] = []
    with (
        IndexWriter(index, run_id) as writer,
        StepCases() as steps,
        _verdicts_file(b"".join(index.people(run_id).values())) as verdicts,
    ):
        options = RunOptions(
            verdicts=verdicts,
            on_case=writer.add,
            on_step=steps.add,
            on_scoring_result=scored.append,
            workers=workers,
        )
        rescored = rescore_run(run_id, store, eval_file, options)
        writer.add_steps(steps, verdicts_on_steps(scored))
        source = source_of_run(rescored.prepared, rescored.result, (), ())
        source = msgspec.structs.replace(source, absent=rescored.caveats)
        writer.finish(run_id, fingerprint, source, scored)


@contextmanager
def _verdicts_file(lines: bytes) -> Iterator[Sequence[Path]]:
    """What people say about replies as a file of verdicts; none if they say nothing."""
    if not lines:
        yield ()
        return
    with TemporaryDirectory(prefix="callscore-") as folder:
        path = Path(folder) / PEOPLE
        path.write_bytes(lines)
        yield (path,)


def build_command(store: Path, run_id: int) -> list[str]:
    """The command that builds the index of a run in a process of its own."""
    return [sys.executable, "-m", __name__, str(store), str(run_id)]


def main(store: str, run_id: str) -> int:
    """Build the index of a run; prints why that is not possible."""
    from contextlib import closing

    from callscore.results.stored import StoredResults

    try:
        with closing(StoredResults(Path(store))) as results:
            results.build(int(run_id))
    except CallscoreError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
