"""A scored case as rows of the index: what lists, filters and queues need of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.case import Case, turns
from callscore.core.judging import INJECTION_SUSPECTED, Verdict
from callscore.core.measure import UNDECIDED
from callscore.core.scorecard import CaseResult
from callscore.core.spec import Spec
from callscore.report.details.decoded_case import tags_of
from callscore.report.details.slices import score_or_zero
from callscore.report.source import Answer, CaseView
from callscore.store.index_rows import CaseRow, CellRow, ListedCase, VerdictRow
from callscore.store.results_filter import FAR_APART, MARKS, STATUSES

WORST_FIRST = ("error", "not_run", "invalid", "incomplete", "valid")
MAX_GOLD = 80
"""Characters of the expected outcome that a list shows."""
SCORE = "score"

_encode = msgspec.json.Encoder().encode
NO_TEXTS = _encode([]).decode()
decode_view = msgspec.json.Decoder(CaseView).decode
"""The case in a row; its answers may lack their replies."""


def encode_view(view: CaseView, *, with_replies: bool) -> bytes:
    """A case for the index; replies to calls are in the store already."""
    if not with_replies:
        answers = [
            msgspec.structs.replace(answer, text=None, tool_calls=()) for answer in view.answers
        ]
        view = msgspec.structs.replace(view, answers=answers)
    return _encode(view)


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
        ListedCase(
            case.id,
            str(case.id if case.call_id is None else case.call_id),
            case.task,
            case.lang or "",
            _json(tags_of(case)),
            len(said),
            gold_words(case),
            marks_of(cells, spread),
        ),
        math.fsum(scores) / len(scores) if scores else None,
        spread,
        "\n".join([turn.text for turn in said]),
        cells,
        encode_view(view, with_replies=is_step),
        [row for answer in view.answers for row in _verdict_rows(answer, view, place, spec, given)],
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
    words = ""
    for one in _words(case.expected_outcome):
        words = f"{words}, {one}" if words else one
        if len(words) > MAX_GOLD:
            return f"{words[: MAX_GOLD - 1]}…"
    return words


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
    view: CaseView,
    place: int,
    spec: Spec,
    given: Mapping[tuple[str, int], Sequence[Verdict]],
) -> Iterator[VerdictRow]:
    result = answer.result
    of_answer = (place, view.case.id, view.case.task, result.model, result.run)
    suspected = any(flag.startswith(INJECTION_SUSPECTED) for flag in result.flags)
    by_item: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in (*answer.verdicts, *given.get((result.model, result.run), ())):
        by_item.setdefault((verdict.metric, verdict.item), []).append(verdict)
    for (metric, item), verdicts in by_item.items():
        last = verdicts[-1]
        word = last.verdict or ("" if last.value is None else repr(last.value))
        disputed = len(verdicts) > 1 and _is_disputed(verdicts)
        gate = _is_gate(spec, metric)
        breached = gate and metric in result.reasons
        yield VerdictRow(
            *of_answer, metric, item, word, last.by, disputed, gate, breached, suspected
        )
    for metric, measure in answer.measures.items():
        if measure.absence in UNDECIDED:
            gate = _is_gate(spec, metric)
            breached = gate and metric in result.reasons
            yield VerdictRow(*of_answer, metric, "", "", "", False, gate, breached, suspected)


def _is_gate(spec: Spec, metric: str) -> bool:
    known = spec.metrics.get(metric)
    return known is not None and known.gate is not None


def _is_disputed(verdicts: Sequence[Verdict]) -> bool:
    """Whether another author has another word than the last one."""
    last = verdicts[-1]
    return any(one.by != last.by and one.verdict != last.verdict for one in verdicts)


def _distinct(texts: Sequence[str]) -> str:
    return _json(list(dict.fromkeys(texts))) if texts else NO_TEXTS


def _json(value: object) -> str:
    return _encode(value).decode()
