"""Answers with the faults that small real models made, as fixtures: each says what was wrong.

The texts are made up; the faults were seen in runs with local models of 135M to 1.5B parameters.
"""

from __future__ import annotations

import json
from typing import Any

from builders import Json, entity_case, qa_case, question

FORM = [
    question("Q1", 5),
    question("Q2", 0),
    question("Q3", 6, max_score=10, kind="SCORE"),
]
QA_CASE = qa_case(FORM, transcript="[00:02] Agent: Good morning.\n[00:07] Customer: Hello.")
ENTITY_CASE = entity_case(["refund"], ["billing"], ["refund", "loan", "card", "billing"])


def _form(**changed: Any) -> Json:
    return {"questions": [{**each, **changed} for each in FORM]}


def _marks(*scores: float | None) -> Json:
    return {
        "questions": [{**each, "score": score} for each, score in zip(FORM, scores, strict=True)]
    }


ZERO_SCALE = _form(score=0, max_score=0)
"""`"score": 0, "max_score": 0`, as an example in the prompt had them."""
COPIED_TEXTS = _form(reason="...")
"""The blanks of an example instead of reasons."""
COPIED_FORM = {"questions": [{"question_id": "...", "...": "..."}]}
"""The example itself: not the keys that were asked for."""
FULL_MARKS = _marks(5, 5, 10)
"""Full marks everywhere, where the person gave 5 of 5, 0 of 5 and 6 of 10."""
NULL_MARKS = _marks(None, 0, None)
"""No mark where the person gave one."""
WHOLE_LIST = {
    "detected_keywords": ["refund", "loan", "card"],
    "detected_topics": ["billing"],
    "valid_entity_set": ["refund", "loan", "card", "billing"],
}
"""Every configured entity as detected."""

_ENTRY = '{"question_id": "Q1", "max_score": 5, "type": "PASS_FAIL", "reason": "The agent spoke.'
LOOPS = {
    "a sentence over and over": _ENTRY + " The agent was polite and helpful." * 60,
    "entries that count on": '{"questions": ['
    + ", ".join(
        f'{{"question_id": "Q{n}", "max_score": 5, "type": "SCORE", "reason": "ok", "score": 5}}'
        for n in range(1, 80)
    ),
    "nothing but space": '{"questions": [' + "\n          " * 80,
}
"""Replies that would never end; the provider cut them off."""
CUT_OFF = json.dumps(_form())[:180]
"""A reply that is only too long for its token limit."""

PLAN_AGAIN = json.dumps(
    {"workflow_1": {"status": "pending", "steps": [{"agent_id": "billing_agent"}]}}, indent=2
)
"""The plan in the history, as the answer of a sub-agent."""
PATH_AS_NAME = "/srv/anna/models/small-1.5b-instruct-q4_k_m.gguf"
"""The name under which a local server answers: the path of its file."""
