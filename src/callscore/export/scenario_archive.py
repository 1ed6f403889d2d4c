"""The scenarios of a run in a dossier: what their scores follow from, written and scored again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from callscore.config.file import OFFLINE
from callscore.core.case import Failed, Reply, ToolCall
from callscore.core.errors import DataError
from callscore.core.judging import Verdict
from callscore.core.languages import LANGUAGE, UNKNOWN_LANGUAGE, language_of
from callscore.core.scenarios import (
    GivenVerdict,
    OutputsScorer,
    RecordedFolder,
    RecordedOutputs,
    RunData,
    ScenarioData,
    ScenarioFiles,
    ScenarioPart,
    ScenarioSettings,
    ScenarioSinks,
    StepVerdicts,
)
from callscore.core.strict_json import DECODE_ERRORS
from callscore.evaluate.labels import is_judged, settle_step_labels
from callscore.evaluate.model_identity import ModelIdentities
from callscore.evaluate.scenarios import (
    OutputsJob,
    VerdictsByPart,
    read_step_labels,
    read_step_verdicts,
    scenario_tallies,
)
from callscore.evaluate.scoring_pass import ScoringResult
from callscore.export.dossier_file import decoded_lines
from callscore.report.dossier import SCENARIOS, STEP_OUTPUTS, STEP_VERDICTS
from callscore.report.source import NO_ARCHIVE, ScenarioArchive
from callscore.runner.cases import ids_of_calls
from callscore.runner.prepare import PreparedRun
from callscore.store.files import LinesByKey, lines_of
from callscore.store.scenario_files import SCENARIO_FILES
from callscore.suites.registry import scenario_suite

ROOT = Path("/dossier/scenarios")
"""The folder of the archived files in messages and results; nothing is on disk there."""


class ArchivedFile(msgspec.Struct, frozen=True):
    """A file of a folder of scenarios: a scenario, recorded outputs, a card, or own prompts."""

    kind: str
    part: int
    """The number of its folder among those of the run."""
    lang: str
    name: str
    text: str


class ArchivedJudge(msgspec.Struct, frozen=True):
    """The judge of one model in one language, and what judging took."""

    model: str
    lang: str
    judge: str
    judging: Mapping[str, Any]


class ArchiveSettings(msgspec.Struct, frozen=True):
    """How the scenarios were asked, judged and scored."""

    settings: ScenarioSettings
    repeats: int
    judges: Sequence[ArchivedJudge] = ()
    recorded: str = ""
    """The model of recorded outputs, which are archived as they are; empty for a run."""


class ArchivedVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """A verdict on a value of a step, of a file or of the judge."""

    case_id: str
    run: int
    verdict: Verdict
    model: str | None = None
    judged: bool = False
    label: bool = False
    """Whether it corrects a verdict of a judge (STATS §5)."""


class AskedModel(msgspec.Struct, frozen=True):
    """A model of the run."""

    name: str
    provider: str = ""
    model: str = ""


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _StepOutput(msgspec.Struct, frozen=True):
    case_id: str
    model: str
    run: int
    output: str = ""
    tool_calls: Sequence[ToolCall] = ()
    usage: _Usage = _Usage()
    cost_usd: float | None = None
    finish_reason: str | None = None
    answered_by: str | None = None
    latency_ms: float | None = None
    error: str | None = None

    def reply(self) -> Reply | Failed:
        """The reply, or why there is none."""
        if self.error is not None:
            return Failed("model", self.error)
        return Reply(
            self.output,
            self.finish_reason,
            self.usage.input_tokens,
            self.usage.output_tokens,
            self.cost_usd,
            self.tool_calls,
            self.answered_by,
            latency_ms=self.latency_ms,
        )


def archive_scenarios(prepared: PreparedRun, judged: VerdictsByPart) -> ScenarioArchive:
    """The scenarios of a run and the verdicts on them."""
    config = prepared.config
    if not config.scenarios:
        return NO_ARCHIVE
    # The free run of `history: own` has no score, and its replies are in no report.
    settings = msgspec.structs.replace(config.scenario_settings, history="gold", prompts=None)
    judges = _judges(judged, lambda part: language_of(Path(part.folder)))
    return ScenarioArchive(
        msgspec.to_builtins(ArchiveSettings(settings, config.repeats, judges)),
        lambda: map(msgspec.to_builtins, _files_of(prepared)),
        lambda: map(msgspec.to_builtins, _verdicts_of_run(prepared, judged)),
    )


def archive_outputs(
    job: OutputsJob, scorer: OutputsScorer, judged: VerdictsByPart
) -> ScenarioArchive:
    """Recorded outputs with their cards, and the verdicts on them."""
    settings = ScenarioSettings(mode=job.recorded.mode)
    judges = _judges(judged, lambda part: part.folder)
    archived = ArchiveSettings(settings, 1, judges, scorer.parts[0].model)
    return ScenarioArchive(
        msgspec.to_builtins(archived),
        lambda: map(msgspec.to_builtins, _files_in(scorer.folders)),
        lambda: map(msgspec.to_builtins, _verdicts(job.verdicts, judged)),
    )


def _judges(
    judged: VerdictsByPart, language: Callable[[ScenarioPart], str]
) -> Sequence[ArchivedJudge]:
    return [
        ArchivedJudge(part.model, language(part), found.judge, found.judging)
        for part, found in judged.items()
    ]


def _verdicts(paths: Sequence[Path], judged: VerdictsByPart) -> Iterator[ArchivedVerdict]:
    for given in read_step_verdicts(paths):
        yield ArchivedVerdict(given.case_id, given.run, given.verdict, given.model)
    for part, found in judged.items():
        for (case_id, run, _), verdict in found.verdicts.items():
            yield ArchivedVerdict(case_id, run, verdict, part.model, judged=True)


def _verdicts_of_run(prepared: PreparedRun, judged: VerdictsByPart) -> Iterator[ArchivedVerdict]:
    scoring = prepared.config.scoring
    yield from _verdicts(scoring.verdicts, judged)
    for given in read_step_labels(scoring.labels, ids_of_calls(prepared.sources)):
        yield ArchivedVerdict(given.case_id, given.run, given.verdict, given.model, label=True)


def _files_in(folders: Sequence[RecordedFolder]) -> Iterator[ArchivedFile]:
    for number, folder in enumerate(folders):
        for kind, paths in (
            ("cards", SCENARIO_FILES.card_files(folder.cards)),
            ("outputs", SCENARIO_FILES.output_files(folder.outputs)),
        ):
            for path in paths:
                try:
                    text = SCENARIO_FILES.read_whole(path).decode()
                except UnicodeDecodeError:
                    raise DataError("is not UTF-8, as a dossier is", place=str(path)) from None
                yield ArchivedFile(kind, number, folder.lang, path.name, text)


def _files_of(prepared: PreparedRun) -> Iterator[ArchivedFile]:
    config, read = prepared.config, SCENARIO_FILES.read_text
    for part, data in enumerate(config.scenarios):
        lang = language_of(data.scenarios)
        for kind, paths in (
            ("cards", SCENARIO_FILES.card_files(data.cards)),
            ("scenarios", SCENARIO_FILES.scenario_files(data.scenarios)[: prepared.options.limit]),
        ):
            for path in paths:
                yield ArchivedFile(kind, part, lang, path.name, read(path))
    prompts = config.scenario_settings.prompts
    if prompts is not None:
        yield ArchivedFile("prompts", 0, "", prompts.name, read(prompts))


class ArchivedScenarios:
    """Scores the scenarios of a dossier again; raises DataError if that is not possible."""

    def __init__(
        self, path: Callable[[str], Path], settings: ArchiveSettings, models: Sequence[AskedModel]
    ) -> None:
        """`path`: the unpacked file of a name."""
        self._settings = settings
        self._models = models
        self._texts: dict[Path, str] = {}
        self._folders: dict[str, ScenarioData] = {}
        self._prompts: Path | None = None
        for found in decoded_lines([path(SCENARIOS)], ArchivedFile):
            self._add(found)
        self._verdicts = list(decoded_lines([path(STEP_VERDICTS)], ArchivedVerdict))
        self._outputs = LinesByKey([path(STEP_OUTPUTS)])
        self._positions: dict[tuple[str, str], int] = {}
        for line in lines_of([path(STEP_OUTPUTS)]):
            output = _decode(line.raw, _StepOutput, STEP_OUTPUTS)
            key = self._positions.setdefault((output.model, output.case_id), len(self._positions))
            self._outputs.add(key, line)

    def _add(self, found: ArchivedFile) -> None:
        """Keep a file under a path of its own, which is never opened."""
        lang = found.lang if LANGUAGE.fullmatch(found.lang) else UNKNOWN_LANGUAGE
        place = ROOT / str(found.part)
        if lang != UNKNOWN_LANGUAGE:
            place /= lang
        if found.kind == "prompts":
            self._prompts = place / Path(found.name).name
            self._texts[self._prompts] = found.text
            return
        self._folders.setdefault(lang, ScenarioData(place, place / "multiagent_cards"))
        folder = place / "multiagent_cards" if found.kind == "cards" else place
        self._texts[folder / Path(found.name).name] = found.text

    def close(self) -> None:
        """Close the file of outputs."""
        self._outputs.close()

    def result(self, sinks: ScenarioSinks) -> ScoringResult:
        """The tallies of all models, from files, replies and verdicts."""
        settings = msgspec.structs.replace(self._settings.settings, prompts=self._prompts)
        files = ScenarioFiles(self._in, self._in, self._in, self._bytes, self._texts.__getitem__)
        given, by_people = (
            [
                GivenVerdict(
                    each.case_id, each.run, each.model, each.verdict,
                    is_judged([each.verdict], asked_now=False),
                )
                for each in self._verdicts
                if not each.judged and each.label == is_label
            ]
            for is_label in (False, True)
        )  # fmt: skip
        if self._settings.recorded:
            outputs = RecordedOutputs(
                [each.scenarios for each in self._folders.values()],
                [each.cards for each in self._folders.values()],
                settings.mode,
                self._settings.recorded,
            )
            scorer = scenario_suite().open_outputs(outputs, given, files)
            return scenario_tallies(scorer.scores(self._judged(), sinks))
        cases = scenario_suite().open_cases([*self._folders.values()], settings, None, files)
        cases.survey()
        online = [model for model in self._models if model.provider not in OFFLINE]
        names = ModelIdentities({model.name: model.model for model in online})

        def stored(model: str, case_id: str) -> Mapping[int, Reply | Failed]:
            position = self._positions.get((model, case_id))
            found = {} if position is None else self._replies(position)
            for reply in found.values():
                if isinstance(reply, Reply):
                    names.count(model, reply.model, reply.asked_as)
            return found

        labels = settle_step_labels(by_people, [model.name for model in self._models])
        data = RunData(
            [model.name for model in self._models],
            stored,
            self._settings.repeats,
            given,
            names,
            lambda model: (),
            lambda model: model,
            {model.name: model.provider for model in self._models if model.provider in OFFLINE},
            {} if labels is None else labels.by_model,
        )
        return scenario_tallies(cases.scorer(data).scores(self._judged(), sinks), labels)

    def _judged(self) -> VerdictsByPart:
        by_part: dict[tuple[str, str], dict[tuple[str, int, str], Verdict]] = {}
        for each in self._verdicts:
            if each.judged and each.model is not None:
                lang = each.case_id.partition("/")[0]
                of_part = by_part.setdefault((each.model, lang), {})
                of_part[each.case_id, each.run, each.verdict.item] = each.verdict
        return {
            ScenarioPart(judge.model, self._folder_of(judge)): StepVerdicts(
                by_part.get((judge.model, judge.lang), {}), judge.judge, judge.judging
            )
            for judge in self._settings.judges
            if judge.lang in self._folders
        }

    def _folder_of(self, judge: ArchivedJudge) -> str:
        """The folder of a part; recorded outputs are named by their language."""
        if self._settings.recorded:
            return judge.lang
        return str(self._folders[judge.lang].scenarios)

    def _replies(self, position: int) -> dict[int, Reply | Failed]:
        outputs = [
            _decode(line.raw, _StepOutput, STEP_OUTPUTS) for line in self._outputs.lines(position)
        ]
        return {output.run: output.reply() for output in outputs}

    def _in(self, folder: Path) -> list[Path]:
        return sorted(path for path in self._texts if path.parent == folder)

    def _bytes(self, path: Path) -> bytes:
        return self._texts[path].encode()


def _decode(raw: bytes, kind: type[Any], name: str) -> Any:
    try:
        return msgspec.json.decode(raw, type=kind)
    except DECODE_ERRORS as error:
        raise DataError(
            f"{error}; expected a line that `callscore report` wrote", place=name
        ) from None
