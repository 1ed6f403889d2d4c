"""Data sets and results of other evaluation tools: OpenAI Evals, promptfoo, DeepEval, Inspect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.importers.conversation import (
    CallDetails,
    ImportContext,
    ImportIterator,
    RawTurn,
    RecordedOutput,
    SkippedPart,
    build_conversation,
)
from callscore.importers.inspect_log import read_inspect_log
from callscore.importers.labelled_text import has_speaker_labels, labelled_turns
from callscore.importers.source_file import Source
from callscore.importers.tables import Table, format_cell, read_tables
from callscore.importers.turn_fields import text_of

INPUTS = ("transcript", "conversation", "dialogue", "call", "input", "question", "prompt", "query",
          "text", "message", "messages")  # fmt: skip
EXPECTED = ("expected_outcome", "expected_output", "expected", "ideal", "reference", "target",
            "correct_label", "label", "answer", "ground_truth", "golden")  # fmt: skip
IDS = ("call_id", "id", "name", "conversation_id", "test_case_name", "description")


class EvalExample(msgspec.Struct, frozen=True):
    """One example of a data set: input, expected answer and outputs of models."""

    input: Any
    where: str
    call_id: str = ""
    expected: Any = None
    outputs: Sequence[RecordedOutput] = ()


def convert_examples(
    name: str, examples: Iterator[EvalExample], source: Source, context: ImportContext
) -> ImportIterator:
    """Convert examples to conversations with expected answers and outputs."""
    for number, example in enumerate(examples, start=1):
        turns = list(_turns(example.input, example.where))
        if not turns:
            yield SkippedPart(f"{source.name}: {example.where}", "has no input with text")
            continue
        details = CallDetails(
            example.call_id or f"{context.fallback_id}-{number}",
            expected=_parse_json(example.expected),
            outputs=example.outputs,
        )
        yield from build_conversation(name, turns, details, context)


def _turns(value: Any, where: str) -> Iterator[RawTurn]:
    """The turns of an input: messages, a labelled transcript, or one turn of a customer."""
    if isinstance(value, list):
        for number, one in enumerate(value):
            if not isinstance(one, dict):
                continue
            label = str(one.get("role") or one.get("speaker") or "")
            text = text_of(one.get("content") or one.get("text") or one.get("message"))
            if label not in ("system", "developer") and text.strip():
                yield RawTurn(label, text, source=f"{where}[{number}]")
        return
    text = value if isinstance(value, str) else ""
    if has_speaker_labels(text):
        for turn in labelled_turns(text):
            if isinstance(turn, RawTurn):
                source = f"{where}, {turn.source}"
                yield RawTurn(turn.label, turn.text, turn.start, turn.end, source=source)
    elif text.strip():
        yield RawTurn("customer", text, source=where)


def _parse_json(value: Any) -> Any:
    """The value of an expected answer that is JSON in a text; any other unchanged."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
    return value


def _first_value(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if value.get(name) not in (None, "", [])), None)


def _id_text(value: Any) -> str:
    return str(value) if isinstance(value, str | int) else ""


def is_openai_evals(source: Source) -> bool:
    """Whether rows have an `item`, or `input` and `ideal` as in older files."""
    return any(
        isinstance(row, dict)
        and (isinstance(row.get("item"), dict) or {"input", "ideal"} <= row.keys())
        for row in source.objects[:5]
    )


def read_openai_evals(source: Source, context: ImportContext) -> ImportIterator:
    """Read the rows of an OpenAI Evals data source or of a run's output."""
    rows = map(_openai_example, _enumerate_rows(source.objects))
    yield from convert_examples("openai-evals", rows, source, context)


