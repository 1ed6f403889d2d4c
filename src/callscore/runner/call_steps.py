"""Cases of one call that are asked one after the other, each with the replies before it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from callscore.core.case import Case, Reply
from callscore.core.scenarios import StepRequest, StoredReplies
from callscore.core.task import EarlierReply, Task
from callscore.store.files import Line, LinesByKey, Source

if TYPE_CHECKING:
    from callscore.runner.cases import CasePrompt


class StepIndex:
    """By call, the lines of its cases whose task needs earlier replies, in their order."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._numbers: dict[str | int, int] = {}
        self.later: set[str] = set()
        """The ids of all cases but the first of each call."""

    def add(self, case: Case, line: Line) -> None:
        """Add a case whose task needs earlier replies; one without a call has none."""
        call = case.call_id
        if call is None:
            return
        if call in self._numbers:
            self.later.add(case.id)
        self._lines.add(self._numbers.setdefault(call, len(self._numbers)), line)

    @cached_property
    def _lines(self) -> LinesByKey:
        return LinesByKey(self._sources)

    def calls(self) -> Iterator[Sequence[Line]]:
        """The lines of every call."""
        for number in self._numbers.values():
            yield list(self._lines.lines(number))

    def close(self) -> None:
        """Close the case files."""
        self._lines.close()


def steps_of(prompts: Sequence[CasePrompt]) -> list[CasePrompt]:
    """The cases of one call that are asked one after the other."""
    return [prompt for prompt in prompts if _task(prompt).needs_earlier_replies]


def step_requests(
    steps: Sequence[CasePrompt],
    depth: int,
    models: Iterable[str],
    stored: StoredReplies,
    repeats: int,
) -> Iterator[StepRequest]:
    """The step of a call after `depth` others, for every model and run; none if there is none.

    A step whose earlier reply is missing is not asked: it is not run, and counts against no model.
    """
    if depth >= len(steps):
        return
    step, before = steps[depth], steps[:depth]
    for model in models:
        replies = [stored(model, each.case.id) for each in before]
        for run in range(1, repeats + 1):
            earlier = [
                EarlierReply(each.case, reply)
                for each, runs in zip(before, replies, strict=True)
                if isinstance(reply := runs.get(run), Reply)
            ]
            if len(earlier) == depth:
                prompt = _task(step).prompt_after(step.case, earlier)
                yield StepRequest(model, run, step.case, prompt)


def _task(prompt: CasePrompt) -> Task[Any, Any]:
    assert prompt.indexed is not None  # of a case file
    return prompt.indexed.loaded.task


class CallSteps:
    """All calls with steps; a round requests the next step of each."""

    def __init__(
        self,
        index: StepIndex,
        read: Callable[[Line], CasePrompt],
        models: Sequence[str],
        stored: StoredReplies,
        repeats: int,
    ) -> None:
        self._index = index
        self._read = read
        self._models = models
        self._stored = stored
        self._repeats = repeats
        self._depth = 0

    def next_round(self, left_out: frozenset[str]) -> Sequence[StepRequest]:
        """The next step of every call, model and run, except for the models left out."""
        self._depth += 1
        found: list[StepRequest] = []
        models = [model for model in self._models if model not in left_out]
        for lines in self._index.calls():
            steps = [self._read(line) for line in lines[: self._depth + 1]]
            found += step_requests(steps, self._depth, models, self._stored, self._repeats)
        if not found:
            self._index.close()
        return found
