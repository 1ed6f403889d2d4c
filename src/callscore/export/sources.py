"""Opens the source of a report: a stored run, a scorecard file, or files to score now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from callscore.app import NO_FILES, OutputPaths, score_files
from callscore.config.config import EvalConfig, load_eval
from callscore.config.score import DEFAULT_STORE, ScoreConfig, read_decide
from callscore.core.case import Reply
from callscore.core.errors import DataError, UsageError
from callscore.core.scorecard import Decide, Scorecard
from callscore.core.strict_json import DECODE_ERRORS
from callscore.core.task import EarlierReply
from callscore.evaluate.block_scoring import ONE_PROCESS, Workers
from callscore.evaluate.cases import NamesInData
from callscore.evaluate.scenarios import OutputsJob, read_documents
from callscore.evaluate.scorecards import add_rows, scorecard
from callscore.evaluate.scorer import OnProgress, ignore_progress
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.export.provenance import (
    provenance_of_outputs,
    provenance_of_run,
    provenance_of_scoring,
)
from callscore.export.scenario_archive import archive_scenarios
from callscore.export.step_cases import CombinedCases, StepCases
from callscore.report.decision_lines import with_decision
from callscore.report.source import (
    NO_ARCHIVE,
    Answer,
    Cases,
    CaseView,
    PromptsOfCase,
    ReportSource,
    ScenarioArchive,
    SentPrompt,
)
from callscore.runner.people import PeopleVerdicts, verdict_files, verdicts_of_people
from callscore.runner.prepare import PreparedRun, RunOptions, prepare
from callscore.runner.run import RunResult, rescore
from callscore.runner.run_key import RunKey
from callscore.runner.stored_runs import config_of_run
from callscore.store.address import StoreAddress, open_store
from callscore.store.disk_list import DiskList
from callscore.store.files import open_for_reading
from callscore.store.run_records import RunRecord
from callscore.suites.registry import Catalog, NamesOf, all_suites, template_of

MAX_CARD_BYTES = 500_000_000
NAMES_KEY = "names"
NO_STEPS = "steps: mode `compat` does not record them"
CARD_ONLY = "cases: a scorecard file does not contain them; pass the run or its eval file"


class SourceRequest(msgspec.Struct, frozen=True):
    """The run or scorecard that a report is about, as given on the command line."""

    target: str
    """The id of a run, an eval file (for its newest run), or a scorecard in JSON."""
    store: StoreAddress | None = None
    eval_file: Path | None = None
    """The eval file of the run, if the store does not name it or the file was moved."""
    run: int | None = None
    """A run of the eval file other than the newest."""
    decide: Mapping[str, Any] = {}
    """What the recommended model is chosen by, if not as in the file (C-138)."""
    workers: Workers = ONE_PROCESS
    """How many processes score a stored run again."""

    @property
    def files(self) -> list[StoreAddress]:
        """The input files, which a report must not overwrite."""
        named = None if self.target.isdecimal() else Path(self.target)
        return [path for path in (named, self.store, self.eval_file) if path is not None]


class RunOpener(Protocol):
    """Opens the source of a stored run: scores it again, or reads what was scored."""

    def __call__(
        self, run_id: int, store: StoreAddress, eval_file: Path | None, workers: Workers, /
    ) -> AbstractContextManager[ReportSource]:
        """The source, until it is closed."""


@contextmanager
def open_source(
    request: SourceRequest, open_run: RunOpener | None = None
) -> Iterator[ReportSource]:
    """Open the requested source; UsageError if that is not possible."""
    decide = read_decide(request.decide) if request.decide else None
    with _open_target(request, open_run or run_source) as source:
        yield source if decide is None else read_as(source, decide)


def read_as(source: ReportSource, decide: Decide) -> ReportSource:
    """The same source, its scorecard read in another way        C-138"""
    spec = Catalog().spec_with(task for model in source.card.models for task in model.tasks)
    return msgspec.structs.replace(
        source,
        card=with_decision(source.card, spec, decide),
        provenance=msgspec.structs.replace(source.provenance, decide=decide),
    )


@contextmanager
def _open_target(request: SourceRequest, open_run: RunOpener) -> Iterator[ReportSource]:
    target = request.target
    if target.isdecimal():
        store = request.store or DEFAULT_STORE
        with open_run(int(target), store, request.eval_file, request.workers) as source:
            yield source
    elif Path(target).suffix.lower() in (".yaml", ".yml"):
        config = load_eval(Path(target), request.store)
        run_id = request.run or newest_run(config)
        with open_run(run_id, config.store, config.path, request.workers) as source:
            yield source
    elif (request.workers.number or 1) > 1:
        raise UsageError(f"{target}: a scorecard is not scored again; expected no --workers")
    else:
        yield card_source(Path(target))


def card_source(path: Path) -> ReportSource:
    """Read a scorecard that `--json` wrote; it has no cases."""
    with open_for_reading(path) as file:
        raw = file.read(MAX_CARD_BYTES + 1)
    if len(raw) > MAX_CARD_BYTES:
        raise UsageError(f"{path}: more than {MAX_CARD_BYTES} bytes; expected a scorecard in JSON")
    try:
        card = _card_of_document(raw) or msgspec.json.decode(raw, type=Scorecard)
    except (DataError, *DECODE_ERRORS) as error:
        raise UsageError(
            f"{path}: {error}; expected the id of a run, an eval file (.yaml), or a scorecard "
            "that --json wrote"
        ) from None
    return ReportSource(card, template_of(card), title_of(card), absent=[CARD_ONLY])


class _ResultFile(msgspec.Struct):
    """What document 001 has, and no scorecard."""

    detailed_results: msgspec.Raw = msgspec.Raw()
    languages: msgspec.Raw = msgspec.Raw()


def _card_of_document(raw: bytes) -> Scorecard | None:
    """The scorecard of a result file of scenarios (document 001); None if it is no such file."""
    found = msgspec.json.decode(raw, type=_ResultFile)
    if not (bytes(found.detailed_results) or bytes(found.languages)):
        return None
    return scorecard(ScoreConfig(cases=()), read_documents([msgspec.json.decode(raw)]), None)


@contextmanager
def scored_source(
    config: ScoreConfig,
    targets: OutputPaths = NO_FILES,
    progress: OnProgress = ignore_progress,
    workers: Workers = ONE_PROCESS,
) -> Iterator[ReportSource]:
    """Score the files of a config and yield the result; also writes the files in `targets`."""
    with DiskList(CaseView) as cases:
        card = score_files(config, targets, progress, cases.add, workers)
        yield ReportSource(
            card,
            template_of(card),
            title_of(card),
            cases,
            provenance=provenance_of_scoring(config),
            prompts=TaskPromptBuilder(config),
        )


def source_of_outputs(
    job: OutputsJob, card: Scorecard, steps: Cases, archive: ScenarioArchive = NO_ARCHIVE
) -> ReportSource:
    """Return the source for recorded scenarios that were just scored; `steps` holds their steps."""
    return ReportSource(
        card,
        template_of(card),
        title_of(card),
        steps,
        absent=[] if len(steps) else [NO_STEPS],
        provenance=provenance_of_outputs(job),
        scenarios=archive,
    )


@contextmanager
def run_source(
    run_id: int,
    store: StoreAddress,
    eval_file: Path | None = None,
    workers: Workers = ONE_PROCESS,
) -> Iterator[ReportSource]:
    """Score a stored run again from its stored replies, without sending requests, and yield it."""
    scored: list[ScoringResult] = []
    with DiskList(CaseView) as cases, StepCases() as steps:
        options = RunOptions(
            on_case=cases.add,
            on_step=steps.add,
            on_scoring_result=scored.append,
            workers=workers,
        )
        with open_rescored(run_id, store, eval_file, options) as rescored:
            source = source_of_run(rescored.prepared, rescored.result, cases, steps)
            judged = {part: found for each in scored for part, found in each.judged_steps.items()}
            yield msgspec.structs.replace(
                source,
                absent=rescored.caveats,
                scenarios=archive_scenarios(rescored.prepared, judged),
            )


class RescoredRun(NamedTuple):
    """A stored run and the scorecard recomputed from its replies."""

    prepared: PreparedRun
    result: RunResult
    card: Scorecard
    caveats: Sequence[str]
    """What the reader should know, such as an eval file that changed since the run."""
    people: PeopleVerdicts = PeopleVerdicts()


def rescore_run(
    run_id: int, store: StoreAddress, eval_file: Path | None, options: RunOptions
) -> RescoredRun:
    """Score a stored run again from its stored replies, writing to the sinks in `options`."""
    with open_rescored(run_id, store, eval_file, options) as rescored:
        return rescored


@contextmanager
def open_rescored(
    run_id: int, store: StoreAddress, eval_file: Path | None, options: RunOptions
) -> Iterator[RescoredRun]:
    """The same, until the block ends with the files that it was scored from.

    What people said about its replies counts as verdicts in a file do.
    """
    record = _record(store, run_id)
    config = config_of_run(record, store, eval_file)
    key = RunKey.parse(record.header.config_hash)
    same = key.fingerprint == config.fingerprint
    caveats = [] if same else [EVAL_FILE_CHANGED.format(config.path)]
    options = msgspec.structs.replace(options, limit=key.limit, weights=key.weights)
    with open_store(store, only_reading=True) as opened:
        people = verdicts_of_people(opened, run_id, config)
    with verdict_files(people.lines) as files:
        options = msgspec.structs.replace(options, verdicts=(*options.verdicts, *files))
        with closing(prepare(config, options, sending=False)) as prepared:
            result = rescore(prepared, run_id)
        if result.summary.status == "interrupted":
            raise KeyboardInterrupt
        yield RescoredRun(prepared, result, _card_of(result), caveats, people)


def _card_of(result: RunResult) -> Scorecard:
    card = result.card
    if card is None:
        raise UsageError(
            f"run {result.run_id}: has no scores; expected a run with cases or scenarios"
        )
    return card


def source_of_run(
    prepared: PreparedRun, result: RunResult, cases: Cases, steps: Cases = ()
) -> ReportSource:
    """Return the source for a run that was just scored.

    `cases` holds its cases (`RunOptions.on_case`), `steps` the steps of its scenarios.
    """
    config, card = prepared.config, _card_of(result)
    record = _record(config.store, result.run_id)
    models = [model.spec for model in prepared.models]
    return ReportSource(
        card,
        template_of(card),
        f"{record.header.name} · {title_of(card)}",
        CombinedCases(cases, steps) if result.documents else cases,
        provenance=provenance_of_run(config.scoring, record, config.path, models),
        prompts=TaskPromptBuilder(config.scoring),
    )


def with_scenarios(
    source: ReportSource, config: ScoreConfig, scored: Scorecard, steps: Cases
) -> ReportSource:
    """Add the rows, steps and documents of scenarios, scored on their own, to a source of calls."""
    card = add_rows(config, source.card, scored)
    return msgspec.structs.replace(
        source,
        card=card,
        template=template_of(card),
        cases=CombinedCases(source.cases, steps),
    )


EVAL_FILE_CHANGED = (
    "{} has changed since the run: scored with its current settings and the replies of the run"
)


def newest_run(config: EvalConfig) -> int:
    """Return the id of the newest run of an eval file, preferably one of its current version."""
    with open_store(config.store, only_reading=True) as store:
        runs = [record for record in store.runs() if record.header.name == config.name]
    same = [
        run
        for run in runs
        if RunKey.parse(run.header.config_hash).fingerprint == config.fingerprint
    ]
    if not runs:
        raise UsageError(
            f"{config.store}: has no run of {config.name!r}; `callscore run` makes one"
        )
    return (same or runs)[0].id


def _record(store: StoreAddress, run_id: int) -> RunRecord:
    with open_store(store, only_reading=True) as opened:
        return opened.run(run_id)


def title_of(card: Scorecard) -> str:
    """Return the title of a report."""
    return f"{card.title} scorecard · {card.framework}"


class _AnsweredCase:
    """A case that later ones of its call depend on, with the replies to it."""

    def __init__(self, view: CaseView) -> None:
        self._case = view.case
        self._replies = {
            (answer.model, answer.run): Reply(
                answer.text,
                answer.finish_reason,
                answer.input_tokens,
                answer.output_tokens,
                answer.cost_usd,
                answer.tool_calls,
            )
            for answer in view.answers
            if answer.text is not None
        }

    def reply_of(self, answer: Answer) -> EarlierReply | None:
        """The reply of the same model in the same run."""
        reply = self._replies.get((answer.model, answer.run))
        return None if reply is None else EarlierReply(self._case, reply)


class TaskPromptBuilder:
    """Builds the prompts of cases, as a run of a config sends them."""

    def __init__(self, config: ScoreConfig, context: Mapping[str, Any] | None = None) -> None:
        """Take the context from the case files if none is passed."""
        names = None if context is None else context.get(NAMES_KEY)
        self._names: NamesOf = NamesInData(config.case_sources)
        if names is not None:
            self._names = lambda suite: tuple(names.get(suite.name, ()))
        self._tasks = config.catalog.tasks(self._names)

    def read_in_order(self) -> PromptsOfCase:
        """Return a function that is called with every case, in the order of the file."""
        calls: dict[str | int, list[_AnsweredCase]] = {}

        def prompts_of(view: CaseView) -> Iterator[SentPrompt]:
            case, task = view.case, self._tasks[view.case.task]
            if not task.needs_earlier_replies or case.call_id is None:
                yield SentPrompt(task.prompt(case))
                return
            before = calls.setdefault(case.call_id, [])
            if not before:
                yield SentPrompt(task.prompt(case))
            for answer in view.answers if before else ():
                of_run = [each.reply_of(answer) for each in before]
                earlier = [reply for reply in of_run if reply is not None]
                if len(earlier) == len(before) and answer.result.status != "not_run":
                    prompt = task.prompt_after(case, earlier)
                    yield SentPrompt(prompt, answer.model, answer.run)
            before.append(_AnsweredCase(view))

        return prompts_of

    def context(self) -> Mapping[str, Any]:
        """Return the names in the whole data set by suite, including cases that were not asked."""
        names_by_suite = {suite.name: list(self._names(suite)) for suite in all_suites()}
        return {NAMES_KEY: {suite: names for suite, names in names_by_suite.items() if names}}
