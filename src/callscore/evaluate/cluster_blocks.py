"""Blocks for the nodes of a cluster, which have no files: each goes with its lines."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec

from callscore.config.score import ScoreConfig
from callscore.evaluate.block_scoring import (
    BlockContext,
    BlockResult,
    BlockWork,
    Workers,
    judged_by,
    open_block_scorer,
)
from callscore.evaluate.cases import NamesInData
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.reply_source import RecordedReplies
from callscore.evaluate.scoring_pass import ScoringInputs
from callscore.processes.ray_pool import RayPool
from callscore.store.files import LineStart, RecordFile, lines_of


def ray_pool(
    workers: Workers,
    context: BlockContext,
    tasks: Collection[str],
    judge_runner: JudgeRunner | None,
) -> RayPool[BlockWork, BlockResult]:
    """The nodes of a Ray cluster, which score blocks of these tasks as this machine would."""
    assert workers.cluster is not None
    config = context.config
    names = NamesInData(config.case_sources)
    context = context._replace(
        config=msgspec.structs.replace(config, case_lines={}, store=None),
        names={suite.name: names(suite) for suite in config.catalog.suites_with(tasks)},
        judged_by=judged_by(judge_runner),
    )
    enclosed = partial(_enclosed, config)
    return RayPool(workers.cluster, workers.number, open_block_scorer, context, enclosed)


def _enclosed(config: ScoreConfig, work: BlockWork) -> BlockWork:
    """A block with the lines of its cases, replies, verdicts and labels."""
    cases, number = work.cases, work.cases.start.number
    held: dict[Path, bytearray] = {}
    for line in islice(lines_of(config.case_sources, cases.start), cases.end - cases.first):
        if held and line.path not in held:
            number = 1
        # Empty lines are sent, too, so that messages name the right line.
        held.setdefault(line.path, bytearray()).extend(b"\n" * (line.number - number) + line.raw)
        number = line.number + 1
    sources = [RecordFile(path, bytes(lines)) for path, lines in held.items()]
    start = LineStart(0, cases.start.number)
    with closing(work.inputs):  # they are opened again if the block must be computed here
        return BlockWork(cases._replace(start=start), _held(work.inputs), sources)


def _held(inputs: ScoringInputs) -> ScoringInputs:
    source, given, labels = inputs.source, inputs.given, inputs.labels
    if isinstance(source, RecordedReplies):
        source = source.held()
    if given.lines is not None:
        given = msgspec.structs.replace(given, lines=given.lines.held())
    if labels.lines is not None:
        labels = msgspec.structs.replace(labels, lines=labels.lines.held())
    return ScoringInputs(source, inputs.cases, given, labels)
