"""Validates a judge: by changes that must or must not change verdicts, and against people."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.errors import DataError, UsageError
from callscore.core.judging import Question
from callscore.evaluate.judge_setup import open_judge_runner
from callscore.evaluate.judging import JudgeRunner
from callscore.evaluate.rubrics import rubric_library
from callscore.judges.calibration import Calibration, LabelledItem, calibrate
from callscore.judges.reliability import Reliability, check_reliability
from callscore.judges.rubric import Rubric
from callscore.store.files import lines_of
from callscore.store.input_records import read_case
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


class _Labels(msgspec.Struct):
    """The labels of one metric and rubric, and the judge's verdicts on other items."""

    rubric: Rubric
    people: dict[_LabelKey, dict[str, str]] = msgspec.field(default_factory=dict)
    """By item, then by person."""
    judged: dict[_LabelKey, str] = msgspec.field(default_factory=dict)
    """The judge's word on a labelled item, if the labels have it."""
    alone: dict[_LabelKey, str] = msgspec.field(default_factory=dict)


def calibrate_labels(
    labels: Sequence[Path], judged: Sequence[Path] = (), cases: Sequence[Path] = ()
) -> list[MetricCalibration]:
    """Every metric that people have labelled, with the judge's verdicts on the same items.

    The judge's verdicts come from verdict files; or from the labels themselves, if each line
    has the human verdict as `verdict` and the judge's as `judge`. Several people may label the
    same item; `by` distinguishes them. Case files have the calls of the cases; without them, each
    case is a call.
    """
    call_of = _calls_of(cases)
    words = {key: record.verdict for key, record, _ in _verdicts(judged) if record.verdict}
    groups: dict[tuple[str, str], _Labels] = {}
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
        group = groups.setdefault((key.metric, rubric.name), _Labels(rubric))
        group.people.setdefault(key, {})[record.by] = record.verdict
        given = record.judge if record.judge is not None else words.get(key)
        if given is not None:
            group.judged[key] = given
    if not groups:
        raise UsageError(f"{', '.join(map(str, labels))}: contains no label")
    for key, word in words.items():
        rubric = _rubric_of(key.metric, key.item)
        found = groups.get((key.metric, rubric.name)) if rubric is not None else None
        if found is not None and key not in found.people:
            found.alone[key] = word
    return [
        MetricCalibration(metric, _calibrate(group, call_of))
        for (metric, _), group in groups.items()
    ]


def _calibrate(group: _Labels, call_of: Mapping[str, str]) -> Calibration:
    return calibrate(
        group.rubric,
        [
            LabelledItem(
                list(people.values()), group.judged.get(key), call_of.get(key.case_id, key.case_id)
            )
            for key, people in group.people.items()
        ],
        list(group.alone.values()),
        calls_alone=[call_of.get(key.case_id, key.case_id) for key in group.alone],
    )


def _calls_of(cases: Sequence[Path]) -> Mapping[str, str]:
    """The call of each case that names one; a call and a case never share a name."""
    found = {}
    for line in lines_of(cases):
        case, _ = read_case(line)
        if case.call_id is not None:
            found[case.id] = f"call {case.call_id}"
    return found


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
