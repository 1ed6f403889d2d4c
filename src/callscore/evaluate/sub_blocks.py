"""Sub-blocks as bytes: what each adds to the sums, so that it can be added up again with a change.

Of every reply its measures are kept, in the types that they have: whole numbers stay whole, so that
sums of them have the same digits again.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from callscore.core.case import Case, Failed, Reply
from callscore.core.judging import Audit
from callscore.core.measure import Measure
from callscore.core.task import Measured, Task
from callscore.evaluate.case_steps import JudgedItems, MeasuredCase, MeasuredReply, ParsedReply
from callscore.evaluate.cases import LoadedCase
from callscore.evaluate.sums import Sums
from callscore.processes.value_bytes import from_bytes, to_bytes
from callscore.scorecard.formula import TaskFormula, score_case
from callscore.scorecard.scored_reply import ReplyLabels, ScoredReply
from callscore.store.index_rows import FAST
from callscore.suites.registry import Catalog

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder().decode

KeptCase = Sequence[Any]
"""Id, call and task of a case, and the runs of one model on it."""


class KeptSubBlock(msgspec.Struct, frozen=True):
    """What the cases of a sub-block add to the sums, by model."""

    cases: int
    replies: Mapping[str, bytes]
    """The measured replies to every case, compressed."""
    sums: Mapping[str, bytes]
    """What they add up to, without contributions."""


OnSubBlock = Callable[[KeptSubBlock], None]


def keep_sub_block(
    cases: Sequence[MeasuredCase], sums: Sums, models: Mapping[str, object]
) -> KeptSubBlock:
    """A sub-block as bytes."""
    return KeptSubBlock(
        len(cases),
        {model: encode_cases([_kept_case(case, model) for case in cases]) for model in models},
        {model: encode_sums(sums.of_model(model)) for model in models},
    )


def encode_sums(sums: Sums) -> bytes:
    """Sums as bytes."""
    return zlib.compress(to_bytes(sums), FAST)


def decode_sums(raw: bytes) -> Sums:
    """The sums in some bytes."""
    found: Sums = from_bytes(zlib.decompress(raw))
    return found


def encode_cases(cases: Sequence[KeptCase]) -> bytes:
    """Kept cases as bytes; equal cases give equal bytes."""
    return zlib.compress(_encode(cases), FAST)


def decode_cases(raw: bytes) -> list[KeptCase]:
    """The cases in some bytes, as they were kept."""
    found: list[KeptCase] = _decode(zlib.decompress(raw))
    return found


def _kept_case(measured: MeasuredCase, model: str) -> KeptCase:
    case = measured.loaded.case
    runs = [_kept_run(run) for run in measured.replies.get(model, ())]
    call = None if case.call_id is None else str(case.call_id)
    return (case.id, call, case.task, runs)


def _kept_run(run: MeasuredReply | tuple[int, Failed]) -> Sequence[object]:
    if not isinstance(run, MeasuredReply):
        number, failure = run
        return (number, failure.cost_usd, failure.why)
    scored = run.scored
    extremes = scored.extremes and [one.measured for one in scored.extremes]
    labels = None
    if (given := scored.labels) is not None:
        people = given.people and given.people.measured
        labels = (given.judged, given.labelled, people)
    return (
        run.parsed.run,
        run.parsed.reply.cost_usd,
        scored.measured,
        scored.benchmarks,
        extremes,
        labels,
        run.judged,
    )


class KeptCaseReader:
    """Makes measured cases of kept ones, to be added to tallies; they have no texts."""

    def __init__(self, catalog: Catalog, model: str) -> None:
        self._catalog, self._model = catalog, model
        self._tasks = catalog.tasks()
        self._formula = cache(catalog.formula)

    def read(self, cases: Sequence[KeptCase]) -> Iterator[MeasuredCase]:
        """The cases with the replies of one model."""
        for case_id, call_id, task, runs in cases:
            case = Case(id=case_id, task=task, transcript=(), expected_outcome={}, config={},
                        call_id=call_id)  # fmt: skip
            loaded = self._loaded(case, self._tasks[task])
            formula = self._formula(task)
            read = [self._run(run, formula) for run in runs]
            yield MeasuredCase(loaded, {self._model: read} if read else {}, {})

    def _loaded(self, case: Case, task: Task[Any, Any]) -> LoadedCase:
        return LoadedCase(case, task, None, self._catalog.suite_of(case.task))

    def _run(self, kept: Sequence[Any], formula: TaskFormula) -> MeasuredReply | tuple[int, Failed]:
        if len(kept) == 3:
            number, cost, why = kept
            return number, Failed("model", why, cost)
        number, cost, raw, benchmarks, ends, labels, judged = kept
        extremes = None
        if ends is not None:
            worst, best = (_scored(one, formula) for one in ends)
            extremes = (worst, best)
        given = None
        if labels is not None:
            by_row, labelled, people = labels
            given = ReplyLabels(by_row, labelled, people and _scored(people, formula))
        measured = _measured(raw)
        layer_two = {slug: Measure(**one) for slug, one in benchmarks.items()}
        scored = ScoredReply(measured, score_case(formula, measured), layer_two, extremes, given)
        reply = ParsedReply(self._model, number, Reply("", cost_usd=cost), None, None, {}, ())
        counts = {
            metric: JudgedItems(items, Audit(**audit)) for metric, (items, audit) in judged.items()
        }
        return MeasuredReply(reply, scored, {}, {}, counts)


def _scored(raw: Mapping[str, Any], formula: TaskFormula) -> ScoredReply:
    measured = _measured(raw)
    return ScoredReply(measured, score_case(formula, measured))


def _measured(raw: Mapping[str, Any]) -> Measured:
    return Measured(
        {slug: Measure(**one) for slug, one in raw["measures"].items()},
        raw["flags"],
        {slug: Measure(**one) for slug, one in raw["secondary"].items()},
    )
