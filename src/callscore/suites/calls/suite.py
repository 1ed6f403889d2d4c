"""The calls suite: document 003, Call Intelligence."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from callscore.core.scorecard import ModelScore
from callscore.core.spec import ScoreSettings, Spec
from callscore.core.suite import BenchmarkLayer, DataNames, Floors, RecordPart, no_data_names
from callscore.core.task import Task
from callscore.core.verdict_rules import VerdictRules
from callscore.scorecard.suite import SpecSuite
from callscore.suites.calls import spec
from callscore.suites.calls.prompt import emotion_names

if TYPE_CHECKING:
    from callscore.core.labelling import Labelling


class CallsSuite(SpecSuite):
    """Read a call: score a form, detect entities, label, summarise, translate."""

    name = "calls"
    title = "Call Intelligence"
    spec_file = spec.FILE
    settings_type = spec.Settings

    @cached_property
    def spec(self) -> Spec:
        """The specification, shared by the tasks."""
        return spec.load_spec()

    @cached_property
    def verdict_rules(self) -> VerdictRules:
        """The verdict words of document 003 and of the benchmarks."""
        from callscore.suites.calls.verdict_rules import RULES

        return RULES

    def task(
        self, name: str, settings: ScoreSettings, names: DataNames = no_data_names
    ) -> Task[Any, Any]:
        """One of the four tasks of document 003, imported when the first case names it."""
        assert isinstance(settings, spec.Settings)  # created by `settings`
        if name == "qa":
            from callscore.suites.calls.qa.task import QATask

            return QATask(settings)
        if name == "entity":
            from callscore.suites.calls.entity.task import EntityTask

            return EntityTask(settings)
        if name == "text":
            from callscore.suites.calls.text.task import TextTask

            return TextTask(settings, names)
        from callscore.suites.calls.translation.task import TranslationTask

        return TranslationTask(settings)

    def names_in(self, line: bytes) -> Collection[str]:
        """The emotions that the reference on a line names        C-130"""
        return emotion_names(line)

    def labelling(self, task: str) -> Labelling:
        """Label sheets of the four tasks."""
        from callscore.suites.calls.labelling import LABELLINGS

        return LABELLINGS[task]

    def benchmarks(self, settings: ScoreSettings) -> BenchmarkLayer | None:
        """The eleven benchmarks."""
        from callscore.suites.calls.benchmarks.layer import CallBenchmarks

        assert isinstance(settings, spec.Settings)  # created by `settings`
        return CallBenchmarks(settings)

    def floors(self, settings: ScoreSettings, cases: int) -> Floors:
        """Scores of trivial answers        C-135"""
        from callscore.suites.calls.floors.tally import CallFloors

        assert isinstance(settings, spec.Settings)  # created by `settings`
        return CallFloors(settings, cases)

    def record_part(self, slug: str, task: str) -> RecordPart:
        """The part of the reply that a metric or a benchmark is about."""
        from callscore.suites.calls.record_parts import part_of

        return part_of(slug, task)

    def notes(
        self, models: Sequence[ModelScore], tallies: Mapping[str, Mapping[str, Any]]
    ) -> Sequence[str]:
        """Notes if the data cannot show a false pass        C-135"""
        from callscore.suites.calls.floors.tally import undemonstrated_notes

        return undemonstrated_notes(models, tallies)
