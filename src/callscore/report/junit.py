"""Checks as JUnit XML: one test suite per model, one test case per check."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from callscore.core.checks import CheckResult, CheckStatus
from callscore.core.scorecard import ModelScore, Scorecard, TaskScore
from callscore.report.safe_text import plain
from callscore.report.source import ReportFormat, ReportOptions, ReportSource

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_NAME_LENGTH = 200
MAX_MESSAGE_LENGTH = 2_000
_NOT_IN_XML = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
"""Characters that are valid text but not allowed in XML."""


def junit_xml(checks: Sequence[CheckResult], name: str = "callscore") -> bytes:
    """Return a JUnit file: failed checks are failures, undecided ones errors, others skipped."""
    from xml.etree import ElementTree

    models = list(dict.fromkeys(check.model for check in checks))
    root = ElementTree.Element("testsuites", {"name": _text(name), **_counts(checks)})
    for model in models:
        own = [check for check in checks if check.model == model]
        suite = ElementTree.SubElement(root, "testsuite", {"name": _text(model), **_counts(own)})
        for check in own:
            names = {"classname": f"callscore.{_text(model)}", "name": _text(check.name)}
            case = ElementTree.SubElement(suite, "testcase", {**names, "time": "0"})
            _add_outcome(case, check)
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _add_outcome(case: Element, check: CheckResult) -> None:
    from xml.etree import ElementTree

    message = _text(check.message, MAX_MESSAGE_LENGTH)
    if check.status == "failed":
        ElementTree.SubElement(case, "failure", {"message": message, "type": "failed"})
    elif check.status == "undecided":
        ElementTree.SubElement(case, "error", {"message": message, "type": "undecided"})
    elif check.status == "not_run":
        ElementTree.SubElement(case, "skipped", {"message": message})
    elif message:
        ElementTree.SubElement(case, "system-out").text = message


def _counts(checks: Sequence[CheckResult]) -> dict[str, str]:
    statuses = [check.status for check in checks]
    counts = {"tests": len(checks), "failures": statuses.count("failed")}
    counts |= {"errors": statuses.count("undecided"), "skipped": statuses.count("not_run")}
    return {key: str(count) for key, count in counts.items()}


def _text(text: str, max_length: int = MAX_NAME_LENGTH) -> str:
    return plain(text, max_length).translate(_NOT_IN_XML)


def scorecard_checks(card: Scorecard) -> list[CheckResult]:
    """Return a check for every task and Final Score of a scorecard, independent of any gate."""
    return [check for model in card.models for check in _checks_of(model)]


def _checks_of(model: ModelScore) -> Iterator[CheckResult]:
    for name, task in model.tasks.items():
        yield _task_check(model, name, task)
    final = model.final
    if final.status == "valid":
        yield CheckResult(model.model, "final", "passed", f"{final.score:.6g}")
    elif final.status == "invalid":
        yield CheckResult(model.model, "final", "failed", f"blocked: {', '.join(final.reasons)}")
    else:
        status: CheckStatus = "not_run" if final.status == "not_run" else "undecided"
        message = f"{final.status}: {', '.join(final.reasons)}"
        yield CheckResult(model.model, "final", status, message)


def _task_check(model: ModelScore, name: str, task: TaskScore) -> CheckResult:
    if task.status == "valid":
        return CheckResult(model.model, name, "passed", f"{task.score:.6g}")
    if task.status == "not_run":
        return CheckResult(model.model, name, "not_run", "not run")
    if task.status != "invalid":
        return CheckResult(
            model.model, name, "undecided", f"{task.status}: {', '.join(task.reasons)}"
        )
    breaches = [
        f"{blocker.metric} is {blocker.value:.6g}, limit {blocker.limit:g}, "
        f"in {', '.join(blocker.cases[:5])}{' …' if len(blocker.cases) > 5 else ''}"
        for blocker in model.blockers
        if blocker.task == name
    ]
    return CheckResult(model.model, name, "failed", "; ".join(breaches) or ", ".join(task.reasons))


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield a test case for every task and Final Score of every model."""
    yield junit_xml(scorecard_checks(source.card))


FORMAT = ReportFormat("junit", ".xml", "a test case for every task of every model, for CI", write)
