"""EVAL.yaml → one checked, frozen EvalConfig; errors name file, line, key and what was expected."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from callscore.config.file import (
    CALLS,
    SAMPLE,
    SCENARIOS,
    AttemptsEntry,
    DataEntry,
    EvalFile,
    GateEntry,
    ModelEntry,
    RaceEntry,
    ScenarioEntry,
    convert_entry,
    refuse_unknown_suite,
)
from callscore.config.gates import entry_problem, is_of_calls, is_of_scenarios, known_gates
from callscore.config.models import embedder_of, judge_of, read_model
from callscore.config.scenarios import (
    Scenarios,
    read_scenarios,
    scenario_cases,
    with_protocol_settings,
)
from callscore.config.score import DEFAULT_STORE, ScoreConfig, decide_of, read_decide
from callscore.core.errors import ConfigError, UsageError
from callscore.core.plugins import PluginError
from callscore.core.run import ModelSpec
from callscore.core.scenarios import ScenarioData, ScenarioSettings
from callscore.core.spec import MOST_RUNS
from callscore.core.task import SCENARIO
from callscore.store.address import StoreAddress, read_address
from callscore.store.parquet_cases import is_parquet, parquet_lines
from callscore.store.remote_files import is_remote, local_path
from callscore.store.scenario_files import output_files
from callscore.store.strict_yaml import Document, document_from_values, read_yaml
from callscore.suites import registry

if TYPE_CHECKING:
    from callscore.config.prompts import Templates
    from callscore.config.redaction import Redaction, RedactOptions

REDACTED = "redacted"
"""The folder with redacted copies of case files and scenarios, next to the store."""
NOT_IN_HASH = ("store", "budget_usd", "attempts", "decide")
"""Keys that change no score."""
NOT_IN_HASH_OF_MODEL = ("limits", "mode", "then")
"""Keys of a model that change no reply; a run can be resumed in another mode."""
ABOUT = ("pool", "future")
"""What a race is about: this data set, or future calls."""


class EvalConfig(msgspec.Struct, frozen=True):
    """What to run and how to score it."""

    path: Path
    name: str
    fingerprint: str
    """Hash of everything in the file that can change a result."""
    cases: Sequence[Path]
    scenarios: Sequence[ScenarioData]
    scenario_settings: ScenarioSettings
    tasks: Sequence[str]
    models: Sequence[ModelSpec]
    recordings: Mapping[str, Sequence[Path]]
    """Files of recorded outputs, by the name of the replaying model."""
    repeats: int
    budget_usd: float | None
    store: StoreAddress
    gates: Sequence[GateEntry]
    scoring: ScoreConfig
    attempts: AttemptsEntry
    race: RaceEntry = RaceEntry()
    prompts: Mapping[str, Templates] = {}
    """Own prompts by model, then by task."""
    redaction: Redaction | None = None
    outside: Sequence[Path] = ()
    """Files that models would be sent and that lie outside the project: a shared eval file may
    name any (S-14)."""

    @property
    def files(self) -> Sequence[StoreAddress]:
        """Every file that a run of this config reads; none may be overwritten."""
        recorded = chain.from_iterable(self.recordings.values())
        prompts = self.scenario_settings.prompts
        named = [*self.scenario_settings.own_prompts.values(), *([prompts] if prompts else [])]
        given = (*self.scoring.verdicts, *self.scoring.labels)
        return (self.path, *self.cases, *given, *recorded, *named, self.store)

    def with_options(self, *, intervals: bool, decide: Mapping[str, Any]) -> EvalConfig:
        """The same config with options that override the file; they change no request."""
        scoring = msgspec.structs.replace(
            self.scoring,
            intervals=self.scoring.intervals and intervals,
            decide=read_decide(decide) if decide else self.scoring.decide,
        )
        return msgspec.structs.replace(self, scoring=scoring)


def load_eval(
    source: Path | Mapping[str, Any],
    store: StoreAddress | None = None,
    redact: RedactOptions | None = None,
) -> EvalConfig:
    """The config of an eval file, or of a mapping with the same keys; raises ConfigError.

    `store` replaces the store that the config names, `redact` what it says about redaction. The
    paths in a mapping are relative to the working directory.
    """
    document = read_yaml(source) if isinstance(source, Path) else document_from_values(source)
    try:
        return _read_config(document, store, redact)
    except OSError as error:  # a folder without permission to list it
        place = f"{document.path}: {error.filename}"
        raise ConfigError(f"{place}: cannot be read: {error.strerror}") from None


def _read_config(
    document: Document, store: StoreAddress | None, redact: RedactOptions | None
) -> EvalConfig:
    path = document.path
    if not isinstance(document.value, dict):
        raise document.error("", f"no keys; expected {', '.join(EvalFile.__struct_fields__)}")
    file = convert_entry(document, EvalFile, "", document.value)
    models, templates = _models(document, file)
    _check_values(document, file, {model.name for model in models})
    kept = store or _store(document, file)
    data = _read_data(document, file, kept.parent / REDACTED, redact)
    scenarios = data.scenarios
    if scenarios.settings.protocol == "public":
        models = [with_protocol_settings(model) for model in models]
    has_cases, has_scenarios = bool(data.cases), bool(scenarios.data)
    if file.gates:
        _check_gated(document, file.gates, has_cases=has_cases, has_scenarios=has_scenarios)
    scoring = _scoring(document, file, data.cases, kept)
    repeats = _repeats(file, scoring, scenarios)
    scoring = msgspec.structs.replace(
        scoring, repeats=repeats, case_lines=data.lines, elsewhere=scenarios.verdict_metrics
    )
    return EvalConfig(
        path=path,
        name=file.name or path.stem,
        fingerprint=_fingerprint(document.value, templates),
        cases=data.cases,
        scenarios=scenarios.data,
        scenario_settings=scenarios.settings,
        tasks=tuple(file.tasks),
        models=models,
        recordings=_recordings(document, file.models),
        repeats=repeats,
        budget_usd=file.budget_usd,
        store=kept,
        gates=file.gates,
        scoring=scoring,
        attempts=file.attempts,
        race=file.race,
        prompts=templates,
        redaction=data.redaction,
        outside=data.outside,
    )


def _store(document: Document, file: EvalFile) -> StoreAddress:
    try:
        return read_address(file.store or DEFAULT_STORE, document.path.parent)
    except ConfigError as error:
        raise document.error("store", str(error)) from None


class _Data(NamedTuple):
    """The data of an eval file, redacted if that is wanted."""

    cases: Sequence[Path]
    lines: Mapping[Path, bytes | Path]
    """By file among the cases that is not JSON Lines: steps of a scenario, rows of Parquet."""
    scenarios: Scenarios
    outside: Sequence[Path]
    redaction: Redaction | None = None


def _read_data(
    document: Document, file: EvalFile, copies: Path, redact: RedactOptions | None
) -> _Data:
    """The files and folders of `data`; redacted copies are in a folder of their own."""
    data, others = _data(document, file.data)
    steps = _steps_of_other_suites(document, others) if others else {}
    calls, lines = _case_files(document, data.calls)
    cases, lines = (*calls, *steps), {**lines, **steps}
    scenarios, folders = Scenarios(), []
    if data.scenarios is not None:
        scenarios = read_scenarios(document, data.scenarios, file.tasks, cases)
        folders = [path for each in scenarios.data for path in (each.scenarios, each.cards)]
    prompts = _prompt_files(file) if file.prompts else ()
    outside = _outside(document, [*cases, *prompts, *folders])
    wanted = redact or file.redact
    if wanted in (None, False):
        return _Data(cases, lines, scenarios, outside)
    from callscore.config.redaction import redacted_data

    sources = ScoreConfig(cases=cases, case_lines=lines).case_sources
    found = redacted_data(document, wanted, copies, sources, scenarios.data)
    scenarios = scenarios._replace(data=found.scenarios)
    return _Data(found.cases, {}, scenarios, outside, found.redaction)


def _prompt_files(file: EvalFile) -> Iterator[Path]:
    """The files with own prompts, as the eval file names them."""
    entries = [file.prompts]
    for entry in entries:
        if isinstance(entry, dict):
            entries += entry.values()
        elif entry is not None:
            yield Path(entry)


def _outside(document: Document, files: Sequence[Path]) -> tuple[Path, ...]:
    """Files outside the folder of the eval file and the working directory, or on other machines;
    Python code that names them itself is trusted.
    """
    if not document.lines:  # not from a file
        return ()
    folder = document.path.parent
    inside = [folder.resolve(), Path.cwd(), Path(str(resources.files("callscore"))).resolve()]
    remote = dict.fromkeys(path for path in files if ":" in str(path) and is_remote(path))
    real = dict.fromkeys((folder / path).resolve() for path in files if path not in remote)
    local = (path for path in real if not any(path.is_relative_to(i) for i in inside))
    return (*local, *remote)


def _scoring(
    document: Document, file: EvalFile, cases: Sequence[Path], store: StoreAddress
) -> ScoreConfig:
    """How the file says that its cases are scored, checked."""
    judge = judge_of(document, "judge", file.judge)
    scoring = ScoreConfig(
        cases=cases,
        verdicts=_files(document, "verdicts", file.verdicts),
        labels=_files(document, "labels", file.labels),
        settings=file.settings,
        weights=file.weights,
        workload=file.workload,
        tasks=tuple(file.tasks),
        metrics=tuple(file.metrics),
        judge=judge,
        embedder=embedder_of(document, "embedder", file.embedder, judge),
        benchmarks=_benchmarks(document, file.benchmarks),
        store=store,
        intervals=file.intervals,
        decide=decide_of(document, file.decide),
    )
    _check_scoring(document, scoring)
    return scoring


def _models(
    document: Document, file: EvalFile
) -> tuple[Sequence[ModelSpec], Mapping[str, Templates]]:
    """The models, and the templates of those with the user's own prompts."""
    models = [read_model(document, f"models[{i}]", e) for i, e in enumerate(file.models)]
    _check_names(document, models)
    if file.prompts in (None, {}):
        return models, {}
    from callscore.config.prompts import own_prompts

    return own_prompts(document, file.prompts, models)


