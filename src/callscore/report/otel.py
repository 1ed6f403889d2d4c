"""OpenTelemetry: `gen_ai.evaluation.result` events as OTLP JSON lines, one line per answer.

The names of the attributes are those of the semantic conventions for generative AI
(opentelemetry.io/docs/specs/semconv/gen-ai/), the lines those of the file exporter of OTLP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from callscore.core.version import __version__
from callscore.report.archive import run_time, to_json
from callscore.report.source import Answer, ReportFormat, ReportOptions, ReportSource

EVENT = "gen_ai.evaluation.result"
INFO_SEVERITY = 9
"""The severity number of INFO."""
NAME = "gen_ai.evaluation.name"
VALUE = "gen_ai.evaluation.score.value"
LABEL = "gen_ai.evaluation.score.label"
EXPLANATION = "gen_ai.evaluation.explanation"
MODEL = "gen_ai.request.model"
ERROR = "error.type"


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield one export request per line, as the file exporter of OpenTelemetry writes them."""
    resource = {
        "attributes": _attributes(
            {
                "service.name": "callscore",
                "service.version": __version__,
                "callscore.signature": source.card.signature,
            }
        )
    }
    scope = {"name": "callscore", "version": __version__}
    nanoseconds = str(int(run_time(source).timestamp()) * 1_000_000_000)
    for view in source.cases:
        for answer in view.answers:
            records = [
                {
                    "timeUnixNano": nanoseconds,
                    "observedTimeUnixNano": nanoseconds,
                    "severityNumber": INFO_SEVERITY,
                    "eventName": EVENT,
                    "attributes": _attributes(attributes),
                }
                for attributes in _events(answer)
            ]
            scopes = [{"scope": scope, "logRecords": records}]
            yield to_json({"resourceLogs": [{"resource": resource, "scopeLogs": scopes}]}) + b"\n"


def _events(answer: Answer) -> Iterator[Mapping[str, Any]]:
    """Yield the score of the case, then every metric, with the reason if it has no value."""
    result = answer.result
    identity = {
        MODEL: result.model,
        "callscore.case.id": result.case_id,
        "callscore.run": result.run,
        "callscore.task": result.task,
    }
    yield {
        NAME: f"{result.task}.score",
        **identity,
        VALUE: result.score,
        LABEL: result.status,
        EXPLANATION: "; ".join(result.reasons) or answer.error,
        ERROR: "model" if result.status == "error" else None,
    }
    for slug, measure in answer.measures.items():
        yield {
            NAME: slug,
            **identity,
            VALUE: measure.value,
            LABEL: measure.absence or None,
            EXPLANATION: measure.reason(),
            ERROR: "judge" if measure.absence == "failed" else None,
        }


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": _value(value)} for key, value in values.items() if value is not None
    ]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": str(value)}


FORMAT = ReportFormat(
    "otel", ".otlp.jsonl", "OpenTelemetry evaluation events, JSON lines", write, needs_cases=True
)
