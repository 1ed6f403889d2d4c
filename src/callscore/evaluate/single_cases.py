"""Files that have one case, as one JSON document: its task and its id need not be written.

Such a file has a transcript, an expected outcome and usually a model's output, pretty-printed or
not. It becomes the line that a case file would have: the task follows from the structure of the
expected outcome, the id from the name of the file, and a missing config is empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from callscore.config.score import ScoreConfig, is_json_file
from callscore.core import strict_json
from callscore.core.errors import DataError, similar_key_hint
from callscore.core.task import Task
from callscore.store.files import BYTE_ORDER_MARK, MAX_LINE_BYTES, is_special, open_for_reading

EXPECTED = "expected one case: transcript, expected_outcome and model_output"
_COMPLETE = frozenset({"id", "task", "config"})


def read_json_files(config: ScoreConfig, *, need_output: bool) -> ScoreConfig:
    """The config with the cases of all files that have only one; raises DataError.

    Unless outputs are in files of their own, every such case needs one.
    """
    files = [path for path in config.cases if is_json_file(path) and path not in config.case_lines]
    documents = {path: found for path in files if (found := _read_document(path)) is not None}
    if not documents:
        return config
    required = ["transcript", "expected_outcome"]
    if need_output and not config.outputs:
        required.append("model_output")
    tasks = config.catalog.tasks()
    names = Counter(path.stem for path in documents)
    cases = {}
    for path, document in documents.items():
        name = path.stem if names[path.stem] == 1 else path.with_suffix("").as_posix()
        try:
            case = _complete_case(document, name, required, tasks)
        except DataError as error:
            raise error.with_place(str(path)) from None
        cases[path] = msgspec.json.encode(case)
    return msgspec.structs.replace(config, case_lines={**config.case_lines, **cases})


def _read_document(path: Path) -> dict[str, Any] | None:
    """The object in a file that has only one; None if it has complete cases, line by line."""
    if is_special(path):
        return None
    with open_for_reading(path) as file:
        raw = file.read(MAX_LINE_BYTES + 1).removeprefix(BYTE_ORDER_MARK).strip()
    first, _, others = raw.partition(b"\n")
    if not raw.startswith(b"{") or len(raw) > MAX_LINE_BYTES:
        return None
    if others and first.rstrip().endswith(b"}") and _decode(first) is not None:
        return None
    found = _decode(raw)
    if found is None:
        if first.rstrip().endswith(b"}"):
            return None
        found = _decode_strictly(raw, path)
    return None if not others and found.keys() >= _COMPLETE else found


def _decode(raw: bytes) -> dict[str, Any] | None:
    try:
        value = strict_json.decode(raw, max_bytes=MAX_LINE_BYTES).value
    except strict_json.JsonFault:
        return None
    return value if isinstance(value, dict) else None


def _decode_strictly(raw: bytes, path: Path) -> dict[str, Any]:
    try:
        value: dict[str, Any] = strict_json.decode(raw, max_bytes=MAX_LINE_BYTES).value
    except strict_json.JsonFault as fault:
        raise DataError(
            f"{fault.detail} ({fault.cause}); {EXPECTED}, as one JSON document",
            field=fault.path,
            place=str(path),
        ) from None
    return value


def _complete_case(
    document: Mapping[str, Any],
    name: str,
    required: Sequence[str],
    tasks: Mapping[str, Task[Any, Any]],
) -> dict[str, Any]:
    """The case with its id, task and config; raises DataError that names all missing keys."""
    missing = [key for key in required if key not in document]
    if missing:
        others = [key for key in document if key not in required]
        hints = "".join(similar_key_hint(key, others) for key in missing)
        raise DataError(f"missing: {', '.join(missing)}; {hints}{EXPECTED}")
    defaults = {"id": name, "config": {}}
    if "task" not in document:
        defaults["task"] = _task_of(document["expected_outcome"], tasks)
    return {**defaults, **document}


def _task_of(outcome: Any, tasks: Mapping[str, Task[Any, Any]]) -> str:
    """The only task whose expected outcomes have some of these keys; raises DataError."""
    if not isinstance(outcome, dict):
        raise DataError("expected an object", field="expected_outcome")
    keys_of = {name: task.outcome_keys() for name, task in tasks.items()}
    fitting = {
        name: [key for key in keys if key in outcome]
        for name, keys in keys_of.items()
        if not outcome.keys().isdisjoint(keys)
    }
    if len(fitting) == 1:
        return next(iter(fitting))
    field = "expected_outcome"
    if fitting:
        found = " and ".join(f"{name} ({', '.join(keys)})" for name, keys in fitting.items())
        raise DataError(f"fits {found}; expected the keys of one task, or `task`", field=field)
    known = "; ".join(f"{name}: {', '.join(keys)}" for name, keys in keys_of.items() if keys)
    given = ", ".join(map(repr, list(outcome)[:8])) or "no key"
    raise DataError(f"has {given}; expected keys of one task ({known}), or `task`", field=field)
