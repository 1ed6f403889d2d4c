"""Inspect: one evaluation log per model, in a zip; `inspect view` shows the extracted folder.

The fields are those of `EvalLog` (inspect.aisi.org.uk/eval-logs.html).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, Any

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
    transcript_text,
    write_model_archive,
)
from callscore.report.source import Answer, CaseView, ReportFormat, ReportOptions, ReportSource

LOG_VERSION = 2
"""Of the log format of Inspect."""
STOP_REASONS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield a zip with one log per model."""
    return write_model_archive(source, _Logs(source, options))


class _Logs:
    def __init__(self, source: ReportSource, options: ReportOptions) -> None:
        self._source = source
        self._hidden = options.without_text
        self._made = run_time(source).isoformat()
        self._samples: dict[str, int] = {}

    def line(self, view: CaseView, answer: Answer) -> bytes:
        """Return the sample of an answer; empty if the case was not run.

        All but the first sample of a model start with a comma.
        """
        if answer.result.status == "not_run":
            return b""
        number = self._samples[answer.model] = self._samples.get(answer.model, 0) + 1
        return (b"" if number == 1 else b",\n") + to_json(self._sample(view, answer))

    def _sample(self, view: CaseView, answer: Answer) -> dict[str, Any]:
        case, result = view.case, answer.result
        transcript = LEFT_OUT if self._hidden else transcript_text(case)
        usage = _usage(answer)
        sample: dict[str, Any] = {
            "id": case.id,
            "epoch": result.run,
            "input": transcript,
            "target": LEFT_OUT if self._hidden else expected_text(case),
            "messages": [],
            "output": {"model": result.model, "choices": []},
            "scores": dict(_scores(answer, hidden=self._hidden)),
            "metadata": {"task": case.task, "lang": case.lang, "flags": result.flags},
            "model_usage": {result.model: usage} if usage else {},
        }
        if answer.error is not None:
            sample["error"] = {"message": answer.error, "traceback": "", "traceback_ansi": ""}
        else:
            reply = LEFT_OUT if self._hidden else answer.text or ""
            message = {"role": "assistant", "content": reply, "source": "generate"}
            stop = STOP_REASONS.get(answer.finish_reason or "stop", "unknown")
            choice = {"message": message, "stop_reason": stop}
            sample["messages"] = [{"role": "user", "content": transcript}, message]
            sample["output"] = {"model": result.model, "choices": [choice], "completion": reply}
            sample["output"] |= {"usage": usage} if usage else {}
        return sample

    def files(
        self, model: ModelScore, lines: IO[bytes], archive: Archive
    ) -> Iterator[tuple[str, Iterable[bytes]]]:
        """Yield the log of a model: the evaluation, the scores, the samples."""
        log_id = stable_id(self._source.card.signature, model.model)
        day = self._made[:19].replace(":", "-")
        name = f"{day}+00-00_callscore_{safe_file_name(model.model)}-{log_id[:8]}.json"
        yield name, self._log(model, lines, log_id)

    def _log(self, model: ModelScore, lines: IO[bytes], log_id: str) -> Iterator[bytes]:
        samples = self._samples.get(model.model, 0)
        head = {
            "version": LOG_VERSION,
            "status": "success",
            "eval": {
                "eval_id": log_id,
                "run_id": stable_id(self._source.card.signature),
                "created": self._made,
                "task": "callscore",
                "task_id": stable_id(self._source.title),
                "task_version": 0,
                "dataset": {"name": self._source.title, "samples": len(self._source.cases)},
                "model": model.model,
                "config": {},
                "packages": {"callscore": __version__},
                "metadata": {"signature": self._source.card.signature},
            },
            "results": {
                "total_samples": samples,
                "completed_samples": samples,
                "scores": list(_eval_scores(model)),
            },
            "stats": {"started_at": self._made, "completed_at": self._made},
        }
        yield to_json(head)[:-1] + b',"samples":[\n'
        yield from read_blocks(lines)
        yield b"]}\n"


def _usage(answer: Answer) -> dict[str, Any]:
    if answer.input_tokens is None and answer.output_tokens is None:
        return {}
    given, written = answer.input_tokens or 0, answer.output_tokens or 0
    return {"input_tokens": given, "output_tokens": written, "total_tokens": given + written}


def _scores(answer: Answer, *, hidden: bool) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the score of the case and every metric that has a value."""
    result = answer.result
    if result.score is not None:
        yield "score", {"value": result.score, "explanation": "; ".join(result.reasons) or None}
    elif result.status == "invalid":
        why = f"invalid: {'; '.join(result.reasons)}"
        yield "score", {"value": 0, "explanation": why, "metadata": {"blocked": True}}
    for slug, measure in answer.measures.items():
        if measure.value is None:
            continue
        quotes = [
            f"{verdict.item}: {verdict.verdict}" + (f" “{verdict.quote}”" if verdict.quote else "")
            for verdict in answer.verdicts
            if verdict.metric == slug and verdict.verdict is not None and not hidden
        ]
        yield slug, {"value": measure.value, "explanation": "\n".join(quotes) or None}


def _eval_scores(model: ModelScore) -> Iterator[dict[str, Any]]:
    """Yield the scores of a model: its tasks, their metrics, and the Final Score."""
    scores = {f"{name}.score": task.score for name, task in model.tasks.items()}
    scores |= {
        slug: metric.value for task in model.tasks.values() for slug, metric in task.metrics.items()
    }
    scores["final"] = model.final.score
    for name, value in scores.items():
        if value is not None:
            metric = {"name": "callscore", "value": value}
            yield {"name": name, "scorer": name, "metrics": {"callscore": metric}}


FORMAT = ReportFormat(
    "inspect",
    ".inspect.zip",
    "logs for `inspect view`, one per model",
    write,
    is_text=False,
    needs_cases=True,
)
