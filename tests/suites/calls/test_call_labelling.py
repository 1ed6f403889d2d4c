"""Label sheets of the four tasks, and the expected outcomes that they make."""

from __future__ import annotations

from callscore.core.labelling import CallTranscript, Label
from callscore.suites.calls.labelling import LABELLINGS


def test_c43_labelled_entities_keep_the_whole_configured_list() -> None:
    config = {"keywords": ["refund", "invoice"], "topics": ["billing"]}
    call = CallTranscript("c1", "I want a refund.")
    labelling = LABELLINGS["entity"]
    labels = {
        (item.part, item.item): Label("yes" if item.item == "refund" else "no")
        for item in labelling.items(call, config)
    }
    assert labelling.expected_outcome(call, labels, config) == {
        "detected_keywords": ["refund"],
        "detected_topics": [],
        "valid_entity_set": ["refund", "invoice", "billing"],
    }
