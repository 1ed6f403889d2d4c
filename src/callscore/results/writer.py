"""Writes the index of a run while it is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import NamedTuple

import msgspec

from callscore.core.blocks import BLOCK, BlockSize
from callscore.core.errors import StoreError
from callscore.core.judging import Verdict
from callscore.core.scorecard import Scorecard
from callscore.core.spec import Spec
from callscore.evaluate.sub_blocks import KeptSubBlock, decode_sums, encode_sums
from callscore.evaluate.sums import Sums
from callscore.report.source import Cases, CaseView, ReportSource
from callscore.results.fingerprint import data_in
from callscore.results.rows import NO_TEXTS, SCORE, case_row
from callscore.results.scoring_parts import (
    BLOCKS,
    EVERYTHING,
    SUB_BLOCKS,
    Head,
    encode_card,
    encode_contributions,
    encode_head,
    encode_kept,
    encode_people,
    keep_scoring,
)
from callscore.runner.people import PeopleVerdicts
from callscore.runner.prepare import ScoredParts
from callscore.runner.run import RunResult
from callscore.stats.contributions import CaseContributions
from callscore.store.index_rows import CaseRow, Encoded, Scoring, SubBlock, SumRow
from callscore.store.results_index import ResultsIndex
from callscore.suites.registry import Catalog

UNDECIDED = ("NONE PASSES", "NOT DECIDED")
"""The words of a decision for a model."""
WRITTEN_TOGETHER = 256
"""Cases per transaction."""

StepVerdicts = Mapping[str, Mapping[tuple[str, int], Sequence[Verdict]]]
"""By step, then by model and repeat, what a judge decided."""


class IndexWriter:
    """Adds one case after another to a new scoring; it is dropped if it is not finished."""

    def __init__(self, index: ResultsIndex, run: int = 0, size: BlockSize = BLOCK) -> None:
        """The number of a new run may be unknown before it ends."""
        self._index, self._size = index, size
        self._sub_blocks = self._calls = 0
        self._block: dict[str, Sums] = {}
        self._total: dict[str, Sums] = {}
        self._scoring = index.begin(run)
        self._waiting: list[CaseRow] = []
        self._specs: dict[str, Spec] = {}
        self._place = 0
        self._models: dict[str, None] = {}
        self._tasks: dict[str, None] = {}
        self._langs: set[str] = set()
        self._tags: set[str] = set()
        self._metrics: dict[str, None] = {SCORE: None}
        self._finished = False

    def __enter__(self) -> IndexWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._finished:
            with suppress(StoreError):  # what a full disk keeps is never shown, and removed later
                self._index.drop(self._scoring)

    def add(self, view: CaseView) -> None:
        """Add the next case of the case files."""
        self._add(view)

    def add_sub_block(self, kept: KeptSubBlock) -> None:
        """Add what the next sub-block of calls adds to the sums."""
        number = self._sub_blocks
        rows = [SumRow(model, SUB_BLOCKS, number, raw) for model, raw in kept.sums.items()]
        replies = [SubBlock(model, number, raw) for model, raw in kept.replies.items()]
        for model, raw in kept.sums.items():
            if model in self._block:
                self._block[model] += decode_sums(raw)
            else:
                self._block[model] = decode_sums(raw)
        self._sub_blocks += 1
        self._calls += kept.cases
        if self._sub_blocks % self._size.sub_blocks == 0:
            rows += self._end_block()
        self._index.add_sums(self._scoring, replies, rows)

    def _end_block(self) -> list[SumRow]:
        """Join the current block; returns its sums as rows."""
        number = (self._sub_blocks - 1) // self._size.sub_blocks
        rows = []
        for model, sums in self._block.items():
            rows.append(SumRow(model, BLOCKS, number, encode_sums(sums)))
            if model in self._total:
                self._total[model] += sums
            else:
                self._total[model] = sums
        self._block = {}
        return rows

    def add_steps(self, steps: Cases, verdicts: StepVerdicts) -> None:
        """Add the steps of scenarios, which come after all cases."""
        for view in steps:
            self._add(view, verdicts.get(view.case.id, {}), is_step=True)

    def _add(
        self,
        view: CaseView,
        verdicts: Mapping[tuple[str, int], Sequence[Verdict]] = {},
        *,
        is_step: bool = False,
    ) -> None:
        self._place += 1
        case = view.case
        row = case_row(view, self._place, self._spec(case.task), verdicts, is_step=is_step)
        self._tasks[case.task] = None
        if row.head.lang:
            self._langs.add(row.head.lang)
        if row.head.tags != NO_TEXTS:
            self._tags.update(msgspec.json.decode(row.head.tags))
        for answer in view.answers:
            self._models[answer.model] = None
            if not answer.result.metrics.keys() <= self._metrics.keys():
                self._metrics.update(dict.fromkeys(answer.result.metrics))
        self._waiting.append(row)
        if len(self._waiting) == WRITTEN_TOGETHER:
            self._flush()

    def _spec(self, task: str) -> Spec:
        found = self._specs.get(task)
        if found is None:
            found = self._specs[task] = Catalog().spec_with([task])
        return found

    def _flush(self) -> None:
        self._index.add(self._scoring, self._waiting)
        self._waiting = []

    def finish(
        self, ran: RunResult, fingerprint: str, source: ReportSource, found: WithCard
    ) -> None:
        """Let the scoring take the place of the one before."""
        self._flush()
        rows = self._end_block()
        rows += [
            SumRow(model, EVERYTHING, 0, encode_sums(sums)) for model, sums in self._total.items()
        ]
        self._index.add_sums(self._scoring, (), rows)
        card = source.card
        leader = leader_of(card)
        head = Head(
            self._place,
            [model.model for model in card.models],
            sorted(self._tasks),
            sorted(self._langs),
            sorted(self._tags),
            list(self._metrics),
            leader,
            None if leader is None else card.model(leader).final.score,
        )
        people = found.people
        scoring = Scoring(
            self._scoring, ran.run_id, fingerprint, encode_head(head), events=people.events
        )
        kept = (
            keep_scoring(found.parts, card, ran.notes, (self._size, self._calls))
            if self._calls
            else None
        )
        whole = Encoded(
            encode_card(source),
            encode_kept(kept),
            encode_people(people.lines),
            _contributions(found.parts),
        )
        self._index.finish(scoring, whole, data_in(fingerprint))
        self._finished = True


class WithCard(NamedTuple):
    """What scoring a run has found besides its scorecard."""

    parts: ScoredParts
    people: PeopleVerdicts
    """The verdicts of people that it was scored with."""


def _contributions(parts: ScoredParts) -> Mapping[str, bytes]:
    """By model, the contributions of its calls and of its scenarios."""
    found: dict[str, dict[str, CaseContributions]] = {}
    for result in parts.results:
        for model, tallies in result.tallies.items():
            known = {task: tally.contributions for task, tally in tallies.items()}
            found.setdefault(model, {}).update({t: c for t, c in known.items() if c is not None})
    return {
        model: encode_contributions({task: kept.whole() for task, kept in of_model.items()})
        for model, of_model in found.items()
    }


def leader_of(card: Scorecard) -> str | None:
    """The model that the decision names first; without a choice, the first with a Final."""
    models = {model.model for model in card.models}
    first = card.decision[:1]
    named = [model for line in first if line.word not in UNDECIDED for model in line.models]
    named += [line.model for line in card.ranking if line.final_score is not None]
    return next((model for model in named if model in models), None)


def verdicts_on_steps(parts: ScoredParts) -> StepVerdicts:
    """What a judge decided about steps, by step."""
    found: dict[str, dict[tuple[str, int], list[Verdict]]] = {}
    for result in parts.results:
        for part, judged in result.judged_steps.items():
            for (case_id, run, _), verdict in judged.verdicts.items():
                of_step = found.setdefault(case_id, {})
                of_step.setdefault((part.model, run), []).append(verdict)
    return found
