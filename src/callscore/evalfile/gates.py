"""Gates of a run: what must hold for it to end with 0 (exit 1 where not, 3 where undecided)."""

from __future__ import annotations

from collections.abc import Sequence

from callscore.core.errors import GateFailed, Inconclusive
from callscore.core.rating import TOLERANCE
from callscore.core.scorecard import ModelScore, Scorecard, TaskScore
from callscore.evalfile.file import GateEntry
from callscore.suites.calls import spec

FINAL = "final"


def known_gates() -> tuple[str, ...]:
    """Everything that a gate may be put on."""
    found = spec.load()
    return (FINAL, *found.tasks, *found.metrics)


def check_gates(card: Scorecard, gates: Sequence[GateEntry], coverage: float = 1.0) -> None:
    """Raise GateFailed where a gate is missed, Inconclusive where none is but one is undecided.

    A blocked score misses every gate on it; a metric over too few cases (`coverage` is the share
    that must have been evaluated), or without answers that nobody could judge, can miss a gate but
    not pass it.
    """
    missed: list[str] = []
    undecided: list[str] = []
    for gate in gates:
        for model in card.models:
            if gate.model is not None and gate.model != model.model:
                continue
            value, name = _value(model, gate.of), f"{model.model}: {gate.of}"
            if value is None and (blocked := _blocked(model, gate.of)):
                missed.append(f"{name} is invalid ({blocked}), {_wanted(gate)}")
            elif value is None:
                undecided.append(f"{name} has no value")
            elif not _holds(value, gate):
                missed.append(f"{name} is {value:.4g}, {_wanted(gate)}")
            elif left_out := _left_out(model, gate.of, coverage):
                undecided.append(f"{name} {left_out}")
    if missed:
        raise GateFailed("gate failed: " + "; ".join(missed))
    if undecided:
        raise Inconclusive("gates undecided: " + "; ".join(undecided))


def _value(model: ModelScore, of: str) -> float | None:
    if of == FINAL:
        return model.final.score
    task, _, metric = of.partition(".")
    score = model.tasks.get(task)
    if score is None:
        return None
    if not metric:
        return score.score
    found = score.metrics.get(of)
    return found.value if found is not None else None


def _blocked(model: ModelScore, of: str) -> str:
    """What the model breached, where that is why a score is none: its own doing (C-01)."""
    found = model.final if of == FINAL else model.tasks.get(of)
    return ", ".join(found.reasons) if found is not None and found.status == "invalid" else ""


def _left_out(model: ModelScore, of: str, share: float) -> str:
    """What a value does not rest on though it should; nothing where it rests on enough."""
    task = model.tasks.get(of.partition(".")[0])
    if task is None:
        return ""
    if not _covers(task, share):
        return f"rests on {task.n} of {task.cases} cases"
    metric = task.metrics.get(of)
    if metric is not None and metric.failed:
        return f"leaves out {metric.failed} of its answers, which could not be judged"
    return ""


def _covers(task: TaskScore, share: float) -> bool:
    return task.coverage is not None and task.coverage >= share - TOLERANCE


def _holds(value: float, gate: GateEntry) -> bool:
    low, high = gate.at_least, gate.at_most
    return (low is None or value >= low - TOLERANCE) and (high is None or value <= high + TOLERANCE)


def _wanted(gate: GateEntry) -> str:
    parts = []
    if gate.at_least is not None:
        parts.append(f"at least {gate.at_least:g}")
    if gate.at_most is not None:
        parts.append(f"at most {gate.at_most:g}")
    return "expected " + " and ".join(parts)
