"""Cases and outputs from files: parsed strictly, with clear errors."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from callscore.core import strict_json
from callscore.core.case import Case, Failed, Reply, Turn
from callscore.core.errors import DataError, nearest, similar_key_hint
from callscore.core.strict_json import recorded_calls
from callscore.store.files import Line, with_line_number

T = TypeVar("T")
MAX_PRICED_CALLS = 1e9
"""A price times this many calls must still be finite."""
SHORTEST_CUT = 64
"""Shorter outputs might occur in the record twice, for example as a name; they are found by their
key."""
QUOTE = ord('"')
MAKE_CASES = (
    "this is a transcript, and cases have an expected outcome: `callscore import --form FORM "
    "--gold MARKS` and `callscore annotate` make cases"
)
EXPECTED_INSTEAD = {"non_finite": "a finite number", "duplicate_key": "every key once"}
SIMILAR = 0.8
"""Similarity above which an unknown key is taken for a misspelt one; a user's own keys are
allowed."""
_STEP = re.compile(r"\w+")
_AT = re.compile(r" - at `\$\.?(.*)`$")
_MISSING = re.compile(r"Object missing required field `(.*?)`")


class CaseHead(msgspec.Struct, gc=False):
    """The part of a case that indexing needs."""

    id: str
    task: str


class TokenUsage(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Tokens of one call."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class OutputHead(msgspec.Struct, gc=False):
    """The part of an output that indexing needs."""

    case_id: str
    model: str


class OutputRecord(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One line of an outputs file (DESIGN: Outputs)."""

    case_id: str
    model: str
    output: msgspec.Raw = msgspec.Raw()
    run: int | msgspec.UnsetType = msgspec.UNSET
    """The first run if absent. A given value is encoded again, to check that it was read
    completely."""
    usage: TokenUsage | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None
    finish_reason: str | None = None
    error: Any = None
    tool_calls: Any = None
    """Tool calls in addition to or instead of `output`: steps of scenarios."""


_ENCODE = msgspec.json.Encoder().encode
_SORTED = msgspec.json.Encoder(order="sorted")
_ANY = msgspec.json.Decoder()
_CASE = msgspec.json.Decoder(Case)
_CASE_HEAD = msgspec.json.Decoder(CaseHead)
_OUTPUT_HEAD = msgspec.json.Decoder(OutputHead)
_OUTPUT = msgspec.json.Decoder(OutputRecord)
_TEXT = msgspec.json.Decoder(str | None)


def read_case_head(line: Line) -> CaseHead:
    """The id and the task of a case; parses only as much of the line as needed."""
    head = _decode_as(_CASE_HEAD, line)
    if not head.id.strip():
        raise DataError("is empty; expected a unique text", field="id", place=line.place)
    return head


def read_case_heads(lines: Sequence[bytes]) -> Sequence[CaseHead]:
    """The ids and tasks of many cases at once; empty if a line must be parsed on its own."""
    heads = _heads(_CASE_HEAD, lines)
    return heads if all(head.id.strip() for head in heads) else ()


def _heads(decoder: msgspec.json.Decoder[T], lines: Sequence[bytes]) -> Sequence[T]:
    """What a decoder reads on each line; empty if it fails on one of them."""
    try:
        return list(map(decoder.decode, lines))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()


def read_case(line: Line) -> tuple[Case, bytes]:
    """The case on a line (strict JSON, no duplicate keys, documented types) and its content

    The content is canonical JSON (C-132); it also proves that every key was read.
    """
    case = _try_decode(line)
    if case is not None:
        content = _SORTED.encode(case)
        # Keys outside the schema are not encoded again, so the strict parser checks them.
        if strict_json.keys_preserved(line.raw, content) and not strict_json.may_be_deep(content):
            return case, content
    case = convert_record(strict_value(line), Case, line)
    return case, canonical_case(case, line)


