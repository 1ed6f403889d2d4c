"""JUnit XML: what continuous integration shows of checks, whatever their names hold."""

from __future__ import annotations

from xml.etree import ElementTree

from builders import form, output, qa_case, question
from callscore import score
from callscore.core.scorecard import CheckResult
from callscore.report.check_formats import junit_xml, scorecard_checks


def test_every_outcome_has_its_element_and_is_counted() -> None:
    root = ElementTree.fromstring(
        junit_xml(
            [
                CheckResult("a", "final", "passed", "0.9"),
                CheckResult("a", "qa", "failed", "is 0.5, expected at least 0.9"),
                CheckResult("b", "qa", "undecided", "has no value"),
                CheckResult("b", "text", "not_run", "not run"),
            ]
        )
    )
    assert root.attrib == {
        "name": "callscore",
        "tests": "4",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
    }
    assert [suite.get("name") for suite in root] == ["a", "b"]
    cases = root.findall("./testsuite/testcase")
    assert [[child.tag for child in case] for case in cases] == [
        ["system-out"],
        ["failure"],
        ["error"],
        ["skipped"],
    ]
    failure = root.find(".//failure")
    assert failure is not None
    assert failure.get("message") == "is 0.5, expected at least 0.9"


def test_a_hostile_name_stays_a_name() -> None:
    name = '</testcase><failure message="x"/>\x1b[31m\x00\ufffe\udc80 & "quoted"'
    root = ElementTree.fromstring(junit_xml([CheckResult(name, name, "failed", name)]))
    assert len(root.findall(".//testcase")) == 1
    case = root.find(".//testcase")
    assert case is not None
    found = case.get("name")
    assert found is not None
    assert found.startswith('</testcase><failure message="x"/>\ufffd[31m')


def test_a_scorecard_fails_where_a_task_is_blocked() -> None:
    card = score(
        [qa_case([question(score=0)], "c1")], [output("c1", form(question(score=5, reason="")))]
    )
    checks = {check.name: check for check in scorecard_checks(card)}
    assert checks["qa"].status == "failed"
    assert "qa.false_pass_rate is 100, limit 3, in c1" in checks["qa"].message
    assert checks["final"].status == "failed"
