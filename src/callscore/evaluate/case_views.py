"""A measured case in the form that reports read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, Failed, Reply
from callscore.core.measure import Measure
from callscore.core.scorecard import CaseResult
from callscore.evaluate.case_steps import MeasuredCase, MeasuredReply
from callscore.report.source import Answer, CaseView

_CANONICAL = msgspec.json.Encoder(order="sorted")


def case_view(measured: MeasuredCase, results: Iterable[CaseResult]) -> CaseView:
    """The case with the replies of all models, of which these are the results."""
    runs = {
        (model, run.parsed.run if isinstance(run, MeasuredReply) else run[0]): run
        for model, runs in measured.replies.items()
        for run in runs
    }
    answers = [_answer(result, runs.get((result.model, result.run))) for result in results]
    case = measured.loaded.case
    return CaseView(case, answers, _other_keys(case, measured.loaded.content))


def _answer(result: CaseResult, run: MeasuredReply | tuple[int, Failed] | None) -> Answer:
    if run is None:
        return Answer(result)
    if not isinstance(run, MeasuredReply):
        return Answer(result, cost_usd=run[1].cost_usd, error=run[1].why)
    reply, scored = run.parsed.reply, run.scored
    return Answer(
        result,
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
        [label for labels in run.parsed.labels.values() for label in labels],
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
