"""The dossier: a zip with everything needed to recompute the scores.

The same source gives the same bytes. `callscore verify` reads it.
"""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import IO, Any

import msgspec

from callscore.core.errors import UsageError
from callscore.core.scorecard import Scorecard
from callscore.core.signature import SCENARIOS
from callscore.core.task import SCENARIO
from callscore.core.version import __version__
from callscore.report.archive import Archive, read_blocks
from callscore.report.dossier_lines import (
    case_line,
    output_line,
    prompt_line,
    result_line,
    verdict_lines,
)
from callscore.report.json import scorecard_json
from callscore.report.safe_text import escape_json
from callscore.report.source import CaseView, ReportFormat, ReportOptions, ReportSource

CARD, RESULTS, CASES = "card.json", "results.jsonl", "cases.jsonl"
OUTPUTS, VERDICTS, PROMPTS = "outputs.jsonl", "verdicts.jsonl", "prompts.jsonl"
LABELS = "labels.jsonl"
SETTINGS, MODELS, PROVENANCE = "settings.json", "models.json", "provenance.json"
INSTRUCTIONS = "instructions.json"
MANIFEST, STATEMENT, ENVELOPE = "manifest.json", "statement.json", "statement.dsse.json"
STREAMED = (CASES, OUTPUTS, VERDICTS, LABELS, PROMPTS, RESULTS)
CONTENT = (CARD, *STREAMED, SETTINGS, MODELS, PROVENANCE, INSTRUCTIONS)
"""The files listed in the manifest and the statement; a dossier has no others."""
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:callscore:dossier:1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
VERSION = 1
NO_SCENARIOS = "scenarios: a dossier contains only calls, which `verify` can recompute"
MAX_PROMPTS = 20_000
"""Only the prompts of the first cases are hashed; all follow from case, settings and instructions.
"""


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield the zip: content first, then the manifest, the statement and its signature."""
    archive = Archive()
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(tempfile.TemporaryFile(prefix="callscore-"))
            for name in STREAMED
        }
        instructions = _write_lines(source, files, without_text=options.without_text)
        for name, raw in _documents(source, instructions, options).items():
            files[name] = stack.enter_context(tempfile.TemporaryFile(prefix="callscore-"))
            files[name].write(raw)
        for name in CONTENT:
            yield from archive.add(name, read_blocks(files[name]))
        statement = encode_document(build_statement(archive.digests, source))
        sealed = {MANIFEST: encode_document(build_manifest(archive.digests)), STATEMENT: statement}
        if options.sign is not None:
            sealed[ENVELOPE] = encode_document(sign_statement(statement, options))
        for name, raw in sealed.items():
            yield from archive.add(name, [raw])
    yield archive.finish()


def _write_lines(
    source: ReportSource, files: Mapping[str, IO[bytes]], *, without_text: bool
) -> dict[str, str]:
    """Write the lines of all cases in one pass; return the instructions of every task."""
    prices = {spec.name: spec.price for spec in source.provenance.models}
    instructions: dict[str, str] = {}
    for number, view in enumerate(_recomputable_cases(source)):
        _check_scored(view)
        files[CASES].write(case_line(view, without_text=without_text))
        if source.prompts is not None and number < MAX_PROMPTS:
            prompt = source.prompts(view.case)
            files[PROMPTS].write(prompt_line(view.case.id, prompt))
            for message in prompt.messages:
                if message.role == "system":
                    instructions.setdefault(view.case.task, message.content)
        for answer in view.answers:
            price = prices.get(answer.model)
            files[OUTPUTS].write(output_line(answer, price, without_text=without_text))
            for name, verdicts in ((VERDICTS, answer.verdicts), (LABELS, answer.labels)):
                lines = verdict_lines(answer, verdicts, without_text=without_text)
                files[name].writelines(lines)
            files[RESULTS].write(result_line(answer))
    return instructions


def _recomputable_cases(source: ReportSource) -> Iterator[CaseView]:
    """Yield every case but steps of scenarios, which can only be scored together."""
    number = 0
    for view in source.cases:
        if view.case.task != SCENARIO:
            number += 1
            yield view
    if not number:
        raise UsageError(
            "a dossier contains calls, and this source has only scenarios; `callscore run "
            "--rescore RUN --export DIR` writes their replies, which can be scored again"
        )


def _card_of_calls(card: Scorecard) -> Scorecard:
    """Return the card without rows and documents of scenarios, which `verify` cannot recompute."""
    if card.documents is msgspec.UNSET:
        return card
    models = [
        msgspec.structs.replace(
            model, tasks={name: task for name, task in model.tasks.items() if name != SCENARIO}
        )
        for model in card.models
    ]
    return msgspec.structs.replace(
        card,
        framework=card.framework.rpartition("+")[0],
        suite=card.suite.rpartition("+")[0],
        title=card.title.rpartition(" + ")[0],
        signature=card.signature.partition(f"|{SCENARIOS}:")[0],
        models=models,
        documents=msgspec.UNSET,
    )


def _absent(source: ReportSource) -> Sequence[str]:
    has_scenarios = any(SCENARIO in model.tasks for model in source.card.models)
    return [*source.absent, NO_SCENARIOS] if has_scenarios else source.absent


def _check_scored(view: CaseView) -> None:
    if not view.answers:
        raise UsageError(f"case {view.case.id!r} has no answers; expected a source with scores")


def _documents(
    source: ReportSource, instructions: Mapping[str, str], options: ReportOptions
) -> dict[str, bytes]:
    provenance = source.provenance
    settings = {
        "settings": provenance.settings,
        "weights": provenance.weights,
        "over": [task for model in source.card.models[:1] for task in model.final.over],
        "workload": provenance.workload,
        "cost_per_1000": provenance.cost_per_1000,
        "repeats": provenance.repeats,
        "benchmarks": provenance.benchmarks,
        "metrics": provenance.metrics,
        "intervals": provenance.intervals,
        "decide": provenance.decide,
        "prompts": source.prompts.context() if source.prompts is not None else {},
        "with_text": not options.without_text,
    }
    models = {
        "models": provenance.models,
        "judge": provenance.judge,
        "judging": source.card.judging,
    }
    about = {
        "title": source.title,
        "run": provenance.run,
        "files": provenance.files,
        "absent": _absent(source),
        "versions": provenance.versions,
    }
    return {
        CARD: scorecard_json(_card_of_calls(source.card)),
        SETTINGS: encode_document(settings),
        MODELS: encode_document(models),
        PROVENANCE: encode_document(about),
        INSTRUCTIONS: encode_document(instructions),
    }


def encode_document(value: Any) -> bytes:
    """Return indented JSON with sorted keys."""
    raw = msgspec.json.encode(value, order="sorted")
    return escape_json(msgspec.json.format(raw, indent=1)) + b"\n"


def build_manifest(digests: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the manifest: every file with its SHA-256 and size."""
    files = {name: digests[name] for name in CONTENT}
    return {"dossier": VERSION, "callscore": __version__, "files": files}


