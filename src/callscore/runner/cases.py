"""The cases of a run: read once to check and hash them, and once to request and score them."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count, islice
from typing import TYPE_CHECKING, Protocol, cast

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.blocks import BLOCK, BlockSize
from callscore.core.case import Case, Prompt
from callscore.core.errors import DataError
from callscore.core.provider import CaseProvider, Provider, ProviderRequest
from callscore.core.run import Survey, Work
from callscore.core.scenarios import (
    FollowUpBound,
    FollowUps,
    ScenarioCases,
    StepRequest,
    StoredReplies,
)
from callscore.core.suite import Suite, names_in
from callscore.core.task import SCENARIO
from callscore.evaluate.case_blocks import BlockPlan
from callscore.evaluate.case_positions import MANY, NO_LIMIT, CasePositions
from callscore.evaluate.cases import (
    Contradictions,
    IndexedCase,
    LoadedCase,
    duplicate_id,
    load_case,
    selected_tasks,
    tasks_for,
)
from callscore.runner.call_steps import CallSteps, StepIndex
from callscore.store.disk_list import DiskTexts
from callscore.store.files import Line, LinesByKey, LineStart, lines_of, path_of
from callscore.store.input_records import read_case_head

if TYPE_CHECKING:
    from callscore.runner.scoring import ScoringJob, ScoringPart

MAX_IN_MEMORY = 256
"""In cases. A model that is further behind the fastest one reads the files separately."""


class CasePrompt(msgspec.Struct, frozen=True, dict=True):
    """A case with its prompt."""

    case: Case
    given: Prompt | None = None
    """Its prompt; by default its task writes it, if it is needed: scoring needs none."""
    indexed: IndexedCase | None = None
    """The same case ready to be scored, if it is in a case file."""
    waits: bool = False
    """Whether it is asked only after the replies to earlier cases of its call."""

    @cached_property
    def prompt(self) -> Prompt:
        """The prompt, written once for all models."""
        if self.given is not None:
            return self.given
        assert self.indexed is not None  # a case without a prompt of its own is of a case file
        return self.indexed.loaded.task.prompt(self.case)


OnLoaded = Callable[[str, LoadedCase], None]
"""Receives a call and a case of it that is ready to be scored."""


class CallIndex(Protocol):
    """The calls of a source, from which a race draws."""

    @property
    def tasks(self) -> Mapping[str, Sequence[str]]:
        """By call, the task of everything in it that has a score."""
        ...

    def cases(self, call: str) -> Sequence[CasePrompt]:
        """The cases of one call."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...


class Streamed(Protocol):
    """Cases that can be read again and again."""

    def stream(self) -> Iterator[CasePrompt]:
        """All cases, each with its prompt; they were checked before."""
        ...


class CaseSource(Streamed, Protocol):
    """The cases of one kind of data, scored together: case files, or folders of scenarios."""

    unit: str
    """What reports count and a race draws: `call` or `scenario`."""
    ids: Sequence[str]
    """The ids of the selected cases; empty before `survey`."""
    tasks: frozenset[str]
    """The tasks with cases in the data, before a limit (C-82); empty before `survey`."""
    waiting: Collection[str]
    """The ids of the cases that are asked only after earlier ones of their call."""

    def survey(self) -> Survey:
        """Read and check all cases; raises DataError."""
        ...

    def weights(self, given: Mapping[str, float]) -> Mapping[str, float]:
        """The user's weights that apply to its tasks."""
        ...

    def index_calls(self, on_loaded: OnLoaded) -> CallIndex:
        """Read all cases again, by call."""
        ...

    def follow_ups(
        self, models: Sequence[str], stored: StoredReplies, repeats: int
    ) -> FollowUps | None:
        """The requests that depend on earlier replies; None if there are none."""
        ...

    def follow_up_bounds(self) -> Iterator[FollowUpBound]:
        """The most that requests after those of `stream` can take."""
        ...

    def open_scoring(self, job: ScoringJob) -> ScoringPart:
        """How the replies to its cases are scored."""
        ...


