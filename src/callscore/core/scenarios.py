"""Scenarios: several steps that a model is asked one by one, and that are scored together.

A suite with scenarios implements `ScenarioSuite`. Everything else knows scenarios by these types
alone: steps are cases with prompts, replies come by case and run, scores are documents and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from callscore.core.case import Case, Failed, Prompt, Reply
from callscore.core.errors import DataError
from callscore.core.interval import IntervalMethod
from callscore.core.judging import Question, Verdict
from callscore.core.run import Survey
from callscore.core.scorecard import CaseResult, TaskScore

Json = dict[str, Any]
Mode = Literal["standard", "compat"]
"""Which reading scores: the suite's document, or its public evaluator (C-128)."""
ProtocolName = Literal["callscore", "public"]
"""Whose way of asking is used: ours, or the public runner's (C-133)."""
History = Literal["gold", "own"]
"""What a model sees of earlier steps: the gold answers; or in a second pass its own too."""

StoredReplies = Callable[[str, str], Mapping[int, Reply | Failed]]
"""The replies of a model to the case of an id, by run."""


class ScenarioData(msgspec.Struct, frozen=True):
    """Scenarios of one language, and the cards of their agents."""

    scenarios: Path
    cards: Path


class ScenarioSettings(msgspec.Struct, frozen=True):
    """How scenarios are asked (`protocol`, `history`) and scored (`mode`)."""

    protocol: ProtocolName = "callscore"
    mode: Mode = "standard"
    history: History = "gold"
    prompts: Path | None = None
    """The user's copy of the public runner's config, whose prompts are sent to the letter."""

    @property
    def is_public(self) -> bool:
        """Whether models are asked as the public runner asks."""
        return self.protocol == "public"


