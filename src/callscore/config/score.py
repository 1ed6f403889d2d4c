"""The settings of a scoring job, and their validation; a judge by its name, or in a YAML file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from callscore.core.errors import ConfigError, UsageError, nearest
from callscore.core.judging import Embedder, Judge
from callscore.core.plugins import plugin_names
from callscore.core.run import JudgeSpec, ModelSpec
from callscore.core.scorecard import AS_RECOMMENDED, BY, Decide
from callscore.core.spec import ScoreSettings
from callscore.scorecard.final import check_weights
from callscore.store.address import StoreAddress
from callscore.store.files import RecordFile, Source, is_special
from callscore.store.strict_yaml import Document
from callscore.suites.registry import Catalog

if TYPE_CHECKING:
    from callscore.config.models import EmbedderChoice, JudgeChoice, ModelEntries


DEFAULT_STORE = Path(".callscore", "runs.db")
"""The default store of replies."""
BUILT_IN_JUDGES = ("none", "offline")
YAML = (".yaml", ".yml")


def is_json_file(path: Path) -> bool:
    """Whether a file is named as one JSON document, not as JSON Lines."""
    return path.suffix.lower() == ".json"


class ScoreConfig(msgspec.Struct, frozen=True, dict=True):
    """One scoring job over stored outputs."""

    cases: Sequence[Path]
    outputs: Sequence[Path] = ()
    verdicts: Sequence[Path] = ()
    labels: Sequence[Path] = ()
    """Verdicts of people on a sample of judged items, which correct the judged values."""
    judge: str | Judge | tuple[JudgeSpec, ...] = "none"
    """The judge: `none`, `offline`, an installed judge, models, or a Judge."""
    embedder: str | Embedder | ModelSpec = "none"
    """The embedder: a name, a model behind `/embeddings`, or an Embedder."""
    benchmarks: bool = False
    """Whether the optional second layer runs; verdicts on it in a file enable it too."""
    store: StoreAddress | None = None
    """Where the replies of judging models are stored, so that none is paid for twice."""
    settings: Mapping[str, Any] = {}
    weights: Mapping[str, float] = {}
    workload: Mapping[str, float] = {}
    """The share of telephone calls that need a task, by task; 1 by default (C-83)."""
    cost_per_1000: Mapping[str, float] = {}
    """Prices given by the user, by model; they override the recorded costs (C-83)."""
    allow_bad_cases: bool = False
    tasks: Sequence[str] = ()
    """Only cases of these tasks; all if empty."""
    other_tasks: Sequence[str] = ()
    """Tasks of the data set that these files have no cases of: they hold a part of it (C-82)."""
    limit: int | None = None
    """Only this many cases, from the first."""
    repeats: int | None = None
    """Repeats of every case; None if they follow from the outputs."""
    intervals: bool = True
    """Whether every number gets its 95 % interval."""
    estimates: Mapping[str, str] = {}
    """Metrics that a built-in substitute judged, and its name; verdicts may name more (C-125)."""
    origins: Mapping[str, str] = {}
    """By model, what answered if no model was asked (`simulated`), where replies do not say it."""
    elsewhere: Collection[str] = ()
    """Metrics whose verdicts may belong to other data of the same run."""

    decide: Decide = AS_RECOMMENDED
    """What the recommended model is chosen by; a reading of results, not part of them (C-138)."""

    metrics: Sequence[str] = ()
    """Metrics of other packages, by the name of their entry point."""
    kinds: Collection[str] = ()
    """The kinds of steps in scenarios, if some are missing (C-142)."""
    case_lines: Mapping[Path, bytes | Path] = {}
    """By file, the cases of a file that is not JSON Lines, as such lines or a file with them."""

    @property
    def case_sources(self) -> Sequence[Source]:
        """The case files, with the cases of those that are not JSON Lines."""
        lines = self.case_lines
        return [RecordFile(path, lines[path]) if path in lines else path for path in self.cases]

    @property
    def is_judged(self) -> bool:
        """Whether there is a judge or an embedder."""
        return self.judge != "none" or self.embedder != "none"

    @property
    def sends_requests(self) -> bool:
        """Whether a judge or an embedder may send requests; the built-in ones compute."""
        is_built_in = isinstance(self.judge, str) and self.judge in BUILT_IN_JUDGES
        return not (is_built_in and isinstance(self.embedder, str))

    @cached_property
    def catalog(self) -> Catalog:
        """The suites with these settings."""
        return Catalog(self.settings, self.metrics, self.kinds)

    def checked_settings(self) -> ScoreSettings:
        """The settings that every suite has, after checking keys and values."""
        self.catalog.check_settings()
        return self.catalog.settings

    def check(self) -> None:
        """Validate the job before any file is read."""
        if not self.cases:
            raise UsageError("no case file was given")
        for path in (*self.cases, *self.outputs, *self.verdicts, *self.labels):
            if is_special(path):
                raise UsageError(f"{path}: is a pipe; expected a file, as it is read twice")
        if isinstance(self.judge, str):
            check_judge_name(self.judge)
        self.check_options()

    def check_options(self) -> None:
        """Validate settings, weights and costs."""
        if self.labels and not self.intervals:
            raise UsageError("labels correct values with their intervals; expected intervals, too")
        self.catalog.check_settings()
        if self.weights:
            check_weights(self.catalog.spec_with(self.weights), self.weights)
        known_tasks = self.catalog.spec_with(self.workload).tasks
        for task, share in self.workload.items():
            if task not in known_tasks:
                known = ", ".join(known_tasks)
                raise ConfigError(f"workload: unknown task {task!r}; expected one of {known}")
            if not 0 <= share < float("inf"):
                raise ConfigError(f"workload: {task} = {share}; expected a number of at least 0")
        for model, cost in self.cost_per_1000.items():
            if not 0 <= cost < float("inf"):
                raise ConfigError(
                    f"cost of {model}: {cost}; expected a finite number of at least 0"
                )


def judge_choice(given: str | ModelEntries) -> JudgeChoice:
    """`none`, `offline`, the name of an installed judge, or models."""
    if given in BUILT_IN_JUDGES:
        return str(given)
    if isinstance(given, str) and _is_name(given) and given in known_judges():
        return given
    from callscore.config.models import load_judge

    if not isinstance(given, str):
        return load_judge(given)
    return load_judge(_file("judge", given, ", ".join(known_judges())))


def known_judges() -> Sequence[str]:
    """The names of judges: the built-in ones, and those of installed packages."""
    return (*BUILT_IN_JUDGES, *plugin_names("callscore.judges"))


def check_judge_name(name: str) -> None:
    """Raise UsageError if no judge has this name."""
    if name not in BUILT_IN_JUDGES and name not in (known := known_judges()):
        raise UsageError(f"judge {name!r} is unknown; expected {', '.join(known)} or models")


def _is_name(given: str) -> bool:
    return Path(given).suffix not in YAML


def default_embedder(judge: object) -> str:
    """The default embedder: with a judge, sentences are compared too."""
    return "none" if judge == "none" else "auto"


def embedder_choice(given: str | Mapping[str, Any]) -> EmbedderChoice:
    """The name of an embedder, or a model."""
    if given == "none":
        return "none"
    from callscore.config.models import load_embedder
    from callscore.embeddings.catalog import NAMES

    if not isinstance(given, str):
        return load_embedder(given)
    if given in NAMES:
        return given
    return load_embedder(_file("embedder", given, ", ".join(NAMES)))


def _file(option: str, given: str, words: str) -> Path:
    path = Path(given)
    if _is_name(given):
        raise UsageError(f"{option} {given!r}; expected {words}, or a YAML file")
    return path


KEYS = Decide.__struct_fields__
LOSS = "loss"
"""What the framework of decisions also knows; prices of errors do not exist yet."""


def read_decide(given: Mapping[str, Any]) -> Decide:
    """The settings, some of them given; raises ConfigError with the key and what was expected."""
    for key in given:
        if key not in KEYS:
            near = nearest(key, KEYS)
            hint = f"did you mean {near}?" if near else f"expected {', '.join(KEYS)}"
            raise ConfigError(f"decide.{key}: unknown key; {hint}")
    by, expected = given.get("by", Decide().by), ", ".join(BY)
    if by == LOSS:
        raise ConfigError(f"decide.by: 'loss' needs prices of errors; expected one of {expected}")
    if by not in BY:
        raise ConfigError(f"decide.by: {by!r}; expected one of {expected}")
    try:
        found = msgspec.convert({**given}, Decide, strict=False)
    except msgspec.ValidationError as error:
        key = str(error).rpartition("`$.")[2].rstrip("`")
        expected = "true or false" if key == "allow_fail" else "a number from 0 to 1"
        raise ConfigError(f"decide.{key}: {given.get(key)!r}; expected {expected}") from None
    if not 0 <= found.margin <= 1:
        raise ConfigError(f"decide.margin: {found.margin:g}; expected a number from 0 to 1")
    return found


def decide_of(document: Document, given: Mapping[str, Any]) -> Decide:
    """The settings in an eval file; an error names its line."""
    try:
        return read_decide(given)
    except ConfigError as error:
        part, _, problem = str(error).partition(": ")
        raise document.error(part, problem) from None
