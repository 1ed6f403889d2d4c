"""The calls or scenarios of a source in the seeded order of a race (STATS §4.1)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain

from callscore.config.score import ScoreConfig
from callscore.core.errors import UsageError
from callscore.runner.cases import CasePrompt, CaseSource
from callscore.runner.prepare import PreparedRun
from callscore.runner.race_observations import ReferenceItems
from callscore.scorecard.final import FinalWeights
from callscore.stats.race_schedule import Population, TaskSet, make_schedule


class RacePool:
    """The calls of one source in the seeded order of a race."""

    def __init__(self, prepared: PreparedRun, source: CaseSource) -> None:
        config = prepared.config
        self.source = source
        self.about: Population = "future" if config.race.about == "future" else "pool"
        self.reference_items = ReferenceItems(config.scoring.catalog)
        self._calls = source.index_calls(self.reference_items.add)
        tasks = self._calls.tasks
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

    def _task_set(self, tasks: Sequence[str], weights: Mapping[str, float]) -> TaskSet:
        """The tasks of a call that have a weight; for future calls, each only once."""
        counted = [task for task in tasks if weights.get(task)]
        return tuple(sorted(set(counted) if self.about == "future" else counted))

    def _final_weights(self, scoring: ScoreConfig, ran: Collection[str]) -> Mapping[str, float]:
        """The weights of the tasks in the Final Score, without the benchmarks."""
        rule = FinalWeights(
            spec=scoring.catalog.spec_with(ran),
            settings=scoring.checked_settings(),
            tasks=self.source.tasks,
            custom=self.source.weights(scoring.weights),
        )
        return rule.of("b")

    def cases(self, call: str) -> list[CasePrompt]:
        """The cases of one call, or the steps of one scenario, of the tasks that count."""
        cases = self._calls.cases(call)
        return [prompt for prompt in cases if prompt.case.task in self.schedule.weights]

    def requests(self, calls: Sequence[str]) -> int:
        """How many requests some calls are, per repeat."""
        tasks = self._calls.tasks
        return sum(task in self.schedule.weights for call in calls for task in tasks[call])

    def close(self) -> None:
        """Close the files."""
        self._calls.close()
