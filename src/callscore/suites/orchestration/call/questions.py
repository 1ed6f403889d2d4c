"""Questions about argument values that code cannot compare, and the verdicts on them (C-115)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from callscore.core.judging import Question, Verdict
from callscore.core.scenarios import GivenVerdict, StepVerdicts, VerdictKey
from callscore.core.task import SCENARIO
from callscore.core.verdict_rules import BY_CODE

METRIC = "orchestration.argument_value"
"""The metric of verdicts on argument values."""
JUDGED_ROWS = tuple(f"{SCENARIO}.{row}" for row in ("value", "success", "pass_k"))
"""The rows of scenarios that rest on these verdicts."""
SAME = "same"
DIFFERENT = "different"
OFFERED = (SAME, DIFFERENT, "cannot_tell")
"""The words that a judge may answer with."""


class VerdictSource(Protocol):
    """A source of verdicts on whether two argument values mean the same."""

    def verdict_on(self, case_id: str, run: int, question: Question) -> Verdict | None:
        """The verdict on this question, or None."""
        ...


class NoVerdicts:
    """A source without verdicts: neither a judge nor a file."""

    def verdict_on(self, case_id: str, run: int, question: Question) -> Verdict | None:
        """None."""
        return None


class RecordedVerdicts:
    """Verdicts from files or from a judge, by case, run and item."""

    def __init__(self, verdicts: Mapping[VerdictKey, Verdict]) -> None:
        self._verdicts = verdicts
        self._used: set[VerdictKey] = set()

    @property
    def unused(self) -> int:
        """Number of verdicts that no question has used so far."""
        return len(self._verdicts) - len(self._used)

    def verdict_on(self, case_id: str, run: int, question: Question) -> Verdict | None:
        """The verdict recorded for this item, if any."""
        key = (case_id, run, question.item)
        verdict = self._verdicts.get(key)
        if verdict is not None:
            self._used.add(key)
        return verdict


class VerdictChain:
    """Several sources in order; the first verdict counts."""

    def __init__(self, *sources: VerdictSource) -> None:
        self._sources = sources

    def verdict_on(self, case_id: str, run: int, question: Question) -> Verdict | None:
        """The verdict of the first source that has one."""
        found = (source.verdict_on(case_id, run, question) for source in self._sources)
        return next((verdict for verdict in found if verdict is not None), None)


class JudgedVerdicts:
    """A source that notes which questions a judge has decided."""

    def __init__(self, source: VerdictSource, judged: Collection[VerdictKey]) -> None:
        self._source = source
        self._by_judge = judged
        self.judged: dict[VerdictKey, None] = {}
        """The questions so far that a judge has decided."""

    def verdict_on(self, case_id: str, run: int, question: Question) -> Verdict | None:
        """The verdict of the source."""
        key = (case_id, run, question.item)
        if key in self._by_judge:
            self.judged[key] = None
        return self._source.verdict_on(case_id, run, question)


def same_meaning(item: str, predicted: str, expected: str) -> Question:
    """The question whether two values of one argument mean the same."""
    return Question(METRIC, item, text=predicted, reference=expected, offered=OFFERED)


def verdicts_from_files(
    verdicts: Sequence[GivenVerdict], model: str, lang: str
) -> RecordedVerdicts:
    """The verdicts from files on one model in one language; those without a model apply to all."""
    return RecordedVerdicts(
        {
            (each.case_id, each.run, each.verdict.item): each.verdict
            for each in verdicts
            if each.model in (None, model) and each.case_id.partition("/")[0] == lang
        }
    )


def judged_keys(
    verdicts: Sequence[GivenVerdict], model: str, judged: StepVerdicts | None
) -> frozenset[VerdictKey]:
    """The values that a judging model decides for one model, now or in a file        STATS §5"""
    found = {
        (each.case_id, each.run, each.verdict.item): each.judged
        for each in verdicts
        if each.model in (None, model)
    }
    for key, verdict in judged.verdicts.items() if judged is not None else ():
        found.setdefault(key, not verdict.approximate and verdict.by != BY_CODE)
    return frozenset(key for key, is_judged in found.items() if is_judged)


def verdict_source(verdicts: Sequence[GivenVerdict]) -> str:
    """The source of verdicts from files, as in the signature of a result (C-126)."""
    return "verdicts" if verdicts else "none"


def add_judge_verdicts(recorded: RecordedVerdicts, judged: StepVerdicts | None) -> VerdictSource:
    """The verdicts from files, then those of the judge."""
    return recorded if judged is None else VerdictChain(recorded, RecordedVerdicts(judged.verdicts))
