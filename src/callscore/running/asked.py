"""What is asked: the cases of both suites as one stream, and the work that each model has in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from callscore.cases import WantedCases, case_positions
from callscore.config import ScoreConfig
from callscore.core.calling import CaseProvider, Provider
from callscore.core.case import Case, Prompt
from callscore.core.run_words import Work


class Asked(NamedTuple):
    """A case and what a model is sent for it."""

    case: Case
    prompt: Prompt


Subjects = Callable[[], Iterator[Asked]]
"""Opens the stream anew: every model reads at its own pace."""


class Survey(msgspec.Struct, frozen=True):
    """What a look at all the data found, before anything is spent."""

    cases: int
    digest: str


def calls_subjects(config: ScoreConfig) -> Subjects:
    """The wanted cases of the calls suite, each with its prompt."""
    positions = case_positions(config)

    def opened() -> Iterator[Asked]:
        for placed in WantedCases(config, positions):
            task, case = placed.opened.task, placed.opened.case
            yield Asked(case, task.prompt(case))

    return opened


def chained(parts: Sequence[Subjects]) -> Subjects:
    """Several streams one after the other."""
    return lambda: (asked for part in parts for asked in part())


def survey(subjects: Subjects) -> Survey:
    """Read and check everything once; the digest covers prompts and expected outcomes."""
    digest = hashlib.blake2b(digest_size=16)
    cases = 0
    for asked in subjects():
        cases += 1
        digest.update(msgspec.json.encode(asked))
    return Survey(cases, digest.hexdigest())


def work_of(
    model: str, provider: Provider, subjects: Iterable[Asked], repeats: int
) -> Iterator[Work]:
    """The work of one model: every case, every repeat; what cannot be asked is left out."""
    from_case = provider if isinstance(provider, CaseProvider) else None
    for case, prompt in subjects:
        for run in range(1, repeats + 1):
            if from_case is None:
                call = provider.call(prompt, run)
            else:
                found = from_case.call_for(case, prompt, run)
                if found is None:
                    continue
                call = found
            yield Work(case.id, model, run, call, case.task)
