"""The dossier: a zip with everything needed to recompute the scores.

The same source gives the same bytes. `callscore verify` reads it.

Without text, a line has ids, counts, labels, and the hash of the text that was left out.
"""

from __future__ import annotations

import base64
import hashlib
import tempfile
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import IO, Any

import msgspec

from callscore.core.errors import UsageError
from callscore.core.judging import Verdict
from callscore.core.run import Price
from callscore.core.scorecard import Scorecard
from callscore.core.task import SCENARIO
from callscore.core.version import __version__
from callscore.report.archive import Archive, read_blocks
from callscore.report.json import scorecard_json
from callscore.report.safe_text import escape_json
from callscore.report.source import (
    Answer,
    CaseView,
    ReportFormat,
    ReportOptions,
    ReportSource,
    ScenarioArchive,
    SentPrompt,
)

_ENCODE = msgspec.json.Encoder(order="sorted").encode
VERDICT_TEXT_KEYS = ("text", "quote", "note")
CASE_KEYS_KEPT = ("id", "task", "call_id", "lang")


def sha256(raw: bytes) -> str:
    """Return the hash in hexadecimal."""
    return hashlib.sha256(raw).hexdigest()


def case_line(view: CaseView, *, without_text: bool) -> bytes:
    """Return the case as a line of a case file; without text its id, task, language and hash."""
    record = case_object(view)
    if without_text:
        kept = {key: record[key] for key in CASE_KEYS_KEPT if key in record}
        record = {**kept, "sha256": sha256(_ENCODE(record))}
    # Keys keep their order: the model sees those of the config in the prompt.
    return escape_json(msgspec.json.encode(record)) + b"\n"


def _line(record: Any) -> bytes:
    return escape_json(_ENCODE(record)) + b"\n"


def case_object(view: CaseView) -> dict[str, Any]:
    """Return the case as an object, including undocumented keys of its file."""
    record: dict[str, Any] = msgspec.to_builtins(view.case)
    for part, key, value in view.other_keys:
        place = record if not part else record["transcript"][part - 1]
        place[key] = value
    return record


def output_line(answer: Answer, price: Price | None, *, without_text: bool) -> bytes:
    """Return the answer as a line of an outputs file; empty if the case was not run.

    `cost_from: price` says that the cost is tokens × price, with the price in the dossier.
    """
    record = _output_record(answer, price, without_text=without_text)
    return b"" if record is None else _line(record)


def step_output_line(answer: Answer, price: Price | None, *, without_text: bool) -> bytes:
    """Return the same for a step of a scenario, with what its result reports besides its score."""
    record = _output_record(answer, price, without_text=without_text)
    if record is None:
        return b""
    seen = {"answered_by": answer.answered_by, "latency_ms": answer.latency_ms}
    return _line({**record, **seen})


def _output_record(
    answer: Answer, price: Price | None, *, without_text: bool
) -> dict[str, Any] | None:
    result = answer.result
    if result.status == "not_run":
        return None
    record: dict[str, Any] = {
        "case_id": result.case_id,
        "model": result.model,
        "run": result.run,
        "usage": {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens},
        "cost_usd": answer.cost_usd,
        "finish_reason": answer.finish_reason,
    }
    if answer.cost_usd is not None and answer.cost_usd == cost_at_price(answer, price):
        record["cost_from"] = "price"
    if answer.error is not None:
        record["error"] = answer.error
    elif without_text:
        record["output_sha256"] = sha256(output_bytes(answer))
    else:
        record["output"] = msgspec.Raw(output_bytes(answer))
        if answer.tool_calls:
            record["tool_calls"] = msgspec.to_builtins(answer.tool_calls)
    return record


def cost_at_price(answer: Answer, price: Price | None) -> float | None:
    """Return tokens × price; None if either is unknown."""
    tokens = (answer.input_tokens, answer.output_tokens)
    if price is None or tokens[0] is None or tokens[1] is None:
        return None
    return price.of(tokens[0], tokens[1])


