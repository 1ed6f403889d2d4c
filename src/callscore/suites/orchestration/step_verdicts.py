"""Verdicts on argument values of steps: from files and from a judge (C-115)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from callscore.core.scenarios import GivenVerdict, StepVerdicts, VerdictKey
from callscore.core.verdict_rules import BY_CODE
from callscore.suites.orchestration.call.questions import (
    RecordedVerdicts,
    VerdictChain,
    VerdictSource,
)
from callscore.suites.orchestration.result import LanguageResult, ResultMetadata


def verdicts_from_files(
    verdicts: Sequence[GivenVerdict], model: str, lang: str
) -> RecordedVerdicts:
    """The verdicts from files on one model in one language; those without a model apply to all."""
    return RecordedVerdicts(
        {
            (each.case_id, each.run, each.verdict.item): each.verdict
            for each in verdicts
            if each.model in (None, model) and each.case_id.partition("/")[0] == lang
        }
    )


def judged_keys(
    verdicts: Sequence[GivenVerdict], model: str, judged: StepVerdicts | None
) -> frozenset[VerdictKey]:
    """The values that a judging model decides for one model, now or in a file        STATS §5"""
    found = {
        (each.case_id, each.run, each.verdict.item): each.judged
        for each in verdicts
        if each.model in (None, model)
    }
    for key, verdict in judged.verdicts.items() if judged is not None else ():
        found.setdefault(key, not verdict.approximate and verdict.by != BY_CODE)
    return frozenset(key for key, is_judged in found.items() if is_judged)


def verdict_source(verdicts: Sequence[GivenVerdict]) -> str:
    """The source of verdicts from files, as in the signature of a result (C-126)."""
    return "verdicts" if verdicts else "none"


def add_judge_verdicts(recorded: RecordedVerdicts, judged: StepVerdicts | None) -> VerdictSource:
    """The verdicts from files, then those of the judge."""
    return recorded if judged is None else VerdictChain(recorded, RecordedVerdicts(judged.verdicts))


def add_judge(metadata: ResultMetadata, judged: StepVerdicts | None) -> ResultMetadata:
    """The metadata of a result, with the judge."""
    if judged is None:
        return metadata
    judges = [metadata.judge, judged.judge] if metadata.judge != "none" else [judged.judge]
    return msgspec.structs.replace(metadata, judge="+".join(judges), judging=dict(judged.judging))


def warn_of_unused_verdicts(scored: LanguageResult, given: RecordedVerdicts) -> LanguageResult:
    """The result, with a warning if verdicts from files were not used."""
    if not given.unused:
        return scored
    warning = f"{given.unused} verdicts name no open item of this model and language"
    return msgspec.structs.replace(scored, warnings=(*scored.warnings, warning))
