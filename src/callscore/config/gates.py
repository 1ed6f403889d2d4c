"""Gates of a run: what must hold for it to end with 0 (exit 1 where not, 3 where undecided)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from callscore.config.file import GateEntry
from callscore.core.errors import GateFailed, Inconclusive
from callscore.core.rating import TOLERANCE
from callscore.core.scorecard import ModelScore, Scorecard, TaskScore
from callscore.suites import registry
from callscore.suites.orchestration.headline import HEADLINES, Headline

FINAL = "final"


def known_gates() -> tuple[str, ...]:
    """Everything that a gate may be put on."""
    specs = [suite.spec for suite in registry.all_suites()]
    tasks = [task for spec in specs for task in spec.tasks]
    metrics = [slug for spec in specs for slug in spec.metrics]
    return (FINAL, *tasks, *metrics, *HEADLINES)


def is_of_scenarios(gate: GateEntry) -> bool:
    """Whether a gate is put on a score of scenarios, not of calls."""
    return gate.of in HEADLINES


class _Found(NamedTuple):
    """What there is of a model to hold against a gate."""

    model: str
    value: float | None
    blocked: str = ""
    """What the model breached, where that is why there is no value: its own doing (C-01)."""
    left_out: str = ""
    """What the value does not rest on though it should; empty where it rests on enough."""
    is_lower_bound: bool = False


def check_gates(
    card: Scorecard | None,
    gates: Sequence[GateEntry],
    coverage: float = 1.0,
    scenarios: Mapping[str, Headline] | None = None,
) -> None:
    """Raise GateFailed where a gate is missed, Inconclusive where none is but one is undecided.

    A blocked score misses every gate on it; a metric over too few cases (`coverage` is the share
    that must have been evaluated), or without answers that nobody could judge, can miss a gate but
    not pass it. `scenarios` are the scores of the other suite, by model.
    """
    missed: list[str] = []
    undecided: list[str] = []
    for gate in gates:
        found_of_all = (
            _of_scenarios(scenarios or {}, gate.of)
            if is_of_scenarios(gate)
            else _of_calls(card.models if card is not None else (), gate.of, coverage)
        )
        for found in found_of_all:
            if gate.model not in (None, found.model):
                continue
            name = f"{found.model}: {gate.of}"
            if why := _why_missed(found, gate):
                missed.append(f"{name} {why}")
            elif why := _why_undecided(found, gate):
                undecided.append(f"{name} {why}")
    if missed:
        raise GateFailed("gate failed: " + "; ".join(missed))
    if undecided:
        raise Inconclusive("gates undecided: " + "; ".join(undecided))


def _why_missed(found: _Found, gate: GateEntry) -> str:
    if found.value is None:
        return f"is invalid ({found.blocked}), {_wanted(gate)}" if found.blocked else ""
    is_low = not _is_enough(found.value, gate) and not found.is_lower_bound
    is_missed = is_low or not _is_little(found.value, gate)
    return f"is {_shown(found.value, gate)}, {_wanted(gate)}" if is_missed else ""


def _why_undecided(found: _Found, gate: GateEntry) -> str:
    """Why a gate that is not missed does not hold either."""
    if found.value is None:
        return "has no value"
    if found.is_lower_bound and (gate.at_most is not None or not _is_enough(found.value, gate)):
        shown = _shown(found.value, gate)
        return f"is at least {shown}, the rest is not decided; {_wanted(gate)}"
    return found.left_out


def _of_calls(models: Sequence[ModelScore], of: str, coverage: float) -> Iterator[_Found]:
    for model in models:
        value, blocked = _value(model, of), _blocked(model, of)
        yield _Found(model.model, value, blocked, _left_out(model, of, coverage))


def _of_scenarios(scenarios: Mapping[str, Headline], of: str) -> Iterator[_Found]:
    for model, headline in scenarios.items():
        number = headline.numbers[of]
        rests = f"rests on {headline.evaluated} of {headline.scenarios} scenarios"
        left_out = "" if headline.complete else rests
        yield _Found(model, number.value, "", left_out, number.approximate)


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
    found = model.final if of == FINAL else model.tasks.get(of)
    return ", ".join(found.reasons) if found is not None and found.status == "invalid" else ""


def _left_out(model: ModelScore, of: str, share: float) -> str:
    if of == FINAL:
        weighed = [model.tasks[name] for name in model.final.weights if name in model.tasks]
        undecided = [slug for task in weighed for slug in task.undecided_gates]
        return f"rests on estimates, {_undecided(undecided)}" if undecided else ""
    task = model.tasks.get(of.partition(".")[0])
    if task is None:
        return ""
    if not _covers(task, share):
        return f"rests on {task.n} of {task.cases} cases"
    if of in model.tasks and task.undecided_gates:
        return f"rests on estimates, {_undecided(task.undecided_gates)}"
    metric = task.metrics.get(of)
    if metric is not None and of in task.undecided_gates:
        return "is an estimate of what only a judge can tell"
    return ""


def _undecided(gates: Sequence[str]) -> str:
    return f"which decide nothing about {', '.join(gates)}"


def _covers(task: TaskScore, share: float) -> bool:
    return task.coverage is not None and task.coverage >= share - TOLERANCE


def _is_enough(value: float, gate: GateEntry) -> bool:
    return gate.at_least is None or value >= gate.at_least - TOLERANCE


def _is_little(value: float, gate: GateEntry) -> bool:
    return gate.at_most is None or value <= gate.at_most + TOLERANCE


def _shown(value: float, gate: GateEntry) -> str:
    """With four digits, or as many more as it takes to see that the value misses its gate."""
    shown = [f"{value:.{digits}g}" for digits in range(4, 18)]
    seen = (s for s in shown if not (_is_enough(float(s), gate) and _is_little(float(s), gate)))
    return next(seen, shown[0])


def _wanted(gate: GateEntry) -> str:
    parts = []
    if gate.at_least is not None:
        parts.append(f"at least {gate.at_least:g}")
    if gate.at_most is not None:
        parts.append(f"at most {gate.at_most:g}")
    return "expected " + " and ".join(parts)
