"""Publishes the checks of a run as JUnit XML, annotations and a job summary."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from callscore.cli.console import say
from callscore.core.errors import OutputError
from callscore.core.scorecard import CheckResult, Scorecard


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
