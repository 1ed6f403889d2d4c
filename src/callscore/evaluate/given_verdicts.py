"""Verdicts in files: indexed once, read case by case, and written in the same form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.errors import DataError, UsageError
from callscore.core.judging import NO_VERDICTS, Item, Verdict, Verdicts, reviews_in
from callscore.core.verdict_rules import WHOLE, VerdictRules
from callscore.evaluate.cases import position_of, unknown_case
from callscore.evaluate.judging import JudgeRunner
from callscore.store.files import Line
from callscore.store.verdict_records import VerdictRecord, read_verdict
from callscore.store.worklists import VerdictLines
from callscore.suites.registry import rules_for

GivenVerdicts = Mapping[tuple[str | None, int], Verdicts]
"""Verdicts from files, by model and run; those under None apply to every model."""
NOTHING_GIVEN: GivenVerdicts = {}


class VerdictIndex(msgspec.Struct):
    """Where the verdicts on each case are, and what kinds of verdicts there are."""

    lines: VerdictLines | None = None
    """By the position of their case; None without a file."""
    judges: set[str] = set()
    unused: int = 0
    """Verdicts that match no reply."""
    estimates: dict[str, str] = {}
    """By metric with verdicts of a built-in substitute, who gave the first of them."""
    on_benchmarks: bool = False
    """Whether a verdict is about a benchmark; if so, benchmarks run."""
    whole: bool = False
    """Whether a verdict scores a metric as a whole (C-100)."""
    worded: bool = False
    """Whether a verdict is about a single item."""
    by_code: int = 0
    """Verdicts on metrics that code computes; they are not used."""


def index_verdicts(
    config: ScoreConfig, ids: Mapping[str, int], models: Sequence[str]
) -> VerdictIndex:
    """Read the verdicts of a config once; raises DataError with file, line and case."""
    lines = VerdictLines(config.verdicts)
    index = VerdictIndex(lines)
    for line, record, metric, position in placed_verdicts(config, lines, ids, models):
        if metric is None:
            index.by_code += 1
            continue
        if position is None:
            index.unused += 1
            continue
        index.judges.add(record.by or "unnamed")
        index.whole |= record.item == WHOLE
        index.worded |= record.verdict is not None
        if record.approximate:
            index.estimates.setdefault(metric, record.by)
        index.on_benchmarks = index.on_benchmarks or metric.startswith("bench.")
        lines.add(position, line)
    return index


class PlacedVerdict(NamedTuple):
    """A line of a verdicts file, checked."""

    line: Line
    record: VerdictRecord
    metric: str | None
    """The slug of its metric; None if code computes the metric."""
    position: int | None
    """The position of its case; None if its model has no output."""


def placed_verdicts(
    config: ScoreConfig, lines: Iterable[Line], ids: Mapping[str, int], models: Sequence[str]
) -> Iterator[PlacedVerdict]:
    """Every verdict on these cases; raises DataError with file, line and case."""
    for line in lines:
        record, metric = _read_checked(line)
        if metric is None:
            yield PlacedVerdict(line, record, None, None)
        elif metric not in config.elsewhere or record.case_id in ids:
            position = position_of(ids, record.case_id, line)
            is_known = record.model is None or record.model in models
            yield PlacedVerdict(line, record, metric, position if is_known else None)


def _read_checked(line: Line) -> tuple[VerdictRecord, str | None]:
    """The verdict on a line, and the slug of its metric; None if code computes the metric."""
    record = read_verdict(line)
    try:
        return record, check_metric(record)
    except DataError as error:
        raise error.with_place(line.place, record.case_id) from None


def refuse_mixture(given: VerdictIndex, judge_runner: JudgeRunner | None) -> None:
    """Refuse to mix scores of whole metrics with verdicts on items        C-100"""
    judged = judge_runner.judge if judge_runner is not None else None
    judges_whole = judge_runner is not None and judge_runner.judges_whole
    whole = given.whole or judges_whole
    worded = given.worded or (judged is not None and not judges_whole)
    if whole and worded:
        raise UsageError(
            "scores of whole metrics (five-key records, or a judge with style: document) and "
            "verdicts on items cannot be mixed; expected one or the other"
        )


def check_metric(record: VerdictRecord) -> str | None:
    """Check a verdict; return the slug of its metric, None if code computes the metric."""
    if record.item == WHOLE:
        return rules_for(record.metric).check_whole_score(record.metric, record.value)
    return rules_for(record.metric).check_verdict(record.metric, record.verdict, record.value)


def read_verdicts(lines: Iterable[Line], case_id: str) -> GivenVerdicts:
    """The verdicts on a case in these lines, by model and run, then by item."""
    found: dict[tuple[str | None, int], dict[Item, list[Verdict]]] = {}
    for line in lines:
        record = read_verdict(line)
        if record.case_id != case_id:  # two ids with the same hash
            raise unknown_case(record.case_id, line)
        metric = check_metric(record)
        assert metric is not None  # only such lines are in the index
        verdict = verdict_of(record, metric)
        items = found.setdefault((record.model, record.run), {})
        items.setdefault(Item(metric, verdict.item), []).append(verdict)
    for items in found.values():
        items.update(
            (item, reviews) for item, given in items.items() if (reviews := reviews_in(given))
        )
    return found


def given_verdicts_on(rules: VerdictRules, given: GivenVerdicts, model: str, run: int) -> Verdicts:
    """The verdicts from files on one run of a model, with those that apply to every model."""
    known = given.get((model, run), NO_VERDICTS)
    of_all = given.get((None, run))
    return rules.with_shared(known, of_all) if of_all else known


def verdict_record(case_id: str, model: str | None, run: int, verdict: Verdict) -> VerdictRecord:
    """A verdict with its model and run; without a model it is about the case itself."""
    fields = {name: getattr(verdict, name) for name in Verdict.__struct_fields__}
    return VerdictRecord(**fields, case_id=case_id, model=model, run=run)


def verdict_of(record: VerdictRecord, metric: str) -> Verdict:
    """The verdict of a line, on the metric with this slug."""
    fields = {name: getattr(record, name) for name in Verdict.__struct_fields__}
    return Verdict(**{**fields, "metric": metric})
