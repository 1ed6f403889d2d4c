"""The calls or scenarios of a run in the seeded order of a race (STATS §4.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from callscore.config.score import ScoreConfig
from callscore.core.errors import UsageError
from callscore.core.scenarios import scenario_of_step
from callscore.core.task import SCENARIO
from callscore.runner.cases import CaseFiles, CasePrompt, ScenarioSteps
from callscore.runner.prepare import PreparedRun
from callscore.runner.race_observations import ReferenceItems
from callscore.scorecard.final import FinalWeights
from callscore.stats.blocks import Population, TaskSet, make_schedule
from callscore.store.files import LinesByKey


class RacePool:
    """The calls of a run in the seeded order of a race."""

    def __init__(self, prepared: PreparedRun) -> None:
        config = prepared.config
        self.prepared = prepared
        self.about: Population = "future" if config.race.about == "future" else "pool"
        self._lines = LinesByKey(config.cases)
        self.reference_items = ReferenceItems(config.scoring.catalog)
        self._call_numbers: dict[str, int] = {}
        self._steps: dict[str, list[CasePrompt]] = {}
        """The steps of every scenario, if the race is about scenarios."""
        tasks = self._index_scenarios() if self.has_scenarios else self._index_calls()
        weights = self._final_weights(config.scoring, set(chain.from_iterable(tasks.values())))
        task_sets = {
            call: task_set
            for call, of_call in tasks.items()
            if (task_set := self._task_set(of_call, weights))
        }
        if not task_sets:
            raise UsageError("race: no case has a task with a weight in the Final Score")
        self.schedule = make_schedule(task_sets, weights, config.race.seed, self.about)
        if not self.schedule.blocks:
            raise UsageError(
                "race: about: future needs calls that have every task, or calls of each task; "
                "expected `about: pool`, or other data"
            )

    @property
    def has_scenarios(self) -> bool:
        """Whether scenarios are drawn instead of calls."""
        return self.prepared.scenarios is not None

    @property
    def _files(self) -> CaseFiles:
        assert self.prepared.case_files is not None  # `prepare` refuses a race without data
        return self.prepared.case_files

    def _index_scenarios(self) -> dict[str, list[str]]:
        """Collect the steps of every scenario; returns one task per language of each."""
        assert self.prepared.scenarios is not None
        languages: dict[str, dict[str, None]] = {}
        for prompt in ScenarioSteps(self.prepared.scenarios).stream():
            scenario = scenario_of_step(prompt.case.id)
            self._steps.setdefault(scenario, []).append(prompt)
            languages.setdefault(scenario, {})[prompt.case.id.partition("/")[0]] = None
        return {scenario: [SCENARIO] * len(langs) for scenario, langs in languages.items()}

    def _index_calls(self) -> dict[str, list[str]]:
        """Index the lines of every call; returns the tasks of each."""
        tasks: dict[str, list[str]] = {}
        for prompt in self._files.stream():
            case = prompt.case
            assert prompt.indexed is not None  # of a case file
            call = f"case/{case.id}" if case.call_id is None else f"call/{case.call_id}"
            number = self._call_numbers.setdefault(call, len(self._call_numbers))
            self._lines.add(number, prompt.indexed.line)
            self.reference_items.add(call, prompt.indexed.loaded)
            tasks.setdefault(call, []).append(case.task)
        return tasks

    def _task_set(self, tasks: Sequence[str], weights: Mapping[str, float]) -> TaskSet:
        """The tasks of a call that have a weight; for future calls, each only once."""
        counted = [task for task in tasks if weights.get(task)]
        return tuple(sorted(set(counted) if self.about == "future" else counted))

    def _final_weights(self, scoring: ScoreConfig, ran: Collection[str]) -> Mapping[str, float]:
        """The weights of the tasks in the Final Score, without the benchmarks."""
        rule = FinalWeights(
            spec=scoring.catalog.spec_with(ran),
            settings=scoring.checked_settings(),
            tasks=ran if self.has_scenarios else self._files.tasks,
            custom={} if self.has_scenarios else scoring.weights,
        )
        return rule.of("b")

    def cases(self, call: str) -> list[CasePrompt]:
        """The cases of one call, or the steps of one scenario."""
        if self.has_scenarios:
            return self._steps[call]
        lines = self._lines.lines(self._call_numbers[call])
        prompts = map(self._files.read, lines)
        return [prompt for prompt in prompts if prompt.case.task in self.schedule.weights]
