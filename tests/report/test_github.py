"""What a job of GitHub Actions shows of checks: names from files start no command and no markup."""

from __future__ import annotations

from callscore.core.scorecard import CheckResult
from callscore.report.check_formats import annotation_lines, checks_markdown
from callscore.report.markdown_text import code


def test_missed_gates_are_errors_and_undecided_ones_warnings() -> None:
    lines = annotation_lines(
        [
            CheckResult("a", "final", "passed", "is 0.95"),
            CheckResult("a", "qa", "failed", "is 0.5, expected at least 0.9"),
            CheckResult("b", "qa", "undecided", "has no value"),
        ]
    )
    assert lines == [
        "::error title=Callscore gate failed::a: qa is 0.5, expected at least 0.9",
        "::warning title=Callscore gate undecided::b: qa has no value",
    ]


def test_a_name_cannot_start_another_command() -> None:
    (line,) = annotation_lines(
        [CheckResult("x\n::set-env name=PATH::\r\n100%", "qa", "failed", "m")]
    )
    assert "\n" not in line
    assert line == "::error title=Callscore gate failed::x ::set-env name=PATH:: 100%25: qa m"


def test_names_in_a_summary_are_code_and_nothing_else() -> None:
    hostile = "@team <img src=x> [a](http://b) | `x` ``"
    text = checks_markdown([CheckResult(hostile, "qa", "failed", hostile)])
    assert text.startswith("### Callscore: 1 missed of 1 gates")
    row = text.splitlines()[4]
    assert row.count(" | ") == 3
    assert "``` @team <img src=x> [a](http://b) \\| `x` `` ```" in row


def test_code_spans_are_longer_than_what_they_hold() -> None:
    assert code("plain") == "`plain`"
    assert code("a`b") == "``a`b``"
    assert code("", in_table=False) == "` `"
    assert code("a|b", in_table=False) == "`a|b`"


def test_all_gates_hold() -> None:
    assert "all gates hold" in checks_markdown([CheckResult("a", "qa", "passed", "is 1")])
