"""Data sets and results of other evaluation tools: OpenAI Evals, promptfoo, DeepEval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from callscore.core.errors import DataError
from callscore.importers.assemble import Context, Details, assemble
from callscore.importers.chats import content_text
from callscore.importers.conversation import Imported, RawTurn, RecordedOutput, Skipped
from callscore.importers.labelled_text import labelled_turns, looks_labelled
from callscore.importers.source import Source
from callscore.importers.tables import Table, cell_text, tables_of

INPUTS = ("transcript", "conversation", "dialogue", "call", "input", "question", "prompt", "query",
          "text", "message", "messages")  # fmt: skip
EXPECTED = ("expected_outcome", "expected_output", "expected", "ideal", "reference", "target",
            "correct_label", "label", "answer", "ground_truth", "golden")  # fmt: skip
IDS = ("call_id", "id", "name", "conversation_id", "test_case_name", "description")


class Example(msgspec.Struct, frozen=True):
    """One example of a data set: what went in, what was expected, what came out."""

    given: Any
    where: str
    call_id: str = ""
    expected: Any = None
    outputs: Sequence[RecordedOutput] = ()


def conversations(
    name: str, examples: Iterator[Example], source: Source, context: Context
) -> Imported:
    """Every example as a conversation with what was expected and what models answered."""
    for number, example in enumerate(examples, start=1):
        turns = list(_turns(example.given, example.where))
        if not turns:
            yield Skipped(f"{source.name}: {example.where}", "has no input with text")
            continue
        details = Details(
            example.call_id or f"{context.fallback_id}-{number}",
            expected=_parsed(example.expected),
            outputs=example.outputs,
        )
        yield from assemble(name, turns, details, context)


def _turns(given: Any, where: str) -> Iterator[RawTurn]:
    """The turns of an input: messages, a labelled transcript, or one turn of a customer."""
    if isinstance(given, list):
        for number, one in enumerate(given):
            if not isinstance(one, dict):
                continue
            label = str(one.get("role") or one.get("speaker") or "")
            text = content_text(one.get("content") or one.get("text") or one.get("message"))
            if label not in ("system", "developer") and text.strip():
                yield RawTurn(label, text, source=f"{where}[{number}]")
        return
    text = given if isinstance(given, str) else ""
    if looks_labelled(text):
        for found in labelled_turns(text):
            if isinstance(found, RawTurn):
                at = f"{where}, {found.source}"
                yield RawTurn(found.label, found.text, found.start, found.end, source=at)
    elif text.strip():
        yield RawTurn("customer", text, source=where)


def _parsed(value: Any) -> Any:
    """An expected answer that is JSON in a text, as its value."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value
    return value


