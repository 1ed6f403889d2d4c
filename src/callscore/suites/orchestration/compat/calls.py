"""Calls as the public evaluator scores them, quirks included        C-128

All calls of a step are merged into one mapping from argument to list of values, and compared as
sets. Values stay as decoded: a wrong type raises, and the whole file loses its calls (Q25).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from callscore.metrics.classification import counts, f1_or_one
from callscore.suites.orchestration.call.questions import VerdictSource
from callscore.suites.orchestration.compat.compare import (
    ComparisonContext,
    MergedCalls,
    ToolSchemas,
    compare_values,
)
from callscore.suites.orchestration.compat.plan import CRASHES
from callscore.suites.orchestration.decision.confusion import Confusion
from callscore.suites.orchestration.spec import spec

AWAITING = "AWAITING_USER_INPUT"
VIOLATION = "TOOL_CONSTRAINT_VIOLATION"
FC = "FC"


class StepPair(NamedTuple):
    """The prediction and the label of one step."""

    step_id: Any
    predicted: MergedCalls
    actual: MergedCalls

    def both_call(self) -> bool:
        """Whether neither side is a rejection; only such pairs have F1 scores."""
        return self.actual.names != "" and not _rejects(self.predicted)


class CallRun(NamedTuple):
    """The call scores and counts of one run of a scenario."""

    name: float
    key: float
    value: float
    confusion: Confusion
    rejection_cases: int
    call_cases: int
    perfect: int
    run_name: str
    has_values: bool


def score_runs(
    data: Any, tools: ToolSchemas, verdicts: VerdictSource, case_prefix: str
) -> list[CallRun] | str:
    """Every run, or the error at which the public evaluator skips the whole file."""
    try:
        history = data["history"]
        _ = len(history)  # raises without a history, as the public code does
        runs = [
            _score_run(name, history[name], ComparisonContext(tools, verdicts, case_prefix, number))
            for number, name in enumerate(history, 1)
        ]
    except CRASHES as error:
        return str(error)
    return runs or "float division by zero"


def _score_run(name: str, run: Mapping[str, Any], context: ComparisonContext) -> CallRun:
    """One run; values that the public code reads and does not use are read too: that may raise."""
    entries, label = run["sub_agent_history"], run["label"]
    if label["1"]["role"] == "system":
        _ = label["1"]["content"]
    pairs = [_pair_with_label(entry, label) for entry in entries]
    for pair in pairs:
        _cell(pair)
    for pair in pairs:
        _read_history(label, pair.step_id)
    keys = [_key_f1(pair) if pair.both_call() else 0.0 for pair in pairs]
    names = [_name_f1(pair) for pair in pairs if pair.both_call()]
    values, has_values = _value_scores(pairs, context)
    positive = [value for value in values if value > 0]
    digits = spec().compat.decimals
    return CallRun(
        name=round(_mean(names), digits),
        key=round(
            _mean([k for k, pair in zip(keys, pairs, strict=True) if pair.both_call()]), digits
        ),
        value=_mean(positive),
        confusion=sum((_cell(pair) for pair in pairs), Confusion()),
        rejection_cases=_label_cases(label, with_call=False),
        call_cases=_label_cases(label, with_call=True),
        perfect=sum(
            key == value == 1.0 and pair.actual.names != ""
            for key, value, pair in zip(keys, values, pairs, strict=True)
        ),
        run_name=name,
        has_values=has_values,
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _pair_with_label(entry: Mapping[str, Any], label: Mapping[str, Any]) -> StepPair:
    step_id = entry["step_id"]
    actual = _label_calls(step_id, label)
    return StepPair(step_id, _predicted_calls(entry), actual)


def _read_history(label: Mapping[str, Any], step_id: Any) -> None:
    """Read the label before a step as the public evaluator does for its judge.

    The result is not used, but a label that cannot be read loses the calls of the file (Q25).
    """
    for key in sorted(label, key=lambda key: [int(part) for part in key.split("-")]):
        if key == step_id:
            return
        if "-1" in key and label[key].get("tool_calls"):
            queries = []
            for call in label[key]["tool_calls"]:
                arguments = json.loads(call["function"]["arguments"])
                if "refinedQuery" in arguments:
                    queries.append(arguments["refinedQuery"])
            " ".join(queries)


def _predicted_calls(entry: Mapping[str, Any]) -> MergedCalls:
    calls = entry.get("tool_calls", [])
    if len(calls) == 0:
        content = entry.get("content", "")
        for word in (AWAITING, VIOLATION):
            if word in content:
                return MergedCalls("rejection", {word: "true"})
        return MergedCalls("", {})
    functions = [call["function"] for call in calls]
    return _merge_calls([(function["name"], function["arguments"]) for function in functions])


def _label_calls(step_id: Any, label: Mapping[str, Any]) -> MergedCalls:
    key = f"{step_id}-1" if f"{step_id}-1" in label else step_id
    if key not in label:
        return MergedCalls("", "no label found")
    entry = label[key]
    if "tool_calls" not in entry:
        return MergedCalls("", entry.get("content", ""))
    functions = [call.get("function", {}) for call in entry["tool_calls"]]
    return _merge_calls([(f.get("name", ""), f.get("arguments", {})) for f in functions])


def _merge_calls(calls: Sequence[tuple[Any, Any]]) -> MergedCalls:
    """All calls of a step as one: arguments that are not JSON become a text under `error` (Q24)."""
    merged: dict[str, Any] = {}
    for _, arguments in calls:
        if not isinstance(arguments, dict):
            try:
                arguments = json.loads(arguments)
            except json.JSONDecodeError:
                merged["error"] = f"Invalid JSON in arguments: {arguments}"
                continue
        for key, value in arguments.items():
            if key in merged:
                merged[key].append(value)
            else:
                merged[key] = [value]
    return MergedCalls([name for name, _ in calls], merged)


def _rejects(predicted: MergedCalls) -> bool:
    return VIOLATION in predicted.arguments or AWAITING in predicted.arguments


def _kind(step: MergedCalls, *, rejects: bool) -> str:
    if not rejects:
        return FC
    return next((word for word in (AWAITING, VIOLATION) if word in step.arguments), "GENERAL")


def _cell(pair: StepPair) -> Confusion:
    """One count per step; FAILED never occurs (Q28)        §6"""
    actual = _kind(pair.actual, rejects=pair.actual.names == "")
    predicted = _kind(pair.predicted, rejects=_rejects(pair.predicted))
    if actual == FC:
        return Confusion(fc_fc=1) if predicted == FC else Confusion(fc_reject=1)
    if predicted == FC:
        return Confusion(reject_fc=1)
    if predicted == actual:
        return Confusion(reject_same_type=1)
    return Confusion(reject_other_type=1)


def _label_cases(label: Mapping[str, Any], *, with_call: bool) -> int:
    return sum(
        "-" not in key
        and isinstance(entry, dict)
        and "agent_id" in entry
        and (f"{key}-1" in label) is with_call
        for key, entry in label.items()
    )


def _set_f1(predicted: set[Any], actual: set[Any]) -> float:
    """F1 of two sets; both empty 1, one empty 0        §5.2"""
    return f1_or_one(counts(actual, predicted))


def _name_f1(pair: StepPair) -> float:
    return _set_f1(_names(pair.predicted), _names(pair.actual))


def _names(step: MergedCalls) -> set[Any]:
    names = [step.names] if isinstance(step.names, str) else step.names
    return {tuple(name) if isinstance(name, list) else name for name in names}


def _key_f1(pair: StepPair) -> float:
    return _set_f1(set(pair.predicted.arguments), set(pair.actual.arguments))


def _value_scores(
    pairs: Sequence[StepPair], context: ComparisonContext
) -> tuple[list[float], bool]:
    """Value F1 at the positions of the public evaluator (Q27), and whether it has any.

    Steps with a question are scored before steps without one, and the results are assigned by
    position, so only their mean is reliable. After an error the key F1 is used instead.
    """
    places = [index for index, pair in enumerate(pairs) if pair.both_call()]
    try:
        found = [
            compare_values(
                pairs[index].predicted, pairs[index].actual, context, str(pairs[index].step_id)
            )
            for index in places
        ]
        in_order = [r.f1 for r in found if r.needs_judge and context.has_judge] + [
            r.f1 for r in found if not (r.needs_judge and context.has_judge)
        ]
        has_values = bool(found)
    except CRASHES:
        has_values = False
        in_order = [_key_f1(pairs[index]) for index in places]
    scores = [0.0] * len(pairs)
    for index, score in zip(places, in_order, strict=True):
        scores[index] = score
    return scores, has_values
