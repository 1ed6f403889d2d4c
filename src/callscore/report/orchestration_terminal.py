"""Results of orchestration scenarios for the terminal: scores, confusion matrix, remarks, models.

The input is the document-001 file itself, so that a stored result prints the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

from callscore.metrics.rounding import half_up
from callscore.report.layout import align_columns
from callscore.report.numbers import show_count, show_money
from callscore.report.safe_text import plain

Json = Mapping[str, Any]
LABEL, COLUMN = 44, 12
ERRORS_SHOWN = 8


def result_text(document: Json) -> str:
    """Return the whole result as text, with languages and their mean in columns."""
    results = _results(document)
    lines = [_title(results), ""]
    lines += _scores(results, document)
    for result in results:
        lines += ["", *_confusion(result)]
    for result in results:
        lines += _remarks(result)
    return "\n".join(lines)


def _title(results: Sequence[Json]) -> str:
    extension = results[0]["x_extension"]
    files = ", ".join(
        f"{plain(r['x_extension']['language'])} "
        + show_count(r["overall_statistics"]["total_files"], "scenario")
        for r in results
    )
    return f"Orchestration · {plain(extension['model'])} · {files} · {extension['mode']} mode"


ABOUT_INTERVALS = (
    "95 % intervals for future scenarios, with these as a sample; ≈ fewer than 15 scenarios"
)


def _limits(extension: Json, path: str) -> str:
    """Return the interval of a number in brackets        STATS §8"""
    intervals = extension.get("intervals", {})
    limits = intervals.get("ci95", {}).get(path)
    if limits is None:
        return ""
    mark = "≈" if intervals.get("few_scenarios") else ""
    return f"{mark}[{half_up(limits[0], 2)}–{half_up(limits[1], 2)}]"


def _scores(results: Sequence[Json], document: Json) -> Iterator[str]:
    mean = document.get("mean")
    extensions = [r["x_extension"] for r in results] + ([document["x_extension"]] if mean else [])
    names = [plain(r["x_extension"]["language"]) for r in results] + (["mean"] if mean else [])
    yield _line("", names)
    for label, key in (
        ("Average", "Average"),
        ("  Plan", "Plan"),
        ("  Function calls (FC)", "FC"),
        ("  Call / rejection (mean of two F1)", "Call Rejection Classification Accuracy"),
    ):
        values = [r["overall_statistics"]["key_metrics"][key] for r in results]
        yield _line(label, [_number(v) for v in [*values, *([mean[key]] if mean else [])]])
        limits = [_limits(extension, f"key_metrics.{key}") for extension in extensions]
        if any(limits):
            yield _line("    95 %", limits)
    if any("intervals" in extension for extension in extensions):
        yield ""
        yield ABOUT_INTERVALS
    yield ""
    for label, path in _DETAILS:
        cells = [_number(_defined(r, path)) for r in results]
        if set(cells) != {"n/a"}:
            yield _line(label, cells)


_SCORES = "score_details"
_DETAILS = (
    ("Plan, failures left out", f"{_SCORES}.workflow_scores.workflow_evaluation_without_failure"),
    ("  structural similarity", f"{_SCORES}.workflow_scores.average_structural_GED"),
    ("  component similarity", f"{_SCORES}.workflow_scores.average_component_GED"),
    ("  plans scored", "total_comparison_steps_evaluated"),
    ("  plans failed", "total_failed_workflow_generation"),
    ("Function name F1", f"{_SCORES}.function_call_scores.function_name_accuracy"),
    ("Argument key F1", f"{_SCORES}.function_call_scores.arguments_key_score"),
    (
        "Argument value F1",
        f"{_SCORES}.function_call_scores.arguments_value_score_not_count_rejection",
    ),
    ("Rejection F1", f"{_SCORES}.call_rejection_scores.reject_decision_performance.f1"),
    ("  precision", f"{_SCORES}.call_rejection_scores.reject_decision_performance.precision"),
    ("  recall", f"{_SCORES}.call_rejection_scores.reject_decision_performance.recall"),
    ("  type accuracy", f"{_SCORES}.call_rejection_scores.rejection_type_accuracy"),
    ("Call F1", f"{_SCORES}.call_rejection_scores.fc_decision_performance.f1"),
    ("  precision", f"{_SCORES}.call_rejection_scores.fc_decision_performance.precision"),
    ("  recall", f"{_SCORES}.call_rejection_scores.fc_decision_performance.recall"),
)


def _defined(result: Json, path: str) -> Any:
    """Return a number of the result; None if the document's 0.0 has no denominator."""
    undefined = result["x_extension"].get("undefined", ())
    is_undefined = f"overall_statistics.{path}" in undefined
    return None if is_undefined else _lookup(result["overall_statistics"], path)


