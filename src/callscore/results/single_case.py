"""Measures one case of a stored run again, as a pass over all cases measures it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from typing import NamedTuple

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.case import Case
from callscore.core.errors import CallscoreError
from callscore.core.judging import Embedder, Item, Verdict
from callscore.evaluate.cases import IndexedCase, LoadedCase
from callscore.evaluate.given_verdicts import VerdictIndex, index_verdicts
from callscore.evaluate.judging import ComparedTexts, JudgedBlock, Judgement, JudgeRunner
from callscore.evaluate.labels import LabelIndex, index_labels
from callscore.evaluate.reply_source import CaseReplies, RepliesInMemory
from callscore.evaluate.scorer import Sinks
from callscore.evaluate.scoring_pass import CasePass, ScoringInputs
from callscore.evaluate.sub_blocks import KeptCase, KeptSubBlock, decode_cases
from callscore.evaluate.substitutes import SubstituteCounts
from callscore.report.source import CaseView
from callscore.runner.people import verdict_files
from callscore.store.files import Line
from callscore.store.worklists import CSV, OnOpen, VerdictLines

NO_LINE = Line(Path(), 0, 0, b"")
"""A case of the index is on no line: it was checked when it was scored."""


class ScoredAsAWhole(CallscoreError):
    """Why a change of verdicts needs a pass over all cases."""


class Kinds(NamedTuple):
    """What the verdicts of people on all cases decide for each."""

    worded: bool
    on_benchmarks: bool


class VerdictFiles(NamedTuple):
    """The verdicts and labels in the files of a run, by the position of their case."""

    given: VerdictIndex = VerdictIndex()
    labels: LabelIndex = LabelIndex()
    positions: Mapping[str, int] = {}

    def verdicts_on(self, case_id: str, people: bytes) -> bytes:
        """The verdicts on a case and what people say, in the order in which a pass reads them."""
        found = _lines_of(self.given.lines, self.positions.get(case_id))
        rows = [line for line in found if line.path.suffix.lower() == CSV]
        others = [line for line in found if line.path.suffix.lower() != CSV]
        return _joined(others) + people + _joined(rows)

    def labels_on(self, case_id: str) -> bytes:
        """The labels on a case."""
        return _joined(_lines_of(self.labels.lines, self.positions.get(case_id)))


def _lines_of(lines: VerdictLines | None, position: int | None) -> Sequence[Line]:
    return () if lines is None or position is None else lines.lines(position)


def _joined(lines: Sequence[Line]) -> bytes:
    return b"".join(line.raw.rstrip() + b"\n" for line in lines)


class RunOfCases(NamedTuple):
    """What the cases of a stored run have in common."""

    config: ScoreConfig
    models: Sequence[str]
    origins: Mapping[str, str]
    """By model, the label of one that is not real."""
    runner: JudgeRunner | None
    cases: int
    """All cases of the files, selected or not."""
    files: VerdictFiles = VerdictFiles()
    judging: Callable[[], AbstractContextManager[JudgeRunner]] | None = None
    """Opens the judge if it is a model: its replies are those that are stored."""

    def open_judge(self) -> AbstractContextManager[JudgeRunner | None]:
        """The judge that is asked again."""
        return nullcontext(self.runner) if self.judging is None else self.judging()


class GivenByPeople(NamedTuple):
    """What people say about a case, as lines of a verdicts file."""

    lines: bytes
    kinds: Kinds


class SingleCase(NamedTuple):
    """A case that was measured on its own."""

    view: CaseView
    replies: Mapping[str, KeptCase]
    """By model."""
    judged: JudgedBlock | None
    substitutes: SubstituteCounts
    unused: int


def inputs_of(run: RunOfCases, kinds: Kinds, replies: CaseReplies, case_id: str) -> ScoringInputs:
    """The inputs of a pass over one case, without the verdicts on it."""
    found = ScoringInputs(RepliesInMemory(run.models, run.origins, {case_id: replies}), run.cases)
    found.given.worded, found.given.on_benchmarks = kinds
    found.given.estimates = run.files.given.estimates
    found.labels.metrics = run.files.labels.metrics
    return found


def measure_again(
    run: RunOfCases,
    view: CaseView,
    replies: CaseReplies,
    people: GivenByPeople,
    on_open: OnOpen | None = None,
) -> SingleCase:
    """Measure the case of a view with what people say about it, and with what files say.

    `on_open` receives the items that still await a verdict.
    """
    case = view.case
    views: list[CaseView] = []
    kept: list[KeptSubBlock] = []
    runner = None if run.runner is None else SingleCaseJudge(run.runner, view, replies)
    sinks = Sinks(
        lambda result: None,
        judge_runner=runner,
        on_case=views.append,
        on_open=on_open,
        on_sub_block=kept.append,
    )
    inputs = inputs_of(run, people.kinds, replies, case.id)
    with (
        closing(inputs),
        verdict_files(run.files.verdicts_on(case.id, people.lines)) as given,
        verdict_files(run.files.labels_on(case.id)) as labelled,
    ):
        config = msgspec.structs.replace(run.config, verdicts=given, labels=labelled)
        if given:
            inputs.given.lines = index_verdicts(config, {case.id: 0}, run.models).lines
        if labelled:
            inputs.labels.lines = index_labels(config, {case.id: 0}, run.models).lines
        scored = _SingleCasePass(run.config, sinks, [_indexed(run.config, case)], inputs)
        substitutes = scored.score_case()
    return SingleCase(
        msgspec.structs.replace(views[0], other_keys=view.other_keys),
        {model: decode_cases(raw)[0] for model, raw in kept[0].replies.items()},
        None if runner is None else runner.take_block(),
        substitutes,
        inputs.given.unused,
    )


def _indexed(config: ScoreConfig, case: Case) -> IndexedCase:
    task, suite = config.catalog.tasks()[case.task], config.catalog.suite_of(case.task)
    return IndexedCase(0, NO_LINE, LoadedCase(case, task, task.reference(case), suite))


class _SingleCasePass(CasePass):
    """A pass over one case."""

    def count_floor(self, indexed: IndexedCase) -> None:
        """Nothing: verdicts do not change the floors."""

    def score_case(self) -> SubstituteCounts:
        """Score the case; returns what substitutes served in it."""
        self.score_all()
        self._scorer.finish()
        return self._scorer.substitutes.counts


class SingleCaseJudge(JudgeRunner):
    """The judge of a run; the similarities of a case are those of its view.

    Texts that are encoded together change each other in the last digit, and its neighbours are not
    encoded again.
    """

    def __init__(self, runner: JudgeRunner, view: CaseView, replies: CaseReplies) -> None:
        super().__init__(runner.judge, runner.embedder, (), runner.models, runner.concurrency)
        self._known: dict[tuple[str, int], dict[Item, Verdict]] = {
            (answer.model, answer.run): {
                Item(one.metric, one.item): one for one in answer.verdicts if one.value is not None
            }
            for answer in view.answers
        }
        self._of_case = {item: one for known in self._known.values() for item, one in known.items()}
        self._about = {
            id(reply): (model, number)
            for model, runs in replies.items()
            for number, reply in runs.items()
        }

    async def _compare(self, embedder: Embedder, texts: ComparedTexts) -> Judgement:
        answer = texts.answer
        known = self._of_case if answer is None else self._known[self._about[id(answer)]]
        found: dict[Item, Sequence[Verdict]] = {}
        for question in texts.questions:
            item = Item(question.metric, question.item)
            if item not in known:
                raise ScoredAsAWhole(f"{item}: is compared, and was not compared before")
            found[item] = [known[item]]
        return Judgement(found)
