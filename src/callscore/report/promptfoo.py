"""promptfoo: an evaluation file (results version 3) that `promptfoo import` reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from callscore.core.version import __version__
from callscore.report.archive import (
    LEFT_OUT,
    expected_text,
    metric_values,
    run_time,
    stable_id,
    to_json,
    transcript_text,
)
from callscore.report.source import Answer, CaseView, ReportFormat, ReportOptions, ReportSource

NONE, ASSERT, ERROR = 0, 1, 2
"""The values of `failureReason`: none, an assertion failed, an error."""
VARS = ("case_id", "task", "call", "expected")


class _Totals:
    """Sums of tokens and results."""

    def __init__(self) -> None:
        self.prompt = self.completion = 0
        self.successes = self.failures = self.errors = 0

    def add(self, answer: Answer, reason: int) -> None:
        self.prompt += answer.input_tokens or 0
        self.completion += answer.output_tokens or 0
        self.successes += reason == NONE
        self.failures += reason == ASSERT
        self.errors += reason == ERROR

    def usage(self) -> dict[str, Any]:
        total = self.prompt + self.completion
        return {"prompt": self.prompt, "completion": self.completion, "total": total, "cached": 0}


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield one test per case and one provider per model: results first, then their sums."""
    made = run_time(source).isoformat().replace("+00:00", "Z")
    places = {model.model: place for place, model in enumerate(source.card.models)}
    totals = {model: _Totals() for model in places}
    head = {"evalId": f"eval-{stable_id(source.title, source.card.signature)[:8]}-{made[:19]}"}
    yield to_json(head)[:-1] + b',"results":{"version":3,"timestamp":' + to_json(made)
    yield b',"results":['
    is_first = True
    for number, view in enumerate(source.cases):
        for answer in view.answers:
            reason = _failure(answer)
            totals[answer.model].add(answer, reason)
            result = _result(view, answer, options)
            result |= {"promptIdx": places[answer.model], "testIdx": number}
            yield (b"" if is_first else b",\n") + to_json(result)
            is_first = False
    yield b"]," + to_json(_sums(places, totals))[1:] + b"," + to_json(_metadata(source, made))[1:]
    yield b"\n"


def _failure(answer: Answer) -> int:
    status = answer.result.status
    if status == "valid":
        return NONE
    return ASSERT if status == "invalid" else ERROR


def _result(view: CaseView, answer: Answer, options: ReportOptions) -> dict[str, Any]:
    case, result, reason = view.case, answer.result, _failure(answer)
    hidden = options.without_text
    variables = {
        "case_id": case.id,
        "task": case.task,
        "call": LEFT_OUT if hidden else transcript_text(case),
        "expected": LEFT_OUT if hidden else expected_text(case),
    }
    why = "; ".join(result.reasons) or answer.error or result.status
    # promptfoo needs a number: a result without a score is exported as 0 and not a success.
    score = result.score if result.score is not None else 0
    tokens = _Totals()
    tokens.add(answer, reason)
    return {
        "id": stable_id(case.id, result.model, str(result.run)),
        "promptId": stable_id(result.model),
        "provider": {"id": result.model, "label": result.model},
        "prompt": _prompt(),
        "vars": variables,
        "testCase": {"description": case.id, "vars": variables, "metadata": {"lang": case.lang}},
        "response": None if answer.text is None else _response(answer, hidden=hidden),
        "error": None if reason == NONE else why,
        "failureReason": reason,
        "success": reason == NONE,
        "score": score,
        "latencyMs": answer.latency_ms or 0,
        "namedScores": metric_values(answer),
        "cost": answer.cost_usd or 0,
        "tokenUsage": tokens.usage(),
        "gradingResult": {
            "pass": reason == NONE,
            "score": score,
            "reason": why if reason != NONE else "valid",
            "namedScores": metric_values(answer),
            "componentResults": [],
        },
        "metadata": {
            "callscore": {"status": result.status, "run": result.run, "flags": result.flags}
        },
    }


def _response(answer: Answer, *, hidden: bool) -> dict[str, Any]:
    response: dict[str, Any] = {"output": LEFT_OUT if hidden else answer.text}
    if answer.finish_reason is not None:
        response["finishReason"] = answer.finish_reason
    return response


def _prompt() -> dict[str, str]:
    return {"raw": "{{call}}", "label": "callscore"}


def _sums(places: Mapping[str, int], totals: Mapping[str, _Totals]) -> dict[str, Any]:
    """Return the rest of `results`: prompts with their counts, and the sums over all models."""
    prompts = [
        {
            **_prompt(),
            "id": stable_id(model),
            "provider": model,
            "metrics": {
                "score": total.successes,
                "testPassCount": total.successes,
                "testFailCount": total.failures,
                "testErrorCount": total.errors,
                "assertPassCount": total.successes,
                "assertFailCount": total.failures,
                "totalLatencyMs": 0,
                "tokenUsage": total.usage(),
                "namedScores": {},
                "namedScoresCount": {},
                "cost": 0,
            },
        }
        for model, total in totals.items()
    ]
    every = _Totals()
    for total in totals.values():
        every.prompt += total.prompt
        every.completion += total.completion
        every.successes += total.successes
        every.failures += total.failures
        every.errors += total.errors
    stats = {
        "successes": every.successes,
        "failures": every.failures,
        "errors": every.errors,
        "tokenUsage": every.usage(),
    }
    return {"prompts": prompts, "stats": stats}


def _metadata(source: ReportSource, made: str) -> dict[str, Any]:
    return {
        "config": {"description": source.title, "prompts": ["{{call}}"]},
        "shareableUrl": None,
        "vars": list(VARS),
        "metadata": {
            "evaluationCreatedAt": made,
            "exportedAt": made,
            "callscore": {"version": __version__, "signature": source.card.signature},
        },
    }


FORMAT = ReportFormat(
    "promptfoo", ".promptfoo.json", "a file for `promptfoo import`", write, needs_cases=True
)
