"""Scores from the journal: while models still answer, and to the end when they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from callscore.app import opened_outlets
from callscore.core.case import Case, Reply
from callscore.core.scorecard import CaseResult, Scorecard
from callscore.running.models import Reached
from callscore.running.preparing import Prepared
from callscore.running.session import judge_all
from callscore.scoring.answers import Answers
from callscore.scoring.casework import OnResult
from callscore.scoring.examiners import opened_examiner
from callscore.scoring.judge_calls import JudgeCalls
from callscore.scoring.pipeline import Tallying
from callscore.scoring.scorecards import scorecard
from callscore.store.journal import Journal

if TYPE_CHECKING:
    from callscore.running.scenarios import Judged, ScenarioAnswers, ScenarioScore

CASES_AT_ONCE = 25


class JournalAnswers:
    """The answers of one run, from the journal."""

    def __init__(self, journal: Journal, run_id: int, models: Sequence[Reached]) -> None:
        self._journal = journal
        self._run_id = run_id
        self.models: Sequence[str] = [model.spec.name for model in models]
        self.labels: Mapping[str, str] = {
            model.spec.name: model.spec.provider for model in models if not model.online
        }

        self._complete: tuple[str, Answers] = ("", {})

    def answers(self, position: int, case: Case) -> Answers:
        """Every answer to a case."""
        case_id, answers = self._complete
        return answers if case_id == case.id else self.to_case(case.id)

    def to_case(self, case_id: str) -> Answers:
        """Every answer to the case of this id."""
        return self._journal.answers_to(self._run_id, case_id)

    def has_replies(self, case_id: str, number: int) -> bool:
        """Whether so many replies are there; if so, they are kept for `answers`.

        A failure is no reply: a resumed run still asks again.
        """
        found = self.to_case(case_id)
        replies = sum(isinstance(reply, Reply) for run in found.values() for reply in run.values())
        if replies == number:
            self._complete = (case_id, found)
        return replies == number

    def close(self) -> None:
        """The journal is closed by whoever opened it."""


class RunScoring:
    """The scores of a run in the making; its files appear only if it is left in peace."""

    def __init__(
        self, prepared: Prepared, journal: Journal, run_id: int, calls: JudgeCalls
    ) -> None:
        self.calls = calls
        self._prepared = prepared
        self._source = JournalAnswers(journal, run_id, prepared.models)
        self._stack = ExitStack()
        self._answers_a_case = len(prepared.models) * prepared.config.repeats

    def __enter__(self) -> RunScoring:
        config = self._prepared.config
        targets = self._prepared.options.targets
        self._outlets = self._stack.enter_context(opened_outlets(targets))
        self._tallying = None
        self._judged: Judged = {}
        self._examiner = self._stack.enter_context(opened_examiner(config.scoring, self.calls))
        if config.cases:
            config.scoring.check()
            outlets = msgspec.structs.replace(self._outlets, examiner=self._examiner)
            self._tallying = Tallying(config.scoring, outlets, self._source)
            self._stack.callback(self._tallying.close)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    def catch_up(self) -> None:
        """Score some cases to which every model has answered; the rest waits for `card`.

        Where somebody judges, all of it waits: judging needs the loop that the models have now.
        """
        tallying = self._tallying
        for _ in range(CASES_AT_ONCE):
            case_id = tallying.next_id if tallying is not None else None
            if tallying is None or case_id is None:
                return
            if not self._source.has_replies(case_id, self._answers_a_case):
                return
            tallying.advance()

    def judge(self, spent_usd: float) -> bool:
        """Put what is open to the judges; so much of the budget is spent. False if interrupted."""
        if self._examiner is None:
            return True
        return judge_all(self._examine, self.calls, spent_usd)

    async def _examine(self) -> None:
        examiner = self._examiner
        if self._tallying is not None and examiner is not None:
            await self._tallying.examine_all(examiner)
        if self._prepared.sets and examiner is not None and examiner.judge is not None:
            from callscore.running.scenarios import judge_scenarios

            self._judged = await judge_scenarios(self._scenario_answers(), examiner)

    def card(self) -> Scorecard | None:
        """The scorecard of the calls suite, where the run has cases."""
        if self._tallying is None:
            return None
        tallied = self._tallying.finish()
        card = scorecard(self._prepared.config.scoring, tallied, self._examiner)
        return msgspec.structs.replace(card, notes=[*card.notes, *self._prepared.notes])

    def scenarios(self) -> Mapping[str, ScenarioScore]:
        """The results of the orchestration suite, where the run has scenarios."""
        if not self._prepared.sets:
            return {}
        from callscore.running.scenarios import score_scenarios

        if self._outlets.on_verdict is not None:
            for (model, _), judged in self._judged.items():
                for record in judged.records(model):
                    self._outlets.on_verdict(record)
        on_result = _labelling(self._outlets.on_result, self._source.labels)
        return score_scenarios(self._scenario_answers(), self._judged, on_result)

    def _scenario_answers(self) -> ScenarioAnswers:
        from callscore.running.scenarios import ScenarioAnswers

        prepared, source = self._prepared, self._source
        return ScenarioAnswers(
            prepared.sets, source.models, source.to_case, prepared.config.repeats
        )


def _labelling(on_result: OnResult, labels: Mapping[str, str]) -> OnResult:
    """Results of a model that is none say so, each of them."""

    def labelled(result: CaseResult) -> None:
        label = labels.get(result.model)
        if label is not None:
            result = msgspec.structs.replace(result, flags=sorted({*result.flags, label}))
        on_result(result)

    return labelled
