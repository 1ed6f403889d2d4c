"""What a data set cannot show about QA forms (C-135)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from callscore.core.scorecard import ModelScore
from callscore.core.suite import Floor
from callscore.metrics.rounding import half_up
from callscore.scorecard.tally import TaskTally
from callscore.suites.calls.spec import load

FALSE_PASS = "qa.false_pass_rate"
OF_FAILURES = "false_pass_rate_of_failures"
UNDEMONSTRATED = ": the false pass rate cannot be demonstrated with this data"


def undemonstrated_notes(
    models: Sequence[ModelScore], tallies: Mapping[str, Mapping[str, TaskTally]]
) -> Sequence[str]:
    """Notes if passing every question would block no model        C-135"""
    unseen = [_undemonstrated(model, tallies.get(model.model, {})) for model in models]
    return list(dict.fromkeys(note for note in unseen if note))


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


def _undemonstrated(model: ModelScore, tallies: Mapping[str, TaskTally]) -> str | None:
    """If passing every question would block no model: people failed too few        C-135"""
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

    True as well if a single false pass would: with that few questions the resolution is shown next
    to the rate.
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
