"""Conversations as objects for JSON Lines files: transcripts, cases, outputs of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from callscore.importers.conversation import Conversation


def convert_to_transcript(call: Conversation) -> dict[str, Any]:
    """A call without a task, as `callscore import` writes it by default."""
    line: dict[str, Any] = {"id": call.call_id, "call_id": call.call_id}
    if call.lang:
        line["lang"] = call.lang
    line["transcript"] = msgspec.to_builtins(call.turns)
    if call.expected is not None:
        line["expected"] = call.expected
    line["provenance"] = _provenance(call)
    return line


def convert_to_case(
    call: Conversation, task: str, config: Mapping[str, Any], expected: Any
) -> dict[str, Any]:
    """A call as a case of a task, with its expected outcome."""
    line = convert_to_transcript(call)
    line.pop("expected", None)
    return {
        "id": f"{call.call_id}/{task}",
        "task": task,
        **{key: line[key] for key in ("call_id", "lang", "transcript") if key in line},
        "config": dict(config),
        "expected_outcome": expected,
        "provenance": line["provenance"],
    }


def convert_outputs(call: Conversation, case_id: str) -> Iterator[dict[str, Any]]:
    """The outputs of models for a call."""
    for output in call.outputs:
        line: dict[str, Any] = {"case_id": case_id, "model": output.model, "run": output.run}
        if output.error is not None:
            line["error"] = output.error
        else:
            line["output"] = output.output
        if output.usage is not None:
            line["usage"] = dict(output.usage)
        if output.cost_usd is not None:
            line["cost_usd"] = output.cost_usd
        yield line


def _provenance(call: Conversation) -> dict[str, Any]:
    provenance: dict[str, Any] = {"source": call.source, "format": call.format}
    if call.metadata:
        provenance["metadata"] = dict(call.metadata)
    if call.notes:
        provenance["notes"] = list(call.notes)
    return provenance
