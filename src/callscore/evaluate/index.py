"""The index of a job: ids and file positions of its cases, outputs and verdicts, read once."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.errors import DataError, UsageError
from callscore.core.framework import WHOLE
from callscore.evaluate.given_verdicts import checked_metric
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.reply_source import EmbeddedReplies, RecordedReplies, ReplySource
from callscore.store.files import Line, LinesByKey, blocks_of, lines_in, lines_of
from callscore.store.input_records import read_output_head, read_output_heads
from callscore.store.verdict_records import read_verdict
from callscore.store.worklists import VerdictLines


class Index(msgspec.Struct):
    """Case ids with positions, and where the replies and verdicts of each case are."""

    ids: Mapping[str, int]
    source: ReplySource
    verdicts: VerdictLines | None = None
    judges: set[str] = set()
    unused_verdicts: int = 0
    estimates: bool = False
    """Whether a verdict comes from a built-in substitute."""
    benchmarks_judged: bool = False
    """Whether a verdict is about a benchmark; if so, benchmarks run."""
    whole: bool = False
    """Whether a verdict scores a metric as a whole (C-100)."""
    worded: bool = False
    """Whether a verdict is about a single item."""
    by_code: int = 0
    """Number of verdicts on metrics that code computes; they are not used."""


def build_index(config: ScoreConfig, source: ReplySource | None, ids: Mapping[str, int]) -> Index:
    """Index outputs and verdicts; replies come from `source`, or else from the files."""
    if not ids:
        raise UsageError(f"{', '.join(map(str, config.cases))}: contains no case")
    if source is None:
        source = _recorded(config, ids) if config.outputs else _embedded(config)
    for model in config.cost_per_1000:
        if model not in source.models:
            known = ", ".join(source.models)
            raise UsageError(f"cost of {model!r}: no output is by it; expected one of {known}")
    index = Index(ids, source)
    if config.verdicts:
        _index_verdicts(config, index)
    return index


def _recorded(config: ScoreConfig, ids: Mapping[str, int]) -> RecordedReplies:
    lines = LinesByKey(config.outputs)
    models: set[str] = set()
    for block in blocks_of(config.outputs):
        heads = read_output_heads(block.lines)
        keys = [ids.get(head.case_id, -1) for head in heads]
        if keys and -1 not in keys:
            lines.add_block(keys, block)
            models.update([head.model for head in heads])
            continue
        for line in lines_in(block):
            head = read_output_head(line)
            models.add(head.model)
            lines.add(_position(ids, head.case_id, line), line)
    if not models:
        raise UsageError(f"{', '.join(map(str, config.outputs))}: contains no output")
    return RecordedReplies(lines, sorted(models))


def _embedded(config: ScoreConfig) -> EmbeddedReplies:
    if not any(b'"model_output"' in line.raw for line in lines_of(config.cases)):
        raise UsageError("no outputs to score: no outputs file is given, no case has model_output")
    return EmbeddedReplies()


def _index_verdicts(config: ScoreConfig, index: Index) -> None:
    verdicts = index.verdicts = VerdictLines(config.verdicts)
    models = set(index.source.models)
    for line in verdicts:
        record = read_verdict(line)
        try:
            metric = checked_metric(record)
        except DataError as error:
            raise error.located(line.place, record.case_id) from None
        if metric is None:
            index.by_code += 1
            continue
        if metric in config.elsewhere and record.case_id not in index.ids:
            continue
        position = _position(index.ids, record.case_id, line)
        if record.model is not None and record.model not in models:
            index.unused_verdicts += 1
            continue
        index.judges.add(record.by or "unnamed")
        index.whole |= record.item == WHOLE
        index.worded |= record.verdict is not None
        index.estimates = index.estimates or record.approximate
        index.benchmarks_judged = index.benchmarks_judged or metric.startswith("bench.")
        verdicts.add(position, line)


def refuse_mixture(index: Index, judge_runner: JudgeRunner | None) -> None:
    """Refuse to mix scores of whole metrics with verdicts on items        C-100"""
    judged = judge_runner.judge if judge_runner is not None else None
    judges_whole = judge_runner is not None and judge_runner.judges_whole
    whole = index.whole or judges_whole
    worded = index.worded or (judged is not None and not judges_whole)
    if whole and worded:
        raise UsageError(
            "scores of whole metrics (five-key records, or a judge with style: document) and "
            "verdicts on items cannot be mixed; expected one or the other"
        )


def _position(ids: Mapping[str, int], case_id: str, line: Line) -> int:
    position = ids.get(case_id)
    if position is None:
        raise DataError(
            f"{case_id!r} is not in the case files; expected the id of a case",
            field="case_id",
            place=line.place,
        )
    return position
