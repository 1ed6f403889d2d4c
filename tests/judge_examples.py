"""The examples of the judged metrics: a case, an answer, the verdicts on it, and the value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest

import translation_cases as translation
from calls_suite import tasks
from callscore.core.case import Case, Reply, Turn
from callscore.core.judging import JudgeResult
from callscore.core.measure import Measure
from callscore.core.task import Task
from callscore.suites.calls.spec import make_settings
from judge_cases import group_by_item
from text_cases import case_of_summary, outcome, summary

TASKS: Mapping[str, Task[Any, Any]] = tasks(make_settings())
SAID = "I see the charge of 49 dollars twice, and I refund one of them today."
PURPOSE = "Customer requesting refund for duplicate charge"


def qa_case(*reasons: str) -> tuple[Case, dict[str, Any]]:
    """A form whose questions have these reasons of the model; those of the human differ."""
    form = [
        {"question_id": f"q{n}", "score": 1, "max_score": 1, "type": "PASS_FAIL", "reason": "Yes"}
        for n, _ in enumerate(reasons)
    ]
    answer = {"questions": [q | {"reason": r} for q, r in zip(form, reasons, strict=True)]}
    call = [Turn(SAID, speaker="Agent", start=12.0)]
    return Case("c1", "qa", call, {}, {"questions": form}), answer


def summary_case(given: dict[str, Any], **expected: Any) -> tuple[Case, dict[str, Any]]:
    return case_of_summary(**expected), outcome(summary=given)


def translation_case(*texts: str, **expected: Any) -> tuple[Case, dict[str, Any]]:
    human = [f"human sentence number {n}" for n, _ in enumerate(texts)]
    facts = expected.pop("facts", None)
    case = translation.translation_case(
        translation.outcome(human, **expected), lang="en", facts=facts
    )
    return case, translation.outcome(list(texts), **expected)


HIGHLIGHTS = ["Charge checked", "Refund agreed", "Email sent", "Survey offered"]
EXAMPLES = [
    pytest.param(
        qa_case("Agent said 'I see the charge of 49 dollars twice'"),
        {"Agent said 'I see the charge of 49 dollars twice'": "as_described"},
        "qa.evidence_backed_reasoning",
        1.0,
        id="W-QA-3a",
    ),
    pytest.param(
        qa_case("Agent was polite"),
        {"Agent was polite": "vague"},
        "qa.evidence_backed_reasoning",
        0.0,
        id="W-QA-3b",
    ),
    pytest.param(
        qa_case("Agent said good night"),
        {"Agent said good night": "absent"},
        "qa.evidence_backed_reasoning",
        0.5,
        id="C-37",
    ),
    pytest.param(
        summary_case(summary("Customer asking about billing"), purpose=PURPOSE),
        {"Customer asking about billing": "same_domain_incomplete"},
        "text.call_intent",
        0.5,
        id="W-TX-4a",
    ),
    pytest.param(
        summary_case(summary("Customer wants to upgrade plan"), purpose=PURPOSE),
        {"Customer wants to upgrade plan": "different"},
        "text.call_intent",
        0.0,
        id="W-TX-4b",
    ),
    pytest.param(
        summary_case(summary(highlights=["All was done"]), highlights=HIGHLIGHTS),
        dict.fromkeys(HIGHLIGHTS[:3], "stated") | {HIGHLIGHTS[3]: "not_stated"},
        "text.highlight_recall",
        0.75,
        id="W-TX-5",
    ),
    pytest.param(
        summary_case(summary(highlights=["One twin", "Two twins", "Three twins"])),
        dict.fromkeys(["One twin", "Two twins"], "supported_by_transcript")
        | {"Three twins": "not_found"},
        "text.highlight_correctness",
        2 / 3,
        id="W-TX-6",
    ),
    pytest.param(
        summary_case(summary(highlights=["Agent offered a 10% discount"], fields={}), fields={}),
        {"Agent offered a 10% discount": "not_found"},
        "text.fabrication_free",
        0.5,
        id="W-TX-8",
    ),
    pytest.param(
        translation_case("Agent refund 3-5 days confirm did."),
        {"Agent refund 3-5 days confirm did.": "significant"},
        "translation.fluency",
        0.25,
        id="W-TR-3",
    ),
    pytest.param(
        translation_case("First.", "Second.", "Third.", "Fourth.", "Fifth."),
        {
            "First.": "native",
            "Second.": "native",
            "Third.": "minor",
            "Fourth.": "minor",
            "Fifth.": "noticeable",
        },
        "translation.fluency",
        0.8,
        id="C-69",
    ),
    pytest.param(
        translation_case(
            "Agent resolved the issue", facts=["Agent escalated to supervisor", "issue noted"]
        ),
        {"Agent escalated to supervisor": "altered", "issue noted": "preserved"},
        "translation.critical_facts",
        0.5,
        id="W-TR-6",
    ),
]


def measures_of(case: Case, answer: object, judged: JudgeResult) -> Mapping[str, Measure]:
    """The measures of an answer with a judge's verdicts."""
    task = TASKS[case.task]
    reference = task.reference(case)
    output = task.read(reference, Reply(msgspec.json.encode(answer)))
    return task.measure(reference, output, group_by_item(judged.verdicts)).measures
