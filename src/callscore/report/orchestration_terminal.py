"""An orchestration result in a terminal: headline, details, the confusion picture, what is wrong.

Reads the result file itself (document 001), so that a stored result prints the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from callscore.metrics.rounding import half_up
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain

Json = Mapping[str, Any]
LABEL, COLUMN = 44, 12
ERRORS_SHOWN = 8


def render(document: Json) -> str:
    """The whole result as text; languages side by side with their mean."""
    results = list(document["languages"].values()) if "languages" in document else [document]
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
    reading = extension["mode"]
    return f"Orchestration · {plain(extension['model'])} · {files} · {reading} reading"


ABOUT_INTERVALS = (
    "95 %: limits about future scenarios, of which these are taken as a sample; ≈ fewer than 15"
)


def _limits(extension: Json, path: str) -> str:
    """The interval of a number in brackets        STATS §7"""
    intervals = extension.get("intervals", {})
    limits = intervals.get("ci95", {}).get(path)
    if limits is None:
        return ""
    mark = "≈" if intervals.get("few_scenarios") else ""
    return f"{mark}[{half_up(limits[0], 2)}–{half_up(limits[1], 2)}]"


def _scores(results: Sequence[Json], together: Json) -> Iterator[str]:
    mean = together.get("mean")
    extensions = [r["x_extension"] for r in results] + ([together["x_extension"]] if mean else [])
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
        yield _line(label, [_number(_at(r["overall_statistics"], path)) for r in results])


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


def _at(document: Json, path: str) -> Any:
    found: Any = document
    for key in path.split("."):
        found = found[key]
    return found


def _line(label: str, cells: Sequence[str]) -> str:
    return (label.ljust(LABEL) + "".join(cell.rjust(COLUMN) for cell in cells)).rstrip()


def _number(value: float | int | None) -> str:
    if value is None:
        return "n/a"
    return str(value) if isinstance(value, int) else half_up(value, 4)


def _confusion(result: Json) -> Iterator[str]:
    """The picture of document 001: what was due against what came."""
    cells = result["overall_statistics"]["score_details"]["raw_confusion_matrix"]
    scores = result["overall_statistics"]["score_details"]["call_rejection_scores"]
    mismatch = scores["total_rejection_type_mismatch"]
    failed_reject = cells["total_true_negative_fc"] - cells["total_true_positive_reject"]
    failed_call = cells["total_false_negative_fc"] - cells["total_false_positive_reject"]
    rejected = str(cells["total_true_positive_reject"])
    if mismatch:
        rejected += f" ({mismatch} of another type)"
    called, under = cells["total_true_positive_fc"], cells["total_false_positive_reject"]
    yield f"  {plain(result['x_extension']['language'])}: due ↓  came →"
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
        shown = list(extension["errors"].items())[:ERRORS_SHOWN]
        kinds = ", ".join(f"{kind.replace('_', ' ')} {e['count']}" for kind, e in shown)
        yield f"{language} errors       {kinds}"
    undercounted = extension["plan"].get("undercounted") if "plan" in extension else None
    if undercounted:
        exact = _number(extension["plan"]["exact"]["workflow_evaluation_with_failure"])
        yield (
            f"{language} exact plan   {exact}: self-loops are charged too little in "
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
        how = (
            "without a sure verdict"
            if extension.get("judging")
            else ("left to a judge, counted as unequal")
        )
        values = show_count(undecided, "argument value")
        yield f"{language} undecided    {values} {how}: FC is approximate"
    if extension["status"] != "valid":
        yield f"{language} status       {extension['status']}"
    for failed in extension["failed_evaluations"]:
        yield f"{language} not scored   {plain(failed['file_path'])}: {plain(failed['error'])}"
    for warning in extension["warnings"]:
        yield f"{language} warning      {plain(warning, 400)}"
    yield f"{language} signature    {plain(extension['signature'])}"
