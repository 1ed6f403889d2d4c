"""Checks case files, blocks of lines in several processes: problems, floors, statistics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.blocks import BLOCK
from callscore.core.errors import DataError
from callscore.core.task import FloorTally, Task
from callscore.evaluate.cases import duplicate_id, load_case, tasks_for
from callscore.evaluate.data_statistics import DataStatistics
from callscore.processes.cores import count_processes
from callscore.scorecard.floors import DataFloors
from callscore.store.files import (
    BEGIN,
    LineStart,
    Source,
    blocks_of,
    is_special,
    lines_in,
    lines_of,
    path_of,
)
from callscore.store.input_records import near_misses, read_case_head

FEW_LINES = 2 * BLOCK.cases
"""Below, one process is used unless a number is given."""


class CaseCheck(msgspec.Struct, frozen=True):
    """The result of checking case files: usable cases by task, and one error per unusable case.

    `warnings` are about usable cases whose prompt does not ask for everything that is scored.
    """

    tasks: Mapping[str, int]
    problems: Sequence[DataError]
    warnings: Sequence[DataError]
    notes: Sequence[str] = ()
    """The scores of trivial answers, and what the data cannot show (C-135)."""
    statistics: Sequence[str] = ()
    """Statistics of the data set."""


class LineBlock(NamedTuple):
    """Consecutive lines, from one that is the first of a block."""

    start: LineStart
    lines: int | None
    """How many that are not empty; None for all of the files."""
    place: str
    """Its first line, as messages name it."""


class BlockCheck(NamedTuple):
    """What is found in a block."""

    ids: set[str]
    tasks: Counter[str]
    problems: list[DataError]
    warnings: list[DataError]
    floors: Mapping[str, FloorTally | None]
    statistics: DataStatistics


def check_case_files(
    config: ScoreConfig, workers: int | None, lines: int = BLOCK.cases
) -> CaseCheck:
    """Read every case like scoring, without stopping at the first problem.

    Blocks are joined in order, for every number of processes. Only tests use other `lines`.
    """
    sources = config.case_sources
    if any(is_special(path_of(source)) for source in sources):  # a pipe is read once
        blocks = [LineBlock(BEGIN, None, str(path_of(sources[0])))]
    else:
        blocks = list(_line_blocks(sources, lines))
    number = count_processes(workers, sum(block.lines or 0 for block in blocks), FEW_LINES, lines)
    floors, statistics = DataFloors(config.catalog.formula), DataStatistics()
    seen: set[str] = set()
    tasks: Counter[str] = Counter()
    problems: list[DataError] = []
    warnings: list[DataError] = []
    for block, found in zip(blocks, _check_blocks(config, blocks, number), strict=True):
        if not seen.isdisjoint(found.ids):  # only now is it known which cases are duplicates
            found = _check(config, tasks_for(config), block, seen)
        seen.update(found.ids)
        tasks.update(found.tasks)
        problems += found.problems
        warnings += found.warnings
        floors.join(found.floors)
        statistics += found.statistics
    return CaseCheck(tasks, problems, warnings, floors.data_notes(), list(statistics.lines()))


def _check_blocks(
    config: ScoreConfig, blocks: Sequence[LineBlock], number: int
) -> Iterator[BlockCheck]:
    if number == 1:
        yield from map(open_checker(config), blocks)
        return
    from callscore.processes.pool import ProcessPool  # slow to import

    with ProcessPool(number, open_checker, config) as pool:
        yield from pool.results(blocks, lambda block: block.place)


def _line_blocks(sources: Sequence[Source], lines: int) -> Iterator[LineBlock]:
    """The lines of the files in blocks, which may begin in one file and end in the next."""
    start, counted, place = BEGIN, 0, ""
    for number, source in enumerate(sources):
        for block in blocks_of([source]):
            for line in lines_in(block):
                if counted == lines:
                    yield LineBlock(start, counted, place)
                    counted = 0
                if not counted:
                    start, place = LineStart(number, line.number, line.offset), line.place
                counted += 1
    if counted:
        yield LineBlock(start, counted, place)


def open_checker(config: ScoreConfig) -> Callable[[LineBlock], BlockCheck]:
    """A function that checks one block after another."""
    tasks = tasks_for(config)
    return lambda block: _check(config, tasks, block)


def _check(
    config: ScoreConfig,
    tasks: Mapping[str, Task[Any, Any]],
    block: LineBlock,
    taken: Collection[str] = (),
) -> BlockCheck:
    """What is found in a block; cases whose ids are `taken` are duplicates."""
    floors = DataFloors(config.catalog.formula)
    found = BlockCheck(set(), Counter(), [], [], floors.tallies, DataStatistics())
    for line in islice(lines_of(config.case_sources, block.start), block.lines):
        try:
            loaded = load_case(line, tasks)
            case_id = read_case_head(line).id
            if case_id in found.ids or case_id in taken:
                raise duplicate_id(case_id, line)
        except DataError as error:
            found.problems.append(error)
            continue
        found.ids.add(case_id)
        found.tasks[loaded.case.task] += 1
        floors.add(loaded.task, loaded.reference)
        found.statistics.add(loaded.case)
        warned = [*loaded.task.warnings(loaded.case, loaded.reference), *near_misses(line)]
        found.warnings.extend(warning.with_place(line.place, case_id) for warning in warned)
    return found