class CaseFiles:
    """The selected cases of case files."""

    unit = "call"

    def __init__(
        self,
        config: ScoreConfig,
        *,
        keep_content: bool = False,
        size: BlockSize = BLOCK,
        most: int = MANY,
    ) -> None:
        """`keep_content`: the stream has every case with all its keys, for a report.

        The ids of more than `most` cases are on disk; only tests use another number.
        """
        self._config = config
        self._keep_content = keep_content
        self.contradictions: Sequence[str] = ()
        """Notes on references that contradict themselves (C-131)."""
        self._size = size
        self._begin(most)
        self.digest = ""
        self.skipped: Sequence[str] = ()

    def _begin(self, most: int) -> None:
        config = self._config
        self._tasks = tasks_for(config)
        self._steps = StepIndex(config.case_sources)
        self.waiting: Collection[str] = self._steps.later
        self.plan = BlockPlan(config, self._size)
        self._most = most
        self.positions = CasePositions(most)
        self.ids: Sequence[str] = ()
        self.tasks: frozenset[str] = frozenset()

    def survey(self) -> Survey:
        """Check and hash every selected case; of the others only the ids are checked."""
        try:
            if (found := self._survey()) is not None:
                return found
        except DataError:
            if self.positions.is_exact:
                raise
        self._begin(NO_LIMIT)  # only the ids can tell which error is the first
        found = self._survey()
        assert found is not None  # ids that are all known have been compared
        return found

    def _survey(self) -> Survey | None:
        """The same; None if two cases have the same id, or seem to."""
        config = self._config
        numbers = {path_of(source): at for at, source in enumerate(config.case_sources)}
        digest, contradictions = hashlib.blake2b(digest_size=16), Contradictions()
        selected: list[str] | DiskTexts = []
        tasks: set[str] = set()
        found: set[str] = set()
        names: dict[str, dict[str, None]] = {}
        suites: dict[str, Suite] = {}
        for position, line in enumerate(lines_of(config.case_sources)):
            if config.limit is not None and len(selected) >= config.limit:
                head = read_case_head(line)
                if not self.positions.add([head.id]):
                    raise duplicate_id(head.id, line)
                found.add(head.task)
                _add_names(suites.values(), line, names)
                continue
            loaded = load_case(line, self._tasks)
            suites[loaded.suite.name] = loaded.suite
            _add_names(suites.values(), line, names)
            if not self.positions.add([loaded.case.id]):
                raise duplicate_id(loaded.case.id, line)
            start = LineStart(numbers[line.path], line.number, line.offset)
            self.plan.add(loaded.case.task, start, position)
            found.add(loaded.case.task)
            if not config.tasks or loaded.case.task in config.tasks:
                selected.append(loaded.case.id)
                if len(selected) == self._most:
                    selected = DiskTexts(selected)
                tasks.add(loaded.case.task)
                if loaded.task.needs_earlier_replies:
                    self._steps.add(loaded.case, line)
                contradictions.check(loaded, line)
                IndexedCase(position, line, loaded).add_to(digest)
        if not self.positions.finish():
            return None
        self._tasks = config.catalog.tasks(lambda suite: tuple(names.get(suite.name, ())))
        self.contradictions = contradictions.notes
        self.digest = digest.hexdigest()
        self.tasks = selected_tasks(config, found)
        self.ids = selected
        return Survey(selected, self.digest, frozenset(tasks))

    def stream(self) -> Iterator[CasePrompt]:
        """Every selected case with its prompt and its reference."""
        fast, tasks = not self._keep_content, self._config.tasks
        selected = (
            IndexedCase(position, line, loaded)
            for position, line in enumerate(lines_of(self._config.case_sources))
            if (loaded := load_case(line, self._tasks, checked=fast)).case.task in tasks
            or not tasks
        )
        yield from map(self._add_prompt, islice(selected, self._config.limit))

    def read(self, line: Line) -> CasePrompt:
        """The case on one line, which was checked before."""
        loaded = load_case(line, self._tasks, checked=True)
        return self._add_prompt(IndexedCase(self.positions[loaded.case.id], line, loaded))

    def _add_prompt(self, indexed: IndexedCase) -> CasePrompt:
        case = indexed.loaded.case
        return CasePrompt(case, None, indexed, case.id in self.waiting)

    def weights(self, given: Mapping[str, float]) -> Mapping[str, float]:
        """All of them: the user's weights are about the tasks of case files."""
        return given

    def index_calls(self, on_loaded: OnLoaded) -> CallIndex:
        """The lines of every call; the cases themselves stay on disk."""
        return _CallsOnDisk(self, self._config, on_loaded)

    def follow_ups(
        self, models: Sequence[str], stored: StoredReplies, repeats: int
    ) -> FollowUps | None:
        """The cases of tasks that need earlier replies; None if no call has two of them."""
        if not self.waiting:
            return None
        return CallSteps(self._steps, self.read, models, stored, repeats)

    def follow_up_bounds(self) -> Iterator[FollowUpBound]:
        """Nothing: the cases that wait for earlier replies are in the stream."""
        return iter(())

    def open_scoring(self, job: ScoringJob) -> ScoringPart:
        """Score every case when its replies have arrived; a stored run by blocks, if asked for."""
        from callscore.evaluate.block_scoring import count_workers
        from callscore.runner.scoring import BlockScoring, CaseScoring

        workers = job.prepared.options.workers
        number = count_workers(self._config, workers, self.plan.selected)
        if number > 1:
            return BlockScoring(self, job, workers._replace(number=number))
        if job.process is not None:
            from callscore.runner.scoring_process import SubBlockScoring

            return SubBlockScoring(self, job, job.process)
        return CaseScoring(self, job)


