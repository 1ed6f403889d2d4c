"""Scenarios: conversations of several steps, requested one by one and scored together.

A suite with scenarios implements `ScenarioSuite`. The rest of the program uses only these types:
steps are cases with prompts, replies are found by case and run, scores are documents and rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from callscore.core.case import Case, Failed, Prompt, Reply
from callscore.core.errors import DataError
from callscore.core.judging import Question, Verdict
from callscore.core.measure import IntervalMethod
from callscore.core.run import ModelSpec, Survey
from callscore.core.scorecard import CaseResult, Latency, TaskScore

Json = dict[str, Any]
Mode = Literal["standard", "compat"]
"""Score by the suite's document, or like its public evaluator (C-128)."""
ProtocolName = Literal["callscore", "public"]
"""The protocol of the requests: that of Callscore, or that of the public runner (C-133)."""
History = Literal["gold", "own"]
"""The history in a prompt: the gold steps; `own` adds a second pass with the model's own steps."""

StoredReplies = Callable[[str, str], Mapping[int, Reply | Failed]]
"""Model and case id → the replies by run."""


class ScenarioData(msgspec.Struct, frozen=True):
    """Scenarios of one language, and the cards of their agents."""

    scenarios: Path
    cards: Path


TOOLS, USER = "(tools)", "(user)"
"""The names under which results of tools and messages of a simulated user are stored."""


class LiveTool(msgspec.Struct, frozen=True):
    """What carries out the calls of a tool in a conversation: a Python function, or a server."""

    python: str = ""
    """`FILE.py:function`, `module:function` or `FILE.py:Class.method`."""
    mcp: Sequence[str] = ()
    """The command that starts an MCP server, which speaks over stdin and stdout."""
    timeout_s: float = 30.0
    recorded: bool = True
    """Whether a call that the scenario has a result for gets that result."""
    env: Sequence[str] = ()
    """The environment variables that the server gets, besides those of every process."""


class StopRules(msgspec.Struct, frozen=True):
    """When a conversation ends in any case."""

    steps: int = 20
    """Replies of the model."""
    user_turns: int = 10
    repeats: int = 3
    """The same calls with the same results, one after the other."""
    bytes: int = 60_000
    """Of everything that was said, called and returned, as UTF-8."""


class ScenarioSettings(msgspec.Struct, frozen=True):
    """How scenarios are requested (`protocol`, `history`) and scored (`mode`)."""

    protocol: ProtocolName = "callscore"
    mode: Mode = "standard"
    history: History = "gold"
    prompts: Path | None = None
    """The user's copy of the public runner's config, whose prompts are sent verbatim."""
    own_prompts: Mapping[str, Path] = {}
    """Own prompts: of the `planner`, of every `sub_agent`, or of one agent by its id."""
    tools: Mapping[str, LiveTool] = {}
    """By name of a tool, or `*` for all others: what carries out its calls."""
    user: ModelSpec | None = None
    """The model that plays the user; None if the user follows the script."""
    stop: StopRules = StopRules()
    asking_back: bool = False
    """Whether text that asks the user for something counts as AWAITING_USER_INPUT (C-142)."""

    @property
    def is_public(self) -> bool:
        """Whether requests follow the protocol of the public runner."""
        return self.protocol == "public"


