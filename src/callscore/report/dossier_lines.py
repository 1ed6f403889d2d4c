"""The lines of a dossier: cases, outputs, verdicts, prompts and results, with hashes.

Without text, a line has ids, counts, labels, and the hash of the text that was left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Prompt
from callscore.core.judging import Verdict
from callscore.core.run import Price
from callscore.report.safe_text import escape_json
from callscore.report.source import Answer, CaseView

_ENCODE = msgspec.json.Encoder(order="sorted").encode
VERDICT_TEXT_KEYS = ("text", "quote", "note")
CASE_KEYS_KEPT = ("id", "task", "call_id", "lang")


def sha256(raw: bytes) -> str:
    """Return the hash in hexadecimal."""
    return hashlib.sha256(raw).hexdigest()


def case_line(view: CaseView, *, without_text: bool) -> bytes:
    """Return the case as a line of a case file; without text its id, task, language and hash."""
    record = case_object(view)
    if without_text:
        kept = {key: record[key] for key in CASE_KEYS_KEPT if key in record}
        record = {**kept, "sha256": sha256(_ENCODE(record))}
    # Keys keep their order: the model sees those of the config in the prompt.
    return escape_json(msgspec.json.encode(record)) + b"\n"


def _line(record: Any) -> bytes:
    return escape_json(_ENCODE(record)) + b"\n"


def case_object(view: CaseView) -> dict[str, Any]:
    """Return the case as an object, including undocumented keys of its file."""
    record: dict[str, Any] = msgspec.to_builtins(view.case)
    for part, key, value in view.other_keys:
        place = record if not part else record["transcript"][part - 1]
        place[key] = value
    return record


def output_line(answer: Answer, price: Price | None, *, without_text: bool) -> bytes:
    """Return the answer as a line of an outputs file; empty if the case was not run.

    `cost_from: price` says that the cost is tokens × price, with the price in the dossier.
    """
    record = _output_record(answer, price, without_text=without_text)
    return b"" if record is None else _line(record)


def step_output_line(answer: Answer, price: Price | None, *, without_text: bool) -> bytes:
    """Return the same for a step of a scenario, with what its result reports besides its score."""
    record = _output_record(answer, price, without_text=without_text)
    if record is None:
        return b""
    seen = {"answered_by": answer.answered_by, "latency_ms": answer.latency_ms}
    return _line({**record, **seen})


def _output_record(
    answer: Answer, price: Price | None, *, without_text: bool
) -> dict[str, Any] | None:
    result = answer.result
    if result.status == "not_run":
        return None
    record: dict[str, Any] = {
        "case_id": result.case_id,
        "model": result.model,
        "run": result.run,
        "usage": {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens},
        "cost_usd": answer.cost_usd,
        "finish_reason": answer.finish_reason,
    }
    if answer.cost_usd is not None and answer.cost_usd == cost_at_price(answer, price):
        record["cost_from"] = "price"
    if answer.error is not None:
        record["error"] = answer.error
    elif without_text:
        record["output_sha256"] = sha256(output_bytes(answer))
    else:
        record["output"] = msgspec.Raw(output_bytes(answer))
        if answer.tool_calls:
            record["tool_calls"] = msgspec.to_builtins(answer.tool_calls)
    return record


def cost_at_price(answer: Answer, price: Price | None) -> float | None:
    """Return tokens × price; None if either is unknown."""
    tokens = (answer.input_tokens, answer.output_tokens)
    if price is None or tokens[0] is None or tokens[1] is None:
        return None
    return price.of(tokens[0], tokens[1])


def output_bytes(answer: Answer) -> bytes:
    """Return the reply as JSON: the object in the outputs file, or a string."""
    text = answer.text or ""
    return escape_json(text.encode() if answer.is_object else _ENCODE(text))


def verdict_lines(
    answer: Answer, verdicts: Sequence[Verdict], *, without_text: bool
) -> Iterator[bytes]:
    """Yield verdicts on an answer, or labels, as lines of a verdicts file."""
    result = answer.result
    for verdict in verdicts:
        record: dict[str, Any] = {
            key: value
            for key, value in msgspec.structs.asdict(verdict).items()
            if value not in ("", None, False)
        }
        if without_text:
            left_out = {key: record.pop(key) for key in VERDICT_TEXT_KEYS if key in record}
            record["sha256"] = sha256(_ENCODE(left_out))
        identity = {"case_id": result.case_id, "model": result.model, "run": result.run}
        yield _line({**identity, **record})


def archived_line(record: Mapping[str, Any], *, without_text: bool) -> bytes:
    """Return a file of scenarios or a verdict on a step; without text, with the hash of its text.

    Keys keep their order: a model sees those of a card.
    """
    if without_text:
        kept = {key: value for key, value in record.items() if key not in ("text", "verdict")}
        record = {**kept, "sha256": sha256(_ENCODE(record))}
    return escape_json(msgspec.json.encode(record)) + b"\n"


def prompt_line(case_id: str, prompt: Prompt) -> bytes:
    """Return a line with the hash of the prompt of a case."""
    return _line({"case_id": case_id, "sha256": sha256(_ENCODE(prompt))})


def result_line(answer: Answer) -> bytes:
    """Return a line with the result, its measures, and the hashes of the reply and the verdicts."""
    return _line(result_object(answer))


def result_object(answer: Answer) -> dict[str, Any]:
    """Return the result as an object, for comparison with a stored line."""
    return {
        **msgspec.structs.asdict(answer.result),
        "measures": {
            slug: (measure.numerator, measure.denominator)
            for slug, measure in answer.measures.items()
            if measure.value is not None
        },
        "output_sha256": None if answer.text is None else sha256(output_bytes(answer)),
        "verdicts_sha256": sha256(_ENCODE(answer.verdicts)) if answer.verdicts else None,
    }