def _check_names(document: Document, models: Sequence[ModelSpec]) -> None:
    if not models:
        raise document.error("models", "empty; expected at least one model")
    seen: set[str] = set()
    for number, model in enumerate(models):
        if model.name in seen:
            raise document.error(
                f"models[{number}].name", f"{model.name!r} appears twice; expected unique names"
            )
        seen.add(model.name)


def _check_values(document: Document, file: EvalFile, models: Collection[str]) -> None:
    for number, task in enumerate(file.tasks):
        if registry.suite_of(task) is None or task == SCENARIO:
            names = registry.task_names()
            near = difflib.get_close_matches(task, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(names)}"
            raise document.error(f"tasks[{number}]", f"{task!r} is not a task; {hint}")
    for number, gate in enumerate(file.gates):
        _check_gate(document, f"gates[{number}]", gate, models)
    attempts = file.attempts
    for part, value, lowest, highest in (
        ("repeats", 1 if file.repeats is None else file.repeats, 1, MOST_RUNS),
        ("budget_usd", file.budget_usd or 0, 0, 1e9),
        ("attempts.most", attempts.most, 1, 100),
        ("attempts.timeout_s", attempts.timeout_s, 0.01, 86_400),
        ("attempts.case_timeout_s", attempts.case_timeout_s, 0.01, 604_800),
        ("race.alpha", file.race.alpha, 1e-6, 0.5),
        ("race.margin", file.race.margin, 0, 0.5),
    ):
        if not lowest <= value <= highest:
            raise document.error(part, f"{value}; expected a number from {lowest:g} to {highest:g}")

    if file.race.about not in ABOUT:
        raise document.error("race.about", f"{file.race.about!r}; expected {' or '.join(ABOUT)}")


