"""Checks in the formats of CI: JUnit XML, and annotations and a summary for GitHub."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from callscore.core.scorecard import CheckResult, CheckStatus, ModelScore, Scorecard, TaskScore
from callscore.report.decision_statements import state_decision
from callscore.report.markdown_text import code, statement_items, table
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


MAX_LENGTH = 1_000
WORDS: Mapping[CheckStatus, str] = {
    "passed": "✅ holds",
    "failed": "❌ missed",
    "undecided": "❔ undecided",
    "not_run": "– not run",
}


def annotation_lines(checks: Sequence[CheckResult]) -> list[str]:
    """Return one workflow command for every check that failed or is undecided."""
    commands = {"failed": "error", "undecided": "warning"}
    return [
        f"::{commands[check.status]} title={_property(f'Callscore gate {check.status}')}::"
        + _data(f"{check.model}: {check.name} {check.message}")
        for check in checks
        if check.status in commands
    ]


def _data(text: str) -> str:
    """Escape the text of a command; a line end would start another command."""
    shown = plain(text, MAX_LENGTH)
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def decision_markdown(card: Scorecard, name: str) -> str:
    """Return the decision of a run, for the summary of a job        C-138"""
    head = f"### Callscore: {code(name, 60, in_table=False)}"
    return "\n".join([head, "", *statement_items(state_decision(card))])


def checks_markdown(checks: Sequence[CheckResult]) -> str:
    """Return all checks as a table, for the summary of a job or a comment."""
    missed = sum(check.status == "failed" for check in checks)
    open_ones = sum(check.status == "undecided" for check in checks)
    head = "all gates hold"
    if missed or open_ones:
        parts = [f"{missed} missed"] if missed else []
        parts += [f"{open_ones} undecided"] if open_ones else []
        head = f"{', '.join(parts)} of {len(checks)} gates"
    rows = [
        [WORDS[check.status], code(check.model), code(check.name), code(check.message, 300)]
        for check in checks
    ]
    lines = [f"### Callscore: {head}", "", *table(["", "model", "gate", ""], rows), ""]
    return "\n".join(lines)
