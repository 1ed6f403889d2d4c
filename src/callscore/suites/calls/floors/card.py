"""What a scorecard says about trivial answers: beside every task score, and where it matters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from callscore.core.rating import TOLERANCE
from callscore.core.scorecard import ModelScore, TaskScore
from callscore.metrics.rounding import half_up
from callscore.suites.calls.floors.strategy import Floor
from callscore.suites.calls.spec import load
from callscore.suites.calls.tally import TaskTally

WIDTH_95 = 1.96
FALSE_PASS = "qa.false_pass_rate"
OF_FAILURES = "false_pass_rate_of_failures"
UNDEMONSTRATED = ": the false pass rate cannot be demonstrated with this data"


def beside_floor(score: TaskScore, floor: Floor | None) -> TaskScore:
    """A task score with its floor        C-135"""
    if floor is None:
        return score
    return msgspec.structs.replace(
        score, trivial_floor=floor.score, trivial_strategy=floor.strategy
    )


def is_distinguishable(score: float, floor: float, standard_error: float | None) -> bool:
    """score − floor > 1.96 × standard error; of one answer nobody can tell        C-135"""
    return standard_error is not None and score - floor > WIDTH_95 * standard_error + TOLERANCE


def floor_notes(
    models: Sequence[ModelScore], tallies: Mapping[str, Mapping[str, TaskTally]]
) -> Sequence[str]:
    """Where a model is no better than an answer that reads nothing, or nobody can tell    C-135"""
    no_better = [
        note for model in models for note in _no_better(model, tallies.get(model.model, {}))
    ]
    unseen = [_undemonstrated(model, tallies.get(model.model, {})) for model in models]
    return [*no_better, *dict.fromkeys(note for note in unseen if note)]


def data_notes(floors: Mapping[str, Floor], failed: int, asked: int) -> Iterator[str]:
    """The floors of a data set, and whether a false pass could be seen in it        C-135"""
    for task, floor in floors.items():
        if floor.score is not None:
            yield (
                f"an answer that reads nothing scores {task} {half_up(floor.score, 3)}:"
                f" {floor.strategy}"
            )
    if asked and not _shows_failures(failed, asked):
        yield f"QA: {_people(failed, asked)}{UNDEMONSTRATED}"


def _no_better(model: ModelScore, tallies: Mapping[str, TaskTally]) -> Iterator[str]:
    for task, found in model.tasks.items():
        score, floor = found.score, found.trivial_floor
        if score is None or floor is None or task not in tallies:
            continue
        if is_distinguishable(score, floor, tallies[task].standard_error):
            continue
        yield (
            f"{model.model}, {load().scores[task].label}: {half_up(score, 3)} is not"
            f" distinguishable from the {half_up(floor, 3)} of an answer that reads nothing"
            f" ({found.trivial_strategy})"
        )


def _undemonstrated(model: ModelScore, tallies: Mapping[str, TaskTally]) -> str | None:
    """Where passing every question would block nobody: people failed too few        C-135"""
    qa, tally = model.tasks.get("qa"), tallies.get("qa")
    if qa is None or tally is None or qa.metrics[FALSE_PASS].value is None:
        return None
    asked = tally.metrics[FALSE_PASS].denominator
    of_failures = tally.metrics.get(f"{FALSE_PASS}/{OF_FAILURES}")
    failed = of_failures.denominator if of_failures is not None else 0
    if not asked or _shows_failures(failed, asked):
        return None
    if of_failures is None or not failed:
        return f"QA: {_people(failed, asked)}{UNDEMONSTRATED}"
    passed = of_failures.numerator
    return (
        f"{model.model}, QA: {_people(failed, asked)}, the model passed {_of(passed, failed)}"
        f" ({OF_FAILURES} {half_up(100 * passed / failed, 2)} %){UNDEMONSTRATED}"
    )


def _shows_failures(failed: float, asked: float) -> bool:
    """Whether a model that passes every question would breach the gate        C-35

    Nor is anything said where a single false pass would: so few questions have their resolution
    beside the rate.
    """
    gate = load().metrics[FALSE_PASS].gate
    return gate is not None and gate.breached(100 * max(failed, 1) / asked)


def _people(failed: float, asked: float) -> str:
    return f"people failed {f'{failed:g}' if failed else 'none'} of {asked:g} questions"


def _of(passed: float, failed: float) -> str:
    if not passed:
        return "none"
    if passed < failed:
        return f"{passed:g} of them"
    return {1: "it", 2: "both"}.get(round(failed), "all of them")