def canonical_case(case: Case, line: Line) -> bytes:
    """The case on a line as canonical JSON: keys sorted, no spaces, texts unchanged        C-132

    Null equals absent. Keys outside the schema come last.
    """
    known = _SORTED.encode(case)
    if strict_json.keys_preserved(line.raw, known):
        return known
    unread = _unknown_keys(_loose_value(line) or strict_value(line))
    return known + _SORTED.encode(unread) if unread else known


def _unknown_keys(record: dict[str, Any]) -> list[Any]:
    """What a record holds besides the documented keys, in itself and in its turns."""
    turns = record.get("transcript")
    parts = [(record, Case), *((turn, Turn) for turn in (turns if type(turns) is list else ()))]
    return [
        (number, key, part[key])
        for number, (part, kind) in enumerate(parts)
        for key in sorted(part.keys() - set(kind.__struct_fields__))
        if part[key] is not None
    ]


def read_checked_case(line: Line) -> Case:
    """The case on a line that `read_case` has accepted before: the same value, read faster."""
    return _try_decode(line) or read_case(line)[0]


def _try_decode(line: Line) -> Case | None:
    """The case as msgspec decodes it; None if it cannot."""
    try:
        return _CASE.decode(line.raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def read_output_head(line: Line) -> OutputHead:
    """The case and the model of the output on a line."""
    head = _decode_as(_OUTPUT_HEAD, line)
    if not head.model.strip():
        raise DataError("is empty; expected the name of the model", field="model", place=line.place)
    return head


def read_output_heads(lines: Sequence[bytes]) -> Sequence[OutputHead]:
    """The heads of many outputs at once; empty if a line must be parsed on its own."""
    heads = _heads(_OUTPUT_HEAD, lines)
    return heads if all(map(str.strip, {head.model for head in heads})) else ()


def read_output(line: Line) -> OutputRecord:
    """The record on a line of an outputs file; the model's text is not parsed yet."""
    try:
        record = _OUTPUT.decode(line.raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        record = _decode_as(_OUTPUT, line)
    # The model's text is the same in both: its errors are the model's, not the file's.
    if not strict_json.keys_preserved(line.raw, _ENCODE(record)):
        strict_value(msgspec.structs.replace(line, raw=_envelope(line.raw, record)))
    if record.run is not msgspec.UNSET and record.run < 1:
        raise locate_error(
            line, DataError(f"{record.run} is not a run; expected 1 or more", field="run")
        )
    cost = record.cost_usd
    if cost is not None and not 0 <= MAX_PRICED_CALLS * cost < math.inf:
        what = "negative" if cost < 0 else "beyond what can be added up"
        raise locate_error(
            line, DataError(f"{cost} is {what}; expected 0 or more dollars", field="cost_usd")
        )
    if not isinstance(record.tool_calls, list | None):
        raise locate_error(line, DataError("expected a list of calls", field="tool_calls"))
    if not record.output and not record.error and record.tool_calls is None:
        raise locate_error(
            line, DataError("missing; expected `output`, or `error`", field="output")
        )
    return record


def _envelope(raw: bytes, record: OutputRecord) -> bytes:
    """The record without the model's text: errors in there are the model's, not the file's."""
    said = bytes(record.output)
    if len(said) <= SHORTEST_CUT:
        found = re.search(rb'"output"\s*:\s*(%s)\s*[,}]' % re.escape(said), raw)
        return raw[: found.start(1)] + b"0" + raw[found.end(1) :] if found and said else raw
    # Searching all of a long text is slow; its beginning is mostly enough.
    at = raw.find(said[:SHORTEST_CUT])
    if not raw.startswith(said, at):
        return raw.replace(said, b"0", 1)
    return raw[:at] + b"0" + raw[at + len(said) :]


def run_of(record: OutputRecord) -> int:
    """The number of the run of an output."""
    return 1 if record.run is msgspec.UNSET else record.run


def reply_of(record: OutputRecord) -> Reply | Failed:
    """The reply of the model: text, the bytes of an object, or why there is none."""
    if record.error:
        why = record.error if isinstance(record.error, str) else msgspec.json.encode(record.error)
        why = why if isinstance(why, str) else why.decode()
        return Failed("model", why, record.cost_usd)
    raw, usage = bytes(record.output) or b"null", record.usage
    return Reply(
        _text(raw) if raw[0] == QUOTE or raw == b"null" else raw,
        record.finish_reason,
        usage.input_tokens if usage is not None else None,
        usage.output_tokens if usage is not None else None,
        record.cost_usd,
        () if record.tool_calls is None else recorded_calls(record.tool_calls),
    )


def _text(raw: bytes) -> str | bytes:
    """The text of a JSON string or null; bytes that are not text are left to the task."""
    try:
        return _TEXT.decode(raw) or ""
    except UnicodeDecodeError:
        return raw


def strict_value(line: Line) -> Any:
    """The JSON value of a line, parsed strictly; raises DataError."""
    try:
        return strict_json.decode(line.raw, max_bytes=len(line.raw)).value
    except strict_json.JsonFault as fault:
        raise locate_error(line, _json_error(fault)) from None


def _json_error(fault: strict_json.JsonFault) -> DataError:
    expected = EXPECTED_INSTEAD.get(fault.cause, "one JSON object per line")
    return DataError(f"{fault.detail} ({fault.cause}); expected {expected}", field=fault.path)


def _decode_as(decoder: msgspec.json.Decoder[T], line: Line) -> T:
    try:
        return decoder.decode(line.raw)
    except msgspec.ValidationError as error:
        raise locate_error(line, _type_error(error, _loose_value(line))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # Only lone surrogates get past the strict parser here; it has replaced them.
        return _decode_as(
            decoder, msgspec.structs.replace(line, raw=msgspec.json.encode(strict_value(line)))
        )


def _loose_value(line: Line) -> Any:
    """The value on a line; None if it is not JSON."""
    try:
        return _ANY.decode(line.raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def convert_record(value: Any, kind: type[T], line: Line) -> T:
    """A value as a record of this type; raises DataError."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        problem = _type_error(error, value).with_place("", _case_id_of(value))
        raise locate_error(line, problem) from None


def _case_id_of(record: Any) -> str:
    """The case that a record belongs to, if it names one."""
    named = record.get("case_id", record.get("id")) if isinstance(record, dict) else None
    return named if isinstance(named, str) else ""


def _type_error(error: msgspec.ValidationError, record: Any = None) -> DataError:
    """msgspec's message with its path as the field; for a missing key, a suggestion."""
    message = str(error)
    found = _AT.search(message)
    field = found[1] if found else ""
    if missing := _MISSING.match(message):
        keys = _keys_at(record, field)
        hint = (
            similar_key_hint(missing[1], keys).rstrip() or f"expected it next to {', '.join(keys)}"
        )
        if not field and "transcript" in keys and not {"task", "expected_outcome"} & {*keys}:
            hint = MAKE_CASES
        field = f"{field}.{missing[1]}" if field else missing[1]
        return DataError(f"missing; {hint}", field=field)
    return DataError(_AT.sub("", message).replace("`", ""), field=field)


def _keys_at(record: Any, path: str) -> Iterable[str]:
    """The keys of the object at a path such as `transcript[3]`; empty if it is not an object."""
    for step in _STEP.findall(path):
        try:
            record = record[int(step) if step.isdecimal() else step]
        except (KeyError, IndexError, TypeError):
            return ()
    return record if isinstance(record, dict) else ()


def near_misses(line: Line) -> list[DataError]:
    """Unknown keys of a case that are similar to documented ones."""
    record = strict_value(line)
    known = Case.__struct_fields__
    return [
        DataError(f"is unknown; did you mean {near}?", field=key, place=line.place)
        for key in record
        if key not in known and (near := nearest(key, known, SIMILAR)) and near not in record
    ]


def locate_error(line: Line, error: DataError) -> DataError:
    """The error with file and line."""
    placed = line if line.number else with_line_number(line)
    return error.with_place(placed.place)


EXPECTED = "expected one JSON object per line, in UTF-8"
_ROWS = "write every row as such a line, or pass a DataFrame to callscore.score in Python"
_TRANSCRIPT = "`callscore import` reads it; `--form FORM --gold MARKS` makes cases of calls"


class OtherFormat(NamedTuple):
    """A format that is not JSON Lines, and how to convert it."""

    name: str
    remedy: str = ""


_SPREADSHEET = OtherFormat("a spreadsheet (Excel)", f"save it as CSV; {_ROWS}")
_ARCHIVE = OtherFormat("an archive or a spreadsheet (zip)")
_RECORDING = OtherFormat("a recording", "put its transcript into the `transcript` of a case")
_CSV = OtherFormat("a table (CSV)", _ROWS)
_VTT = OtherFormat("a transcript (WebVTT)", _TRANSCRIPT)
_SRT = OtherFormat("a transcript (SubRip)", _TRANSCRIPT)
_PLAIN = OtherFormat("plain text", _TRANSCRIPT)

BEGINNINGS = {
    b"\x1f\x8b": OtherFormat("compressed (gzip)"),
    b"PK\x03\x04": _ARCHIVE,
    b"\xd0\xcf\x11\xe0": _SPREADSHEET,
    b"\xff\xfe": OtherFormat("text in UTF-16"),
    b"\xfe\xff": OtherFormat("text in UTF-16"),
    b"%PDF": OtherFormat("a PDF"),
    b"PAR1": OtherFormat("Parquet", "only case files may be, named .parquet"),
    b"RIFF": _RECORDING,
    b"ID3": _RECORDING,
    b"OggS": _RECORDING,
    b"fLaC": _RECORDING,
    b"WEBVTT": _VTT,
}
ENDINGS = {
    ".xlsx": _SPREADSHEET,
    ".xlsm": _SPREADSHEET,
    ".ods": _SPREADSHEET,
    ".csv": _CSV,
    ".tsv": _CSV,
    ".vtt": _VTT,
    ".srt": _SRT,
    ".txt": _PLAIN,
}
_CUE = re.compile(rb"\s*\d+\s*\n\d\d:\d\d:\d\d[,.]\d{3} --> ")


def refuse_other_formats(path: Path, beginning: bytes) -> None:
    """Raise DataError if the file is not JSON Lines: one error instead of one per line."""
    found = _detect(path, beginning)
    if found is not None:
        remedy = f"; {found.remedy}" if found.remedy else ""
        raise DataError(f"is {found.name}; {EXPECTED}{remedy}", place=str(path))


def _detect(path: Path, beginning: bytes) -> OtherFormat | None:
    text = beginning.lstrip()
    by_name = ENDINGS.get(path.suffix.lower())
    for start, other in BEGINNINGS.items():
        if beginning.startswith(start):
            return by_name if other is _ARCHIVE and by_name is _SPREADSHEET else other
    if not text:
        return None
    if text.startswith(b"{"):
        return _json(text)
    if text.startswith(b"["):  # a list, or a time: [00:02] Agent: …
        return _json(text) or by_name
    return _SRT if _CUE.match(beginning) else by_name


def _json(text: bytes) -> OtherFormat | None:
    """A JSON array, or an object over several lines; None if the first line is a complete object"""
    first, _, rest = text.partition(b"\n")
    if first.strip() in (b"{", b"["):
        return OtherFormat("one JSON document over several lines", "name it .json if it is a case")
    if text.startswith(b"[") and not rest.strip():
        return OtherFormat("one JSON list", "write every element as its own line")
    return None