class PublicProtocol(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of the public runner (C-133)."""

    temperature: float
    repeats: int


class ScenarioFiles(NamedTuple):
    """Functions that list and read the files of scenarios; a suite opens no file itself."""

    card_files: Callable[[Path], Sequence[Path]]
    scenario_files: Callable[[Path], Sequence[Path]]
    output_files: Callable[[Path], Sequence[Path]]
    read_whole: Callable[[Path], bytes]
    """The bytes of a file; raises DataError."""
    read_text: Callable[[Path], str]
    """The text of a file; raises DataError."""


class StepRequest(NamedTuple):
    """A step to request from one model in a further round; or from TOOLS or USER."""

    model: str
    run: int
    case: Case
    prompt: Prompt


class FollowUpBound(NamedTuple):
    """The most that one scenario can take in further rounds, for one model and one run."""

    case: Case
    prompt: Prompt
    """The first request."""
    requests: int
    by: str = ""
    """USER if the model that plays the user is asked; empty for every model."""
    more_bytes: int = 0
    """By how much a later request may be longer."""
    more_replies: int = 0
    """How many replies of the model, at most, a later request repeats in full."""
    expected: int = 0
    """How many requests are expected."""


class OpenStep(NamedTuple):
    """A step with values that code cannot compare: questions for a judge or a person."""

    run: int
    case: Case
    """The step as a judge sees it."""
    questions: Sequence[Question]


VerdictKey = tuple[str, int, str]
"""Case, run and item."""


class GivenVerdict(NamedTuple):
    """A verdict from a file; without a model it applies to all models."""

    case_id: str
    run: int
    model: str | None
    verdict: Verdict
    judged: bool = False
    """Whether a judging model gave it."""


VerdictsByModel = Mapping[str, Mapping[VerdictKey, Verdict]]


class StepVerdicts(msgspec.Struct, frozen=True):
    """The verdicts of a judge on the steps of one model, and what judging took."""

    verdicts: Mapping[VerdictKey, Verdict]
    judge: str
    """The judge, as it appears in the signature of the result (C-126)."""
    judging: Mapping[str, Any]
    """Requests, tokens and cost of judging: `core.judging_summary.Judging` as JSON."""


class Identities(Protocol):
    """The names under which models replied (R-26)."""

    def identity(self, model: str) -> tuple[str, ...]:
        """The names other than the requested one."""
        ...

    def notes_on(self, model: str) -> list[str]:
        """Notes on these names for the reader of a result."""
        ...


class ScenarioRows(msgspec.Struct, frozen=True):
    """The rows of the scorecard on the scenarios of one model."""

    languages: Mapping[str, TaskScore] = {}
    mean: TaskScore | None = None
    """The mean of all languages."""
    method: IntervalMethod | None = None
    """How the intervals were computed; None without intervals."""


NO_ROWS = ScenarioRows()


Floors = Mapping[str, float]
"""By row of the scorecard, the best value of a trivial answer in one language (C-141)."""
NO_FLOORS: Floors = {}


class ScenarioScore(msgspec.Struct, frozen=True):
    """The scenarios of one model, measured and added up."""

    tallies: Mapping[str, Any]
    """By language, a TaskTally of its scenarios."""
    identity: Mapping[str, str]
    """What must agree before two results may be compared, by part of the signature (C-126)."""
    data: str
    """The hash of the scenarios."""
    judge: str
    """The source of verdicts on values that code cannot compare; empty if there is none."""
    document: Callable[[ScenarioRows], Json]
    """The rows of the scorecard → the result file in the format of the suite."""
    judging: Sequence[Mapping[str, Any]] = ()
    warnings: Sequence[str] = ()
    origin: str = ""
    """The provider, if no model was asked: `simulated`."""
    floors: Sequence[Floors] = ()
    """By language."""
    latency: Latency | None = None
    kinds: frozenset[str] = frozenset()
    """The kinds of steps that are due or were answered; empty if it is not known (C-142)."""
    judged: int = 0
    """How many values of steps a judging model decided."""
    labelled: frozenset[VerdictKey] = frozenset()
    """Those of them that people labelled (STATS §5)."""


class ScenarioExport(NamedTuple):
    """The replies to one scenario in the public form; None if a reply is `missing`."""

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
    """Callbacks that receive the results of scoring, scenario by scenario."""

    on_result: Callable[[CaseResult], None] = ignore_result
    on_record: Callable[[Any], None] | None = None
    """One record per step, run and metric (`--records`)."""
    on_export: Callable[[ScenarioExport], None] | None = None
    on_trajectory: Callable[[Sequence[Json]], None] | None = None
    """Every step of a scenario with request, reply, expected step and verdict."""
    on_step: OnStep | None = None
    """Every step as a case of a report, model by model."""


class ScenarioPart(NamedTuple):
    """The replies of one model to one folder of scenarios: judged and scored separately."""

    model: str
    folder: str


class ScenarioScorer(Protocol):
    """Scores the replies of models to scenarios: those of a run, or recorded ones."""

    @property
    def parts(self) -> Sequence[ScenarioPart]:
        """One part per model and folder."""
        ...

    def open_steps(self, part: ScenarioPart) -> Iterator[OpenStep]:
        """Steps with values that neither code nor a verdict from a file has decided."""
        ...

    def scores(
        self, judged: Mapping[ScenarioPart, StepVerdicts], sinks: ScenarioSinks
    ) -> Mapping[str, ScenarioScore]:
        """By model, the scenarios added up; `judged` has the verdicts of the judge."""
        ...


class RecordedFolder(NamedTuple):
    """Recorded outputs of one language, and the cards of their agents."""

    lang: str
    outputs: Path
    cards: Path


class OutputsScorer(ScenarioScorer, Protocol):
    """A scorer of recorded outputs."""

    @property
    def folders(self) -> Sequence[RecordedFolder]:
        """One folder per part."""
        ...


class RaceScorer(ScenarioScorer, Protocol):
    """A scorer for a race, which scores scenario by scenario during the run."""

    def open_steps_of(self, part: ScenarioPart, call: str) -> Iterator[OpenStep]:
        """The open steps of the scenarios of the part that are one call."""
        ...

    def scores_of(
        self, part: ScenarioPart, call: str, judged: StepVerdicts | None
    ) -> Iterator[float | None]:
        """The score of every scenario of the part that is this call; None if a request failed."""
        ...


class FollowUps(Protocol):
    """Steps that depend on earlier replies: requested in rounds."""

    def next_round(self, left_out: frozenset[str]) -> Sequence[StepRequest]:
        """The next step of every scenario and run, except for the models left out."""
        ...


class RunData(NamedTuple):
    """The data of a run from which its scenarios are scored."""

    models: Sequence[str]
    stored: StoredReplies
    repeats: int
    verdicts: Sequence[GivenVerdict]
    identities: Identities
    warnings: Callable[[str], Sequence[str]]
    """Model → notes on how its requests differ from the protocol."""
    directory: Callable[[str], str]
    """Model → `directory` of its result file (C-121)."""
    origins: Mapping[str, str] = {}
    """By model that was not asked, its provider: `simulated`."""
    labels: VerdictsByModel = {}
    """The words of people on a sample of what a judge decides (STATS §5)."""


class ScenarioCases(Protocol):
    """The scenarios of a run."""

    def survey(self) -> Survey:
        """Read, check and hash everything; raises DataError."""
        ...

    def stream(self) -> Iterator[tuple[Case, Prompt]]:
        """Every step that is requested from a model, with the gold history before it."""
        ...

    def follow_ups(
        self, models: Sequence[str], stored: StoredReplies, repeats: int
    ) -> FollowUps | None:
        """The pass in which models see their own history; None if it is not configured."""
        ...

    def follow_up_bounds(self) -> Iterator[FollowUpBound]:
        """The most that the pass with own history can take; nothing if it is not configured."""
        ...

    def scorer(self, data: RunData) -> RaceScorer:
        """The scorer of the replies of the run."""
        ...


class RecordedOutputs(msgspec.Struct, frozen=True):
    """Folders of recorded outputs, one per language, and the agent cards of each."""

    outputs: Sequence[Path]
    cards: Sequence[Path]
    mode: Mode = "standard"
    model: str = ""
    """The name of the model; by default taken from the folder."""
    languages: Sequence[str] = ()
    """One per folder of outputs, or one for all; by default taken from the paths."""


FindingAction = Literal["repaired", "set_aside", "noted"]


class DataFinding(msgspec.Struct, frozen=True):
    """One entry of the data report: a deviation that was repaired, set aside or only noted."""

    case_id: str
    kind: str
    action: FindingAction
    detail: str = ""


class ScenarioCheck(msgspec.Struct, frozen=True):
    """The result of checking scenario files."""

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
    floor_strategy: str
    """How the answers behind the floors of scenarios are produced (C-141)."""
    headlines: Mapping[str, str]
    """By the name that a gate may use, its place on the scorecard: `task` or `task/part`."""

    def narrow(self, kinds: Collection[str]) -> tuple[Sequence[str], str]:
        """The rows of the Final Score that scenarios of these kinds do not have, and what it is
        over without them; no rows if it is over everything (C-142).
        """
        ...

    @property
    def public_protocol(self) -> PublicProtocol:
        """The settings of the public runner (C-133)."""
        ...

    def open_cases(
        self,
        data: Sequence[ScenarioData],
        settings: ScenarioSettings,
        limit: int | None,
        files: ScenarioFiles,
    ) -> ScenarioCases:
        """The scenarios of a run; raises DataError if folders or prompts cannot be used."""
        ...

    def open_outputs(
        self,
        recorded: RecordedOutputs,
        verdicts: Sequence[GivenVerdict],
        files: ScenarioFiles,
    ) -> OutputsScorer:
        """The scorer of recorded outputs; raises DataError or UsageError if they are unusable."""
        ...

    def split_by_model(
        self, recorded: RecordedOutputs, files: ScenarioFiles
    ) -> Sequence[RecordedOutputs]:
        """The outputs of each model; raises DataError or UsageError if they are unusable."""
        ...

    def check(
        self, folders: Sequence[Path], cards: Sequence[Path], files: ScenarioFiles
    ) -> ScenarioCheck:
        """Read every scenario like a run, without stopping at the first problem."""
        ...

    def scenario_schema(self) -> Json:
        """The JSON schema of scenario files."""
        ...

    def read_result(self, document: Json) -> tuple[str, ScenarioScore]:
        """The model of a result file, and its scenarios again; raises DataError."""
        ...

    def read_outputs(self, raw: bytes, name: str) -> Mapping[tuple[int, int], Reply | Failed]:
        """The replies in a file of recorded outputs, by run and step; raises DataError."""
        ...