def _check_gate(document: Document, part: str, gate: GateEntry, models: Collection[str]) -> None:
    if gate.of not in known_gates():
        near = difflib.get_close_matches(gate.of, known_gates(), n=1)
        hint = f"did you mean {near[0]}?" if near else "expected final, a task or a metric"
        raise document.error(f"{part}.of", f"{gate.of!r} cannot be gated; {hint}")
    if problem := entry_problem(gate):
        raise document.error(part, problem)
    if gate.model is not None and gate.model not in models:
        raise document.error(f"{part}.model", f"{gate.model!r} is not among the models")


def _check_gated(
    document: Document, gates: Sequence[GateEntry], *, has_cases: bool, has_scenarios: bool
) -> None:
    """Refuse a gate on a suite that does not run."""
    for number, gate in enumerate(gates):
        part = f"gates[{number}].of"
        if is_of_scenarios(gate) and not has_scenarios:
            expected = f"expected data.{SCENARIOS}, and {SCENARIOS} among the tasks"
            raise document.error(part, f"{gate.of!r} is a score of scenarios; {expected}")
        if is_of_calls(gate) and not has_cases:
            raise document.error(part, f"{gate.of!r} is a score of calls; expected case files")


def _benchmarks(document: Document, value: Any) -> bool:
    """Whether the second layer runs: `all` or `none`."""
    if value in ("all", True):
        return True
    if value in ("none", None, False):
        return False
    raise document.error("benchmarks", f"{value!r}; expected all or none")


