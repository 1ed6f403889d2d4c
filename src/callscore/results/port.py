"""What screens, reports and reviews read of stored runs: one port, `Results`.

A run is an id of the store. A `place` is the number of a case in the run, from 1: cases of case
files in their order, then steps of scenarios. `rep` is the number of a repeat, from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from callscore.core.errors import UsageError
from callscore.core.events import LoggedEvent
from callscore.core.race import RaceCard
from callscore.core.scorecard import AS_RECOMMENDED, CaseResult, Decide, Scorecard
from callscore.report.details.form_agreement import (
    CallDecisionConfusion,
    FormTotals,
    QuestionCounter,
    SentimentConfusion,
)
from callscore.report.details.slices import Slices
from callscore.report.source import CaseView, ReportSource
from callscore.results.review_log import ItemOfReply, ReviewLog, StaleReviews
from callscore.store.run_records import Failure, StoredStatus
from callscore.store.worklists import OpenItem

State = Literal["fresh", "stale", "building", "missing"]
"""Of the index of a run: it holds; data, settings, verdicts or versions have changed since; it is
being built; there is none yet."""

Show = Literal["all", "different", "invalid", "error", "unjudged", "delta"]
SHOWS: Sequence[Show] = ("all", "different", "invalid", "error", "unjudged", "delta")
"""`delta`: two models of `model` differ by `delta` or more."""

Sort = Literal["place", "worst", "best", "spread", "metric", "-metric"]
SORTS: Sequence[Sort] = ("place", "worst", "best", "spread", "metric", "-metric")
"""`worst`: lowest mean score first; `spread`: the models differ most; `metric`: of the model."""

SearchIn = Literal["id", "transcript", "any"]
SEARCHES: Sequence[SearchIn] = ("id", "transcript", "any")

Queue = Literal["all", "disputed", "gates", "injection", "open"]
QUEUES: Sequence[Queue] = ("all", "disputed", "gates", "injection", "open")

PAGE_ROWS = 50


class QueryError(UsageError):
    """A query has a value that is not allowed; the message names those that are."""


class RunLine(msgspec.Struct, frozen=True):
    """One run of a store, as lists show it; cheap."""

    id: int
    name: str
    eval_file: str
    status: StoredStatus
    started_at: str
    finished_at: str | None
    total: int
    answered: int
    failed: int
    cost_usd: float
    judge_usd: float
    uncertain_usd: float
    state: State
    unpriced: int = 0
    """Replies of unknown cost, which the cost leaves out."""
    leader: str | None = None
    """The model that the decision names, or the first with a Final; None if there is neither."""
    leader_final: float | None = None
    race: RaceCard | None = None
    """The state of its race, if it is one."""
    failures: Sequence[Failure] = ()
    """The most frequent cause of every model, while the run is running."""
    unstored: bool = False
    held_since: str | None = None
    """When the process that holds it began; later than `started_at` if it was resumed."""

    @property
    def coverage(self) -> float | None:
        """answered / total; None for a run without work"""
        return self.answered / self.total if self.total else None

    @property
    def is_running(self) -> bool:
        """Whether a living process holds it."""
        return self.status == "running"


class ScoredRun(msgspec.Struct, frozen=True):
    """The scorecard of a run with everything around it, and whether it is up to date."""

    state: State
    source: ReportSource | None
    """Card, template, title, provenance and cases, as reports read them; None if missing."""
    version: str
    """Changes whenever anything that screens show of the run changes: an ETag."""
    why: str = ""
    """Why it cannot be brought up to date; empty while it can."""
    values_only: bool = False
    """Whether intervals are left out until they are computed with the last review."""


class Reading(msgspec.Struct, frozen=True):
    """What a scorecard is read with."""

    weights: Mapping[str, float] = {}
    """Of every task that counts; empty if those of the run apply (C-82)."""
    workload: Mapping[str, float] = {}
    """By task, the share of calls that need it; other tasks as in the run (C-83)."""
    decide: Decide = AS_RECOMMENDED

    @property
    def changes_scores(self) -> bool:
        """Whether scores or costs are others, not only what follows from them."""
        return bool(self.weights or self.workload)


class MatrixQuery(msgspec.Struct, frozen=True, omit_defaults=True, rename={"search": "in"}):
    """Which cases a matrix shows, and in which order; empty values select nothing."""

    show: Show = "all"
    task: str = ""
    lang: str = ""
    tag: str = ""
    q: str = ""
    """Text to be found, case-insensitively."""
    search: SearchIn = "any"
    """Where: the parameter `in`."""
    model: Sequence[str] = ()
    """The models shown, by default all; the first one decides `metric`, `min` and `max`."""
    metric: str = ""
    """A slug; `score` is the task score."""
    min: float | None = None
    max: float | None = None
    delta: float | None = None
    reason: str = ""
    """A gate or another reason of a result, such as the slug of a breached gate."""
    sort: Sort = "place"
    after: str = ""
    """`VALUE~PLACE` of the last row of the page before."""


class MatrixCell(msgspec.Struct, frozen=True):
    """The answers of one model to one case, its repeats folded."""

    model: str
    status: str
    """The worst status of its repeats."""
    score: float | None
    """The mean over repeats; an invalid one counts 0."""
    reps: int
    same: int
    """How many repeats have that status: "2 of 3"."""
    reasons: Sequence[str] = ()
    flags: Sequence[str] = ()
    rating: str | None = None
    """Of the queried metric, else of the task score."""
    value: float | None = None
    """Of the queried metric, the mean over repeats."""
    cost_usd: float | None = None


class MatrixRow(msgspec.Struct, frozen=True):
    """One case with a cell per model."""

    place: int
    case_id: str
    call_id: str
    task: str
    lang: str
    tags: Sequence[str]
    turns: int
    gold: str
    """The expected outcome in a few words."""
    marks: Sequence[str]
    """Any of `different`, `invalid`, `error`, `unjudged`."""
    cells: Sequence[MatrixCell]
    key: str
    """`after` of the page that begins behind this row."""


class MatrixPage(msgspec.Struct, frozen=True):
    """At most `PAGE_ROWS` rows of a query."""

    rows: Sequence[MatrixRow]
    total: int
    """The cases that the query selects, over all pages."""
    models: Sequence[str]
    after: str
    """Of the next page; empty if this is the last one."""
    tasks: Sequence[str]
    langs: Sequence[str]
    tags: Sequence[str]
    """What the filters offer."""
    metrics: Sequence[str]


class Neighbours(msgspec.Struct, frozen=True):
    """The cases before and after one in the order of a query, and where it is in it."""

    previous: int | None
    next: int | None
    number: int | None
    """From 1; None if the query does not select the case."""
    total: int


class IndexedCaseView(msgspec.Struct, frozen=True):
    """A case with every answer, as reports show it."""

    place: int
    view: CaseView
    changed: bool = False
    """Whether the text of the case has changed since the run was scored."""


class ReportCounts(msgspec.Struct, frozen=True):
    """What sections of a report count over all cases; the objects of `report.details`."""

    questions: QuestionCounter
    forms: FormTotals
    sentiments: SentimentConfusion
    decisions: CallDecisionConfusion
    slices: Slices
    statuses: Mapping[str, Mapping[str, int]]
    """By model and status, the answers."""
    verdicts: Mapping[str, int]
    """By author."""
    labels: Mapping[str, int]
    total: int


class VerdictItem(msgspec.Struct, frozen=True):
    """A verdict on one item of an answer, for queues of reviews."""

    place: int
    case_id: str
    task: str
    model: str
    rep: int
    metric: str
    item: str
    word: str
    """The verdict; a number as text for a value; empty if it is open."""
    by: str
    disputed: bool
    """Whether judges or people disagree on it."""
    gate: bool
    """Whether its metric decides a gate."""
    breached: bool
    """Whether a gate that it decides blocks the answer."""


class VerdictFilter(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which verdicts a queue has."""

    queue: Queue = "all"
    metric: str = ""
    model: str = ""
    by: str = ""
    """The beginning of the author, such as `human:`."""
    unreviewed: bool = False
    """Whether only items count on which no person decided."""
    after: int = 0
    """The row of the last item of the page before; `VerdictPage.after`."""
    limit: int = PAGE_ROWS


