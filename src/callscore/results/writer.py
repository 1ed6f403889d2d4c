"""Writes the index of a run while it is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType

import msgspec

from callscore.core.judging import Verdict
from callscore.core.scorecard import Scorecard
from callscore.core.spec import Spec
from callscore.evaluate.scorecards import contributions_by_model
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.processes.value_bytes import from_bytes, to_bytes
from callscore.report.source import Cases, CaseView, Provenance, ReportSource
from callscore.results.compared import encode_contributions
from callscore.results.rows import SCORE, case_row
from callscore.store.results_index import CaseRow, ResultsIndex, Scoring
from callscore.suites.registry import Catalog

CHOSEN = ("RECOMMENDED", "LIKELY")
"""The words of a decision for a model."""
WRITTEN_TOGETHER = 256
"""Cases per transaction."""

StepVerdicts = Mapping[str, Mapping[tuple[str, int], Sequence[Verdict]]]
"""By step, then by model and repeat, what a judge decided."""


class Head(msgspec.Struct, frozen=True):
    """What lists and filters need of a scoring."""

    cases: int
    models: Sequence[str]
    tasks: Sequence[str]
    langs: Sequence[str]
    tags: Sequence[str]
    metrics: Sequence[str]
    leader: str | None
    leader_final: float | None
    values_only: bool = False


encode_head = msgspec.msgpack.Encoder().encode
decode_head = msgspec.msgpack.Decoder(Head).decode


class KeptCard(msgspec.Struct, frozen=True):
    """The scorecard of a scoring, and what reports show with it."""

    card: Scorecard
    title: str
    absent: Sequence[str]
    provenance: Provenance


def encode_card(source: ReportSource) -> bytes:
    """The scorecard as bytes: every number keeps its type and all digits."""
    return to_bytes(KeptCard(source.card, source.title, list(source.absent), source.provenance))


def decode_card(raw: bytes) -> KeptCard:
    """The scorecard in some bytes."""
    found: KeptCard = from_bytes(raw)
    return found


class IndexWriter:
    """Adds one case after another to a new scoring; it is dropped if it is not finished."""

    def __init__(self, index: ResultsIndex, run: int = 0) -> None:
        """The number of a new run may be unknown before it ends."""
        self._index = index
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
            self._index.drop(self._scoring)

    def add(self, view: CaseView) -> None:
        """Add the next case of the case files."""
        self._add(view)

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
        if row.lang:
            self._langs.add(row.lang)
        if row.tags != "[]":
            self._tags.update(msgspec.json.decode(row.tags))
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
        self, run: int, fingerprint: str, source: ReportSource, scored: Sequence[ScoringResult]
    ) -> None:
        """Let the scoring take the place of the one before; `scored` are its results."""
        self._flush()
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
        scoring = Scoring(self._scoring, run, fingerprint, encode_head(head))
        found = contributions_by_model(scored, card)
        contributions = {model: encode_contributions(of_model) for model, of_model in found.items()}
        self._index.finish(scoring, encode_card(source), contributions)
        self._finished = True


def leader_of(card: Scorecard) -> str | None:
    """The recommended model, or the first of the ranking."""
    models = {model.model for model in card.models}
    named = [model for line in card.decision if line.word in CHOSEN for model in line.models]
    named += [line.model for line in card.ranking]
    return next((model for model in named if model in models), None)


def verdicts_on_steps(scored: Sequence[ScoringResult]) -> StepVerdicts:
    """What a judge decided about steps, by step."""
    found: dict[str, dict[tuple[str, int], list[Verdict]]] = {}
    for result in scored:
        for part, judged in result.judged_steps.items():
            for (case_id, run, _), verdict in judged.verdicts.items():
                of_step = found.setdefault(case_id, {})
                of_step.setdefault((part.model, run), []).append(verdict)
    return found
