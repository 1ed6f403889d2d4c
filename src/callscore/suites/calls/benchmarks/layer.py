"""The eleven benchmarks as the optional second layer of the calls suite."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from callscore.core.case import Case, Reply
from callscore.core.judging import Question, Verdicts
from callscore.core.measure import Measure
from callscore.core.strict_json import Parsed, read_object
from callscore.core.task import ItemCount
from callscore.suites.calls.benchmarks import measuring
from callscore.suites.calls.benchmarks.view import Subject
from callscore.suites.calls.benchmarks.words import criteria_of
from callscore.suites.calls.item_counts import count_benchmark_items
from callscore.suites.calls.spec import load


class CallBenchmarks:
    """Implements `core.suite.BenchmarkLayer`."""

    def __init__(self, parse: Literal["fenced", "strict"]) -> None:
        self._parse = parse
        self.tasks: Collection[str] = frozenset(task for task in load().tasks if criteria_of(task))

    def ask_case(self, case: Case) -> Sequence[Question]:
        """Questions about the case itself, independent of the replies        C-94"""
        return measuring.ask_of_case(case)

    def view(self, case: Case, reference: Any, output: Any, reply: Reply) -> Subject:
        """The reply with its reference and its JSON."""
        parsed = read_object(reply, self._parse)
        assert isinstance(parsed, Parsed)  # the task has parsed the same reply
        return Subject(case, reference, output, parsed.value)

    def ask(self, view: Subject) -> Sequence[Question]:
        """Questions about one reply, besides those of its task."""
        return measuring.ask(view)

    def measure(self, view: Subject, verdicts: Verdicts) -> Mapping[str, Measure]:
        """Every criterion of one reply except consistency        C-90"""
        return measuring.measure(view, verdicts)

    def malformed(self, case: Case) -> Mapping[str, Measure]:
        """A malformed reply scores 0 in every criterion        C-90"""
        return measuring.malformed(case)

    def count_items(self, case: Case) -> ItemCount:
        """The most items that a judge can be asked about for the criteria."""
        return count_benchmark_items(case)
