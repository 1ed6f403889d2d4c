"""The JSON of a run: the scorecard, document 001, or both (C-121)."""

from __future__ import annotations

import json

import msgspec

from callscore.core.scorecard import Scorecard
from callscore.report.document_001 import document_json
from callscore.report.json import scorecard_json
from callscore.runner.run import RunResult


def run_document(ran: RunResult) -> bytes:
    """The document of a run.

    The scorecard, with the documents of scenarios by model under `orchestration`. If the run has
    only scenarios of one model, exactly document 001.
    """
    assert ran.card is not None  # an interrupted run has no document
    documents = ran.documents
    if not documents:
        return scorecard_json(ran.card)
    if ran.has_only_scenarios and len(documents) == 1:
        return document_json(next(iter(documents.values())))
    return joint_document(ran.card)


def joint_document(card: Scorecard) -> bytes:
    """The scorecard, with the documents of scenarios by model under `orchestration`."""
    documents = card.documents
    plain = msgspec.structs.replace(card, documents=msgspec.UNSET)
    return document_json({**json.loads(scorecard_json(plain)), "orchestration": documents})