def output_bytes(answer: Answer) -> bytes:
    """Return the reply as JSON: the object in the outputs file, or a string."""
    text = answer.text or ""
    return escape_json(text.encode() if answer.is_object else _ENCODE(text))


def verdict_lines(
    answer: Answer, verdicts: Sequence[Verdict], *, without_text: bool
) -> Iterator[bytes]:
    """Yield verdicts on an answer, or labels, as lines of a verdicts file."""
    result = answer.result
    for verdict in verdicts:
        record: dict[str, Any] = {
            key: value
            for key, value in msgspec.structs.asdict(verdict).items()
            if value not in ("", None, False)
        }
        if without_text:
            left_out = {key: record.pop(key) for key in VERDICT_TEXT_KEYS if key in record}
            record["sha256"] = sha256(_ENCODE(left_out))
        identity = {"case_id": result.case_id, "model": result.model, "run": result.run}
        yield _line({**identity, **record})


def archived_line(record: Mapping[str, Any], *, without_text: bool) -> bytes:
    """Return a file of scenarios or a verdict on a step; without text, with the hash of its text.

    Keys keep their order: a model sees those of a card.
    """
    if without_text:
        kept = {key: value for key, value in record.items() if key not in ("text", "verdict")}
        record = {**kept, "sha256": sha256(_ENCODE(record))}
    return escape_json(msgspec.json.encode(record)) + b"\n"


def prompt_line(case_id: str, sent: SentPrompt) -> bytes:
    """Return a line with the hash of the prompt of a case, and the only model that is sent it."""
    only = {"model": sent.model, "run": sent.run} if sent.run else {}
    return _line({"case_id": case_id, "sha256": sha256(_ENCODE(sent.prompt)), **only})


def result_line(answer: Answer) -> bytes:
    """Return a line with the result, its measures, and the hashes of the reply and the verdicts."""
    return _line(result_object(answer))


def _hash(verdicts: Sequence[Verdict]) -> str:
    """Hash verdicts as dossiers always did: without `review` where it says nothing."""
    records = [msgspec.structs.asdict(verdict) for verdict in verdicts]
    for record in records:
        if not record["review"]:
            del record["review"]
    return sha256(_ENCODE(records))


def result_object(answer: Answer) -> dict[str, Any]:
    """Return the result as an object, for comparison with a stored line."""
    return {
        **msgspec.structs.asdict(answer.result),
        "measures": {
            slug: (measure.numerator, measure.denominator)
            for slug, measure in answer.measures.items()
            if measure.value is not None
        },
        "output_sha256": None if answer.text is None else sha256(output_bytes(answer)),
        "verdicts_sha256": _hash(answer.verdicts) if answer.verdicts else None,
    }


CARD, RESULTS, CASES = "card.json", "results.jsonl", "cases.jsonl"
OUTPUTS, VERDICTS, PROMPTS = "outputs.jsonl", "verdicts.jsonl", "prompts.jsonl"
LABELS = "labels.jsonl"
SETTINGS, MODELS, PROVENANCE = "settings.json", "models.json", "provenance.json"
INSTRUCTIONS = "instructions.json"
MANIFEST, STATEMENT, ENVELOPE = "manifest.json", "statement.json", "statement.dsse.json"
STREAMED = (CASES, OUTPUTS, VERDICTS, LABELS, PROMPTS, RESULTS)
CONTENT = (CARD, *STREAMED, SETTINGS, MODELS, PROVENANCE, INSTRUCTIONS)
"""The files listed in the manifest and the statement."""
SCENARIOS, STEP_VERDICTS = "scenarios.jsonl", "step_verdicts.jsonl"
STEP_OUTPUTS, STEP_RESULTS = "step_outputs.jsonl", "step_results.jsonl"
OF_SCENARIOS = (SCENARIOS, STEP_OUTPUTS, STEP_VERDICTS, STEP_RESULTS)
"""The files that a run with scenarios has besides; a dossier has no others."""
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:callscore:dossier:1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
VERSION = 1
MAX_PROMPTS = 20_000
"""Only the prompts of the first cases are hashed; all follow from case, settings and instructions.
"""