def _pick(value: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((value[name] for name in names if value.get(name) not in (None, "", [])), None)


def _text_id(value: Any) -> str:
    return str(value) if isinstance(value, str | int) else ""


def is_openai_evals(source: Source) -> bool:
    """Rows with `item` (and `sample`), or the older `input` with `ideal`."""
    return any(
        isinstance(row, dict)
        and (isinstance(row.get("item"), dict) or {"input", "ideal"} <= row.keys())
        for row in source.objects[:5]
    )


def read_openai_evals(source: Source, context: Context) -> Imported:
    """The rows of an OpenAI Evals data source or of a run's output."""
    rows = map(_openai_row, _counted(source.objects))
    yield from conversations("openai-evals", rows, source, context)


def _counted(rows: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in enumerate(rows, start=1):
        yield f"row {number}", row if isinstance(row, dict) else {}


def _openai_row(row: tuple[str, Mapping[str, Any]]) -> Example:
    where, value = row
    item = value.get("item") if isinstance(value.get("item"), dict) else value
    assert isinstance(item, Mapping)
    sample = value.get("sample")
    outputs = []
    if isinstance(sample, dict) and (text := _pick(sample, ("output_text", "output"))) is not None:
        outputs.append(RecordedOutput(str(sample.get("model") or "sample"), _answer(text)))
    return Example(
        _pick(item, INPUTS), where, _text_id(_pick(item, IDS)), _pick(item, EXPECTED), outputs
    )


def _answer(value: Any) -> Any:
    """An answer as text or object; of chat messages, the content of the last."""
    if isinstance(value, list) and value and isinstance(value[-1], dict):
        return content_text(value[-1].get("content"))
    return value


def is_deepeval(source: Source) -> bool:
    """Goldens: `input` next to `expected_output` or `actual_output`; or `goldens` in an object."""
    if source.is_archive:
        return False
    if any(_is_golden(row) for row in _goldens(source)[:5]):
        return True
    if source.json is not None or source.json_lines:
        return False
    return any(_is_golden_table(table) for table in tables_of(source))


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
        ("input" in row and bool(known & row.keys())) or ("turns" in row and "scenario" in row)
    )


def _is_golden_table(table: Table) -> bool:
    outputs = table.column(("expected_output",)) or table.column(("actual_output",))
    return table.column(("input",)) is not None and outputs is not None


def read_deepeval(source: Source, context: Context) -> Imported:
    """The goldens or test cases of DeepEval, in JSON or CSV."""
    rows: Sequence[Any] = _goldens(source)
    if not rows:
        tables = tables_of(source)
        rows = [{key: cell_text(cell) for key, cell in row.cells.items()}
                for table in tables for row in table.rows]  # fmt: skip
    yield from conversations("deepeval", map(_golden, _counted(rows)), source, context)


def _golden(row: tuple[str, Mapping[str, Any]]) -> Example:
    where, value = row
    actual = _pick(value, ("actual_output", "actualOutput"))
    outputs = [RecordedOutput("actual_output", actual)] if actual is not None else []
    expected = _pick(value, ("expected_output", "expectedOutput", "expected_outcome"))
    given = value.get("turns") or _pick(value, INPUTS)
    return Example(given, where, _text_id(_pick(value, ("id", "name"))), expected, outputs)


def is_promptfoo(source: Source) -> bool:
    """Results with `vars` and `response`, a YAML file with `tests`, or a table of `__expected`."""
    if source.is_archive:
        return False
    if _promptfoo_results(source.json):
        return True
    if source.json is not None or source.json_lines:
        return _has_tests(source.json)
    if any(column.startswith("__expected") for table in _quiet_tables(source) for column in
           table.columns):  # fmt: skip
        return True
    return _has_tests(_yaml(source))


def _quiet_tables(source: Source) -> list[Table]:
    try:
        return tables_of(source)
    except DataError:
        return []


def _has_tests(value: Any) -> bool:
    tests = value.get("tests") if isinstance(value, dict) else None
    return isinstance(tests, list) and any(
        isinstance(test, dict) and "vars" in test for test in tests[:5]
    )


def _yaml(source: Source) -> Any:
    """The YAML of a file whose text looks like a promptfoo config; None otherwise.

    A file with aliases is refused: a few lines of them can expand to gigabytes.
    """
    if "tests:" not in source.text or "vars:" not in source.text:
        return None
    import yaml

    try:
        tokens = yaml.scan(source.text, Loader=yaml.CSafeLoader)
        if any(isinstance(token, yaml.AliasToken) for token in tokens):
            return None
        return yaml.safe_load(source.text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _promptfoo_results(value: Any) -> Sequence[Any]:
    for _ in range(2):
        value = value.get("results") if isinstance(value, dict) else value
    rows = value if isinstance(value, list) else []
    return rows if any(isinstance(row, dict) and "vars" in row for row in rows[:5]) else []


def read_promptfoo(source: Source, context: Context) -> Imported:
    """The tests of a promptfoo config or table, or the results of a run."""
    if rows := _promptfoo_results(source.json):
        examples: Iterator[Example] = grouped(map(_promptfoo_result, _counted(rows)))
    elif tables := _quiet_tables(source):
        examples = (_promptfoo_row(row.cells, row.where) for table in tables for row in table.rows)
    else:
        config = source.json if source.json is not None else _yaml(source)
        examples = map(_promptfoo_test, _counted(config["tests"]))
    yield from conversations("promptfoo", examples, source, context)


def _promptfoo_test(row: tuple[str, Mapping[str, Any]]) -> Example:
    where, test = row
    given = test.get("vars") if isinstance(test.get("vars"), dict) else {}
    asserted = test.get("assert")
    expected = next(
        (
            one.get("value")
            for one in (asserted if isinstance(asserted, list) else [])
            if isinstance(one, dict) and str(one.get("type")).removeprefix("not-") in _COMPARING
        ),
        None,
    )
    return Example(_variable(given), where, _text_id(test.get("description")), expected)


_COMPARING = ("equals", "contains", "icontains", "similar", "is-json", "contains-json",
              "factuality", "rouge-n", "levenshtein")  # fmt: skip


def _promptfoo_row(cells: Mapping[str, Any], where: str) -> Example:
    given = {key: cell_text(cell) for key, cell in cells.items() if not key.startswith("__")}
    expected = next((cell_text(cells[key]) for key in cells if key.startswith("__expected")), None)
    for prefix in ("equals:", "contains:", "similar:", "icontains:"):
        expected = expected.removeprefix(prefix).strip() if expected else expected
    call_id = cell_text(cells.get("__description") or given.get("id"))
    return Example(_variable(given), where, call_id, expected)


def _promptfoo_result(row: tuple[str, Mapping[str, Any]]) -> Example:
    where, result = row
    given = result.get("vars") if isinstance(result.get("vars"), dict) else {}
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
    expected = _promptfoo_test((where, test if isinstance(test, dict) else {})).expected
    return Example(_variable(given), where, _test_id(result), expected, [output])


def _test_id(result: Mapping[str, Any]) -> str:
    index = result.get("testIdx")
    return f"test-{index + 1}" if isinstance(index, int) else ""


def grouped(examples: Iterator[Example]) -> Iterator[Example]:
    """Results of several providers on one test, as one example with several outputs."""
    groups: dict[Any, list[Example]] = {}
    for example in examples:
        key = example.call_id or msgspec.json.encode(example.given)
        groups.setdefault(key, []).append(example)
    for same in groups.values():
        outputs = [output for example in same for output in example.outputs]
        seen: dict[str, int] = {}
        numbered = []
        for output in outputs:
            seen[output.model] = seen.get(output.model, 0) + 1
            numbered.append(msgspec.structs.replace(output, run=seen[output.model]))
        yield msgspec.structs.replace(same[0], outputs=numbered)


def _variable(given: Any) -> Any:
    """The variable that holds the call: by its name, else the longest text."""
    if not isinstance(given, Mapping):
        return None
    named = _pick(given, INPUTS)
    if named is not None:
        return named
    texts = [value for value in given.values() if isinstance(value, str)]
    return max(texts, key=len, default=None)
