"""Opens a stored run whose verdicts change: its replies, its judge, its files of verdicts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from typing import NamedTuple

import msgspec

from callscore.config.config import EvalConfig
from callscore.config.score import ScoreConfig
from callscore.evaluate.cases import CaseReader
from callscore.evaluate.given_verdicts import VerdictIndex, index_verdicts
from callscore.evaluate.judge_client import Billing, JudgeCalls
from callscore.evaluate.judge_setup import open_judge_runner
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.labels import LabelIndex, index_labels
from callscore.evaluate.reply_source import CaseReplies
from callscore.results.single_case import RunOfCases, VerdictFiles
from callscore.runner.prepare import PricedModel, RunOptions, prepare, price_of
from callscore.runner.replies import RunReplies
from callscore.runner.run import check_data
from callscore.runner.run_key import RunKey
from callscore.store.protocol import Store
from callscore.store.run_records import RunRecord

Reading = Callable[[], AbstractContextManager[Store]]


class RunOfReviews(NamedTuple):
    """A stored run whose verdicts change."""

    record: RunRecord
    cases: RunOfCases
    values: RunOfCases
    """The same without intervals."""
    replies: Callable[[str], CaseReplies]
    """The replies to a case, at the prices of the run."""


@contextmanager
def open_run(
    record: RunRecord, config: EvalConfig, scoring: ScoreConfig, reading: Reading
) -> Iterator[RunOfReviews]:
    """A run with its judge and its files of verdicts, until the block ends."""
    specs = sorted(config.models, key=lambda spec: spec.name)
    models = [PricedModel(msgspec.structs.replace(spec, price=price_of(spec))) for spec in specs]

    def replies(case_id: str) -> CaseReplies:
        with reading() as store:
            return RunReplies(store, record.id, models, config.repeats).of_case(case_id)

    origins = {model.spec.name: model.spec.provider for model in models if not model.online}
    names = [spec.name for spec in specs]
    with ExitStack() as stack:
        runner: JudgeRunner | None = None
        judging: Callable[[], AbstractContextManager[JudgeRunner]] | None = None
        if scoring.sends_requests:
            judging = partial(_stored_judge, scoring, reading)
            nothing = JudgeCalls(None, Billing(sends=False))
            runner = stack.enter_context(open_judge_runner(scoring, nothing))
        elif scoring.is_judged:
            runner = stack.enter_context(open_judge_runner(scoring))
        files = stack.enter_context(_verdict_files(scoring, names))
        cases = RunOfCases(scoring, names, origins, runner, 0, files, judging)
        values = cases._replace(config=msgspec.structs.replace(scoring, intervals=False))
        yield RunOfReviews(record, cases, values, replies)


@contextmanager
def _stored_judge(config: ScoreConfig, reading: Reading) -> Iterator[JudgeRunner]:
    """A judge that is a model; what it said is read from the store, and nothing is sent."""
    with (
        reading() as store,
        store.open_cache() as stored,
        open_judge_runner(config, JudgeCalls(stored, Billing(sends=False))) as runner,
    ):
        yield runner


@contextmanager
def _verdict_files(config: ScoreConfig, models: Sequence[str]) -> Iterator[VerdictFiles]:
    """The verdicts and labels in the files of a run."""
    if not (config.verdicts or config.labels):
        yield VerdictFiles()
        return
    ids = CaseReader(config).positions
    with ExitStack() as stack:
        given, labels = VerdictIndex(), LabelIndex()
        if config.verdicts:
            given = index_verdicts(config, ids, models)
        if config.labels:
            labels = index_labels(config, ids, models)
        for lines in (given.lines, labels.lines):
            if lines is not None:
                stack.callback(lines.close)
        yield VerdictFiles(given, labels, ids)


def check_data_of_run(record: RunRecord, config: EvalConfig) -> None:
    """Raise UsageError if the data of a run are not those that it was made with; reads them."""
    key = RunKey.parse(record.header.config_hash)
    options = RunOptions(limit=key.limit, weights=key.weights)
    with closing(prepare(config, options, sending=False)) as prepared:
        check_data(prepared, record)
