"""A measured case in the form that reports read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Failed, Reply
from callscore.core.measure import Measure
from callscore.core.scorecard import CaseResult
from callscore.evaluate.case_steps import MeasuredCase, MeasuredReply
from callscore.evaluate.results import error_of, result_of
from callscore.report.source import Answer, CaseView

_CANONICAL = msgspec.json.Encoder(order="sorted")


def case_view(measured: MeasuredCase, models: Mapping[str, Sequence[str]]) -> CaseView:
    """The case with the replies of all models; `models` has the flags common to all results."""
    case = measured.loaded.case
    answers: list[Answer] = []
    for model, flags in models.items():
        runs = measured.replies.get(model)
        if not runs:
            answers.append(Answer(CaseResult(case.id, model, 1, case.task, "not_run")))
            continue
        answers += [_answer(case, model, run, flags) for run in runs]
    return CaseView(case, answers, _other_keys(case, measured.loaded.content))


def _answer(
    case: Case, model: str, run: MeasuredReply | tuple[int, Failed], flags: Sequence[str]
) -> Answer:
    if not isinstance(run, MeasuredReply):
        number, failure = run
        result = error_of(case, model, number, failure)
        return Answer(result, cost_usd=failure.cost_usd, error=failure.why)
    reply, scored = run.read.reply, run.scored
    return Answer(
        result_of(case, model, run.read.run, scored, flags),
        {
            slug: _plain(measure)
            for slug, measure in (*scored.measured.measures.items(), *scored.benchmarks.items())
        },
        _text(reply),
        isinstance(reply.text, bytes),
        reply.tool_calls,
        reply.finish_reason,
        reply.input_tokens,
        reply.output_tokens,
        reply.cost_usd,
        reply.latency_ms,
        reply.model,
        None,
        [verdict for verdicts in run.verdicts.values() for verdict in verdicts],
    )


def _plain(measure: Measure) -> Measure:
    """The measure with numbers only: a count of one item may be a boolean."""
    if not isinstance(measure.numerator, bool):
        return measure
    return msgspec.structs.replace(measure, numerator=float(measure.numerator))


def _text(reply: Reply) -> str:
    """The reply as encodable text: a lone surrogate has no UTF-8 bytes."""
    text = reply.text
    if isinstance(text, bytes):
        return text.decode("utf-8", "replace")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _other_keys(case: Case, content: bytes) -> Sequence[tuple[int, str, Any]]:
    """The undocumented keys, which come last in the canonical form (C-132)."""
    documented = len(_CANONICAL.encode(case))
    if not content or len(content) == documented:
        return ()
    found: Sequence[tuple[int, str, Any]] = msgspec.json.decode(content[documented:])
    return found
