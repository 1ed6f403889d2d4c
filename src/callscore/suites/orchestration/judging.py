"""Verdicts on argument values of steps: of files and of a judge (C-115)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callscore.core.scenarios import GivenVerdict, StepVerdicts
from callscore.suites.orchestration.call.questions import Answers, InTurn, Recorded
from callscore.suites.orchestration.result import About, LanguageResult


def recorded_of(given: Sequence[GivenVerdict], model: str, lang: str) -> Recorded:
    """What files say of one model in one language; a line without a model is about each."""
    return Recorded(
        {
            (each.case_id, each.run, each.verdict.item): each.verdict
            for each in given
            if each.model in (None, model) and each.case_id.partition("/")[0] == lang
        }
    )


def source_of(given: Sequence[GivenVerdict]) -> str:
    """Who judged, for the signature of a result (C-126)."""
    return "verdicts" if given else "none"


def with_judge(recorded: Recorded, judged: StepVerdicts | None) -> Answers:
    """Whom to ask: the files first, then the judge."""
    return recorded if judged is None else InTurn(recorded, Recorded(judged.verdicts))


def judged_by(about: About, judged: StepVerdicts | None) -> About:
    """What a result is about, with the judge."""
    if judged is None:
        return about
    judges = [about.judge, judged.judge] if about.judge != "none" else [judged.judge]
    return msgspec.structs.replace(about, judge="+".join(judges), judging=dict(judged.judging))


def with_unused(scored: LanguageResult, given: Recorded) -> LanguageResult:
    """The result, with a warning where lines on this model and language answered nothing."""
    if not given.unused:
        return scored
    warning = f"{given.unused} verdicts name no open item of this model and language"
    return msgspec.structs.replace(scored, warnings=(*scored.warnings, warning))
