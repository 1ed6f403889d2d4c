"""The calls suite: document 003, Call Intelligence."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import Any

from callscore.core.spec import ScoreSettings, Spec
from callscore.core.suite import DataNames, no_data_names
from callscore.core.task import Task
from callscore.core.verdict_rules import VerdictRules
from callscore.scorecard.spec_suite import SpecSuite
from callscore.suites.calls import spec
from callscore.suites.calls.prompt import emotion_names


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