def _enumerate_rows(rows: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in enumerate(rows, start=1):
        yield f"row {number}", row if isinstance(row, dict) else {}


def _openai_example(row: tuple[str, Mapping[str, Any]]) -> EvalExample:
    where, value = row
    item = value.get("item") if isinstance(value.get("item"), dict) else value
    assert isinstance(item, Mapping)
    sample = value.get("sample")
    outputs = []
    if (
        isinstance(sample, dict)
        and (text := _first_value(sample, ("output_text", "output"))) is not None
    ):
        outputs.append(RecordedOutput(str(sample.get("model") or "sample"), _output_value(text)))
    return EvalExample(
        _first_value(item, INPUTS),
        where,
        _id_text(_first_value(item, IDS)),
        _first_value(item, EXPECTED),
        outputs,
    )


def _output_value(value: Any) -> Any:
    """The output as text or object; of chat messages, the content of the last."""
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        return text_of(value[-1].get("content"))
    return value


def is_deepeval(source: Source) -> bool:
    """Whether the file has goldens: `input` with `expected_output` or `actual_output`."""
    if source.is_archive:
        return False
    if any(_is_golden(row) for row in _goldens(source)[:5]):
        return True
    if source.json is not None or source.json_lines:
        return False
    return any(_is_golden_table(table) for table in read_tables(source))


def _goldens(source: Source) -> Sequence[Any]:
    value = source.json
    if isinstance(value, dict):
        inner = value.get("goldens") or value.get("test_cases") or value.get("testCases")
        if isinstance(inner, list):
            return inner
    return source.objects


def _is_golden(row: Any) -> bool:
    known = {"expected_output", "actual_output", "expectedOutput", "actualOutput", "scenario"}
    return isinstance(row, dict) and (
        ("input" in row and bool(known & row.keys()))
        or ("scenario" in row and bool({"turns", "expected_outcome"} & row.keys()))
    )


def _is_golden_table(table: Table) -> bool:
    outputs = table.column(("expected_output",)) or table.column(("actual_output",))
    if table.column(("scenario",)) is not None:
        return bool(table.column(("turns",)) or table.column(("expected_outcome",)))
    return table.column(("input",)) is not None and outputs is not None


def read_deepeval(source: Source, context: ImportContext) -> ImportIterator:
    """Read the goldens or test cases of DeepEval, in JSON or CSV."""
    rows: Sequence[Any] = _goldens(source)
    if not rows:
        tables = read_tables(source)
        rows = [{key: format_cell(cell) for key, cell in row.cells.items()}
                for table in tables for row in table.rows]  # fmt: skip
    yield from convert_examples(
        "deepeval", map(_golden_example, _enumerate_rows(rows)), source, context
    )


def _golden_example(row: tuple[str, Mapping[str, Any]]) -> EvalExample:
    where, value = row
    actual = _first_value(value, ("actual_output", "actualOutput"))
    outputs = [RecordedOutput("actual_output", actual)] if actual is not None else []
    expected = _first_value(value, ("expected_output", "expectedOutput", "expected_outcome"))
    content = _parse_json(value.get("turns")) or _first_value(value, INPUTS)
    return EvalExample(
        content, where, _id_text(_first_value(value, ("id", "name"))), expected, outputs
    )


def is_promptfoo(source: Source) -> bool:
    """Whether the file has results with `vars`, `tests`, or a column `__expected`."""
    if source.is_archive:
        return False
    if _promptfoo_results(source.json):
        return True
    if source.json is not None or source.json_lines:
        return _has_tests(source.json)
    if any(column.startswith("__expected") for table in _tables_or_empty(source) for column in
           table.columns):  # fmt: skip
        return True
    return _has_tests(source.yaml)


def _tables_or_empty(source: Source) -> list[Table]:
    try:
        return read_tables(source)
    except DataError:
        return []


def _has_tests(value: Any) -> bool:
    tests = value.get("tests") if isinstance(value, dict) else None
    return isinstance(tests, list) and any(
        isinstance(test, dict) and "vars" in test for test in tests[:5]
    )


def _promptfoo_results(value: Any) -> Sequence[Any]:
    for _ in range(2):
        value = value.get("results") if isinstance(value, dict) else value
    rows = value if isinstance(value, list) else []
    return rows if any(isinstance(row, dict) and "vars" in row for row in rows[:5]) else []


def read_promptfoo(source: Source, context: ImportContext) -> ImportIterator:
    """Read the tests of a promptfoo config or table, or the results of a run."""
    if rows := _promptfoo_results(source.json):
        examples: Iterator[EvalExample] = group_examples(
            map(_promptfoo_result_example, _enumerate_rows(rows))
        )
    elif tables := _tables_or_empty(source):
        examples = (
            _promptfoo_row_example(row.cells, row.where) for table in tables for row in table.rows
        )
    else:
        config = source.json if source.json is not None else source.yaml
        examples = map(_promptfoo_test_example, _enumerate_rows(config["tests"]))
    yield from convert_examples("promptfoo", examples, source, context)


def _promptfoo_test_example(row: tuple[str, Mapping[str, Any]]) -> EvalExample:
    where, test = row
    variables = test.get("vars") if isinstance(test.get("vars"), dict) else {}
    assertions = test.get("assert")
    expected = next(
        (
            one.get("value")
            for one in (assertions if isinstance(assertions, list) else [])
            if isinstance(one, dict) and str(one.get("type")).removeprefix("not-") in _COMPARISONS
        ),
        None,
    )
    return EvalExample(
        _call_variable(variables), where, _id_text(test.get("description")), expected
    )


_COMPARISONS = ("equals", "contains", "icontains", "similar", "is-json", "contains-json",
              "factuality", "rouge-n", "levenshtein")  # fmt: skip


def _promptfoo_row_example(cells: Mapping[str, Any], where: str) -> EvalExample:
    variables = {key: format_cell(cell) for key, cell in cells.items() if not key.startswith("__")}
    expected = next(
        (format_cell(cells[key]) for key in cells if key.startswith("__expected")), None
    )
    for prefix in ("equals:", "contains:", "similar:", "icontains:"):
        expected = expected.removeprefix(prefix).strip() if expected else expected
    call_id = format_cell(cells.get("__description") or variables.get("id"))
    return EvalExample(_call_variable(variables), where, call_id, expected)


def _promptfoo_result_example(row: tuple[str, Mapping[str, Any]]) -> EvalExample:
    where, result = row
    variables = result.get("vars") if isinstance(result.get("vars"), dict) else {}
    provider = result.get("provider")
    model = provider.get("id") if isinstance(provider, dict) else provider
    response = result.get("response") if isinstance(result.get("response"), dict) else {}
    assert isinstance(response, Mapping)
    usage = response.get("tokenUsage")
    tokens = (
        {"input_tokens": usage["prompt"], "output_tokens": usage["completion"]}
        if isinstance(usage, dict) and {"prompt", "completion"} <= usage.keys()
        else None
    )
    error = result.get("error") or response.get("error")
    cost = result.get("cost") if isinstance(result.get("cost"), int | float) else None
    output = RecordedOutput(
        str(model or "model"),
        response.get("output"),
        error=str(error) if error and response.get("output") is None else None,
        usage=tokens,
        cost_usd=cost,
    )
    test = result.get("testCase")
    expected = _promptfoo_test_example((where, test if isinstance(test, dict) else {})).expected
    call = _chat_prompt(result.get("prompt")) or _call_variable(variables)
    return EvalExample(call, where, _test_id(result), expected, [output])


def _chat_prompt(prompt: Any) -> list[Any]:
    """The messages of a prompt that is a whole chat; empty if it has only one of a user."""
    raw = prompt.get("raw") if isinstance(prompt, dict) else prompt
    found = _parse_json(raw)
    messages = found if isinstance(found, list) else []
    spoken = [one for one in messages if isinstance(one, dict) and one.get("role") != "system"]
    return messages if len(spoken) > 1 else []


def _test_id(result: Mapping[str, Any]) -> str:
    index = result.get("testIdx")
    return f"test-{index + 1}" if isinstance(index, int) else ""


def group_examples(examples: Iterator[EvalExample]) -> Iterator[EvalExample]:
    """One example per test, with the outputs of all providers."""
    groups: dict[Any, list[EvalExample]] = {}
    for example in examples:
        key = example.call_id or msgspec.json.encode(example.input)
        groups.setdefault(key, []).append(example)
    for same in groups.values():
        outputs = [output for example in same for output in example.outputs]
        seen: dict[str, int] = {}
        numbered = []
        for output in outputs:
            seen[output.model] = seen.get(output.model, 0) + 1
            numbered.append(msgspec.structs.replace(output, run=seen[output.model]))
        yield msgspec.structs.replace(same[0], outputs=numbered)


def _call_variable(variables: Any) -> Any:
    """The variable that contains the call: by its name, else the longest text."""
    if not isinstance(variables, Mapping):
        return None
    named = _first_value(variables, INPUTS)
    if named is not None:
        return named
    texts = [value for value in variables.values() if isinstance(value, str)]
    return max(texts, key=len, default=None)


class _InspectOutput(msgspec.Struct):
    completion: str | None = None
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    error: str | None = None


class _InspectError(msgspec.Struct):
    message: str = "failed"


class _InspectSample(msgspec.Struct):
    id: str | int
    input: Any = None
    target: Any = None
    output: _InspectOutput | None = None
    error: _InspectError | None = None


def read_inspect(source: Source, context: ImportContext) -> ImportIterator:
    """Read the samples of an Inspect log: input, target and output."""
    samples = read_inspect_log(source).samples
    examples = group_examples(map(_example, _convert_samples(samples, source)))
    yield from convert_examples("inspect", examples, source, context)


def _convert_samples(
    samples: Sequence[Any], source: Source
) -> Iterator[tuple[str, _InspectSample]]:
    for number, sample in enumerate(samples):
        where = f"$.samples[{number}]"
        try:
            yield where, msgspec.convert(sample, _InspectSample, strict=False)
        except msgspec.ValidationError as error:
            raise DataError(str(error), place=source.name, field=where) from None


def _example(located: tuple[str, _InspectSample]) -> EvalExample:
    where, sample = located
    output = sample.output or _InspectOutput()
    usage = output.usage or {}
    tokens = {key: usage[key] for key in ("input_tokens", "output_tokens") if key in usage}
    outputs = []
    error = sample.error.message if sample.error else output.error
    failed = sample.error is not None or output.completion is None
    if output.completion is not None or error:
        outputs = [
            RecordedOutput(
                output.model or "model",
                None if failed else output.completion,
                error=error if failed else None,
                usage=tokens if len(tokens) == 2 else None,
            )
        ]
    target = sample.target
    if isinstance(target, list) and len(target) == 1:
        target = target[0]
    return EvalExample(sample.input, where, str(sample.id), target, outputs)
