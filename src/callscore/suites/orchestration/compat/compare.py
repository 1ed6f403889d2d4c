"""Argument values as the public evaluator compares them        C-128, Q16, Q23"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from callscore.metrics.classification import Counts, f1
from callscore.suites.orchestration.call.questions import (
    SAME,
    NoVerdicts,
    VerdictSource,
    same_meaning,
)
from callscore.suites.orchestration.decision.confusion import or_zero

ToolSchemas = Mapping[str, Mapping[str, Any]]
"""Tool name → JSON schema of its parameters."""

_TYPES: Mapping[str, type] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


class MergedCalls(NamedTuple):
    """All calls of a step as the public evaluator merges them, or the text if there are none."""

    names: Any
    """Tool names, in the order of the calls; a text if there are no calls."""
    arguments: Any
    """By argument, the list of its values in the calls; a text if there are no calls."""


class ComparisonContext(NamedTuple):
    """The data that a comparison needs: tool schemas, and verdicts on one run of one scenario."""

    tools: ToolSchemas
    verdicts: VerdictSource
    case_prefix: str
    run: int

    @property
    def has_judge(self) -> bool:
        """Whether there are verdicts."""
        return not isinstance(self.verdicts, NoVerdicts)


class ValueScore(NamedTuple):
    """Value F1 of a step, and whether it depends on a judge."""

    f1: float
    needs_judge: bool


def compare_values(
    predicted: MergedCalls, actual: MergedCalls, context: ComparisonContext, step: str
) -> ValueScore:
    """F1 of Σtp, Σfp, Σfn over the keys of both sides        §5.2"""
    schemas = [context.tools[name] for name in predicted.names if name in context.tools]
    total, needs_judge = [0, 0, 0], False
    for key in predicted.arguments.keys() | actual.arguments.keys():
        if key not in predicted.arguments:
            counts = Counts(0, 0, len(actual.arguments[key]))
        elif key not in actual.arguments:
            counts = Counts(0, len(predicted.arguments[key]), 0)
        else:
            mine, theirs = _texts(predicted.arguments[key]), _texts(actual.arguments[key])
            counts = Counts(len(mine & theirs), len(mine - theirs), len(theirs - mine))
            if counts.fp and counts.fn and _is_open(mine - theirs, theirs - mine, key, schemas):
                needs_judge = True
                counts = _count_judged_matches(
                    sorted(mine - theirs), sorted(theirs - mine), key, context, step
                )
        total = [total[0] + counts.tp, total[1] + counts.fp, total[2] + counts.fn]
    return ValueScore(or_zero(f1(Counts(*total))), needs_judge)


def _texts(values: Any) -> set[str]:
    return {_text(value) for value in (values if isinstance(values, list) else [values])}


def _text(value: Any) -> str:
    if isinstance(value, list):
        return str(sorted(_text(element) for element in value))
    if isinstance(value, dict):
        return str({str(key): _text(value[key]) for key in sorted(value)})
    return str(value)


def _is_open(fp: set[str], fn: set[str], key: str, schemas: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the schema leaves the difference open; all values are texts at this point (Q23)."""
    properties = [s["properties"][key] for s in schemas if key in s.get("properties", {})]
    kind = next((_type_of(p["type"]) for p in properties if "type" in p), None)
    if any(not _has_type(value, kind) for value in fp):
        return False
    if len(fp) == len(fn) and any("enum" in p or "enum" in p.get("items", {}) for p in properties):
        return False
    pattern = next((p["pattern"] for p in properties if "pattern" in p), None)
    if pattern is None:
        return True
    return all(re.match(pattern.replace("\\\\", "\\"), value) for value in fp)


def _type_of(declared: Any) -> Any:
    if isinstance(declared, list):
        declared = declared[0] if declared else "string"
    return _TYPES.get(declared, declared)


def _has_type(value: str, kind: Any) -> bool:
    if kind is int:
        try:
            int(value)
        except ValueError:
            return False
        return True
    return not kind or isinstance(value, kind)


def _count_judged_matches(
    fp: list[str], fn: list[str], key: str, context: ComparisonContext, step: str
) -> Counts:
    """Count the one-to-one matches that the judge accepts, in order.

    Values that are equal are dropped from the counts, with or without a verdict (Q16).
    """
    open_rows = list(enumerate(fn))
    tp = 0
    for i, mine in enumerate(fp):
        for place, (j, theirs) in enumerate(open_rows):
            question = same_meaning(f"{key}[{i}~{j}]", mine, theirs)
            verdict = context.verdicts.verdict_on(
                f"{context.case_prefix}#{step}", context.run, question
            )
            if verdict is not None and verdict.verdict == SAME:
                tp += 1
                del open_rows[place]
                break
    return Counts(tp, len(fp) - tp, len(fn) - tp)
