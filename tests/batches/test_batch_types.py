"""Jobs are created as the SDKs of the vendors would, and the stubs answer as the SDKs expect."""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import pytest

from batch_runs import evaluating, timing
from batch_vendors import AnthropicVendor, GeminiVendor, Job, OpenAIVendor, Vendor
from builders import Json


def module(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, not ours
        return pytest.importorskip(name)


def type_errors(value: Any, kind: Any) -> list[str]:
    typed: Any = importlib.import_module("typed_values")
    found: list[str] = typed.type_errors(value, kind)
    return found


def finished(folder: Path, vendor: Vendor) -> tuple[Job, list[Json]]:
    """A job that was created by a run and has ended, some requests with an error; its results."""
    jobs: list[Job] = []
    results: list[Json] = []
    vendor.refused = {1}

    def keep(lines: list[Json]) -> list[Json]:
        results.extend(lines)
        return lines

    vendor.change = keep

    def after(op: str) -> None:
        if op == "create":
            jobs.extend(vendor.jobs.values())

    vendor.after = after
    with timing(), evaluating(folder, vendor, then="stop") as eval_:
        eval_.run(preflight=False)
    return jobs[0], results


def test_openai_batches_are_those_of_the_sdk(tmp_path: Path) -> None:
    kinds = module("openai.types")
    vendor = OpenAIVendor()
    job, results = finished(tmp_path, vendor)
    params = module("openai.types.batch_create_params")
    assert type_errors(job.created, params.BatchCreateParams) == []
    found = kinds.Batch.model_validate(vendor._object(job), strict=True)
    assert (found.status, found.metadata) == ("completed", {"callscore_job": job.token})
    bodies = module("openai.types.chat.completion_create_params")
    for line in job.lines:
        assert line.keys() == {"custom_id", "method", "url", "body"}
        assert (line["method"], line["url"]) == ("POST", job.created["endpoint"])
        assert type_errors(line["body"], bodies.CompletionCreateParamsNonStreaming) == []
    answers = [line["response"]["body"] for line in results if line["error"] is None]
    chat = module("openai.types.chat")
    assert [chat.ChatCompletion.model_validate(body).object for body in answers]


def test_anthropic_batches_are_those_of_the_sdk(tmp_path: Path) -> None:
    kinds = module("anthropic.types.messages")
    vendor = AnthropicVendor()
    job, lines = finished(tmp_path, vendor)
    params = module("anthropic.types.messages.batch_create_params")
    assert type_errors({"requests": job.lines}, params.BatchCreateParams) == []
    found = kinds.MessageBatch.model_validate(vendor._object(job))
    assert found.processing_status == "ended"
    results = [
        kinds.MessageBatchIndividualResponse.model_validate(line).result.type for line in lines
    ]
    assert sorted(results) == ["errored", "succeeded", "succeeded"]


def test_gemini_batches_are_those_of_the_sdk(tmp_path: Path) -> None:
    batches = module("google.genai.batches")
    types = module("google.genai.types")
    vendor = GeminiVendor()
    job, results = finished(tmp_path, vendor)
    vendor.files[f"files/result-{job.id.partition('/')[2]}"] = b""
    read = types.BatchJob.model_validate(batches._BatchJob_from_mldev(vendor._object(job)))
    assert (read.state.name, read.display_name) == ("JOB_STATE_SUCCEEDED", job.token)
    assert read.dest.file_name == f"files/result-{job.id.partition('/')[2]}"
    parts = {"contents": types.Content, "systemInstruction": types.Content}
    parts["generationConfig"] = types.GenerationConfig
    for line in job.lines:
        assert line.keys() == {"key", "request"}
        for name, value in line["request"].items():
            for part in value if isinstance(value, list) else [value]:
                parts[name].model_validate(part)
    answers = [line["response"] for line in results if "response" in line]
    assert [types.GenerateContentResponse.model_validate(one).text for one in answers]