class VerdictPage(msgspec.Struct, frozen=True):
    """Some verdicts of a queue, in the order of places."""

    items: Sequence[VerdictItem]
    total: int
    after: int
    """0 if this is the last page."""


class Remeasured(msgspec.Struct, frozen=True):
    """A reply measured again with other verdicts, and what follows from it."""

    before: CaseResult
    result: CaseResult
    card: Scorecard
    """Its values are those of a full rescore; intervals may be left out until they are computed."""
    version: str
    follows: bool = False
    """Whether all of it is as before, because the whole run is scored in the background."""


class Results(Protocol):
    """The stored runs of one store; may be used by several threads."""

    def runs(self) -> Sequence[RunLine]:
        """Every run, newest first."""
        ...

    def run(self, run: int) -> RunLine:
        """One run; raises UsageError if it does not exist."""
        ...

    def version(self, run: int) -> str:
        """Changes whenever anything that screens show of the run changes: an ETag; cheap."""
        ...

    def scored(self, run: int) -> ScoredRun:
        """The scorecard; starts to build the index in the background if it is missing or stale."""
        ...

    def read_with(self, run: int, reading: Reading) -> ReportSource:
        """The scored run with other weights, workload or decision; computes intervals again."""
        ...

    def build(self, run: int) -> None:
        """Score the whole run now, and wait for it."""
        ...

    def matrix(self, run: int, query: MatrixQuery) -> MatrixPage:
        """A page of cases; raises QueryError that names the allowed values."""
        ...

    def neighbours(self, run: int, query: MatrixQuery, place: int) -> Neighbours:
        """The cases before and after one."""
        ...

    def case(self, run: int, place: int) -> IndexedCaseView:
        """One case with its answers; raises QueryError if there is none at this place."""
        ...

    def place_of(self, run: int, case_id: str) -> int | None:
        """The place of a case by its id; None if the run does not have it."""
        ...

    def counts(self, run: int) -> ReportCounts:
        """What sections of a report count over all cases; kept until the run changes."""
        ...

    def verdict_items(self, run: int, filter: VerdictFilter) -> VerdictPage:
        """The verdicts of a queue."""
        ...

    def open_items(self, run: int, place: int) -> Sequence[OpenItem]:
        """The items of the replies to a case that await a verdict; measures the case."""
        ...

    def remeasure(self, run: int, place: int, model: str, rep: int) -> Remeasured:
        """Measure one reply again with what people say about it now, and add everything up."""
        ...

    def events(self) -> Sequence[LoggedEvent]:
        """Every event of the store, in its order."""
        ...

    def check_data(self, run: int) -> None:
        """Raise UsageError if the run cannot be scored with its data as they are now."""
        ...

    def stale_reviews(self, run: int) -> Mapping[ItemOfReply, StaleReviews]:
        """The items whose reviews rely on another reference than the run has now."""
        ...

    def reviews(self) -> ReviewLog:
        """What people say about verdicts, up to the last event."""
        ...

    def verdicts_of_case(self, run: int, place: int) -> Sequence[VerdictItem]:
        """The verdicts on every answer to a case."""
        ...

    def verdicts_of_people(self, run: int) -> bytes:
        """What people say about the replies of a run, as lines of a verdicts file."""
        ...

    def reply_key(self, run: int, case_id: str, model: str, rep: int) -> bytes:
        """The key of a stored reply; raises QueryError if there is none."""
        ...

    def reference_of(self, run: int, case_id: str) -> str:
        """The hash of the expected outcome of a case; empty for a step of a scenario."""
        ...

    def close(self) -> None:
        """End background work, and close the files."""
        ...
