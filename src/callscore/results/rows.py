"""A scored case as rows of the index: what lists, filters and queues need of it."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, turns
from callscore.core.judging import INJECTION_SUSPECTED, Verdict
from callscore.core.measure import UNDECIDED
from callscore.core.scorecard import CaseResult
from callscore.core.spec import Spec
from callscore.evaluate.sub_blocks import FAST
from callscore.report.details.decoded_case import decode_case
from callscore.report.details.slices import score_or_zero
from callscore.report.source import Answer, CaseView
from callscore.store.index_rows import CaseRow, CellRow, VerdictRow
from callscore.store.results_filter import FAR_APART, MARKS, STATUSES

WORST_FIRST = ("error", "not_run", "invalid", "incomplete", "valid")
MAX_GOLD = 80
"""Characters of the expected outcome that a list shows."""
SCORE = "score"

_encode = msgspec.json.Encoder().encode
_decode_view = msgspec.json.Decoder(CaseView).decode


def encode_view(view: CaseView, *, with_replies: bool) -> bytes:
    """A case for the index; replies to calls are in the store already."""
    if not with_replies:
        answers = [
            msgspec.structs.replace(answer, text=None, tool_calls=()) for answer in view.answers
        ]
        view = msgspec.structs.replace(view, answers=answers)
    return zlib.compress(_encode(view), FAST)


def decode_view(raw: bytes) -> CaseView:
    """The case in a row; its answers may lack their replies."""
    return _decode_view(zlib.decompress(raw))


def case_row(
    view: CaseView,
    place: int,
    spec: Spec,
    given: Mapping[tuple[str, int], Sequence[Verdict]] = {},
    *,
    is_step: bool = False,
) -> CaseRow:
    """A case as a row; `given` has verdicts by model and repeat that its answers do not have."""
    case = view.case
    said = turns(case.transcript)
    cells = fold(view.answers)
    scores = [cell.score for cell in cells if cell.score is not None]
    spread = max(scores) - min(scores) if scores else 0.0
    return CaseRow(
        place,
        case.id,
        str(case.id if case.call_id is None else case.call_id),
        case.task,
        case.lang or "",
        _json(decode_case(msgspec.structs.replace(view, answers=())).tags),
        len(said),
        gold_words(case),
        marks_of(cells, spread),
        math.fsum(scores) / len(scores) if scores else None,
        spread,
        "\n".join([turn.text for turn in said]),
        cells,
        encode_view(view, with_replies=is_step),
        [row for answer in view.answers for row in _verdict_rows(answer, case, place, spec, given)],
    )


def fold(answers: Sequence[Answer]) -> list[CellRow]:
    """One cell per model, its repeats folded."""
    if len({answer.result.model for answer in answers}) == len(answers):
        return [_single_cell(answer) for answer in answers]
    by_model: dict[str, list[Answer]] = {}
    for answer in answers:
        by_model.setdefault(answer.model, []).append(answer)
    return [_cell(model, found) for model, found in by_model.items()]


def _single_cell(answer: Answer) -> CellRow:
    """The cell of a model that was asked once, as `_cell` gives it, without means of one value."""
    result = answer.result
    score = score_or_zero(result.status, result.score)
    return CellRow(
        result.model,
        result.status,
        score,
        1,
        1,
        answer.cost_usd,
        _distinct(result.reasons),
        _distinct(result.flags),
        _json({SCORE: score, **result.metrics}),
    )


def _cell(model: str, answers: Sequence[Answer]) -> CellRow:
    results = [answer.result for answer in answers]
    status = min((one.status for one in results), key=WORST_FIRST.index)
    score = _mean([score_or_zero(one.status, one.score) for one in results])
    costs = [answer.cost_usd for answer in answers if answer.cost_usd is not None]
    return CellRow(
        model,
        status,
        score,
        len(results),
        sum(one.status == status for one in results),
        math.fsum(costs) if costs else None,
        _distinct([reason for one in results for reason in one.reasons]),
        _distinct([flag for one in results for flag in one.flags]),
        _json({SCORE: score, **_means(results)}),
    )


def _means(results: Sequence[CaseResult]) -> Mapping[str, float | None]:
    if len(results) == 1:
        return results[0].metrics
    slugs = dict.fromkeys(slug for one in results for slug in one.metrics)
    return {slug: _mean([one.metrics.get(slug) for one in results]) for slug in slugs}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def marks_of(cells: Sequence[CellRow], spread: float) -> int:
    """The marks of a case, as bits."""
    statuses = {cell.status for cell in cells}
    found = [mark for mark, wanted in STATUSES.items() if statuses.intersection(wanted)]
    if len(statuses) > 1 or spread >= FAR_APART:
        found.append("different")
    return sum(MARKS[mark] for mark in found)


def gold_words(case: Case) -> str:
    """The expected outcome in a few words."""
    words = ", ".join(_words(case.expected_outcome))
    return words if len(words) <= MAX_GOLD else f"{words[: MAX_GOLD - 1]}…"


def _words(outcome: Mapping[str, Any]) -> Iterator[str]:
    """A short text as it is; of a list, how long it is."""
    for key, value in outcome.items():
        if isinstance(value, (list, tuple)):
            names = [one["name"] for one in value if isinstance(one, dict) and "name" in one]
            yield f"{key}: {' '.join(map(str, names))}" if names else f"{key}: {len(value)}"
        elif isinstance(value, dict):
            yield from _words(value)
        elif value is not None:
            yield f"{key}: {' '.join(str(value).split())[:MAX_GOLD]}"


def _verdict_rows(
    answer: Answer,
    case: Case,
    place: int,
    spec: Spec,
    given: Mapping[tuple[str, int], Sequence[Verdict]],
) -> Iterator[VerdictRow]:
    result = answer.result
    suspected = any(flag.startswith(INJECTION_SUSPECTED) for flag in result.flags)
    by_item: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in (*answer.verdicts, *given.get((answer.model, answer.run), ())):
        by_item.setdefault((verdict.metric, verdict.item), []).append(verdict)
    found = [(*key, verdicts) for key, verdicts in by_item.items()]
    undecided = [slug for slug, measure in answer.measures.items() if measure.absence in UNDECIDED]
    found += [(slug, "", []) for slug in undecided]
    for metric, item, verdicts in found:
        known = spec.metrics.get(metric)
        is_gate = known is not None and known.gate is not None
        last = verdicts[-1] if verdicts else Verdict(metric, item)
        words = {one.verdict for one in verdicts if one.by != last.by}
        yield VerdictRow(
            place,
            case.id,
            case.task,
            answer.model,
            answer.run,
            metric,
            item,
            last.verdict or ("" if last.value is None else repr(last.value)),
            last.by,
            bool(words - {last.verdict}),
            is_gate,
            is_gate and metric in result.reasons,
            suspected,
        )


def _distinct(texts: Sequence[str]) -> str:
    return _json(list(dict.fromkeys(texts)))


def _json(value: object) -> str:
    return _encode(value).decode()
