"""Conversations as lines of a file: transcripts, cases of a task, outputs of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from callscore.importers.conversation import Conversation


def transcript_record(call: Conversation) -> dict[str, Any]:
    """A call without a task: what `callscore import` writes by default."""
    record: dict[str, Any] = {"id": call.call_id, "call_id": call.call_id}
    if call.lang:
        record["lang"] = call.lang
    record["transcript"] = msgspec.to_builtins(call.turns)
    if call.expected is not None:
        record["expected"] = call.expected
    record["provenance"] = _provenance(call)
    return record


def case_record(
    call: Conversation, task: str, config: Mapping[str, Any], expected: Any
) -> dict[str, Any]:
    """A call as a case of a task, with the expected outcome given by a person."""
    record = transcript_record(call)
    record.pop("expected", None)
    return {
        "id": f"{call.call_id}/{task}",
        "task": task,
        **{key: record[key] for key in ("call_id", "lang", "transcript") if key in record},
        "config": dict(config),
        "expected_outcome": expected,
        "provenance": record["provenance"],
    }


def output_records(call: Conversation, case_id: str) -> Iterator[dict[str, Any]]:
    """What models answered, as lines of an outputs file."""
    for answer in call.outputs:
        record: dict[str, Any] = {"case_id": case_id, "model": answer.model, "run": answer.run}
        if answer.error is not None:
            record["error"] = answer.error
        else:
            record["output"] = answer.output
        if answer.usage is not None:
            record["usage"] = dict(answer.usage)
        if answer.cost_usd is not None:
            record["cost_usd"] = answer.cost_usd
        yield record


def _provenance(call: Conversation) -> dict[str, Any]:
    found: dict[str, Any] = {"source": call.source, "format": call.format}
    if call.metadata:
        found["metadata"] = dict(call.metadata)
    if call.notes:
        found["notes"] = list(call.notes)
    return found
