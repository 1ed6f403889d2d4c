"""What `callscore run` shows of cases and checks: the QA form, the page, the tables, CI."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from callscore.cli.console import say
from callscore.core.errors import OutputError

if TYPE_CHECKING:
    from callscore.app import OutputPaths
    from callscore.config.config import EvalConfig
    from callscore.core.scorecard import CheckResult, Scorecard
    from callscore.export.step_cases import StepCases
    from callscore.report.source import CaseView
    from callscore.runner.prepare import PreparedRun, RunOptions
    from callscore.runner.run import RunResult
    from callscore.store.disk_list import DiskList


class RunReport:
    """The page and the tables of a run, if requested; stores cases as they are scored."""

    def __init__(self, targets: OutputPaths, config: EvalConfig) -> None:
        from callscore.cli.output import FormSummary

        self.form = FormSummary(config.scoring)
        """The QA form of the data, for the card."""
        self._targets = targets
        self._cases: DiskList[CaseView] | None = None
        self._steps: StepCases | None = None
        if targets.html is not None or targets.parquet is not None:
            from callscore.export.step_cases import StepCases
            from callscore.report.source import CaseView
            from callscore.store.disk_list import DiskList

            self._cases, self._steps = DiskList(CaseView), StepCases()

    def __enter__(self) -> RunReport:
        return self

    def __exit__(self, *_: object) -> None:
        for kept in (self._cases, self._steps):
            if kept is not None:
                kept.close()

    def add_to(self, options: RunOptions) -> RunOptions:
        """Add the callbacks that receive cases and steps to the options of the run."""
        import msgspec

        if self._cases is not None and self._steps is not None:
            options = msgspec.structs.replace(
                options, on_case=self._cases.add, on_step=self._steps.add
            )
        if options.race:  # a race scores cases more than once
            return options
        return msgspec.structs.replace(options, on_case=self.form.counting(options.on_case))

    def write(self, prepared: PreparedRun, ran: RunResult) -> None:
        """Write what was requested."""
        if self._cases is None or self._steps is None:
            return
        from callscore.export.report_file import write_reports
        from callscore.export.sources import source_of_run
        from callscore.store.remote_files import shown

        source = source_of_run(prepared, ran, self._cases, self._steps)
        for written in write_reports(source, self._targets):
            say(f"report: {shown(written)}", err=True)


def publish_checks(
    checks: Sequence[CheckResult], junit: Path | None, name: str, card: Scorecard | None
) -> None:
    """Write the JUnit file if requested; annotate and summarise a job of GitHub Actions."""
    if junit is not None:
        from callscore.report.check_formats import junit_xml
        from callscore.store.files import atomic_write

        with atomic_write(junit) as file:
            file.write(junit_xml(checks, name))
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    from callscore.report.check_formats import annotation_lines, checks_markdown, decision_markdown

    if card is not None and card.decision:
        add_to_job_summary(decision_markdown(card, name))
    if checks:
        for line in annotation_lines(checks):
            say(line, err=True)
        add_to_job_summary(checks_markdown(checks))


def add_to_job_summary(markdown: str) -> None:
    """Append to the summary of the current GitHub Actions job, if there is one."""
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if not target:
        return
    try:
        with Path(target).open("a", encoding="utf-8") as file:
            file.write(f"{markdown}\n")
    except OSError as error:
        raise OutputError(f"{target}: {error.strerror}; expected a writable job summary") from None
