"""How a model fares with its own history, next to the teacher-forced score: never mixed with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from callscore.metrics.rounding import half_up
from callscore.report.numbers import show_count
from callscore.report.safe_text import plain

Json = Mapping[str, Any]
LABEL, COLUMN = 44, 12
_ROWS = (
    ("Average", "Average"),
    ("  Plan", "Plan"),
    ("  Function calls (FC)", "FC"),
    ("  Call / rejection (mean of two F1)", "Call Rejection Classification Accuracy"),
    ("Steps right, as far as code can tell", "step_success"),
    ("Progress up to the first wrong step", "progress_rate"),
    ("Scenarios right from end to end", "scenario_success"),
)


def free_running_lines(document: Json) -> Iterator[str]:
    """The section of every language that was run with the model's own history."""
    results = list(document["languages"].values()) if "languages" in document else [document]
    for result in results:
        extension = result["x_extension"]
        if "free_running" in extension:
            yield from _section(extension, extension["free_running"])


def _section(extension: Json, free: Json) -> Iterator[str]:
    of = f"{plain(extension['model'])} · {plain(extension['language'])}"
    yield ""
    yield f"Free-running · {of} · {show_count(free['scenarios'], 'scenario')}"
    yield _line("", "forced", "free")
    for label, key in _ROWS:
        yield _line(label, _number(free["forced"][key]), _number(free["free"][key]))
    share = free["propagated_share"]
    shown = "" if share is None else f" ({share:.1%})"
    steps = show_count(free["propagated"], "step")
    yield f"{steps} right when forced went wrong{shown}, {free['recovered']} the other way round"
    skipped = show_count(free["not_reached"], "step")
    yield f"{skipped} not reached: the model's own plan left out their agent"
    for why in free["left_out"]:
        yield f"left out: {plain(why)}"


def _line(label: str, forced: str, free: str) -> str:
    return label.ljust(LABEL) + forced.rjust(COLUMN) + free.rjust(COLUMN)


def _number(value: float | None) -> str:
    return "n/a" if value is None else half_up(value, 4)
