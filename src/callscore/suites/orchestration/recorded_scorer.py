"""Scores folders of recorded outputs, one per language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from callscore.core.case import Failed, Reply
from callscore.core.errors import DataError, UsageError
from callscore.core.languages import LANGUAGE, UNKNOWN_LANGUAGE, language_of
from callscore.core.scenarios import (
    GivenVerdict,
    Json,
    OnStep,
    OpenStep,
    RecordedFolder,
    RecordedOutputs,
    ScenarioFiles,
    ScenarioPart,
    ScenarioScore,
    ScenarioSinks,
    StepVerdicts,
)
from callscore.core.strict_json import recorded_calls
from callscore.core.version import __version__
from callscore.suites.orchestration import result as results
from callscore.suites.orchestration.call.questions import (
    NoVerdicts,
    VerdictSource,
    add_judge_verdicts,
    verdict_source,
    verdicts_from_files,
)
from callscore.suites.orchestration.compat.evaluation import decode_public, evaluate_file
from callscore.suites.orchestration.floors import ScenarioFloors
from callscore.suites.orchestration.replies import (
    ReplyTimes,
    ReplyUsage,
    times_of_runs,
    usage_by_scenario,
)
from callscore.suites.orchestration.result import LanguageResult, ResultMetadata
from callscore.suites.orchestration.rows import FailedRow
from callscore.suites.orchestration.scenario.cards import Cards
from callscore.suites.orchestration.scenario.data import (
    read_cards,
    recorded_steps,
    scenarios_hash,
    shown_path,
    sort_paths,
)
from callscore.suites.orchestration.scenario.model import RawStep
from callscore.suites.orchestration.scenario.output_file import (
    RecordedReply,
    RecordedSpent,
    ScenarioRecording,
    decode_output,
    read_recording,
)
from callscore.suites.orchestration.scenario.parse import ScenarioKey, interpret_steps
from callscore.suites.orchestration.scenario_tally import NO_COSTS, Costs
from callscore.suites.orchestration.standard_evaluation import (
    ScenarioEvaluation,
    evaluate_scenario,
    open_steps,
)
from callscore.suites.orchestration.step_views import recording_views
from callscore.suites.orchestration.twins import Outline, outline_of

_FOLDERS_WITHOUT_A_NAME = frozenset({"outputs", "output", "results", ""})
_SUFFIX = "_out.json"
EvaluateOne = Callable[[Any, str, str], Any]
"""A decoded file, its scenario and its path in results → its evaluation."""
_Gold = list[tuple[str, Sequence[RawStep] | None]]
"""The expected steps of every scenario; None if its file cannot be read."""


class _LanguageFolder(msgspec.Struct, frozen=True):
    """A folder of outputs in one language, with its model and cards."""

    folder: Path
    cards_folder: Path
    name: str
    model: str
    cards: Cards
    cards_hash: str


class RecordedScorer:
    """Scores the recorded replies of one model; raises if a folder or a card is unusable."""

    def __init__(
        self, recorded: RecordedOutputs, verdicts: Sequence[GivenVerdict], files: ScenarioFiles
    ) -> None:
        self._files = files
        self._mode = recorded.mode
        self._verdicts = verdicts
        self._folders: dict[str, _LanguageFolder] = {}
        for each in _language_folders(recorded, files):
            if each.name in self._folders:
                raise UsageError(
                    f"two folders of the language {each.name} and the model {each.model}; "
                    "expected one folder per model and language"
                )
            self._folders[each.name] = each
        self.parts = [ScenarioPart(each.model, each.name) for each in self._folders.values()]
        self.folders = [
            RecordedFolder(each.name, each.folder, each.cards_folder)
            for each in self._folders.values()
        ]

    def open_steps(self, part: ScenarioPart) -> Iterator[OpenStep]:
        """The open steps of every readable file; the others fail when they are scored."""
        language = self._folders[part.folder]
        verdicts = verdicts_from_files(self._verdicts, language.model, language.name)
        for path in sort_paths(self._files.output_files(language.folder)):
            scenario = path.name.removesuffix(_SUFFIX)
            with suppress(DataError):
                recording = read_recording(decode_output(self._files.read_whole(path)), scenario)
                key = ScenarioKey(language.name, scenario)
                yield from list(open_steps(recording, key, language.cards, verdicts))

    def scores(
        self, judged: Mapping[ScenarioPart, StepVerdicts], sinks: ScenarioSinks
    ) -> Mapping[str, ScenarioScore]:
        """The result over all languages, under the name of the first model."""
        scored = [
            self._score(self._folders[part.folder], judged.get(part), sinks.on_step)
            for part in self.parts
        ]
        results.emit_records(scored, sinks)
        return {self.parts[0].model: results.model_score(scored)}

    def _score(
        self, language: _LanguageFolder, judged: StepVerdicts | None, on_step: OnStep | None
    ) -> LanguageResult:
        recorded = verdicts_from_files(self._verdicts, language.model, language.name)
        verdicts: VerdictSource = add_judge_verdicts(recorded, judged)
        if self._mode == "compat" and not self._verdicts:
            verdicts = NoVerdicts()  # with a judge, the public evaluator orders values differently
        directory = shown_path(language.folder)
        found = sort_paths(self._files.output_files(language.folder))
        _refuse_duplicates(found)
        paths = [
            (f"{directory}/{path.relative_to(language.folder).as_posix()}", path) for path in found
        ]
        floors = ScenarioFloors(language.cards)
        spending = RecordedSpending()
        evaluate_one = _evaluator(
            language, verdicts, floors, spending, is_public=self._mode == "compat", on_step=on_step
        )
        evaluated, failed, gold = self._evaluate(paths, evaluate_one)
        if not evaluated:
            first = failed[0]
            raise DataError(f"{first.error} (the first of {len(failed)})", place=first.file_path)
        metadata = ResultMetadata(
            directory=directory,
            language=language.name,
            model=language.model,
            judge=verdict_source(self._verdicts),
            data=scenarios_hash(language.cards_hash, gold),
            version=__version__,
            usage=spending.usage(),
            asking_back=spending.asking_back,
        )
        metadata = results.add_judge(metadata, judged)
        if self._mode == "compat":
            scored = results.compat_result(metadata, evaluated, failed)
        else:
            costs = spending.costs()
            scored = results.standard_result(metadata, evaluated, failed, costs, floors.found())
            scored = msgspec.structs.replace(scored, times=spending.times())
        if len(self._folders) > 1:
            scored = msgspec.structs.replace(scored, outlines=_outlines(gold, language))
        return results.warn_of_unused_verdicts(scored, recorded)

    def _evaluate(
        self, paths: Sequence[tuple[str, Path]], evaluate_one: EvaluateOne
    ) -> tuple[list[Any], list[FailedRow], _Gold]:
        """The evaluated files, the files that could not be evaluated, and the expected steps."""
        decode = decode_public if self._mode == "compat" else decode_output
        gold: _Gold = []
        evaluated: list[Any] = []
        failed: list[FailedRow] = []
        for shown, path in paths:
            scenario = path.name.removesuffix(_SUFFIX)
            data = None
            try:
                data = decode(self._files.read_whole(path))
                evaluated.append(evaluate_one(data, scenario, shown))
            except DataError as error:
                failed.append(FailedRow(shown, error.problem, scenario))
            gold.append((scenario, recorded_steps(data, scenario)))
        return evaluated, failed, gold


def _outlines(gold: _Gold, language: _LanguageFolder) -> dict[str, Outline]:
    """By scenario, what the same scenario of another language has in common with it."""
    return {
        name: outline_of(interpret_steps(steps, ScenarioKey(language.name, name), language.cards))
        for name, steps in gold
        if steps is not None
    }


def _evaluator(
    language: _LanguageFolder,
    verdicts: VerdictSource,
    floors: ScenarioFloors,
    spending: RecordedSpending,
    *,
    is_public: bool,
    on_step: OnStep | None,
) -> EvaluateOne:
    if is_public:
        schemas = {name: tool.parameters for name, tool in language.cards.tools.items()}
        return lambda data, scenario, shown: evaluate_file(
            data, shown, schemas, verdicts, f"{language.name}/{scenario}"
        )

    def evaluate_one(data: Any, scenario: str, shown: str) -> ScenarioEvaluation:
        recording, key = read_recording(data, scenario), ScenarioKey(language.name, scenario)
        evaluated = evaluate_scenario(recording, key, language.cards, verdicts, shown)
        spending.add(scenario, recording)
        if recording.raw_steps:
            due = interpret_steps(recording.raw_steps[0], key, language.cards)
            floors.add(due)
            if on_step is not None:
                for view in recording_views(recording, due, language.model, evaluated.records):
                    on_step(view)
        return evaluated

    return evaluate_one


class RecordedSpending:
    """What the recorded replies took, by scenario; nothing if no file says it."""

    def __init__(self) -> None:
        self._runs: dict[str, list[list[Reply | Failed]]] = {}
        self._is_known = False
        self.asking_back = False
        """Whether a recording reads text that asks for something as AWAITING_USER_INPUT."""

    def add(self, scenario: str, recording: ScenarioRecording) -> None:
        """Add the replies of a scenario."""
        self.asking_back |= recording.asking_back
        runs = [[*run.plans.values(), *run.steps.values()] for run in recording.runs]
        self._is_known |= any(each.spent != RecordedSpent() for run in runs for each in run)
        self._runs[scenario] = [[recorded_reply(each) for each in run] for run in runs]

    def usage(self) -> Json | None:
        """Tokens and cost, in total and by scenario."""
        if not self._is_known:
            return None
        used = {name: ReplyUsage.of(chain(*runs)) for name, runs in self._runs.items()}
        return usage_by_scenario(used)

    def costs(self) -> Costs:
        """By scenario, what each run cost."""
        if not self._is_known:
            return NO_COSTS
        return {
            name: [ReplyUsage.of(run).cost_usd for run in runs] for name, runs in self._runs.items()
        }

    def times(self) -> ReplyTimes:
        """How long the replies took, by step and by run."""
        return sum((times_of_runs(runs) for runs in self._runs.values()), ReplyTimes())


def _refuse_duplicates(paths: Sequence[Path]) -> None:
    """Raise if two files are outputs of one scenario, as of two languages in one folder."""
    seen: dict[str, Path] = {}
    for path in paths:
        if path.name in seen:
            raise UsageError(
                f"{path} and {seen[path.name]} are outputs of one scenario; "
                "expected one folder per model and language"
            )
        seen[path.name] = path


def _pair_folders(recorded: RecordedOutputs) -> list[tuple[Path, Path]]:
    """Pair outputs with cards: one folder for all, or by language if paths name it, or in order."""
    outputs, cards = recorded.outputs, recorded.cards
    if len(cards) == 1:
        return [(folder, cards[0]) for folder in outputs]
    if len(cards) != len(outputs):
        raise UsageError(
            f"{len(cards)} card folders for {len(outputs)} output folders; "
            "expected one, or one for each"
        )
    by_language = {language_of(folder): folder for folder in cards}
    if {language_of(folder) for folder in outputs} == set(by_language):
        return [(folder, by_language[language_of(folder)]) for folder in outputs]
    return list(zip(outputs, cards, strict=True))


def _language_folders(recorded: RecordedOutputs, files: ScenarioFiles) -> list[_LanguageFolder]:
    pairs = _pair_folders(recorded)
    if len(recorded.languages) not in (0, 1, len(pairs)):
        raise UsageError(
            f"{len(recorded.languages)} languages for {len(pairs)} output folders; "
            "expected one for all, or one for each"
        )
    for given in recorded.languages:
        if not LANGUAGE.fullmatch(given):
            raise UsageError(f"{given!r}; expected a language tag such as EN or pt-BR")
    shared = len(recorded.cards) < len(recorded.outputs)
    names = list(recorded.languages) * (len(pairs) if len(recorded.languages) == 1 else 1)
    found = []
    for index, (folder, cards) in enumerate(pairs):
        known, digest = read_cards(cards, files)
        name = names[index] if names else _language_name(folder, cards, shared=shared)
        found.append(
            _LanguageFolder(
                folder, cards, name, recorded.model or _model_name(folder), known, digest
            )
        )
    return found


def split_by_model(recorded: RecordedOutputs, files: ScenarioFiles) -> list[RecordedOutputs]:
    """The outputs of each model, if folders of one language are those of several models."""
    folders = _language_folders(recorded, files)
    names = {folder.name for folder in folders}
    if recorded.model or len(names) == len(folders):
        return [recorded]
    by_model: dict[str, list[_LanguageFolder]] = {}
    for folder in folders:
        by_model.setdefault(folder.model, []).append(folder)
    for model, own in by_model.items():
        if {folder.name for folder in own} != names:
            raise UsageError(
                f"{model} has outputs in {', '.join(folder.name for folder in own)} only; "
                f"expected the same languages of every model: {', '.join(sorted(names))}"
            )
    return [
        msgspec.structs.replace(
            recorded,
            outputs=[folder.folder for folder in own],
            cards=[folder.cards_folder for folder in own],
            languages=() if UNKNOWN_LANGUAGE in names else [folder.name for folder in own],
        )
        for own in by_model.values()
    ]


def _language_name(folder: Path, cards: Path, *, shared: bool) -> str:
    """The language in the path of the cards, else of the outputs; reversed if cards are shared."""
    paths = (folder, cards) if shared else (cards, folder)
    named = (name for name in map(language_of, paths) if name != UNKNOWN_LANGUAGE)
    return next(named, UNKNOWN_LANGUAGE)


def _model_name(folder: Path) -> str:
    parts = reversed(folder.resolve().parts)
    names = (part for part in parts if not LANGUAGE.fullmatch(part))
    return next((name for name in names if name not in _FOLDERS_WITHOUT_A_NAME), "model")


def read_outputs(raw: bytes, name: str) -> Mapping[tuple[int, int], Reply | Failed]:
    """The replies in a file of recorded outputs, by run and step; raises DataError."""
    recording = read_recording(decode_output(raw), name)
    return {
        (run.number, step): recorded_reply(answer)
        for run in recording.runs
        for step, answer in {**run.plans, **run.steps}.items()
    }


def recorded_reply(answer: RecordedReply) -> Reply | Failed:
    """The reply as one of a model; a recorded error stays a failure."""
    if answer.error:
        return Failed("model", answer.error)
    content = answer.content
    if content is None:
        text = ""
    else:
        text = content if isinstance(content, str) else msgspec.json.encode(content).decode()
    spent = answer.spent
    return Reply(
        text,
        input_tokens=spent.usage.input_tokens,
        output_tokens=spent.usage.output_tokens,
        cost_usd=spent.cost_usd,
        tool_calls=recorded_calls(answer.tool_calls),
        latency_ms=spent.latency_ms,
    )