def _lookup(document: Json, path: str) -> Any:
    value: Any = document
    for key in path.split("."):
        value = value[key]
    return value


def _line(label: str, cells: Sequence[str]) -> str:
    return (label.ljust(LABEL) + "".join(cell.rjust(COLUMN) for cell in cells)).rstrip()


def _number(value: float | int | None) -> str:
    if value is None:
        return "n/a"
    return str(value) if isinstance(value, int) else half_up(value, 4)


def _confusion(result: Json) -> Iterator[str]:
    """Yield the confusion matrix of document 001: expected and actual decisions."""
    cells = result["overall_statistics"]["score_details"]["raw_confusion_matrix"]
    scores = result["overall_statistics"]["score_details"]["call_rejection_scores"]
    mismatch = scores["total_rejection_type_mismatch"]
    failed_reject = cells["total_true_negative_fc"] - cells["total_true_positive_reject"]
    failed_call = cells["total_false_negative_fc"] - cells["total_false_positive_reject"]
    rejected = str(cells["total_true_positive_reject"])
    if mismatch:
        rejected += f" ({mismatch} of another type)"
    called, under = cells["total_true_positive_fc"], cells["total_false_positive_reject"]
    yield f"  {plain(result['x_extension']['language'])}: expected ↓  decided →"
    yield "  " + _row("", "FC", "Reject", "FAILED")
    yield "  ┌" + "─" * 62
    yield "  │" + _row("FC", str(called), str(under), str(failed_call))
    yield "  │" + _row(
        "Reject", str(cells["total_false_positive_fc"]), rejected, str(failed_reject)
    )


def _row(label: str, called: str, rejected: str, failed: str) -> str:
    return f" {label.ljust(10)}{called.rjust(8)}   {rejected.ljust(28)}{failed.rjust(8)}".rstrip()


def _remarks(result: Json) -> Iterator[str]:
    extension = result["x_extension"]
    language = plain(extension["language"])
    yield ""
    if extension.get("errors"):
        errors = list(extension["errors"].items())[:ERRORS_SHOWN]
        kinds = ", ".join(f"{kind.replace('_', ' ')} {e['count']}" for kind, e in errors)
        yield f"{language} errors       {kinds}"
    undercounted = extension["plan"].get("undercounted") if "plan" in extension else None
    if undercounted:
        exact = _number(extension["plan"]["exact"]["workflow_evaluation_with_failure"])
        yield (
            f"{language} exact plan   {exact}: self-loops are undercounted in "
            + show_count(len(undercounted), "scenario")
        )
    lenient = extension["plan"].get("read_leniently") if "plan" in extension else None
    if lenient:
        kinds = ", ".join(f"{kind.replace('_', ' ')} {len(c)}" for kind, c in lenient.items())
        yield f"{language} leniently    {kinds} (x_extension.plan.read_leniently)"
    report = Counter(finding["action"] for finding in extension.get("data_report", ()))
    if report:
        actions = ", ".join(f"{n} {action.replace('_', ' ')}" for action, n in report.items())
        yield f"{language} data report  {actions} (x_extension.data_report)"
    undecided = extension.get("undecided", {"count": 0})["count"]
    if undecided:
        is_judged = extension.get("judging")
        how = "without a clear verdict" if is_judged else "not judged, counted as unequal"
        values = show_count(undecided, "argument value")
        yield f"{language} undecided    {values} {how}: FC is approximate"
    if extension["status"] != "valid":
        yield f"{language} status       {extension['status']}"
    for failed in extension["failed_evaluations"]:
        yield f"{language} not scored   {plain(failed['file_path'])}: {plain(failed['error'])}"
    for warning in extension["warnings"]:
        yield f"{language} warning      {plain(warning, 400)}"
    yield f"{language} signature    {plain(extension['signature'])}"


_FREE_RUNNING_ROWS = (
    ("Average", "Average"),
    ("  Plan", "Plan"),
    ("  Function calls (FC)", "FC"),
    ("  Call / rejection (mean of two F1)", "Call Rejection Classification Accuracy"),
    ("Steps right, as far as code can decide", "step_success"),
    ("Progress up to the first wrong step", "progress_rate"),
    ("Scenarios right from end to end", "scenario_success"),
)


def free_running_lines(document: Json) -> Iterator[str]:
    """Yield the scores with the model's own history, next to the teacher-forced ones."""
    for result in _results(document):
        extension = result["x_extension"]
        if "free_running" in extension:
            yield from _free_running_section(extension, extension["free_running"])