class PublicProtocol(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the public runner asks (C-133)."""

    temperature: float
    repeats: int


class ScenarioFiles(NamedTuple):
    """How folders and files of scenarios are read: a suite itself touches no file."""

    card_files: Callable[[Path], Sequence[Path]]
    scenario_files: Callable[[Path], Sequence[Path]]
    output_files: Callable[[Path], Sequence[Path]]
    read_whole: Callable[[Path], bytes]
    """The bytes of a file; raises DataError."""
    read_text: Callable[[Path], str]
    """The text of a file; raises DataError."""


class StepRequest(NamedTuple):
    """A step that one model is asked in a further round."""

    model: str
    run: int
    case: Case
    prompt: Prompt


class OpenStep(NamedTuple):
    """What code cannot decide about one answer: a judge or a person may."""

    run: int
    case: Case
    """What a judge sees of the step."""
    questions: Sequence[Question]


VerdictKey = tuple[str, int, str]
"""Case, run and item."""


class GivenVerdict(NamedTuple):
    """A verdict of a file; without a model it is about each of them."""

    case_id: str
    run: int
    model: str | None
    verdict: Verdict


class StepVerdicts(msgspec.Struct, frozen=True):
    """What a judge said about one model's steps, and what that took."""

    verdicts: Mapping[VerdictKey, Verdict]
    judge: str
    """What decides the verdicts: part of the signature of the result (C-126)."""
    judging: Mapping[str, Any]


class Identities(Protocol):
    """Under which names models answered (R-26)."""

    def identity(self, model: str) -> tuple[str, ...]:
        """Other names than the one asked for."""
        ...

    def notes_on(self, model: str) -> list[str]:
        """What a reader must know about them."""
        ...


class ScenarioRows(msgspec.Struct, frozen=True):
    """What the scorecard says about one model's scenarios."""

    languages: Mapping[str, TaskScore] = {}
    mean: TaskScore | None = None
    """Of all languages."""
    method: IntervalMethod | None = None
    """How the intervals were computed; None without intervals."""


NO_ROWS = ScenarioRows()


class ScenarioScore(msgspec.Struct, frozen=True):
    """The scenarios of one model, measured and added up."""

    tallies: Mapping[str, Any]
    """By language, a TaskTally of its scenarios."""
    identity: Mapping[str, str]
    """What must agree before two results may be compared, by part of the signature (C-126)."""
    data: str
    """The hash of the scenarios."""
    judge: str
    """What decided the values that code cannot compare; empty if nothing did."""
    document: Callable[[ScenarioRows], Json]
    """The result file of the suite's own format: a report of the rows of the scorecard."""
    judging: Sequence[Mapping[str, Any]] = ()
    warnings: Sequence[str] = ()


class ScenarioExport(NamedTuple):
    """The answers to one scenario in the public form; None if some are `missing`."""

    model: str
    lang: str
    scenario: str
    document: Json | None
    missing: str = ""


class StepAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run of one model on a step, for a report."""

    result: CaseResult
    reply: Reply | None = None
    given: Mapping[str, Any] | None = None
    """The reply as it was read, in the form of the expected outcome; None if it cannot be read."""
    differences: Sequence[str] = ()
    """What differs from the expected outcome, in words."""
    error: str | None = None
    """Why there is no reply."""


class StepView(msgspec.Struct, frozen=True):
    """A step as a case of a report, with all runs of one model."""

    case: Case
    model: str
    answers: Sequence[StepAnswer]


STEP_TASK = "orchestration"
"""The task of the results of single steps, in `--results`."""

STEP_USAGE = frozenset({"input_tokens", "output_tokens", "cost_usd", "latency_ms"})
"""What the result of a step has besides its scores: `orchestration.latency_ms` and others."""

OnStep = Callable[[StepView], None]
"""Receives every step with the answers of one model."""


def ignore_result(result: CaseResult) -> None:
    """Ignore a result."""


class ScenarioSinks(NamedTuple):
    """Who receives what scoring finds, scenario by scenario."""

    on_result: Callable[[CaseResult], None] = ignore_result
    on_record: Callable[[Any], None] | None = None
    """One record a step, run and metric (`--records`)."""
    on_export: Callable[[ScenarioExport], None] | None = None
    on_trajectory: Callable[[Sequence[Json]], None] | None = None
    """Every step of a scenario with request, reply, gold and verdict."""
    on_step: OnStep | None = None
    """Every step as a case of a report, model by model."""


class ScenarioPart(NamedTuple):
    """What one model answered to one folder of scenarios."""

    model: str
    folder: str


class ScenarioScorer(Protocol):
    """What models answered to scenarios: in a run, or recorded in files."""

    @property
    def parts(self) -> Sequence[ScenarioPart]:
        """What is judged on its own."""
        ...

    def open_steps(self, part: ScenarioPart) -> Iterator[OpenStep]:
        """What neither code nor a verdict of a file has decided."""
        ...

    def scores(
        self, judged: Mapping[ScenarioPart, StepVerdicts], sinks: ScenarioSinks
    ) -> Mapping[str, ScenarioScore]:
        """The scenarios of every model, added up; `judged` has what a judge has said."""
        ...


class RaceScorer(ScenarioScorer, Protocol):
    """Attempts that a race reads scenario by scenario, while the run goes on."""

    def has_scenario(self, part: ScenarioPart, scenario: str) -> bool:
        """Whether the part has a scenario of this id."""
        ...

    def open_steps_of(self, part: ScenarioPart, scenario: str) -> Iterator[OpenStep]:
        """What is not decided about one scenario."""
        ...

    def score_of(
        self, part: ScenarioPart, scenario: str, judged: StepVerdicts | None
    ) -> float | None:
        """The score of one scenario by itself; None if a request failed."""
        ...


def scenario_of_step(case_id: str) -> str:
    """The scenario of a step, the same in all languages: `8` of `EN/8#4`."""
    return case_id.partition("/")[2].rpartition("#")[0]


class FollowUps(Protocol):
    """Steps that depend on earlier replies: asked round by round."""

    def next_round(self, left_out: frozenset[str]) -> Sequence[StepRequest]:
        """The next step of everything in progress, without the models left out."""
        ...


class RunData(NamedTuple):
    """What a run knows when its scenarios are scored."""

    models: Sequence[str]
    stored: StoredReplies
    repeats: int
    verdicts: Sequence[GivenVerdict]
    identities: Identities
    warnings: Callable[[str], Sequence[str]]
    """What else a reader must know about how a model was asked."""


class ScenarioCases(Protocol):
    """The scenarios of a run."""

    def survey(self) -> Survey:
        """Read, check and hash everything; raises DataError."""
        ...

    def stream(self) -> Iterator[tuple[Case, Prompt]]:
        """Every step that a model is asked, with the gold history before it."""
        ...

    def follow_ups(
        self, models: Sequence[str], stored: StoredReplies, repeats: int
    ) -> FollowUps | None:
        """The pass in which models see their own history; None if none is wanted."""
        ...

    def scorer(self, data: RunData) -> RaceScorer:
        """What was answered, to be judged and scored."""
        ...


class RecordedOutputs(msgspec.Struct, frozen=True):
    """Folders of recorded outputs, one a language, and the cards of each."""

    outputs: Sequence[Path]
    cards: Sequence[Path]
    mode: Mode = "standard"
    model: str = ""
    """The name of the model; else taken from the folder."""
    languages: Sequence[str] = ()
    """Of the folders of outputs, one each or one for all; else taken from paths."""


FindingAction = Literal["repaired", "set_aside", "noted"]


class DataFinding(msgspec.Struct, frozen=True):
    """One entry of the data report: what was repaired, set aside or only noted."""

    case_id: str
    kind: str
    action: FindingAction
    detail: str = ""


class ScenarioCheck(msgspec.Struct, frozen=True):
    """What a look at scenario files found."""

    scenarios: int
    plan_steps: int
    agent_steps: int
    findings: Sequence[DataFinding]
    problems: Sequence[DataError]


class ScenarioSuite(Protocol):
    """A suite with scenarios."""

    verdict_metric: str
    """The metric of verdicts on steps."""
    verdict_words: Sequence[str]
    headlines: Mapping[str, str]
    """What a gate may name: the task on the scorecard, or `task/part`."""

    @property
    def public_protocol(self) -> PublicProtocol:
        """How the public runner asks (C-133)."""
        ...

    def open_cases(
        self,
        data: Sequence[ScenarioData],
        settings: ScenarioSettings,
        limit: int | None,
        files: ScenarioFiles,
    ) -> ScenarioCases:
        """The scenarios of a run; raises DataError if the user's prompts cannot be used."""
        ...

    def open_outputs(
        self,
        recorded: RecordedOutputs,
        verdicts: Sequence[GivenVerdict],
        files: ScenarioFiles,
    ) -> ScenarioScorer:
        """Recorded runs, to be judged and scored."""
        ...

    def check(
        self, folders: Sequence[Path], cards: Sequence[Path], files: ScenarioFiles
    ) -> ScenarioCheck:
        """Read every scenario as a run would, without stopping at the first problem."""
        ...

    def read_outputs(self, raw: bytes, name: str) -> Mapping[tuple[int, int], Reply | Failed]:
        """The replies in a file of recorded outputs, by run and step; raises DataError."""
        ...