def write(source: ReportSource, options: ReportOptions) -> Iterator[bytes]:
    """Yield the zip: content first, then the manifest, the statement and its signature."""
    archive = Archive()
    added = OF_SCENARIOS if source.scenarios.settings else ()
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(tempfile.TemporaryFile(prefix="callscore-"))
            for name in (*STREAMED, *added)
        }
        instructions = _write_lines(source, files, without_text=options.without_text)
        _write_scenarios(source.scenarios, files, without_text=options.without_text)
        for name, raw in _documents(source, instructions, options).items():
            files[name] = stack.enter_context(tempfile.TemporaryFile(prefix="callscore-"))
            files[name].write(raw)
        for name in (*CONTENT, *added):
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
    prompts_of = None if source.prompts is None else source.prompts.read_in_order()
    for number, view in enumerate(source.cases):
        _check_scored(view)
        if view.case.task == SCENARIO:
            _write_step(view, files, prices, without_text=without_text)
            continue
        files[CASES].write(case_line(view, without_text=without_text))
        for sent in () if prompts_of is None or number >= MAX_PROMPTS else prompts_of(view):
            files[PROMPTS].write(prompt_line(view.case.id, sent))
            for message in sent.prompt.messages:
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


def _write_step(
    view: CaseView,
    files: Mapping[str, IO[bytes]],
    prices: Mapping[str, Price | None],
    *,
    without_text: bool,
) -> None:
    """Write the replies to a step of a scenario; the step itself is in its scenario."""
    for answer in view.answers:
        line = step_output_line(answer, prices.get(answer.model), without_text=without_text)
        files[STEP_OUTPUTS].write(line)
        files[STEP_RESULTS].write(result_line(answer))


def _write_scenarios(
    scenarios: ScenarioArchive, files: Mapping[str, IO[bytes]], *, without_text: bool
) -> None:
    for file in scenarios.files():
        files[SCENARIOS].write(archived_line(file, without_text=without_text))
    for verdict in scenarios.verdicts():
        files[STEP_VERDICTS].write(archived_line(verdict, without_text=without_text))


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
    if source.scenarios.settings:
        settings["scenarios"] = source.scenarios.settings
    models = {
        "models": provenance.models,
        "judge": provenance.judge,
        "judging": source.card.judging,
    }
    about = {
        "title": source.title,
        "run": provenance.run,
        "files": provenance.files,
        "absent": source.absent,
        "versions": provenance.versions,
    }
    return {
        CARD: scorecard_json(_card(source, options)),
        SETTINGS: encode_document(settings),
        MODELS: encode_document(models),
        PROVENANCE: encode_document(about),
        INSTRUCTIONS: encode_document(instructions),
    }


def _card(source: ReportSource, options: ReportOptions) -> Scorecard:
    """Return the scorecard; documents of scenarios quote replies and are left out without text."""
    if not options.without_text:
        return source.card
    return msgspec.structs.replace(source.card, documents=msgspec.UNSET)


def encode_document(value: Any) -> bytes:
    """Return indented JSON with sorted keys."""
    raw = msgspec.json.encode(value, order="sorted")
    return escape_json(msgspec.json.format(raw, indent=1)) + b"\n"


def content_of(names: Container[str]) -> list[str]:
    """Return the files that the manifest and the statement list, of those in a dossier."""
    return [*CONTENT, *(name for name in OF_SCENARIOS if name in names)]


def build_manifest(digests: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the manifest: every file with its SHA-256 and size."""
    files = {name: digests[name] for name in content_of(digests)}
    return {"dossier": VERSION, "callscore": __version__, "files": files}


def build_statement(
    digests: Mapping[str, Mapping[str, Any]], source: ReportSource
) -> dict[str, Any]:
    """Return an in-toto statement (v1) about the files, with the signature of the scorecard."""
    subject = [
        {"name": name, "digest": {"sha256": digests[name]["sha256"]}}
        for name in content_of(digests)
    ]
    card = source.card
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
