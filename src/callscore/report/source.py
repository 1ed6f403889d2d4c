"""What a report format reads: the scorecard, its template, and the cases one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from callscore.core.case import Case, Prompt, ToolCall
from callscore.core.judging import Verdict
from callscore.core.measure import Measure
from callscore.core.run import ModelSpec, Price
from callscore.core.scorecard import AS_RECOMMENDED, CaseResult, Decide, Scorecard
from callscore.scorecard.template import TemplateRow


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One run of one model on a case: its result, and everything the result is derived from."""

    result: CaseResult
    measures: Mapping[str, Measure] = {}
    """By metric slug, including benchmarks; empty if there was no reply."""
    text: str | None = None
    """The raw reply; None if there is none (`error`, `not_run`) or it was left out."""
    is_object: bool = False
    """Whether `text` is JSON that was an object, not a string, in an outputs file."""
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
    """Verdicts of people, judges and embedders used by the measures, with their quotes."""
    labels: Sequence[Verdict] = ()
    """What people say about a sample of the judged items, one label each (STATS §5)."""
    given: Mapping[str, Any] | None = None
    """The reply in the structure of the expected outcome, if its own is different."""
    differences: Sequence[str] = ()
    """Descriptions of the differences from the expected outcome."""

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.result.model

    @property
    def run(self) -> int:
        """The number of the repeat, from 1."""
        return self.result.run


class CaseView(msgspec.Struct, frozen=True, omit_defaults=True):
    """A case with its transcript and expected outcome, and every answer to it."""

    case: Case
    answers: Sequence[Answer] = ()
    """In the order of the scorecard's models, then by run."""
    other_keys: Sequence[tuple[int, str, Any]] = ()
    """Undocumented keys: (0, key, value) of the case, (n, key, value) of its turn n."""


class Cases(Protocol):
    """The cases of a report; they can be counted and iterated any number of times."""

    def __len__(self) -> int:
        """Return the number of cases."""
        ...

    def __iter__(self) -> Iterator[CaseView]:
        """Yield every case in the order of the case files, one in memory at a time."""
        ...


class RunFacts(msgspec.Struct, frozen=True, omit_defaults=True):
    """A run as recorded in the store."""

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
    unstored: bool = False
    """Whether replies and verdicts are deleted when the run ends (`--no-store-text`)."""


class DataFile(msgspec.Struct, frozen=True):
    """An input file by name and hash, without its path."""

    role: str
    """`cases`, `outputs`, `verdicts` or `eval`."""
    name: str
    sha256: str
    bytes: int


class Destination(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a model, a judge or an embedder was reached, and with which parameters."""

    role: str
    """`model`, `judge` or `embedder`."""
    name: str
    provider: str
    model: str = ""
    host: str = ""
    """Empty if nothing is sent to another program."""
    params: Mapping[str, Any] = {}
    price: Price | None = None


class Provenance(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the numbers come from: run, files, models with prices, settings, versions."""

    run: RunFacts | None = None
    files: Sequence[DataFile] = ()
    models: Sequence[ModelSpec] = ()
    """Without secrets: a spec only names the environment variable or file of its key."""
    settings: Mapping[str, Any] = {}
    """Every setting with the value in effect."""
    weights: Mapping[str, float] = {}
    workload: Mapping[str, float] = {}
    cost_per_1000: Mapping[str, float] = {}
    """Costs set by the user, by model; they override recorded costs."""
    repeats: int | None = None
    benchmarks: bool = False
    metrics: Sequence[str] = ()
    """Metrics of other packages."""
    intervals: bool = True
    decide: Decide = AS_RECOMMENDED
    judge: Sequence[ModelSpec] = ()
    """The models that judge; `Scorecard.judging` also names other judges."""
    destinations: Sequence[Destination] = ()
    """Where the data was sent."""
    versions: Mapping[str, str] = {}


class SentPrompt(NamedTuple):
    """What models are sent for a case."""

    prompt: Prompt
    model: str = ""
    """The only model that is sent it, as it has the replies of that model to earlier cases."""
    run: int = 0


PromptsOfCase = Callable[[CaseView], Iterator[SentPrompt]]
"""Returns the prompts of a case; it is called with the cases in their order."""


class PromptBuilder(Protocol):
    """Builds the prompts of cases."""

    def read_in_order(self) -> PromptsOfCase:
        """Return a function that is called with every case, in the order of the file."""
        ...

    def context(self) -> Mapping[str, Any]:
        """Return what prompts depend on besides the case and the settings."""
        ...


class ScenarioArchive(msgspec.Struct, frozen=True):
    """What the scores of scenarios follow from, besides the replies, for a dossier."""

    settings: Mapping[str, Any] = {}
    """Empty if there are no scenarios."""
    files: Callable[[], Iterable[Mapping[str, Any]]] = tuple
    """Every scenario, card and prompt file: `kind`, `part`, `lang`, `name`, `text`."""
    verdicts: Callable[[], Iterable[Mapping[str, Any]]] = tuple


NO_ARCHIVE = ScenarioArchive()


class ReportSource(msgspec.Struct, frozen=True):
    """Everything a report may show; missing parts are None or empty and described in `absent`."""

    card: Scorecard
    template: Sequence[TemplateRow]
    title: str
    cases: Cases = ()
    absent: Sequence[str] = ()
    """Descriptions of what the source does not have."""
    provenance: Provenance = Provenance()
    prompts: PromptBuilder | None = None
    """Builds the prompt of a case; None if the suite is unknown."""
    scenarios: ScenarioArchive = NO_ARCHIVE
    """The scenarios of a run with their verdicts."""

    @property
    def documents(self) -> Mapping[str, Any]:
        """Return the results of scenarios as document 001, by model."""
        found = self.card.documents
        return {} if isinstance(found, msgspec.UnsetType) else found


class DossierSignature(NamedTuple):
    """A signature and the id of the key that made it."""

    key_id: str
    raw: bytes


class ReportOptions(msgspec.Struct, frozen=True):
    """What a user may choose about a report; a format ignores options it does not support."""

    without_text: bool = False
    """Leave out transcripts, replies, references and quotes."""
    max_bytes: int = 20_000_000
    """The maximum size of a page; the worst cases are kept, and the page says so."""
    short: bool = False
    """The short form, for a pull request."""
    sign: Callable[[bytes], DossierSignature] | None = None
    """Signs a dossier with the user's key."""
    other: Mapping[str, str] = {}
    """`--set name=value`, for formats of other packages."""


Chunks = Iterable[bytes]
Files = Iterable[tuple[str, bytes]]
"""The path in a folder, separated by slashes, and the content."""


class ReportFormat(msgspec.Struct, frozen=True):
    """A report format; `write` yields the file in chunks and does not write anywhere itself."""

    name: str
    suffix: str
    summary: str
    write: Callable[[ReportSource, ReportOptions], Chunks]
    is_text: bool = True
    """Whether it can be printed to a terminal."""
    needs_cases: bool = False
    """Whether it only shows cases, so that a scorecard alone is not enough."""
    files: Callable[[ReportSource, ReportOptions], Files] | None = None
    """Yields the files of a folder one by one, if the report is a folder; `write` is not called."""
