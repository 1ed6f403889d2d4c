"""The orchestration suite, wired: folders in, outcomes or a data report out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from callscore.core.errors import DataError, UsageError
from callscore.core.ports import Judge
from callscore.core.run import ModelSpec
from callscore.core.version import __version__
from callscore.evaluate.step_verdicts import StepVerdicts, read_step_verdicts, with_unused
from callscore.store.orchestration_files import (
    card_files,
    output_files,
    read_text,
    read_whole,
    scenario_files,
)
from callscore.suites.orchestration import result as outcomes
from callscore.suites.orchestration.call.questions import Answers, Unanswered
from callscore.suites.orchestration.compat.evaluation import decode_public, evaluate_file
from callscore.suites.orchestration.identity import (
    canonical_hash,
    recorded_steps,
    scenarios_hash,
)
from callscore.suites.orchestration.result import About, LanguageResult, Mode
from callscore.suites.orchestration.result_format import natural_order
from callscore.suites.orchestration.rows import FailedRow
from callscore.suites.orchestration.scenario.cards import Cards, collect, read_card
from callscore.suites.orchestration.scenario.reading import Place, read_scenario
from callscore.suites.orchestration.scenario.recording import decode_file, read_recording
from callscore.suites.orchestration.scenario.values import Finding, RawStep, Scenario
from callscore.suites.orchestration.standard import OpenStep, evaluate, open_steps

if TYPE_CHECKING:
    from callscore.evaluate.judging import JudgeRunner
    from callscore.evaluate.step_judging import JudgedSteps

UNKNOWN_LANGUAGE = "und"
_LANGUAGE = re.compile(r"[A-Za-z]{2}(?:-[A-Za-z]{2,4})?")
_FOLDERS_WITHOUT_A_NAME = frozenset({"outputs", "output", "results", ""})
_SUFFIX = "_out.json"


class OrchestrationJob(msgspec.Struct, frozen=True):
    """What to score: one folder of outputs a language, and the cards of each."""

    outputs: tuple[Path, ...]
    cards: tuple[Path, ...]
    mode: Mode = "standard"
    verdicts: tuple[Path, ...] = ()
    model: str = ""
    judge: str | Judge | tuple[ModelSpec, ...] = "none"
    """Who compares the values that code cannot: as in ScoreConfig."""
    store: Path | None = None
    save_verdicts: Path | None = None
    records: Path | None = None
    languages: tuple[str, ...] = ()
    """Of the folders of outputs, one each or one for all; else taken from paths."""

    @property
    def files(self) -> list[Path]:
        """Every file that is read: it must not be written over."""
        folders = (*self.outputs, *self.cards)
        return [*self.verdicts, *(path for folder in folders for path in folder.glob("*.json"))]


class ScenarioCheck(msgspec.Struct, frozen=True):
    """What a look at scenario files found."""

    scenarios: int
    plan_steps: int
    agent_steps: int
    findings: tuple[Finding, ...]
    problems: tuple[DataError, ...]


class _Language(msgspec.Struct, frozen=True):
    """One folder of outputs with what belongs to it."""

    folder: Path
    name: str
    model: str
    cards: Cards
    cards_hash: str


def score_orchestration(job: OrchestrationJob) -> tuple[LanguageResult, ...]:
    """Score every folder of the job; raises where a folder, a card or a verdict is unusable."""
    languages = _languages(job)
    names = [language.name for language in languages]
    if len(set(names)) < len(names):
        raise UsageError(
            f"two folders of the language {names[0]}; expected one folder a language, "
            "and one model at a time"
        )
    given = read_step_verdicts(job.verdicts)
    judged = _judged(job, languages, given)
    scored = tuple(
        _score(job, language, given, judged.get(language.name)) for language in languages
    )
    if job.records is not None:
        _save_records(job.records, scored)
    return scored


def _save_records(path: Path, scored: Sequence[LanguageResult]) -> None:
    from callscore.app import line_writer
    from callscore.suites.orchestration.metric_records import metric_records

    with line_writer(path) as write:
        for outcome in scored:
            for step in outcome.records:
                for record in metric_records(step, outcome.about.model):
                    write(record)


def _judged(
    job: OrchestrationJob, languages: Sequence[_Language], given: StepVerdicts
) -> Mapping[str, JudgedSteps]:
    """What the judge says about the open values, by language."""
    if job.judge == "none":
        return {}
    if job.mode == "compat":
        raise UsageError("compat counts as the public evaluator; expected verdicts, not a judge")
    import asyncio

    from callscore.config.choices import default_embedder
    from callscore.config.score import ScoreConfig
    from callscore.evaluate.judge_setup import open_judge_runner

    config = ScoreConfig(
        cases=(), judge=job.judge, embedder=default_embedder(job.judge), store=job.store
    )
    with open_judge_runner(config) as examiner:
        assert examiner is not None  # somebody judges
        found = asyncio.run(_ask_judge(languages, given, examiner))
    if job.save_verdicts is not None:
        _save(job.save_verdicts, languages, found)
    return found


async def _ask_judge(
    languages: Sequence[_Language], given: StepVerdicts, examiner: JudgeRunner
) -> Mapping[str, JudgedSteps]:
    from callscore.evaluate.step_judging import judge_steps

    try:
        return {
            language.name: await judge_steps(_open_steps(language, given), examiner, language.model)
            for language in languages
        }
    finally:
        await examiner.close()


def _open_steps(language: _Language, given: StepVerdicts) -> Iterator[OpenStep]:
    """The open values of every file that can be read; the others fail when they are scored."""
    answers = given.of(language.model, language.name)
    for path in _in_order(output_files(language.folder)):
        scenario = path.name.removesuffix(_SUFFIX)
        with suppress(DataError):
            recording = read_recording(decode_file(read_whole(path)), scenario)
            place = Place(language.name, scenario)
            yield from list(open_steps(recording, place, language.cards, answers))


def _save(path: Path, languages: Sequence[_Language], found: Mapping[str, JudgedSteps]) -> None:
    from callscore.app import line_writer

    with line_writer(path) as write:
        for language in languages:
            for record in found[language.name].records(language.model):
                write(record)


def result_document(scored: Sequence[LanguageResult]) -> dict[str, Any]:
    """The result file of one language, or of several with their mean."""
    return outcomes.together(scored)


def result_files(joint: Path, documents: Iterable[Mapping[str, Any]]) -> dict[Path, Any]:
    """One file of document 001 a model and language, to stand beside the joint file   C-121

    The public consumer of results reads no other form, and shows zeros for what it cannot read.
    """
    single = [
        part
        for document in documents
        for part in (document["languages"].values() if "languages" in document else [document])
    ]
    return {_beside(joint, part["x_extension"]): part for part in single}


def _beside(joint: Path, about: Mapping[str, str]) -> Path:
    """`<joint>.<model>.<language>.json`; what is no letter, digit, dot or dash becomes `_`."""
    name = re.sub(r"[^\w.-]", "_", f"{joint.stem}.{about['model']}.{about['language']}")
    return joint.with_name(f"{name}.json")


def check_scenarios(folders: Sequence[Path], cards: Sequence[Path] = ()) -> ScenarioCheck:
    """Read every scenario as a run would, without stopping at the first problem."""
    scenarios: list[Scenario] = []
    problems: list[DataError] = []
    for folder in folders:
        known = read_cards(cards[0] if cards else folder / "multiagent_cards")[0]
        lang = language_of(folder)
        for path in _in_order(scenario_files(folder)):
            try:
                scenarios.append(read_scenario(read_text(path), Place(lang, path.stem), known))
            except DataError as error:
                problems.append(error.located(str(path)))
    return ScenarioCheck(
        len(scenarios),
        sum(len(scenario.plans) for scenario in scenarios),
        sum(len(scenario.agent_steps) for scenario in scenarios),
        tuple(finding for scenario in scenarios for finding in scenario.findings),
        tuple(problems),
    )


def _in_order(paths: Iterable[Path]) -> list[Path]:
    return sorted(paths, key=lambda path: natural_order(path.as_posix()))


def _paired(job: OrchestrationJob) -> list[tuple[Path, Path]]:
    """Outputs with their cards: one for all, by language where both tell it, else in order."""
    if len(job.cards) == 1:
        return [(folder, job.cards[0]) for folder in job.outputs]
    if len(job.cards) != len(job.outputs):
        raise UsageError(
            f"{len(job.cards)} card folders for {len(job.outputs)} output folders; "
            "expected one, or one for each"
        )
    by_language = {language_of(cards): cards for cards in job.cards}
    if {language_of(folder) for folder in job.outputs} == set(by_language):
        return [(folder, by_language[language_of(folder)]) for folder in job.outputs]
    return list(zip(job.outputs, job.cards, strict=True))


def _languages(job: OrchestrationJob) -> list[_Language]:
    pairs = _paired(job)
    if len(job.languages) not in (0, 1, len(pairs)):
        raise UsageError(
            f"{len(job.languages)} languages for {len(pairs)} output folders; "
            "expected one for all, or one for each"
        )
    for given in job.languages:
        if not _LANGUAGE.fullmatch(given):
            raise UsageError(f"{given!r}; expected a language tag such as EN or pt-BR")
    shared = len(job.cards) < len(job.outputs)
    names = job.languages * len(pairs) if len(job.languages) == 1 else job.languages
    found = []
    for place, (folder, cards) in enumerate(pairs):
        known, digest = read_cards(cards)
        name = names[place] if names else _named_language(folder, cards, shared=shared)
        found.append(_Language(folder, name, job.model or _model_name(folder), known, digest))
    return found


def _named_language(folder: Path, cards: Path, *, shared: bool) -> str:
    """As the cards' path says; the outputs' path where it says nothing, or all share the cards."""
    paths = (folder, cards) if shared else (cards, folder)
    named = (name for name in map(language_of, paths) if name != UNKNOWN_LANGUAGE)
    return next(named, UNKNOWN_LANGUAGE)


def language_of(folder: Path) -> str:
    """The last part of the path that looks like a language tag."""
    parts = reversed(folder.resolve().parts[-3:])
    return next((part for part in parts if _LANGUAGE.fullmatch(part)), UNKNOWN_LANGUAGE)


def _model_name(folder: Path) -> str:
    parts = reversed(folder.resolve().parts)
    names = (part for part in parts if not _LANGUAGE.fullmatch(part))
    return next((name for name in names if name not in _FOLDERS_WITHOUT_A_NAME), "model")


def read_cards(folder: Path) -> tuple[Cards, str]:
    """The agent cards of a folder, and the hash of their content        C-132"""
    cards = []
    for path in card_files(folder):
        try:
            cards.append(read_card(read_whole(path)))
        except DataError as error:
            raise error.located(str(path)) from None
    known = collect(cards)
    content = [msgspec.to_builtins(known.by_id[agent]) for agent in sorted(known.by_id)]
    return known, canonical_hash(content)


def _score(
    job: OrchestrationJob, language: _Language, given: StepVerdicts, judged: JudgedSteps | None
) -> LanguageResult:
    recorded = given.of(language.model, language.name)
    answers: Answers = recorded if judged is None else judged.after(recorded)
    if job.mode == "compat" and not given.records:
        answers = Unanswered()  # the public evaluator orders its results otherwise with a judge
    directory = shown_path(language.folder)
    found = _in_order(output_files(language.folder))
    _refuse_two_of_a_scenario(found)
    files = [
        (f"{directory}/{path.relative_to(language.folder).as_posix()}", path) for path in found
    ]
    evaluated, failed, digest = _evaluate_all(files, job.mode, language, answers)
    if not evaluated:
        first = failed[0]
        raise DataError(f"{first.error} (the first of {len(failed)})", place=first.file_path)
    about = About(
        directory=directory,
        language=language.name,
        model=language.model,
        judge=given.source,
        data=digest,
        version=__version__,
    )
    about = about if judged is None else judged.told(about)
    if job.mode == "compat":
        scored = outcomes.compat_outcome(about, evaluated, failed)
    else:
        scored = outcomes.standard_outcome(about, evaluated, failed)
    return with_unused(scored, recorded)


def _refuse_two_of_a_scenario(paths: Sequence[Path]) -> None:
    """Scenario 1 of one language is not scenario 1 of another."""
    seen: dict[str, Path] = {}
    for path in paths:
        if path.name in seen:
            raise UsageError(
                f"{path} and {seen[path.name]} are outputs of one scenario; "
                "expected one folder a model and language"
            )
        seen[path.name] = path


def _evaluate_all(
    files: Iterable[tuple[str, Path]], mode: Mode, language: _Language, answers: Answers
) -> tuple[list[Any], list[FailedRow], str]:
    """One evaluated value a file, the files that could not be, and the hash of the gold data."""
    evaluate_one = _evaluator(mode, language, answers)
    decode = decode_public if mode == "compat" else decode_file
    gold: list[tuple[str, Sequence[RawStep] | None]] = []
    evaluated: list[Any] = []
    failed: list[FailedRow] = []
    for shown, path in files:
        scenario = path.name.removesuffix(_SUFFIX)
        data = None
        try:
            data = decode(read_whole(path))
            evaluated.append(evaluate_one(data, scenario, shown))
        except DataError as error:
            failed.append(FailedRow(shown, error.problem))
        gold.append((scenario, recorded_steps(data, scenario)))
    return evaluated, failed, scenarios_hash(language.cards_hash, gold)


def _evaluator(mode: Mode, language: _Language, answers: Answers) -> Callable[[Any, str, str], Any]:
    if mode == "compat":
        schemas = {name: tool.parameters for name, tool in language.cards.tools.items()}
        return lambda data, scenario, shown: evaluate_file(
            data, shown, schemas, answers, f"{language.name}/{scenario}"
        )
    return lambda data, scenario, shown: evaluate(
        read_recording(data, scenario),
        Place(language.name, scenario),
        language.cards,
        answers,
        shown,
    )


def shown_path(path: Path) -> str:
    """The path as results print it: from the working folder, so that it names the place  C-121"""
    if not path.is_absolute():
        return path.as_posix()
    try:
        return Path(os.path.relpath(path)).as_posix()
    except ValueError:  # another drive
        return path.name
