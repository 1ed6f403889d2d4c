"""What is asked: the cases of both suites as one stream, and the work that each model has in it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.case import Case, Prompt
from callscore.core.provider import CaseProvider, Provider, ProviderRequest
from callscore.core.run import Work
from callscore.evaluate.cases import CaseReader, case_positions, tasks_for


class Asked(NamedTuple):
    """A case and what a model is sent for it."""

    case: Case
    prompt: Prompt


class Survey(msgspec.Struct, frozen=True):
    """What a look at all the data found, before anything is spent."""

    cases: int
    digest: str


class CaseSource(Protocol):
    """What is asked in one suite. A stream is opened anew for every model."""

    def survey(self) -> Survey:
        """Read and check everything once; raises DataError."""
        ...

    def stream(self) -> Iterator[Asked]:
        """Every case with its prompt, unchecked."""
        ...


class CallSubjects:
    """The wanted cases of the calls suite."""

    def __init__(self, config: ScoreConfig) -> None:
        self._config = config
        self._positions = case_positions(config)
        self._tasks = tasks_for(config)

    def survey(self) -> Survey:
        """Check every case as scoring will, expected outcome included."""
        digest = hashlib.blake2b(digest_size=16)
        cases = 0
        for placed in CaseReader(self._config, self._positions):
            cases += 1
            placed.add_to(digest)
        return Survey(cases, digest.hexdigest())

    def stream(self) -> Iterator[Asked]:
        """Every case with its prompt."""
        wanted = CaseReader(self._config, self._positions, for_scoring=False, tasks=self._tasks)
        for placed in wanted:
            task, case = placed.opened.task, placed.opened.case
            yield Asked(case, task.prompt(case))


class AllSubjects:
    """Several suites one after the other."""

    def __init__(self, parts: Sequence[CaseSource]) -> None:
        self._parts = parts

    def survey(self) -> Survey:
        """The sum of the parts."""
        found = [part.survey() for part in self._parts]
        return Survey(sum(part.cases for part in found), "/".join(part.digest for part in found))

    def stream(self) -> Iterator[Asked]:
        """Part after part."""
        for part in self._parts:
            yield from part.stream()


def work_of(
    model: str, provider: Provider, subjects: Iterable[Asked], repeats: int
) -> Iterator[Work]:
    """The work of one model: every case, every repeat; what cannot be asked is left out."""
    for asked in subjects:
        for run in range(1, repeats + 1):
            call = call_of(provider, asked, run)
            if call is not None:
                yield Work(asked.case.id, model, run, call, asked.case.task)


def call_of(provider: Provider, asked: Asked, run: int) -> ProviderRequest | None:
    """The request for a case; None where there is nothing to ask (no answer was recorded)."""
    if isinstance(provider, CaseProvider):
        return provider.call_for(asked.case, asked.prompt, run)
    return provider.call(asked.prompt, run)
