"""The cases of a job, loaded one at a time: read, checked, ready to be scored."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.blocks import BLOCK, BlockSize
from callscore.core.case import Case
from callscore.core.errors import DataError, nearest
from callscore.core.suite import Suite, names_in
from callscore.core.task import Task
from callscore.core.verdict_rules import VerdictRules
from callscore.evaluate.case_blocks import BlockPlan, CaseBlock
from callscore.evaluate.case_positions import MANY, NO_LIMIT, CasePositions
from callscore.store.files import Block, Line, LineStart, Source, blocks_of, lines_in, lines_of
from callscore.store.input_records import (
    canonical_case,
    read_case,
    read_case_head,
    read_case_heads,
    read_checked_case,
)
from callscore.suites.registry import suite_of


class LoadedCase(msgspec.Struct, frozen=True, gc=False):
    """A case with its task, checked and ready to be scored (if `reference` is not None)."""

    case: Case
    task: Task[Any, Any]
    reference: Any
    suite: Suite
    content: bytes = b""
    """The case as canonical JSON; empty if it was checked before (C-132)."""

    @property
    def rules(self) -> VerdictRules:
        """How verdicts on its replies are used."""
        return self.suite.verdict_rules


class IndexedCase(msgspec.Struct, frozen=True, gc=False):
    """A loaded case, its position among all cases of the files, and its line."""

    position: int
    line: Line
    loaded: LoadedCase

    def add_to(self, digest: Digest) -> None:
        """Add the case to the hash of its data set: its content, not its bytes        C-132"""
        loaded = self.loaded
        digest.update((loaded.content or canonical_case(loaded.case, self.line)) + b"\n")


class Digest(Protocol):
    """A hash object, as of hashlib."""

    def update(self, data: bytes, /) -> None:
        """Add these bytes."""


def load_case(
    line: Line, tasks: Mapping[str, Task[Any, Any]], *, checked: bool = False
) -> LoadedCase:
    """Load the case on a line; raises DataError with file, line, case and field.

    A line that was `checked` before is read faster and not hashed again.
    """
    case, content = (read_checked_case(line), b"") if checked else read_case(line)
    suite = suite_of(case.task)
    if suite is None:
        near, expected = nearest(case.task, tasks, likeness=0.5), ", ".join(tasks)
        meant = f"did you mean {near}? " if near else ""
        raise DataError(
            f"{case.task!r} is not a task; {meant}expected one of {expected}",
            field="task",
            case_id=case.id,
            place=line.place,
        )
    task = tasks[case.task]
    try:
        reference = task.reference(case)
    except DataError as error:
        raise error.with_place(line.place, case.id) from None
    return LoadedCase(case, task, reference, suite, content)


def tasks_for(
    config: ScoreConfig, names: Mapping[str, Sequence[str]] | None = None
) -> Mapping[str, Task[Any, Any]]:
    """The tasks, with the settings of a config, and the names in its files if not given by suite"""
    if names is not None:
        return config.catalog.tasks(lambda suite: names[suite.name])
    return config.catalog.tasks(NamesInData(config.case_sources))


class NamesInData:
    """The names that the references in some files use; calling it reads the files.

    All lines are read, even if few cases are selected, so that prompts stay the same.
    """

    def __init__(self, cases: Sequence[Source]) -> None:
        self._cases = cases
        self._found: dict[str, Sequence[str]] = {}

    def __call__(self, suite: Suite) -> Sequence[str]:
        """The names that a suite finds, each once."""
        names = self._found.get(suite.name)
        if names is None:
            lines = (line for block in blocks_of(self._cases) for line in block.lines)
            found = dict.fromkeys(name for line in lines for name in names_in(suite, line))
            names = self._found[suite.name] = tuple(found)
        return names


def duplicate_id(case_id: str, line: Line) -> DataError:
    """The error for a duplicate case id."""
    return DataError(
        "appears twice; expected unique case ids", field="id", case_id=case_id, place=line.place
    )


class CaseIndex:
    """The id of every case in the files with its position, selected or not, and their tasks."""

    def __init__(self, config: ScoreConfig, size: BlockSize = BLOCK, most: int = MANY) -> None:
        """With more than `most` cases, their ids are not kept; only tests use another number."""
        if config.allow_bad_cases or not self._read(config, size, most):
            self._read(config, size, NO_LIMIT)

    def _read(self, config: ScoreConfig, size: BlockSize, most: int) -> bool:
        """Read all files; False if something is wrong that only the ids can tell in order."""
        self.positions = CasePositions(most)
        self.tasks: set[str] = set()
        """The tasks with cases in the files, before a limit        C-82"""
        self.plan = BlockPlan(config, size)
        try:
            for number, source in enumerate(config.case_sources):
                for block in blocks_of([source]):
                    self._add(number, block, allow_bad_cases=config.allow_bad_cases)
        except DataError:
            if self.positions.is_exact:
                raise
            return False
        return self.positions.finish()

    def _add(self, source: int, block: Block, *, allow_bad_cases: bool) -> None:
        heads, first = read_case_heads(block.lines), len(self.positions)
        if heads and self.positions.add([head.id for head in heads]):
            tasks = [head.task for head in heads]
            self.plan.add_all(source, block, tasks, first)
            self.tasks.update(tasks)
        else:
            self._add_one_by_one(source, block, allow_bad_cases=allow_bad_cases)

    def _add_one_by_one(self, source: int, block: Block, *, allow_bad_cases: bool) -> None:
        for line in lines_in(block):
            try:
                head, position = read_case_head(line), len(self.positions)
                if not self.positions.add([head.id]):
                    raise duplicate_id(head.id, line)
            except DataError:
                if not allow_bad_cases:
                    raise
                continue
            self.plan.add(head.task, LineStart(source, line.number, line.offset), position)
            self.tasks.add(head.task)


def selected_tasks(config: ScoreConfig, found: Collection[str]) -> frozenset[str]:
    """The tasks that the Final Score may be over: those found in the data that `tasks` selects

    A file with a part of the data does not have them all; the config names the others.    C-82
    """
    selected = found if not config.tasks else frozenset(found).intersection(config.tasks)
    return frozenset((*selected, *config.other_tasks))


def position_of(ids: Mapping[str, int], case_id: str, line: Line) -> int:
    """The position of the case that a line names; raises DataError if there is none."""
    try:
        return ids[case_id]
    except KeyError:
        raise unknown_case(case_id, line) from None


def unknown_case(case_id: str, line: Line) -> DataError:
    """The error for a line about a case that is not in the files."""
    return DataError(
        f"{case_id!r} is not in the case files; expected the id of a case",
        field="case_id",
        place=line.place,
    )


class Contradictions:
    """Counts references that contradict themselves, and keeps the first        C-131"""

    def __init__(self) -> None:
        self._cases = 0
        self._first: DataError | None = None

    def __iadd__(self, later: Contradictions) -> Contradictions:
        """Add those of later cases."""
        self._cases += later._cases
        self._first = self._first or later._first
        return self

    def check(self, loaded: LoadedCase, line: Line) -> None:
        """Check the reference of one case."""
        found = next(iter(loaded.task.contradictions(loaded.case, loaded.reference)), None)
        if found is not None:
            self._cases += 1
            self._first = self._first or found.with_place(line.place, loaded.case.id)

    @property
    def notes(self) -> list[str]:
        """The notes for the scorecard."""
        if self._first is None:
            return []
        return [
            f"cases whose reference or config contradicts itself: {self._cases}, the first:"
            f" {self._first}; `callscore validate` names them all"
        ]


class CaseFeed(Protocol):
    """The cases of a job, one at a time; its properties are complete after the last one."""

    @property
    def positions(self) -> Mapping[str, int]:
        """The position of every case in the files, selected or not, by id."""

    @property
    def tasks(self) -> Collection[str]:
        """The selected tasks with cases in the files, before a limit        C-82"""

    @property
    def digest(self) -> str:
        """Hash of the content of the selected cases        C-132"""

    @property
    def skipped(self) -> Sequence[str]:
        """Cases that were skipped, and why."""

    @property
    def contradictions(self) -> Sequence[str]:
        """Notes on references that contradict themselves        C-131"""

    def __iter__(self) -> Iterator[IndexedCase]:
        """Every selected case, in the order of the files."""


class CaseReader:
    """The selected cases of a job, read and checked one at a time."""

    is_checked = False

    def __init__(self, config: ScoreConfig, size: BlockSize = BLOCK) -> None:
        self._config = config
        index = CaseIndex(config, size)
        self.plan = index.plan
        self.positions: Mapping[str, int] = index.positions
        self.tasks: Collection[str] = selected_tasks(config, index.tasks)
        self._tasks = tasks_for(config)
        self._hash = hashlib.blake2b(digest_size=16)
        self._contradictions = Contradictions()
        self.skipped: list[str] = []

    @property
    def digest(self) -> str:
        """Hash of the content of the cases that were read        C-132"""
        return self._hash.hexdigest()

    @property
    def contradictions(self) -> Sequence[str]:
        """Notes on references that contradict themselves        C-131"""
        return self._contradictions.notes

    def __iter__(self) -> Iterator[IndexedCase]:
        """Read the files once, one case at a time."""
        config, next_position, given = self._config, 0, 0
        for line in lines_of(config.case_sources):
            if config.limit is not None and given >= config.limit:
                return
            try:
                loaded = load_case(line, self._tasks)
            except DataError as error:
                if not config.allow_bad_cases:
                    raise
                self.skipped.append(str(error))
                continue
            position = self.positions[loaded.case.id]
            if position < next_position:
                self.skipped.append(str(duplicate_id(loaded.case.id, line)))
                continue
            next_position = position + 1
            if not config.tasks or loaded.case.task in config.tasks:
                given += 1
                self._contradictions.check(loaded, line)
                indexed = IndexedCase(position, line, loaded)
                indexed.add_to(self._hash)
                yield indexed

    def join(self, content: bytes, contradictions: Contradictions) -> None:
        """Add the cases of the next block, which were read elsewhere."""
        self._hash.update(content)
        self._contradictions += contradictions


class DividedFeed(CaseFeed, Protocol):
    """The cases of a job that several processes read, a block each."""

    @property
    def plan(self) -> BlockPlan:
        """Where the blocks begin."""

    @property
    def is_checked(self) -> bool:
        """Whether every case was read before, so that blocks are read faster."""

    def join(self, content: bytes, contradictions: Contradictions) -> None:
        """Add the cases of the next block, which were read elsewhere."""


class BlockReader:
    """The selected cases of one block, read one at a time."""

    def __init__(
        self,
        config: ScoreConfig,
        tasks: Mapping[str, Task[Any, Any]],
        block: CaseBlock,
        sources: Sequence[Source] = (),
        *,
        is_checked: bool,
        keeps_content: bool,
    ) -> None:
        """`sources` has the lines of the block if the files are elsewhere."""
        self._config = config
        self._sources = sources or config.case_sources
        self._tasks = tasks
        self._block = block
        self._is_checked, self._keeps_content = is_checked, keeps_content
        self._content: list[bytes] = []
        self.found = Contradictions()

    @property
    def content(self) -> bytes:
        """The content of the cases that were read        C-132"""
        return b"".join(self._content)

    def update(self, data: bytes, /) -> None:
        """Keep the content of a case, which is hashed where the blocks join."""
        self._content.append(data)

    def __iter__(self) -> Iterator[IndexedCase]:
        """Read the lines of the block once."""
        config, block = self._config, self._block
        for position, line in zip(
            range(block.first, block.end), lines_of(self._sources, block.start), strict=False
        ):
            checked = self._is_checked and not self._keeps_content
            loaded = load_case(line, self._tasks, checked=checked)
            if not config.tasks or loaded.case.task in config.tasks:
                indexed = IndexedCase(position, line, loaded)
                if not self._is_checked:
                    self.found.check(loaded, line)
                    indexed.add_to(self)
                yield indexed
