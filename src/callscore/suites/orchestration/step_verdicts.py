"""Verdicts on argument values of steps: from files and from a judge (C-115)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callscore.core.scenarios import GivenVerdict, StepVerdicts
from callscore.suites.orchestration.call.questions import (
    RecordedVerdicts,
    VerdictChain,
    VerdictSource,
)
from callscore.suites.orchestration.result import LanguageResult, ResultMetadata


def verdicts_from_files(given: Sequence[GivenVerdict], model: str, lang: str) -> RecordedVerdicts:
    """Verdicts from files on one model in one language; without a model they apply to all."""
    return RecordedVerdicts(
        {
            (each.case_id, each.run, each.verdict.item): each.verdict
            for each in given
            if each.model in (None, model) and each.case_id.partition("/")[0] == lang
        }
    )


def verdict_source(given: Sequence[GivenVerdict]) -> str:
    """The judge, for the signature of a result (C-126)."""
    return "verdicts" if given else "none"


def add_judge_verdicts(recorded: RecordedVerdicts, judged: StepVerdicts | None) -> VerdictSource:
    """The sources of verdicts: the files first, then the judge."""
    return recorded if judged is None else VerdictChain(recorded, RecordedVerdicts(judged.verdicts))


def add_judge(about: ResultMetadata, judged: StepVerdicts | None) -> ResultMetadata:
    """The description of a result, with the judge."""
    if judged is None:
        return about
    judges = [about.judge, judged.judge] if about.judge != "none" else [judged.judge]
    return msgspec.structs.replace(about, judge="+".join(judges), judging=dict(judged.judging))


def warn_of_unused_verdicts(scored: LanguageResult, given: RecordedVerdicts) -> LanguageResult:
    """The result, with a warning if verdicts on this model and language were not used."""
    if not given.unused:
        return scored
    warning = f"{given.unused} verdicts name no open item of this model and language"
    return msgspec.structs.replace(scored, warnings=(*scored.warnings, warning))
