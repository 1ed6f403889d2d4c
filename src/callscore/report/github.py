"""GitHub Actions: annotations of a job, and its summary with the decision and the checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from callscore.core.checks import CheckResult, CheckStatus
from callscore.core.scorecard import Scorecard
from callscore.report.decision import state_decision
from callscore.report.markdown_text import code, statement_items, table
from callscore.report.safe_text import plain

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
