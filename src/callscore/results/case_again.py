"""Measures one case of a stored run again, as a pass over all cases measures it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.case import Case, Reply
from callscore.core.errors import CallscoreError
from callscore.core.judging import Item, Question, Verdict, Verdicts
from callscore.evaluate.cases import IndexedCase, LoadedCase
from callscore.evaluate.given_verdicts import index_verdicts
from callscore.evaluate.judging import JudgedBlock, Judgement, JudgeRunner
from callscore.evaluate.reply_source import CaseReplies, RepliesInMemory
from callscore.evaluate.scorer import Sinks
from callscore.evaluate.scoring_pass import CasePass, ScoringInputs
from callscore.evaluate.sub_blocks import KeptCase, KeptSubBlock, decode_cases
from callscore.evaluate.substitutes import SubstituteCounts
from callscore.report.source import CaseView
from callscore.runner.people import verdict_files
from callscore.store.files import Line
from callscore.store.worklists import OnOpen

NO_LINE = Line(Path(), 0, 0, b"")
"""A case of the index is on no line: it was checked when it was scored."""


class ScoredAsAWhole(CallscoreError):
    """Why a change of verdicts needs a pass over all cases."""


class Kinds(NamedTuple):
    """What the verdicts of people on all cases decide for each."""

    worded: bool
    on_benchmarks: bool


class RunOfCases(NamedTuple):
    """What the cases of a stored run have in common."""

    config: ScoreConfig
    models: Sequence[str]
    labels: Mapping[str, str]
    runner: JudgeRunner | None
    cases: int
    """All cases of the files, selected or not."""


class CaseAgain(NamedTuple):
    """A case that was measured on its own."""

    view: CaseView
    replies: Mapping[str, KeptCase]
    """By model."""
    judged: JudgedBlock | None
    substitutes: SubstituteCounts
    unused: int


def inputs_of(run: RunOfCases, kinds: Kinds, replies: CaseReplies, case_id: str) -> ScoringInputs:
    """The inputs of a pass over one case, without the verdicts on it."""
    found = ScoringInputs(RepliesInMemory(run.models, run.labels, {case_id: replies}), run.cases)
    found.given.worded, found.given.on_benchmarks = kinds
    return found


def measure_again(
    run: RunOfCases,
    view: CaseView,
    replies: CaseReplies,
    lines: bytes,
    kinds: Kinds,
    on_open: OnOpen | None = None,
) -> CaseAgain:
    """Measure the case of a view with the verdicts of people on these lines.

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
    inputs = inputs_of(run, kinds, replies, case.id)
    with verdict_files(lines) as files:
        config = msgspec.structs.replace(run.config, verdicts=tuple(files))
        if files:
            inputs.given = index_verdicts(config, {case.id: 0}, run.models)
            inputs.given.worded, inputs.given.on_benchmarks = kinds
        with closing(inputs):
            scored = _SingleCase(run.config, sinks, [_indexed(run.config, case)], inputs)
            substitutes = scored.score_case()
    return CaseAgain(
        msgspec.structs.replace(views[0], other_keys=view.other_keys),
        {model: decode_cases(raw)[0] for model, raw in kept[0].replies.items()},
        None if runner is None else runner.take_block(),
        substitutes,
        inputs.given.unused,
    )


def _indexed(config: ScoreConfig, case: Case) -> IndexedCase:
    task, suite = config.catalog.tasks()[case.task], config.catalog.suite_of(case.task)
    return IndexedCase(0, NO_LINE, LoadedCase(case, task, task.reference(case), suite))


class _SingleCase(CasePass):
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

    async def ask(
        self,
        case: Case,
        questions: Sequence[Question],
        answer: Reply | None = None,
        language: str | None = None,
    ) -> Judgement:
        """The words of the judge, and the similarities that are known."""
        compared = [question for question in questions if not question.offered]
        if self.embedder is None or not compared:
            return await super().ask(case, questions, answer, language)
        worded = [question for question in questions if question.offered]
        known = self._of_case if answer is None else self._known[self._about[id(answer)]]
        similarities: dict[Item, Sequence[Verdict]] = {}
        for question in compared:
            item = Item(question.metric, question.item)
            if item not in known:
                raise ScoredAsAWhole(f"{case.id}: a text is compared that was not compared before")
            similarities[item] = [known[item]]
        judged = await super().ask(case, worded, answer, language)
        both: Verdicts = {**judged.verdicts, **similarities}
        return msgspec.structs.replace(judged, verdicts=both)