def _repeats(file: EvalFile, scoring: ScoreConfig, scenarios: Scenarios) -> int:
    """Repeats of a case: from the file, the protocol, or consistency  C-98, C-133"""
    stated = scenarios.repeats if file.repeats is None else file.repeats
    if stated is not None:
        return stated
    is_measured = scoring.benchmarks and bool(scoring.cases)
    return scoring.checked_settings().consistency_runs if is_measured else 1


def _check_scoring(document: Document, scoring: ScoreConfig) -> None:
    try:
        scoring.check_options()
    except PluginError:
        raise  # the file is not at fault
    except ConfigError as error:
        part = str(error).partition(":")[0]
        part = part if part in ("weights", "workload") else "settings"
        raise document.error(part, str(error).removeprefix(f"{part}: ")) from None


def _data(document: Document, value: Any) -> tuple[DataEntry, Mapping[str, Sequence[str]]]:
    """Normalise `data`: a file, a list of files and suites, or the suites by name.

    Also returns the folders of scenarios of suites in other packages, by suite.
    """
    entries = value if isinstance(value, list) else [value]
    calls: list[str] = []
    others: dict[str, list[str]] = {}
    scenarios: ScenarioEntry | None = None
    for number, entry in enumerate(entries):
        part = f"data[{number}]" if isinstance(value, list) else "data"
        if isinstance(entry, str):
            calls.append(entry)
            continue
        if not isinstance(entry, dict):
            raise document.error(part, f"expected a case file, or {{{SCENARIOS}: …}}")
        known = {key: entry[key] for key in entry if key in (CALLS, SCENARIOS)}
        found: DataEntry = convert_entry(document, DataEntry, part, known)
        calls += [found.calls] if isinstance(found.calls, str) else found.calls
        if found.scenarios is not None and scenarios is not None:
            raise document.error(part, f"a second {{{SCENARIOS}: …}}; expected one, with lists")
        scenarios = found.scenarios or scenarios
        for suite in [key for key in entry if key not in known]:
            place = f"{part}.{suite}"
            refuse_unknown_suite(document, place, suite)
            folders = [given] if isinstance(given := entry[suite], str) else given
            if not isinstance(folders, list) or not all(isinstance(one, str) for one in folders):
                raise document.error(place, "expected a folder of scenarios, or a list of them")
            others.setdefault(suite, []).extend(folders)
    if not calls and not others and scenarios is None:
        raise document.error("data", f"empty; expected case files, or {{{SCENARIOS}: …}}")
    return DataEntry(calls, scenarios), others