class _CallsOnDisk:
    """The calls of case files: where their lines are, and their tasks."""

    def __init__(self, files: CaseFiles, config: ScoreConfig, on_loaded: OnLoaded) -> None:
        self._files = files
        self._lines = LinesByKey(config.case_sources)
        self._numbers: dict[str, int] = {}
        self.tasks: dict[str, list[str]] = {}
        for prompt in files.stream():
            assert prompt.indexed is not None  # of a case file
            case = prompt.case
            call = f"case/{case.id}" if case.call_id is None else f"call/{case.call_id}"
            number = self._numbers.setdefault(call, len(self._numbers))
            self._lines.add(number, prompt.indexed.line)
            self.tasks.setdefault(call, []).append(case.task)
            on_loaded(call, prompt.indexed.loaded)

    def cases(self, call: str) -> list[CasePrompt]:
        """The cases of one call, read again."""
        return [*map(self._files.read, self._lines.lines(self._numbers[call]))]

    def close(self) -> None:
        """Close the case files."""
        self._lines.close()


def _add_names(suites: Iterable[Suite], line: Line, names: dict[str, dict[str, None]]) -> None:
    """Add the names in a line, for every suite that has a case so far."""
    for suite in suites:
        names.setdefault(suite.name, {}).update(dict.fromkeys(names_in(suite, line.raw)))


class ScenarioSteps:
    """The steps of scenarios, each as a case; the scenario, with its twins, is its call."""

    unit = SCENARIO
    waiting: Collection[str] = ()
    """None: steps are asked with the recorded history."""

    def __init__(self, scenarios: ScenarioCases) -> None:
        self.scenarios = scenarios
        self.ids: Sequence[str] = ()
        self.tasks = frozenset({SCENARIO})

    def survey(self) -> Survey:
        """Check and hash every scenario."""
        found = msgspec.structs.replace(self.scenarios.survey(), tasks=self.tasks)
        self.ids = found.ids
        return found

    def stream(self) -> Iterator[CasePrompt]:
        """Every step of every scenario."""
        for case, prompt in self.scenarios.stream():
            yield CasePrompt(case, prompt)

    def weights(self, given: Mapping[str, float]) -> Mapping[str, float]:
        """None of them: scenarios are one task."""
        return {}

    def index_calls(self, on_loaded: OnLoaded) -> CallIndex:
        """The steps of every scenario, with those of its twins."""
        return _ScenariosInMemory(self.stream())

    def follow_ups(
        self, models: Sequence[str], stored: StoredReplies, repeats: int
    ) -> FollowUps | None:
        """The pass in which models see their own history, if it is configured."""
        return self.scenarios.follow_ups(models, stored, repeats)

    def follow_up_bounds(self) -> Iterator[FollowUpBound]:
        """The most that the pass with own history can take."""
        return self.scenarios.follow_up_bounds()

    def open_scoring(self, job: ScoringJob) -> ScoringPart:
        """Score the steps of a scenario together, when all replies have arrived."""
        from callscore.runner.scenarios import ScenarioScoring

        return ScenarioScoring(self.scenarios, job)


