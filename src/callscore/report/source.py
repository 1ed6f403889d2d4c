"""What every report format reads: the scorecard, its rows, and the cases one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from callscore.core.case import Case, Prompt, ToolCall
from callscore.core.judging import Verdict
from callscore.core.measure import Measure
from callscore.core.run import ModelSpec
from callscore.core.scorecard import CaseResult, Scorecard, TemplateRow


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run of one model on a case: its result, and everything that the result rests on."""

    result: CaseResult
    measures: Mapping[str, Measure] = {}
    """By metric slug, benchmarks included; none if there was no reply."""
    text: str | None = None
    """The raw reply; None if there is none (`error`, `not_run`), or it was left out."""
    is_object: bool = False
    """Whether `text` is JSON that an outputs file held as an object, not as a string."""
    tool_calls: Sequence[ToolCall] = ()
    finish_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None
    answered_by: str | None = None
    """The model's name as the provider returned it."""
    error: str | None = None
    """Why there is no reply."""
    verdicts: Sequence[Verdict] = ()
    """Verdicts of people, judges and embedders that the measures use, with their quotes."""
    given: Mapping[str, Any] | None = None
    """The reply in the form of the expected outcome, if it has another form."""
    differences: Sequence[str] = ()
    """What differs from the expected outcome, in words."""

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.result.model

    @property
    def run(self) -> int:
        """The number of the repeat, from 1."""
        return self.result.run


class CaseView(msgspec.Struct, frozen=True, omit_defaults=True):
    """One case with its transcript and expected outcome, and every answer to it."""

    case: Case
    answers: Sequence[Answer] = ()
    """In the order of the scorecard's models, then by run."""
    other_keys: Sequence[tuple[int, str, Any]] = ()
    """Keys that no case documents: (0, key, value) of the case, (n, key, value) of its turn n."""


class Cases(Protocol):
    """The cases of a report: counted, and read from the first as often as needed."""

    def __len__(self) -> int:
        """The number of cases."""
        ...

    def __iter__(self) -> Iterator[CaseView]:
        """Every case in the order of the case files; one at a time is in memory."""
        ...


class RunFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run as the store knows it."""

    id: int
    name: str
    status: str
    started_at: str
    finished_at: str | None = None
    answered: int = 0
    failed: int = 0
    total: int = 0
    cost_usd: float = 0.0
    judge_usd: float = 0.0


class DataFile(msgspec.Struct, frozen=True):
    """An input file by name and content hash; never its path."""

    role: str
    """`cases`, `outputs`, `verdicts` or `eval`."""
    name: str
    sha256: str
    bytes: int


class Provenance(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the numbers come from: run, files, models with prices, settings, versions."""

    run: RunFacts | None = None
    files: Sequence[DataFile] = ()
    models: Sequence[ModelSpec] = ()
    """Without secrets: a spec only names where its key is."""
    settings: Mapping[str, Any] = {}
    """Every setting with the value that was used."""
    weights: Mapping[str, float] = {}
    workload: Mapping[str, float] = {}
    cost_per_1000: Mapping[str, float] = {}
    """Costs that the user gave, by model; they override recorded ones."""
    repeats: int | None = None
    benchmarks: bool = False
    metrics: Sequence[str] = ()
    """Metrics of other packages."""
    intervals: bool = True
    judge: Sequence[ModelSpec] = ()
    """The judging models; `Scorecard.judging` names any judge."""
    versions: Mapping[str, str] = {}


class PromptBuilder(Protocol):
    """What models are asked."""

    def __call__(self, case: Case) -> Prompt:
        """What a model is sent for a case."""
        ...

    def context(self) -> Mapping[str, Any]:
        """What prompts depend on besides the case and the settings."""
        ...


class ReportSource(msgspec.Struct, frozen=True):
    """Everything that a report may show. What is not there is None or empty, and in `absent`."""

    card: Scorecard
    template: Sequence[TemplateRow]
    title: str
    cases: Cases = ()
    absent: Sequence[str] = ()
    """What the source does not hold, in words for the reader."""
    provenance: Provenance = Provenance()
    documents: Mapping[str, Any] = {}
    """Results of recorded scenarios in document 001, by model."""
    prompts: PromptBuilder | None = None
    """What a model is asked for a case; None if the suite is not known."""


class DossierSignature(NamedTuple):
    """What a key made of some bytes, and which key it was."""

    key_id: str
    raw: bytes


class ReportOptions(msgspec.Struct, frozen=True):
    """What a user may choose about a report; a format ignores what it has no use for."""

    without_text: bool = False
    """Leave out transcripts, replies, references and quotes."""
    max_bytes: int = 20_000_000
    """A file that people open stays below this; the worst cases are kept, and it says so."""
    short: bool = False
    """The short form, as for a pull request."""
    sign: Callable[[bytes], DossierSignature] | None = None
    """Signs a dossier with the user's own key."""
    other: Mapping[str, str] = {}
    """`--set name=value`, for formats from outside."""


Chunks = Iterable[bytes]


class ReportFormat(msgspec.Struct, frozen=True):
    """A report format: `write` yields the file in chunks and does no I/O of its own."""

    name: str
    suffix: str
    summary: str
    write: Callable[[ReportSource, ReportOptions], Chunks]
    is_text: bool = True
    """Whether it makes sense on a terminal."""
    needs_cases: bool = False
    """Whether it shows cases only, so that a scorecard alone gives nothing."""