def _steps_of_other_suites(
    document: Document, others: Mapping[str, Sequence[str]]
) -> Mapping[Path, bytes]:
    """By file, the steps of the scenarios of other packages, as lines of a case file."""
    steps: dict[Path, bytes] = {}
    for suite, folders in others.items():
        for folder in folders:
            try:
                steps |= scenario_cases(suite, document.path.parent / folder)
            except UsageError as error:
                raise document.error(f"data.{suite}", str(error)) from None
    return steps


def _case_files(
    document: Document, calls: str | Sequence[str]
) -> tuple[Sequence[Path], Mapping[Path, bytes | Path]]:
    """The case files, and the lines of those in Parquet, which may be parts in a folder."""
    entries, folder = [calls] if isinstance(calls, str) else calls, document.path.parent
    if list(entries) == [SAMPLE] and not (folder / SAMPLE).exists():
        return (Path(str(resources.files("callscore.demo") / "calls" / "cases.jsonl")),), {}
    found: list[Path] = []
    for given in entries:
        try:
            path = local_path(Path(given)) if ":" in given else Path(given)
        except UsageError as error:
            raise document.error("data", str(error)) from None
        if ":" in given and is_remote(path):
            found.append(path)
        elif given and (folder / path).is_dir() and is_parquet(folder / path):
            found.append(folder / path)
        else:
            found += _files(document, "data", given and str(path))
    cases, lines = parquet_lines(found) if any(map(is_parquet, found)) else (found, {})
    return tuple(dict.fromkeys(cases)), lines


def _files(document: Document, part: str, entries: str | Sequence[str]) -> tuple[Path, ...]:
    """Paths and globs, relative to the file that names them; each must match a file."""
    folder = document.path.parent
    found: list[Path] = []
    for entry in [entries] if isinstance(entries, str) else entries:
        if not entry:
            raise document.error(part, "an empty name; expected a file")
        found += _matches(folder, entry) or _missing(document, part, entry)
    return tuple(dict.fromkeys(found))


def _recorded_files(document: Document, part: str, entries: str | Sequence[str]) -> list[Path]:
    """Paths and globs, and all recorded runs of scenarios in a folder."""
    found: list[Path] = []
    for entry in [entries] if isinstance(entries, str) else entries:
        folder = document.path.parent / entry
        if entry and folder.is_dir():
            found += output_files(folder)
        else:
            found += _files(document, part, entry)
    return list(dict.fromkeys(found))


def _matches(folder: Path, entry: str) -> list[Path]:
    path = folder / entry
    if not any(letter in entry for letter in "*?["):
        return [path] if path.is_file() else []
    anchor = Path(path.anchor) if Path(entry).is_absolute() else folder
    pattern = str(Path(entry).relative_to(anchor)) if Path(entry).is_absolute() else entry
    return sorted(match for match in anchor.glob(pattern) if match.is_file())


def _missing(document: Document, part: str, entry: str) -> list[Path]:
    raise document.error(part, f"{entry!r}: no such file; expected a file or a glob that matches")


def _recordings(document: Document, models: Sequence[ModelEntry]) -> dict[str, tuple[Path, ...]]:
    found = {}
    for number, model in enumerate(models):
        part = f"models[{number}].outputs"
        files = tuple(_recorded_files(document, part, model.outputs)) if model.outputs else ()
        if model.provider == "replay" and not files:
            raise document.error(part, "missing; expected the files with the recorded outputs")
        if model.provider != "replay" and files:
            raise document.error(part, "only a model with `provider: replay` has recorded outputs")
        if files:
            found[model.name] = files
    return found


def _fingerprint(value: Mapping[str, Any], prompts: Mapping[str, Templates]) -> str:
    """Hash of the file's content, without limits, retries, the store and how results are read."""
    kept = {key: value[key] for key in value if key not in NOT_IN_HASH}
    kept["models"] = [
        {key: entry[key] for key in entry if key not in NOT_IN_HASH_OF_MODEL}
        for entry in value["models"]
    ]
    if prompts:
        kept["prompts"] = {
            model: {task: template.digest for task, template in templates.items()}
            for model, templates in prompts.items()
        }
    raw = msgspec.json.encode(kept, order="deterministic")
    return hashlib.blake2b(raw, digest_size=16).hexdigest()
