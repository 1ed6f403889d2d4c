"""What `callscore run` shows of cases: the QA form on the card, the page and the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from callscore.cli.console import say
from callscore.cli.form_summary import FormSummary

if TYPE_CHECKING:
    from callscore.app import OutputPaths
    from callscore.config.config import EvalConfig
    from callscore.export.step_cases import StepCases
    from callscore.report.source import CaseView
    from callscore.runner.prepare import PreparedRun, RunOptions
    from callscore.runner.run import RunResult
    from callscore.store.disk_list import DiskList


class RunReport:
    """The page and the tables of a run, if requested; stores cases as they are scored."""

    def __init__(self, targets: OutputPaths, config: EvalConfig) -> None:
        self.form = FormSummary(config.cases, config.scoring)
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

        source = source_of_run(prepared, ran, self._cases, self._steps)
        for written in write_reports(source, self._targets):
            say(f"report: {written}", err=True)