def _free_running_section(extension: Json, free: Json) -> Iterator[str]:
    of = f"{plain(extension['model'])} · {plain(extension['language'])}"
    if "conversations" in free:
        yield from _conversation_section(of, free["conversations"])
    if "forced" not in free:
        return
    yield ""
    yield f"Free-running · {of} · {show_count(free['scenarios'], 'scenario')}"
    yield _line("", ["forced", "free"])
    for label, key in _FREE_RUNNING_ROWS:
        yield _line(label, [_number(free[history][key]) for history in ("forced", "free")])
    share = free["propagated_share"]
    percent = "" if share is None else f" ({share:.1%})"
    steps = show_count(free["propagated"], "step")
    yield f"{steps} right when forced, wrong when free{percent}; {free['recovered']} the reverse"
    skipped = show_count(free["not_reached"], "step")
    yield f"{skipped} not reached: the model's own plan left out their agent"
    for why in free["left_out"]:
        yield f"left out: {plain(why)}"


_STOPPED = {
    "finished": "ended by itself",
    "steps": "stopped at the limit of steps",
    "user_turns": "stopped at the limit of user turns",
    "bytes": "stopped at the limit of bytes",
    "loop": "stopped in a loop",
    "silent": "stopped at an empty reply",
}


def _conversation_section(of: str, found: Json) -> Iterator[str]:
    """How conversations ended, and what went wrong in them."""
    yield ""
    yield f"Conversations · {of} · {show_count(found['conversations'], 'conversation')}"
    yield _line("Expected end reached", [_number(found["success"])])
    ended = [f"{number} {_STOPPED[reason]}" for reason, number in found["stopped"].items()]
    yield f"{'; '.join(ended) or 'none'}"
    yield (
        f"{show_count(found['steps'], 'step')}, {found['extra_steps']} more than the script has, "
        f"{found['wasted_steps']} wasted; {show_count(found['calls'], 'tool call')}, "
        f"{found['failed_calls']} failed, {found['repeated_calls']} repeated"
    )
    if found["with_wrong_step"]:
        yield (f"{found['recovered']} of {found['with_wrong_step']} recovered after a failed call")
    for scenario, facts in found["facts_missed"].items():
        yield f"missed in {plain(scenario)}: {plain('; '.join(dict.fromkeys(facts)))}"
    for why in found["left_out"]:
        yield f"left out: {plain(why)}"


_KEY_METRICS = ("Average", "Plan", "FC", "Call Rejection Classification Accuracy")
_MODEL_HEADINGS = (
    *("model", "Average", "Plan", "FC", "call/reject"),
    *("success", "progress", "tokens", "cost"),
)


def model_table(documents: Mapping[str, Json]) -> list[str]:
    """Return one row per model, sorted by Average, without plans by the mean of the other two.

    Nothing if there are fewer than two models.
    """
    if len(documents) < 2:
        return []
    rows = sorted(documents.items(), key=lambda entry: (-_average(entry[1]), entry[0]))
    mode = next(iter(documents.values()))["x_extension"]["mode"]
    return [
        "",
        f"Models side by side, {mode} mode",
        *align_columns(_MODEL_HEADINGS, [_model_row(model, document) for model, document in rows]),
    ]


def _average(document: Json) -> float:
    numbers = _headline(document)
    if numbers["Average"] is not None:
        return float(numbers["Average"])
    known = [numbers[key] for key in _KEY_METRICS[1:] if numbers[key] is not None]
    return fmean(known) if known else -1.0


def _headline(document: Json) -> Json:
    mean: Json | None = document.get("mean")
    return mean if mean is not None else document["overall_statistics"]["key_metrics"]


def _results(document: Json) -> Sequence[Json]:
    """Return the results of all languages."""
    return list(document["languages"].values()) if "languages" in document else [document]


def _model_row(model: str, document: Json) -> list[str]:
    numbers = _headline(document)
    extensions = [result["x_extension"] for result in _results(document)]
    runs = [extension.get("runs", {}) for extension in extensions]
    rates = [_mean([of.get(key) for of in runs]) for key in ("scenario_success", "progress_rate")]
    used = [extension.get("usage") for extension in extensions]
    return [model, *(_number(numbers[key]) for key in _KEY_METRICS), *rates, *_usage(used)]


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return _number(fmean(known) if len(known) == len(values) else None)


def _usage(used: Sequence[Json | None]) -> tuple[str, str]:
    known = [usage for usage in used if usage is not None]
    if len(known) < len(used):
        return "unknown", "unknown"
    tokens = [usage[key] for usage in known for key in ("input_tokens", "output_tokens")]
    costs = [usage["cost_usd"] for usage in known]
    return (
        "unknown" if None in tokens else f"{sum(tokens):,}",
        "unknown" if None in costs else show_money(math.fsum(costs)),
    )
