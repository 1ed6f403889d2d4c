"""Validates a judge: by changes that must or must not change verdicts, and against people."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.errors import DataError, UsageError
from callscore.core.judging import Question
from callscore.evaluate.judge_setup import open_judge_runner
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.rubrics import rubric_library
from callscore.judges.calibration import Calibration, LabelledVerdict, calibrate
from callscore.judges.reliability import Reliability, check_reliability
from callscore.judges.rubric import Rubric
from callscore.store.verdict_records import VerdictRecord, read_verdict
from callscore.store.worklists import verdict_lines
from callscore.suites.registry import rules_for


def check_judge(config: ScoreConfig) -> Reliability:
    """Run the reliability suite on the judge of a config."""
    with open_judge_runner(config) as judge_runner:
        if judge_runner.judge is None:
            raise UsageError("no judge to check; expected offline, or a YAML file")
        if judge_runner.judges_whole:
            raise UsageError("the suite tests verdicts on items; expected a judge of style items")
        return asyncio.run(_check_and_close(judge_runner))


async def _check_and_close(judge_runner: JudgeRunner) -> Reliability:
    assert judge_runner.judge is not None  # checked by the caller
    try:
        return await check_reliability(judge_runner.judge)
    finally:
        await judge_runner.close()


class MetricCalibration(msgspec.Struct, frozen=True):
    """A judge compared with people on one metric."""

    metric: str
    calibration: Calibration


class _LabelKey(NamedTuple):
    """What a label is about: a reply, a metric and an item."""

    case_id: str
    model: str | None
    run: int
    metric: str
    item: str


def calibrate_labels(
    labels: Sequence[Path], judged: Sequence[Path] = ()
) -> list[MetricCalibration]:
    """Every metric that people have labelled, with the judge's verdicts on the same items.

    The judge's verdicts come from verdict files; or from the labels themselves, if each line
    has the human verdict as `verdict` and the judge's as `judge`. Several people may label the
    same item; `by` distinguishes them.
    """
    words = {key: record.verdict for key, record, _ in _verdicts(judged)}
    pairs: dict[tuple[str, str], list[LabelledVerdict]] = {}
    rubrics: dict[tuple[str, str], Rubric] = {}
    labelled: dict[tuple[str, str], dict[_LabelKey, dict[str, str]]] = {}
    for key, record, place in _verdicts(labels):
        rubric = _rubric_of(key.metric, key.item)
        if rubric is None:
            raise DataError(
                f"{record.metric!r} is not judged by items; expected a metric that is",
                field="metric",
                case_id=key.case_id,
                place=place,
            )
        if record.verdict is None:
            continue
        group = (key.metric, rubric.name)
        rubrics[group] = rubric
        labelled.setdefault(group, {}).setdefault(key, {})[record.by] = record.verdict
        given = record.judge if record.judge is not None else words.get(key)
        pairs.setdefault(group, []).append(LabelledVerdict(record.verdict, given, key.case_id))
    if not pairs:
        raise UsageError(f"{', '.join(map(str, labels))}: contains no label")
    alone: dict[tuple[str, str], list[str]] = {}
    for key, word in words.items():
        rubric = _rubric_of(key.metric, key.item)
        if rubric is None or word is None:
            continue
        group = (key.metric, rubric.name)
        if key not in labelled.get(group, {}):
            alone.setdefault(group, []).append(word)
    return [
        MetricCalibration(
            group[0],
            calibrate(
                rubrics[group],
                given,
                alone.get(group, ()),
                by_item=[list(words.values()) for words in labelled[group].values()],
                calls=[key.case_id for key in labelled[group]],
            ),
        )
        for group, given in pairs.items()
    ]


def _verdicts(paths: Sequence[Path]) -> Iterator[tuple[_LabelKey, VerdictRecord, str]]:
    """Every verdict of the files with its key and its place (file and line)."""
    for line in verdict_lines(paths):
        record = read_verdict(line)
        try:
            rules = rules_for(record.metric)
            metric = rules.check_verdict(record.metric, record.verdict, record.value)
            if record.judge is not None:
                rules.check_verdict(record.metric, record.judge, None)
        except DataError as error:
            raise error.with_place(line.place, record.case_id) from None
        item = str(record.item)
        key = _LabelKey(record.case_id, record.model, record.run, metric, item)
        yield key, record, line.place


def _rubric_of(metric: str, item: str) -> Rubric | None:
    words = rules_for(metric).words_for(metric, item)
    return rubric_library().rubric_for(Question(metric, item, "", "", words))
