"""Recomputes every score of a dossier offline and reports differences.

Hashes detect a changed file. Scoring again detects a change after which hashes were updated.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from callscore.app import score_files
from callscore.config.score import ScoreConfig
from callscore.core.errors import CallscoreError, DataError
from callscore.core.run import Price
from callscore.core.scenarios import ScenarioSinks
from callscore.core.scorecard import AS_RECOMMENDED, Decide, Scorecard
from callscore.core.strict_json import DECODE_ERRORS
from callscore.core.task import SCENARIO
from callscore.core.version import __version__
from callscore.evaluate.scorecards import add_rows, decide_again, scorecard
from callscore.export.dossier_comparison import (
    CardComparison,
    CaseComparison,
    ComparedPrompts,
)
from callscore.export.dossier_file import (
    MAX_BYTES,
    UnpackedDossier,
    check_envelope,
    decoded_lines,
    read_envelope,
    unpack,
)
from callscore.export.dossier_measures import MeasureRecount
from callscore.export.scenario_archive import ArchivedScenarios, ArchiveSettings, AskedModel
from callscore.export.sources import TaskPromptBuilder
from callscore.export.step_cases import StepCases
from callscore.report.dossier import (
    CARD,
    CASES,
    ENVELOPE,
    INSTRUCTIONS,
    LABELS,
    MANIFEST,
    MODELS,
    OUTPUTS,
    PROMPTS,
    PROVENANCE,
    RESULTS,
    SCENARIOS,
    SETTINGS,
    STATEMENT,
    STEP_OUTPUTS,
    STEP_RESULTS,
    VERDICTS,
    content_of,
)

MAX_LISTED = 20
"""Differences of one kind that are listed; the rest is counted."""
UNSIGNED = (
    "which models answered (names, versions, parameters, whether simulated), where replies, "
    f"verdicts and labels come from, their flags, and {PROVENANCE}"
)
"""What scoring again cannot find out; only a signature can vouch for it."""


class DossierDifference(msgspec.Struct, frozen=True):
    """A value in a dossier that differs from the expected one."""

    file: str
    what: str

    def __str__(self) -> str:
        """Return `file: what`."""
        return f"{self.file}: {self.what}"


class VerificationResult(msgspec.Struct, frozen=True):
    """The result of verifying a dossier."""

    differences: Sequence[DossierDifference]
    checked: Sequence[str]
    """Descriptions of what was recomputed."""
    not_checked: Sequence[str] = ()
    """Descriptions of what could not be checked, with reasons."""
    is_authenticated: bool = False
    """Whether a given key confirms who made the dossier. Scoring again cannot: one who invents
    replies can score them, too."""


class _Settings(msgspec.Struct):
    settings: dict[str, Any] = {}
    weights: dict[str, float] = {}
    over: list[str] = []
    workload: dict[str, float] = {}
    cost_per_1000: dict[str, float] = {}
    repeats: int | None = None
    benchmarks: bool = False
    metrics: list[str] = []
    intervals: bool = True
    decide: Decide = AS_RECOMMENDED
    prompts: dict[str, Any] = {}
    with_text: bool = True
    scenarios: ArchiveSettings | None = None


class _Model(msgspec.Struct):
    name: str
    price: Price | None = None


class _Models(msgspec.Struct):
    models: list[_Model] = []


class _AskedModels(msgspec.Struct):
    models: list[AskedModel] = []


class _Digest(msgspec.Struct):
    sha256: str


class _Manifest(msgspec.Struct):
    callscore: str
    files: dict[str, _Digest]


class _Subject(msgspec.Struct):
    name: str
    digest: _Digest


class _Statement(msgspec.Struct):
    subject: list[_Subject]
    predicate: dict[str, str]


class _Usage(msgspec.Struct, frozen=True):
    input_tokens: int | None = None
    output_tokens: int | None = None


class _OutputLine(msgspec.Struct):
    case_id: str
    model: str
    run: int = 1
    usage: _Usage = _Usage()
    cost_usd: float | None = None
    cost_from: str = ""
    error: Any = None


def verify(path: Path, key: Path | None = None, max_bytes: int = MAX_BYTES) -> VerificationResult:
    """Check the hashes, the signature, the costs and every score of a dossier."""
    with tempfile.TemporaryDirectory(prefix="callscore-") as folder:
        return _Verification(unpack(path, Path(folder), max_bytes)).run(key)


class _Verification:
    """The verification of one dossier."""

    def __init__(self, files: UnpackedDossier) -> None:
        self._files = files
        self._settings = self._read(SETTINGS, _Settings)
        self._manifest = self._read(MANIFEST, _Manifest)
        self._differences: list[DossierDifference] = []
        self._checked: list[str] = []
        self._not_checked: list[str] = []
        self._is_authenticated = False

    def run(self, key: Path | None) -> VerificationResult:
        """Run all checks and return the differences in the order of the files."""
        self._check_hashes()
        self._check_signature(key)
        self._check_costs()
        if self._settings.with_text:
            self._check_scores()
        else:
            self._check_measures()
        self._check_decision()
        if self._manifest.callscore != __version__:
            made = self._manifest.callscore[:40]
            self._not_checked.append(f"made by callscore {made}, recomputed with {__version__}")
        return VerificationResult(
            self._differences, self._checked, self._not_checked, self._is_authenticated
        )

    def _read(self, name: str, kind: type[Any]) -> Any:
        try:
            return msgspec.json.decode(self._files.path(name).read_bytes(), type=kind)
        except DECODE_ERRORS as error:
            raise DataError(
                f"{error}; expected a file that `callscore report` wrote", place=name
            ) from None

    def _add(self, file: str, what: str) -> None:
        self._differences.append(DossierDifference(file, what))

    def _check_hashes(self) -> None:
        statement: _Statement = self._read(STATEMENT, _Statement)
        attested = {subject.name: subject.digest.sha256 for subject in statement.subject}
        content = content_of(self._files.digests)
        for name in content:
            digest = self._files.digests[name]
            listed = self._manifest.files.get(name)
            if listed is None or listed.sha256 != digest:
                self._add(name, f"its SHA-256 is not the one in {MANIFEST}")
            if attested.get(name) != digest:
                self._add(name, f"its SHA-256 is not the one in {STATEMENT}")
        card: Scorecard = self._read(CARD, Scorecard)
        if statement.predicate.get("signature") != card.signature:
            self._add(STATEMENT, f"its scorecard signature is not the one in {CARD}")
        self._checked.append(f"the hashes of {len(content)} files")

    def _check_signature(self, key: Path | None) -> None:
        if ENVELOPE not in self._files.digests:
            if key is not None:
                self._add(ENVELOPE, "is missing: the dossier is not signed")
            self._not_checked.append(f"{UNSIGNED}: the dossier is not signed")
            return
        raw = self._files.path(ENVELOPE).read_bytes()
        if key is None:
            ids = ", ".join(f"sha256:{e.keyid[:16]}…" for e in read_envelope(raw).signatures)
            self._not_checked.append(
                f"{UNSIGNED}: the public key of the signature by {ids} was not given (--key)"
            )
            return
        wrong = check_envelope(raw, self._files.path(STATEMENT).read_bytes(), key)
        if wrong is not None:
            self._add(ENVELOPE, wrong)
        self._is_authenticated = wrong is None
        self._checked.append("the signature, which covers every file")

    def _check_costs(self) -> None:
        """Recompute costs as tokens × price, where the dossier says `cost_from: price`."""
        models: _Models = self._read(MODELS, _Models)
        prices = {model.name: model.price for model in models.models}
        seen: dict[str, int] = {}
        wrong: dict[str, list[str]] = {}
        steps = [STEP_OUTPUTS] if self._settings.scenarios is not None else []
        for output in self._outputs(OUTPUTS, *steps):
            price, usage = prices.get(output.model), output.usage
            if output.cost_from != "price":
                continue
            seen[output.model] = seen.get(output.model, 0) + 1
            cost = None
            if price is not None and usage.input_tokens is not None:
                cost = price.of(usage.input_tokens, usage.output_tokens or 0)
            if cost != output.cost_usd:
                place = f"case {output.case_id!r}, run {output.run}"
                sentence = (
                    f"{place}: {output.cost_usd!r} is recorded, tokens × price gives {cost!r}"
                )
                wrong.setdefault(output.model, []).append(sentence)
        for model, sentences in wrong.items():
            if len(sentences) == seen[model] > 1:
                self._add(
                    MODELS, f"price of {model!r}: does not match any of its costs; {sentences[0]}"
                )
            else:
                self._add_all(OUTPUTS, [f"cost of {model!r}: {sentence}" for sentence in sentences])
        if seen:
            self._checked.append(f"the cost of {sum(seen.values())} answers from tokens and prices")

    def _add_all(self, file: str, sentences: Sequence[str]) -> None:
        for sentence in sentences[:MAX_LISTED]:
            self._add(file, sentence)
        if len(sentences) > MAX_LISTED:
            self._add(file, f"and {len(sentences) - MAX_LISTED} more of the same kind")

    def _outputs(self, *names: str) -> Iterator[_OutputLine]:
        return decoded_lines([self._files.path(name) for name in names], _OutputLine)

    def _job(self) -> ScoreConfig:
        given = self._settings
        card: Scorecard = self._read(CARD, Scorecard)
        return ScoreConfig(
            cases=[self._files.path(CASES)],
            outputs=[self._files.path(OUTPUTS)],
            verdicts=[self._files.path(VERDICTS)],
            labels=self._labels(),
            benchmarks=given.benchmarks,
            settings=given.settings,
            weights=given.weights,
            other_tasks=given.over,
            workload=given.workload,
            cost_per_1000=given.cost_per_1000,
            repeats=given.repeats,
            metrics=given.metrics,
            intervals=given.intervals,
            decide=given.decide,
            estimates=_estimates_of(card),
            # decides which pairs have claim limits; who answered is not checked
            origins={model.model: model.origin for model in card.models if model.origin},
        )

    def _check_decision(self) -> None:
        """Read the stored scorecard again: its decision must follow from its numbers    C-138"""
        card: Scorecard = self._read(CARD, Scorecard)
        if list(decide_again(self._job(), card).decision) != list(card.decision):
            self._add(CARD, "decision: is not the one that follows from its numbers")

    def _labels(self) -> Sequence[Path]:
        path = self._files.path(LABELS)
        return [path] if path.stat().st_size else []

    def _check_measures(self) -> None:
        """Recompute scores from the measures of the answers; the text is not there."""
        if self._settings.scenarios is not None:
            self._not_checked.append(
                "scenarios: their scores cannot be recomputed without text; hashes are checked"
            )
        if not self._has_calls:
            return
        recount = MeasureRecount(self._files.path(RESULTS), self._job(), self._outputs(OUTPUTS))
        recount.compare(_without_scenarios(self._read(CARD, Scorecard)))
        for file, sentences in recount.differences.items():
            self._add_all(file, sentences)
        self._checked.append(
            f"{recount.results} results, and the rows, tasks, Final Scores, costs and ranks of the "
            "scorecard, from the recorded measures"
        )
        self._not_checked.append(
            "that the measures are those of the replies, the number of calls behind a row, "
            "intervals, benchmarks, scores of trivial answers, notes and prompts: the dossier was "
            "written without text; its hashes are checked"
        )

    @property
    def _has_calls(self) -> bool:
        return self._files.path(CASES).stat().st_size > 0

    def _check_scores(self) -> None:
        """Score cases, scenarios, outputs and verdicts again and compare the results."""
        cards: list[Scorecard] = []
        lenient = False
        try:
            if self._has_calls:
                card, lenient = self._score_calls()
                cards.append(card)
            if self._settings.scenarios is not None:
                cards.append(self._score_scenarios(self._settings.scenarios))
        except CallscoreError as error:
            self._add(
                SCENARIOS if cards or not self._has_calls else CASES,
                f"cannot be scored: {self._without_folder(str(error))}",
            )
            return
        if not cards:
            self._add(CASES, "cannot be scored: contains no case")
            return
        card = cards[0] if len(cards) == 1 else add_rows(self._job(), *cards)
        compared = CardComparison(self._read(CARD, Scorecard), card, lenient=lenient)
        self._add_all(CARD, compared.differences())
        if lenient:
            self._not_checked.append("why some items have no verdict")

    def _score_calls(self) -> tuple[Scorecard, bool]:
        """The scorecard of the calls, and whether some of their items have no verdict."""
        job = self._job()
        cases = CaseComparison(
            self._files.path(RESULTS),
            ComparedPrompts(
                self._files.path(PROMPTS),
                self._read(INSTRUCTIONS, dict[str, str]),
                TaskPromptBuilder(job, self._settings.prompts),
            ),
        )
        card = score_files(job, on_case=cases.compare)
        self._finish(cases)
        self._checked.append(
            f"{cases.results} results of {cases.cases} cases, the scorecard, and "
            f"{cases.prompts_checked} prompts"
        )
        return card, cases.has_unjudged

    def _score_scenarios(self, settings: ArchiveSettings) -> Scorecard:
        """The scorecard of the scenarios, with their documents."""
        models = self._read(MODELS, _AskedModels).models
        compared = CaseComparison(self._files.path(STEP_RESULTS))
        with (
            closing(ArchivedScenarios(self._files.path, settings, models)) as scenarios,
            StepCases() as steps,
        ):
            found = scenarios.result(ScenarioSinks(on_step=steps.add))
            for view in steps:
                compared.compare(view)
        self._finish(compared)
        self._checked.append(
            f"{compared.results} results of {compared.cases} steps of scenarios, and document 001"
        )
        return scorecard(self._job(), found, None)

    def _finish(self, cases: CaseComparison) -> None:
        cases.finish()
        for file, sentences in cases.differences.items():
            self._add_all(file, sentences)

    def _without_folder(self, text: str) -> str:
        return text.replace(f"{self._files.folder}/", "")


def _without_scenarios(card: Scorecard) -> Scorecard:
    """The rows of calls, which can be recomputed from measures alone."""
    models = [
        msgspec.structs.replace(
            model, tasks={name: task for name, task in model.tasks.items() if name != SCENARIO}
        )
        for model in card.models
    ]
    return msgspec.structs.replace(card, models=models)


def _estimates_of(card: Scorecard) -> Mapping[str, str]:
    """The metrics that the offline judge serves, if it was the judge: estimates for every model,
    also where no reply needed a verdict        C-125
    """
    from callscore.judges.offline.judge import OfflineJudge

    judge = card.judging.judge if card.judging is not None else None
    return dict.fromkeys(OfflineJudge().estimates, judge) if judge == OfflineJudge.name else {}
