"""The JSON of a run: the scorecard, document 001, or both (C-121)."""

from __future__ import annotations

import json
from typing import Any

from callscore.report.json import scorecard_json
from callscore.report.safe_text import escaped
from callscore.runner.run import RunResult


def run_document(ran: RunResult) -> bytes:
    """One file for one run.

    Calls alone give the scorecard; scenarios of one model alone give exactly document 001.
    Otherwise the documents stand by model under `orchestration`, beside the scorecard if any.
    """
    documents = {model: score.document for model, score in ran.orchestration.items()}
    if ran.card is not None and not documents:
        return scorecard_json(ran.card)
    if ran.card is None and len(documents) == 1:
        return _written(next(iter(documents.values())))
    card = json.loads(scorecard_json(ran.card)) if ran.card is not None else {}
    return _written({**card, "orchestration": documents})


def _written(document: Any) -> bytes:
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return escaped((text + "\n").encode("utf-8", "backslashreplace"))
