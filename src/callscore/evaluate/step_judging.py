"""Argument values of orchestration steps, put to a judge: one request a step and run (C-115)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from callscore.core.judging import Verdict
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.scorecards import judging_of
from callscore.store.verdict_records import VerdictRecord
from callscore.suites.orchestration.call.questions import Answers, InTurn, Recorded
from callscore.suites.orchestration.result import About
from callscore.suites.orchestration.scenario.cases import judged_case
from callscore.suites.orchestration.standard import OpenStep


class JudgedSteps(msgspec.Struct, frozen=True):
    """What a judge said about one model's steps, by case, run and item, and what that took."""

    verdicts: Mapping[tuple[str, int, str], Verdict]
    judge: str
    """What decides the verdicts: part of the signature of the result (C-126)."""
    judging: Mapping[str, Any]

    def after(self, given: Answers) -> Answers:
        """Whom to ask: who was there before, then the judge."""
        return InTurn(given, Recorded(self.verdicts))

    def told(self, about: About) -> About:
        """What a result is about, judge included."""
        judges = [about.judge, self.judge] if about.judge != "none" else [self.judge]
        return msgspec.structs.replace(about, judge="+".join(judges), judging=dict(self.judging))

    def records(self, model: str) -> Iterator[VerdictRecord]:
        """The verdicts as lines of a verdicts file."""
        for (case_id, run, item), verdict in self.verdicts.items():
            yield VerdictRecord(
                case_id=case_id,
                metric=verdict.metric,
                item=item,
                model=model,
                run=run,
                verdict=verdict.verdict,
                text=verdict.text,
                quote=verdict.quote,
                source=verdict.source,
                by=verdict.by,
                approximate=verdict.approximate,
            )


async def judge_steps(steps: Iterable[OpenStep], examiner: JudgeRunner, model: str) -> JudgedSteps:
    """Verdicts on every open value of one model; what got none stays open."""
    asked = list(steps)
    own = examiner.apart()
    found = await asyncio.gather(
        *(own.examine(judged_case(step.scenario, step.step), step.questions) for step in asked)
    )
    verdicts = {
        (step.case_id, step.run, item.item): given[-1]
        for step, examined in zip(asked, found, strict=True)
        for item, given in examined.verdicts.items()
    }
    overlap = [model] if own.is_related(model) else []
    judge = own.judge_signature or "none"
    return JudgedSteps(verdicts, judge, msgspec.to_builtins(judging_of(own, overlap)))
