"""Verdicts in files on argument values of orchestration steps (C-115)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from callscore.core.errors import DataError
from callscore.core.judging import Verdict
from callscore.store.verdict_records import VerdictRecord, read_verdict
from callscore.store.worklists import verdict_lines
from callscore.suites.orchestration.call.questions import METRIC, OFFERED, Recorded
from callscore.suites.orchestration.result import LanguageResult


class StepVerdicts(msgspec.Struct, frozen=True):
    """What the files of a job say, on whatever model and language."""

    records: Sequence[VerdictRecord] = ()

    @property
    def source(self) -> str:
        """Who judged, for the signature of a result (C-126)."""
        return "verdicts" if self.records else "none"

    def of(self, model: str, lang: str) -> Recorded:
        """What is said of one model in one language; a line without a model is about each."""
        return Recorded(
            {
                (record.case_id, record.run, str(record.item)): _verdict(record)
                for record in self.records
                if record.model in (None, model) and record.case_id.partition("/")[0] == lang
            }
        )


def _verdict(record: VerdictRecord) -> Verdict:
    return Verdict(
        METRIC, str(record.item), record.verdict, by=record.by, approximate=record.approximate
    )


def read_step_verdicts(paths: Sequence[Path]) -> StepVerdicts:
    """The lines of the files that are about steps; those on other metrics are not ours."""
    found = []
    for line in verdict_lines(paths):
        record = read_verdict(line)
        if record.metric != METRIC:
            continue
        if record.verdict not in OFFERED:
            raise DataError(
                f"{record.verdict!r}; expected one of {', '.join(OFFERED)}",
                field="verdict",
                place=line.place,
            )
        found.append(record)
    return StepVerdicts(found)


def with_unused(scored: LanguageResult, given: Recorded) -> LanguageResult:
    """The result, with a warning where lines on this model and language answered nothing."""
    if not given.unused:
        return scored
    warning = f"{given.unused} verdicts name no open item of this model and language"
    return msgspec.structs.replace(scored, warnings=(*scored.warnings, warning))
