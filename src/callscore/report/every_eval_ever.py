"""Every Eval Ever: one record and one file of samples per model, in a zip.

The schema is in github.com/evaleval/every_eval_ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from callscore.core.case import spoken_text
from callscore.core.scorecard import ModelScore
from callscore.core.version import __version__
from callscore.report.archive import (
    LEFT_OUT,
    Archive,
    expected_text,
    read_blocks,
    run_time,
    safe_file_name,
    stable_id,
    to_json,
    write_model_archive,
)
from callscore.report.source import Answer, CaseView, ReportFormat, ReportOptions, ReportSource

SCHEMA_VERSION = "0.3.0"
BENCHMARK = "callscore"
UNITS: Mapping[str, tuple[str, float]] = {
    "fraction": ("proportion", 1.0),
    "percent": ("percent", 100.0),
}
"""The name of a unit in that format, and its maximum."""


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield a zip with the folders of the datastore:
    `data/callscore/<developer>/<model>/<id>.json`.
    """
    return write_model_archive(source, _Records(source, options))


class _Records:
    def __init__(self, source: ReportSource, options: ReportOptions) -> None:
        self._source = source
        self._hidden = options.without_text
        self._rows: dict[str, int] = {}
        self._seconds = str(int(run_time(source).timestamp()))
        self._specs = {spec.name: spec for spec in source.provenance.models}
        self._lower = {row.key for row in source.template if "<" in row.threshold}

    def _model_id(self, model: str) -> str:
        spec = self._specs.get(model)
        developer = spec.provider if spec is not None else "unknown"
        name = (spec.model if spec is not None else "") or model
        return name if "/" in name else f"{developer}/{name}"

    def _evaluation_id(self, model: str) -> str:
        return f"{BENCHMARK}/{self._model_id(model).replace('/', '_')}/{self._seconds}"

    def line(self, view: CaseView, answer: Answer) -> bytes:
        """Return the sample of an answer with a score: 0 if it was blocked; empty if it failed."""
        case, result = view.case, answer.result
        score = 0.0 if result.status == "invalid" else result.score
        if score is None:
            return b""
        self._rows[answer.model] = self._rows.get(answer.model, 0) + 1
        raw = LEFT_OUT if self._hidden else spoken_text(case.transcript)
        reply = LEFT_OUT if self._hidden else answer.text or ""
        sample: dict[str, Any] = {
            "schema_version": f"instance_level_eval_{SCHEMA_VERSION}",
            "evaluation_id": self._evaluation_id(answer.model),
            "model_id": self._model_id(answer.model),
            "evaluation_name": f"{BENCHMARK}.{case.task}",
            "evaluation_result_id": f"{case.task}.score",
            "sample_id": case.id,
            "interaction_type": "single_turn",
            "input": {
                "raw": raw,
                "reference": [LEFT_OUT if self._hidden else expected_text(case)],
            },
            "output": {"raw": [reply]},
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": reply,
                    "extraction_method": "custom",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": score, "is_correct": score >= 1},
            "metadata": {
                "status": result.status,
                "run": str(result.run),
                "reasons": "; ".join(result.reasons),
            },
        }
        if answer.input_tokens is not None and answer.output_tokens is not None:
            tokens = (answer.input_tokens, answer.output_tokens)
            sample["token_usage"] = {
                "input_tokens": tokens[0],
                "output_tokens": tokens[1],
                "total_tokens": tokens[0] + tokens[1],
            }
        return to_json(sample) + b"\n"

    def files(
        self, model: ModelScore, lines: IO[bytes], archive: Archive
    ) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Yield the samples of a model, then the record with their hash."""
        record_id = stable_id(self._source.card.signature, model.model)
        developer, _, name = self._model_id(model.model).partition("/")
        folder = f"data/{BENCHMARK}/{safe_file_name(developer)}/{safe_file_name(name)}"
        samples = f"{folder}/{record_id}_samples.jsonl"
        yield samples, read_blocks(lines)
        record = self._record(model)
        record["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": samples,
            "hash_algorithm": "sha256",
            "checksum": archive.digests[samples]["sha256"],
            "total_rows": self._rows.get(model.model, 0),
        }
        yield f"{folder}/{record_id}.json", [to_json(record) + b"\n"]

    def _record(self, model: ModelScore) -> dict[str, Any]:
        spec = self._specs.get(model.model)
        card = self._source.card
        return {
            "schema_version": SCHEMA_VERSION,
            "evaluation_id": self._evaluation_id(model.model),
            "evaluation_timestamp": run_time(self._source).isoformat(),
            "retrieved_timestamp": self._seconds,
            "source_metadata": {
                "source_name": self._source.title,
                "source_type": "evaluation_run",
                "source_organization_name": "unknown",
                "evaluator_relationship": "other",
            },
            "eval_library": {
                "name": "callscore",
                "version": __version__,
                "additional_details": {"signature": card.signature},
            },
            "model_info": {
                "name": model.model,
                "id": self._model_id(model.model),
                "additional_details": {
                    "provider": spec.provider if spec is not None else "unknown",
                    "deployment_type": "unknown",
                    "model_availability": "unknown",
                },
            },
            "evaluation_results": [*self._results(model)],
        }

    def _results(self, model: ModelScore) -> Iterator[dict[str, Any]]:
        """Yield every task score and metric that has a value, with its interval."""
        for name, task in model.tasks.items():
            if task.score is not None:
                details = {"status": task.status, "official": str(task.official).lower()}
                yield self._result(f"{name}.score", task.score, ("proportion", 1.0), details)
            for slug, metric in task.metrics.items():
                if metric.value is None:
                    continue
                unit = UNITS.get(metric.unit, (metric.unit, max(metric.value, 1.0)))
                record = self._result(slug, metric.value, unit, {"n": str(metric.n)})
                if metric.ci95 is not None:
                    low, high = metric.ci95
                    record["score_details"]["uncertainty"] = {
                        "confidence_interval": {
                            "lower": low,
                            "upper": high,
                            "confidence_level": 0.95,
                        },
                        "num_samples": metric.n,
                    }
                yield record
        if model.final.score is not None:
            yield self._result("final", model.final.score, ("proportion", 1.0), {})

    def _result(
        self, slug: str, value: float, unit: tuple[str, float], details: Mapping[str, str]
    ) -> dict[str, Any]:
        task = slug.partition(".")[0]
        return {
            "evaluation_result_id": slug,
            "evaluation_name": f"{BENCHMARK}.{task}",
            "source_data": {"dataset_name": self._source.title, "source_type": "other"},
            "metric_config": {
                "metric_id": f"{BENCHMARK}.{slug}",
                "metric_name": slug,
                "metric_unit": unit[0],
                "lower_is_better": slug in self._lower,
                "score_type": "continuous",
                "min_score": 0,
                "max_score": unit[1],
            },
            "score_details": {"score": value, "details": dict(details)},
        }


FORMAT = ReportFormat(
    "every-eval-ever",
    ".eee.zip",
    "records for the Every Eval Ever datastore",
    write,
    is_text=False,
    needs_cases=True,
)
