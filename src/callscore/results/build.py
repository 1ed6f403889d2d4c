"""Builds the index of a stored run, in this process or in one of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from callscore.core.errors import CallscoreError
from callscore.evaluate.block_scoring import ONE_PROCESS, Workers
from callscore.export.sources import open_rescored, source_of_run
from callscore.export.step_cases import StepCases
from callscore.results.fingerprint import with_people
from callscore.results.writer import IndexWriter, WithCard, verdicts_on_steps
from callscore.runner.prepare import RunOptions, ScoredParts
from callscore.store.address import StoreAddress
from callscore.store.results_index import ResultsIndex


def build_index(
    index: ResultsIndex,
    data: str,
    run_id: int,
    store: StoreAddress,
    eval_file: Path | None = None,
    workers: Workers = ONE_PROCESS,
) -> None:
    """Score a stored run from its stored replies, and write what is found to the index.

    `data` is the fingerprint of the run without the verdicts of people.
    """
    scored: list[ScoredParts] = []
    with IndexWriter(index, run_id, workers.size) as writer, StepCases() as steps:
        options = RunOptions(
            on_case=writer.add,
            on_step=steps.add,
            on_scored=scored.append,
            on_sub_block=writer.add_sub_block,
            workers=workers,
        )
        with open_rescored(run_id, store, eval_file, options) as rescored:
            writer.add_steps(steps, verdicts_on_steps(scored[0]))
            source = source_of_run(rescored.prepared, rescored.result, (), ())
            source = msgspec.structs.replace(source, absent=rescored.caveats)
            people = rescored.people
            fingerprint = with_people(data, people.lines)
            writer.finish(rescored.result, fingerprint, source, WithCard(scored[0], people))


def main(store: str, run_id: str) -> int:
    """Bring the index of a run up to date; prints why that is not possible."""
    from contextlib import closing

    from callscore.results.stored_results import StoredResults

    try:
        with closing(StoredResults(Path(store))) as results:
            results.refresh(int(run_id))
    except CallscoreError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
