"""Labels: verdicts of people on a sample of the items that a judge decides        STATS §5

They correct the judged values and never replace a verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.errors import DataError
from callscore.core.judging import Item, Question, Verdict, Verdicts
from callscore.core.lazy import lazy_regex
from callscore.core.scenarios import GivenVerdict, VerdictKey, VerdictsByModel
from callscore.core.verdict_rules import BY_CODE, WHOLE, VerdictRules
from callscore.evaluate.given_verdicts import GivenVerdicts, given_verdicts_on, placed_verdicts
from callscore.evaluate.rubrics import rubric_library
from callscore.judges.rubric import CANNOT_TELL, settle
from callscore.store.verdict_records import VerdictRecord
from callscore.store.worklists import VerdictLines
from callscore.suites.registry import rules_for

DIGEST_BYTES = 6
_MODEL = lazy_regex(r"@[^.@\s]+$|^document\b")
"""What the signature of a judging model has, and the name or address of a person has not."""


class LabelSummary(msgspec.Struct, frozen=True):
    """The labels of a scoring pass: their identity, and what they are about."""

    digest: str
    metrics: frozenset[str]
    unused: int


class LabelIndex(msgspec.Struct):
    """Where the labels on each case are, and what they are about."""

    lines: VerdictLines | None = None
    metrics: frozenset[str] = frozenset()
    """The metrics that people have labelled."""
    digest: str = ""
    """A hash of the labels, for the signature."""
    unused: int = 0
    """Labels that match no reply."""

    def summary(self) -> LabelSummary:
        """What the scorecard needs."""
        return LabelSummary(self.digest, self.metrics, self.unused)


def index_labels(config: ScoreConfig, ids: Mapping[str, int], models: Sequence[str]) -> LabelIndex:
    """Read the labels of a config once; raises DataError with file, line and case."""
    lines = VerdictLines(config.labels)
    index = LabelIndex(lines)
    metrics: set[str] = set()
    seen: list[bytes] = []
    for line, record, metric, position in placed_verdicts(config, lines, ids, models):
        if metric is None or record.item == WHOLE or record.approximate:
            raise no_label(record, metric, line.place)
        if position is None:
            index.unused += 1
            continue
        metrics.add(metric)
        seen.append(msgspec.json.encode(_identity(record, metric)))
        lines.add(position, line)
    if config.elsewhere and not seen and not index.unused:  # all are on steps of scenarios
        lines.close()
        return LabelIndex()
    digest = hashlib.blake2b(b"\n".join(sorted(seen)), digest_size=DIGEST_BYTES)
    index.metrics, index.digest = frozenset(metrics), digest.hexdigest()
    return index


def _identity(record: VerdictRecord, metric: str) -> Sequence[object]:
    about = (record.case_id, record.model, record.run, metric, str(record.item))
    return (*about, record.by, record.verdict, record.value)


def no_label(record: VerdictRecord, metric: str | None, place: str) -> DataError:
    """Why a verdict cannot be a label."""
    if metric is None:
        what, field = f"{record.metric!r} is computed by code; expected a judged metric", "metric"
    elif record.approximate:
        what, field = "is an estimate; expected a verdict of a person", "approximate"
    else:
        what, field = "scores a whole metric; expected verdicts on its items", "item"
    return DataError(what, field=field, case_id=record.case_id, place=place)


class StepLabels(NamedTuple):
    """The labels on values of steps."""

    by_model: VerdictsByModel
    """One label per value of a reply."""
    digest: str


def settle_step_labels(given: Sequence[GivenVerdict], models: Sequence[str]) -> StepLabels | None:
    """The labels of people on values of steps; None if there are none."""
    if not given:
        return None
    by_person: dict[tuple[str, VerdictKey], dict[str, Verdict]] = {}
    for each in given:
        key = (each.case_id, each.run, each.verdict.item)
        for model in models if each.model is None else (each.model,):
            by_person.setdefault((model, key), {})[each.verdict.by] = each.verdict
    found: dict[str, dict[VerdictKey, Verdict]] = {}
    for (model, key), verdicts in by_person.items():
        (verdict, *_) = verdicts.values()
        item = Item(verdict.metric, verdict.item)
        label = _settled(rules_for(item.metric), item, list(verdicts.values()))
        if label is not None:
            found.setdefault(model, {})[key] = label
    lines = sorted(msgspec.json.encode(each) for each in given)
    digest = hashlib.blake2b(b"\n".join(lines), digest_size=DIGEST_BYTES)
    return StepLabels(found, digest.hexdigest())


def labels_on(rules: VerdictRules, given: GivenVerdicts, model: str, run: int) -> Verdicts:
    """One label per item of a reply: the word of most people, else the strictest.

    An item on which everybody abstained has none.
    """
    found: dict[Item, Sequence[Verdict]] = {}
    for item, verdicts in given_verdicts_on(rules, given, model, run).items():
        by_person = {verdict.by: verdict for verdict in verdicts}
        label = _settled(rules, item, list(by_person.values()))
        if label is not None:
            found[item] = [label]
    return found


def _settled(rules: VerdictRules, item: Item, given: Sequence[Verdict]) -> Verdict | None:
    decided = [verdict for verdict in given if verdict.verdict != CANNOT_TELL]
    if len(decided) < 2:
        return decided[0] if decided else None
    words = rules.words_for(item.metric, item.item)
    rubric = rubric_library().rubric_for(Question(item.metric, item.item, "", "", words))
    if rubric is None or any(verdict.verdict is None for verdict in decided):
        return min(decided, key=lambda verdict: 0.0 if verdict.value is None else verdict.value)
    return decided[settle(rubric, [str(verdict.verdict) for verdict in decided]).place]


def is_judged(verdicts: Sequence[Verdict], *, asked_now: bool) -> bool:
    """Whether a judging model gave these verdicts: now, or in a file that names its signature."""
    return any(
        verdict.verdict is not None
        and not verdict.approximate
        and verdict.by != BY_CODE
        and (asked_now or _MODEL.search(verdict.by) is not None)
        for verdict in verdicts
    )
