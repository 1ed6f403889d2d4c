"""The scenarios of document 001 as a `ScenarioSuite` of `core.scenarios`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.errors import DataError
from callscore.core.scenarios import (
    GivenVerdict,
    Json,
    PublicProtocol,
    RecordedOutputs,
    ScenarioCheck,
    ScenarioData,
    ScenarioFiles,
    ScenarioScore,
    ScenarioSettings,
)
from callscore.suites.orchestration.call.questions import METRIC, OFFERED
from callscore.suites.orchestration.floors import STRATEGY
from callscore.suites.orchestration.recorded_scorer import (
    RecordedScorer,
    read_outputs,
    split_by_model,
)
from callscore.suites.orchestration.result import HEADLINES
from callscore.suites.orchestration.run_scorer import RunScenarios
from callscore.suites.orchestration.scenario.data import (
    ScenarioSet,
    check_scenarios,
    select_protocol,
)
from callscore.suites.orchestration.spec import spec
from callscore.suites.orchestration.step_record import name_kinds, rows_left_out

_SCHEMA = Path(__file__).with_name("scenario") / "scenario.schema.json"


class OrchestrationScenarios:
    """Implements `core.scenarios.ScenarioSuite`."""

    verdict_metric = METRIC
    verdict_words: Sequence[str] = OFFERED
    floor_strategy = STRATEGY
    headlines: Mapping[str, str] = HEADLINES

    def narrow(self, kinds: Collection[str]) -> tuple[Sequence[str], str]:
        """The rows of the Final Score that scenarios of these kinds do not have        C-142"""
        return rows_left_out(kinds), name_kinds(kinds)

    @property
    def public_protocol(self) -> PublicProtocol:
        """The settings of the public runner (C-133)."""
        return spec().public_protocol

    def open_cases(
        self,
        data: Sequence[ScenarioData],
        settings: ScenarioSettings,
        limit: int | None,
        files: ScenarioFiles,
    ) -> RunScenarios:
        """The scenarios of a run; raises DataError if folders or prompts cannot be used."""
        protocol = select_protocol(settings, files)
        sets: dict[str, ScenarioSet] = {}
        for folders in data:
            scenario_set = ScenarioSet(folders, files, limit, protocol)
            if scenario_set.lang in sets:
                raise DataError(
                    f"{sets[scenario_set.lang].folder} and {scenario_set.folder} are both of the "
                    f"language {scenario_set.lang}; expected one folder of scenarios per language"
                )
            sets[scenario_set.lang] = scenario_set
        return RunScenarios([*sets.values()], settings)

    def open_outputs(
        self,
        recorded: RecordedOutputs,
        verdicts: Sequence[GivenVerdict],
        files: ScenarioFiles,
    ) -> RecordedScorer:
        """The scorer of recorded outputs; raises DataError or UsageError if they are unusable."""
        return RecordedScorer(recorded, verdicts, files)

    def split_by_model(
        self, recorded: RecordedOutputs, files: ScenarioFiles
    ) -> Sequence[RecordedOutputs]:
        """The outputs of each model; raises DataError or UsageError if they are unusable."""
        return split_by_model(recorded, files)

    def check(
        self, folders: Sequence[Path], cards: Sequence[Path], files: ScenarioFiles
    ) -> ScenarioCheck:
        """Read every scenario like a run, without stopping at the first problem."""
        return check_scenarios(folders, cards, files)

    def scenario_schema(self) -> Json:
        """The JSON schema of scenario files."""
        schema: Json = msgspec.json.decode(_SCHEMA.read_bytes())
        return schema

    def read_result(self, document: Json) -> tuple[str, ScenarioScore]:
        """The model of a result file (document 001), and its scenarios; raises DataError."""
        from callscore.suites.orchestration.result_reader import read_result

        return read_result(document)

    def read_outputs(self, raw: bytes, name: str) -> Mapping[tuple[int, int], Reply | Failed]:
        """The replies in a file of recorded outputs, by run and step; raises DataError."""
        return read_outputs(raw, name)
