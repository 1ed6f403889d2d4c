"""FC, Reject or FAILED: hostile entries, unusual shapes, and the cell each step adds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callscore.suites.orchestration.decision.confusion import Confusion, cell
from callscore.suites.orchestration.decision.parse import (
    NoDecision,
    Prediction,
    Rejection,
    ToolCalls,
    read_prediction,
)
from callscore.suites.orchestration.scenario.model import (
    AWAITING,
    VIOLATION,
    CallsDue,
    DecodedCall,
    RejectionDue,
)
from callscore.suites.orchestration.scenario.output_file import RecordedReply

CALL = DecodedCall("book", {"day": 1})


@pytest.mark.parametrize(
    "entry",
    [
        {"function": {"name": "book", "arguments": '{"day": 1}'}},
        {"function": {"name": " book ", "arguments": {"day": 1}}},
        {"name": "book", "arguments": '{"day": 1}'},
    ],
)
def test_a_call_in_any_usual_shape(entry: dict[str, Any]) -> None:
    assert read_prediction(RecordedReply("", [entry])) == ToolCalls((CALL,))


@pytest.mark.parametrize(
    "tool_calls",
    [
        [{"function": {"arguments": "{}"}}],
        [{"function": {"name": "", "arguments": "{}"}}],
        [{"function": {"name": 3, "arguments": "{}"}}],
        [{"function": None}],
        ["book"],
        [None],
        [{"function": {"name": "book", "arguments": '{"a": 1, "a": 2}'}}],
        [{"function": {"name": "book", "arguments": '{"a": NaN}'}}],
    ],
)
def test_an_entry_that_is_no_call_is_failed(tool_calls: Any) -> None:
    assert read_prediction(RecordedReply("", tool_calls)) == NoDecision("malformed_call")


@pytest.mark.parametrize("tool_calls", [None, {}, "book", 7, {"function": {"name": "book"}}])
def test_calls_that_are_no_list_are_no_calls(tool_calls: Any) -> None:
    assert read_prediction(RecordedReply(None, tool_calls)) == NoDecision("empty_answer")


def test_a_good_call_next_to_a_bad_one_is_a_call_with_a_flag() -> None:
    good = {"name": "book", "arguments": '{"day": 1}'}
    answer = read_prediction(RecordedReply("", [good, {"name": "pay", "arguments": "oops"}]))
    assert answer == ToolCalls((CALL,), ("pay",), ("malformed_call",))


def test_an_argument_named_like_a_status_is_an_argument() -> None:
    entry = {"name": "book", "arguments": '{"AWAITING_USER_INPUT": "yes"}'}
    assert isinstance(read_prediction(RecordedReply("", [entry])), ToolCalls)


def test_a_missing_answer_is_failed() -> None:
    assert read_prediction(None) == NoDecision("no_answer")


DUE = CallsDue((CALL,), "book")


@pytest.mark.parametrize(
    ("due", "prediction", "expected"),
    [
        (DUE, ToolCalls((CALL,)), Confusion(fc_fc=1)),
        (DUE, Rejection(AWAITING), Confusion(fc_reject=1)),
        (DUE, NoDecision(""), Confusion(fc_failed=1)),
        (RejectionDue(AWAITING), ToolCalls((CALL,)), Confusion(reject_fc=1)),
        (RejectionDue(AWAITING), Rejection(AWAITING), Confusion(reject_same_type=1)),
        (RejectionDue(AWAITING), Rejection(VIOLATION), Confusion(reject_other_type=1)),
        (RejectionDue(AWAITING), NoDecision(""), Confusion(reject_failed=1)),
    ],
)
def test_every_meeting_of_due_and_came_has_its_cell(
    due: CallsDue | RejectionDue, prediction: Prediction, expected: Confusion
) -> None:
    assert cell(due, prediction) == expected


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["function", "name", "arguments", "x"]), inner, max_size=3
        )
    ),
    max_leaves=10,
)


@given(ANYTHING, ANYTHING)
def test_nothing_a_model_returns_makes_the_reader_raise(content: Any, tool_calls: Any) -> None:
    assert isinstance(
        read_prediction(RecordedReply(content, tool_calls)), ToolCalls | Rejection | NoDecision
    )


PLAN_YAML = "workflow_1:\n  status: pending\n  steps:\n    - name: desk_agent\n"


@pytest.mark.parametrize(
    "content",
    [
        PLAN_YAML,
        f"```yaml\n{PLAN_YAML}```",
        'Here is the plan:\n{"workflow_1": {"status": "pending", "steps": []}}',
        '{"workflow_1": {"status": "pending", "steps": [{"agent_id": "desk_ag',
        "<think>They want a table.</think>\ninterrupted_workflow_1-1:\n  steps: []\n",
    ],
)
def test_a_sub_agent_that_repeats_the_plan_is_failed_with_that_cause(content: str) -> None:
    assert read_prediction(RecordedReply(content, [])) == NoDecision("repeats_plan")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("I will begin with workflow_1 now.", NoDecision("plain_text")),
        (f"{PLAN_YAML}AWAITING_USER_INPUT", Rejection(AWAITING)),
    ],
)
def test_a_reply_that_only_names_a_workflow_or_decides_does_not_repeat_the_plan(
    content: str, expected: Prediction
) -> None:
    assert read_prediction(RecordedReply(content, [])) == expected


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("For what time?", True),
        ("Which one (3 or 12)? I can book both.", True),
        ("몇 분이신가요?", True),
        ("何時ですか？", True),
        ("Please tell me the time.", True),
        ("<think>Which time?</think>Booked.", False),
        ("Table 12 is booked.", False),
        ("See https://x.example/a?b=c", False),
        ("", False),
    ],
)
def test_c_142_text_that_asks_for_something_asks_back_where_words_count(
    text: str, asks: bool
) -> None:
    found = read_prediction(RecordedReply(text, asking_back=True))
    asked = Rejection(AWAITING, ("asked_in_words",))
    assert (found == asked, isinstance(found, NoDecision)) == (asks, not asks)
    assert isinstance(read_prediction(RecordedReply(text)), NoDecision), "off by default"


def test_c_142_a_call_or_a_status_counts_before_words() -> None:
    entry = {"name": "book", "arguments": {"day": 1}}
    both = RecordedReply("For what time?", [entry], asking_back=True)
    assert read_prediction(both) == ToolCalls((CALL,))
    stated = RecordedReply(f"{VIOLATION}: Another day?", asking_back=True)
    assert read_prediction(stated) == Rejection(VIOLATION)
