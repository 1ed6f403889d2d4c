"""`--records` of scenarios: one record per step and metric, with long texts cut (C-100)."""

from __future__ import annotations

import pytest

from callscore.suites.orchestration.scenario.output_file import RecordedReply
from callscore.suites.orchestration.step_record import LONGEST_SHOWN, StepRecord, metric_records


@pytest.mark.parametrize("beyond", [0, 1, 500])
def test_c100_a_long_text_is_cut_and_marked(beyond: int) -> None:
    text = "x" * (LONGEST_SHOWN + beyond)
    step = StepRecord(
        "EN/1#2", 1, "1", "rejection", "agent", expected=text, reply=RecordedReply(text)
    )
    (record,) = metric_records(step, "m")
    shown = "x" * (LONGEST_SHOWN - 1) + "…" if beyond else text
    assert (record.expected_outcome_reference, record.model_output_observed) == (shown, shown)