class _ScenariosInMemory:
    """The steps of every scenario by call; each scenario of a call has one score."""

    def __init__(self, steps: Iterable[CasePrompt]) -> None:
        self._steps: dict[str, list[CasePrompt]] = {}
        scenarios: dict[str, dict[str, str]] = {}
        for step in steps:
            call, scenario = str(step.case.call_id), step.case.id.rpartition("#")[0]
            self._steps.setdefault(call, []).append(step)
            scenarios.setdefault(call, {})[scenario] = step.case.task
        self.tasks = {call: [*tasks.values()] for call, tasks in scenarios.items()}

    def cases(self, call: str) -> list[CasePrompt]:
        """The steps of the scenarios that are one call."""
        return self._steps[call]

    def close(self) -> None:
        """Do nothing: no file is open."""


def ids_of_calls(sources: Iterable[CaseSource]) -> frozenset[str]:
    """The ids of all cases that are no steps of scenarios."""
    return frozenset(
        case_id for source in sources if source.unit != SCENARIO for case_id in source.ids
    )


class CaseStream:
    """One pass over the cases of all suites for several readers: each model, and the scoring."""

    def __init__(self, sources: Sequence[Streamed]) -> None:
        self._sources = sources
        self._stream = self._read_all()
        self._buffer: deque[CasePrompt] = deque()
        self._first = 0
        """The position of the first case in the buffer."""
        self._positions: dict[int, int] = {}
        """How many cases each reader has read, while it reads from the buffer."""
        self._numbers = count()

    def _read_all(self) -> Iterator[CasePrompt]:
        for source in self._sources:
            yield from source.stream()

    def reader(self) -> Generator[CasePrompt]:
        """Every case, from the first. Create all readers before any of them reads."""
        number = next(self._numbers)
        self._positions[number] = 0
        return self._read(number)

    def _read(self, reader: int) -> Generator[CasePrompt, None, None]:
        try:
            while (position := self._positions[reader]) >= self._first:
                if position == self._first + len(self._buffer) and not self._read_next():
                    return
                case_prompt = self._buffer[position - self._first]
                self._positions[reader] += 1
                if position == self._first and min(self._positions.values()) > position:
                    self._drop_first()
                yield case_prompt
        finally:
            del self._positions[reader]
        yield from islice(self._read_all(), position, None)

    def _read_next(self) -> bool:
        """Read one more case into the buffer; returns whether there was one."""
        case_prompt = next(self._stream, None)
        if case_prompt is None:
            return False
        self._buffer.append(case_prompt)
        if len(self._buffer) > MAX_IN_MEMORY:
            self._drop_first()
        return True

    def _drop_first(self) -> None:
        self._buffer.popleft()
        self._first += 1


class CasesToScore:
    """The cases of case files as scoring reads them: the same that are requested."""

    is_checked = True

    def __init__(self, files: CaseFiles, reader: Iterator[CasePrompt]) -> None:
        self._reader = reader
        self.positions: Mapping[str, int] = files.positions
        self.tasks = files.tasks
        self.digest = files.digest
        self.plan = files.plan
        self.skipped = files.skipped
        self.contradictions = files.contradictions

    def join(self, content: bytes, contradictions: Contradictions) -> None:
        """Nothing: the cases were hashed and checked before they were requested."""

    def __iter__(self) -> Iterator[IndexedCase]:
        """Case files come before all other sources."""
        for case_prompt in self._reader:
            if case_prompt.indexed is None:
                return
            yield case_prompt.indexed


def work_of(
    model: str, provider: Provider, case_prompts: Iterable[CasePrompt], repeats: int
) -> Iterator[Work]:
    """The work of one model: one request per case and repeat, where the provider has one.

    Cases that wait for earlier replies are left out.
    """
    for case_prompt in case_prompts:
        case = case_prompt.case
        if case_prompt.waits:
            continue
        for run in range(1, repeats + 1):
            request = request_of(provider, case_prompt, run)
            if request is not None:
                yield Work(case.id, model, run, request, case.task)


def work_of_step(provider: Provider, step: StepRequest) -> list[Work]:
    """The work of a step that depends on earlier replies; none if the provider has none."""
    request = request_of(provider, CasePrompt(step.case, step.prompt), step.run)
    case = step.case
    return [] if request is None else [Work(case.id, step.model, step.run, request, case.task)]


def request_of(provider: Provider, case_prompt: CasePrompt, run: int) -> ProviderRequest | None:
    """The request for a case; None if the provider has no reply to it, as a recording may not."""
    # `isinstance` compares every member of CaseProvider, which takes as long as this request.
    if hasattr(provider, "request_for"):
        return cast("CaseProvider", provider).request_for(case_prompt.case, case_prompt.prompt, run)
    return provider.request(case_prompt.prompt, run)