def build_statement(
    digests: Mapping[str, Mapping[str, Any]], source: ReportSource
) -> dict[str, Any]:
    """Return an in-toto statement (v1) about the files, with the signature of the scorecard."""
    subject = [{"name": name, "digest": {"sha256": digests[name]["sha256"]}} for name in CONTENT]
    card = _card_of_calls(source.card)
    predicate = {
        "callscore": __version__,
        "framework": card.framework,
        "signature": card.signature,
    }
    return {
        "_type": STATEMENT_TYPE,
        "subject": subject,
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate,
    }


def sign_statement(statement: bytes, options: ReportOptions) -> dict[str, Any]:
    """Sign the statement and return a DSSE envelope."""
    assert options.sign is not None  # checked by the caller
    signed = options.sign(pre_authentication_encoding(statement))
    return {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(statement).decode(),
        "signatures": [{"keyid": signed.key_id, "sig": base64.b64encode(signed.raw).decode()}],
    }


def pre_authentication_encoding(payload: bytes) -> bytes:
    """DSSEv1 SP len(type) SP type SP len(body) SP body: the bytes that are signed"""
    kind = PAYLOAD_TYPE.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


FORMAT = ReportFormat(
    "dossier",
    ".zip",
    "everything needed to recompute the scores, for `callscore verify`",
    write,
    is_text=False,
    needs_cases=True,
)
