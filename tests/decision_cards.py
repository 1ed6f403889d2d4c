"""Scorecards built by hand, for tests of the decision in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from calls_suite import SPEC, rank
from callscore.core.judging import Judging
from callscore.core.measure import Interval, IntervalMethod
from callscore.core.race import RaceCard, RaceExit, RaceRisk, RacingModel
from callscore.core.scorecard import (
    AS_RECOMMENDED,
    BenchmarkScore,
    Blocker,
    Corrected,
    Cost,
    Decide,
    FinalScore,
    MetricScore,
    ModelContrast,
    ModelScore,
    Scorecard,
    TaskScore,
)
from callscore.report.decision_lines import statement_lines, with_decision
from callscore.report.decision_statements import state_decision

ACCURACY = "qa.question_score_accuracy"
NOT_RUN = BenchmarkScore("not_run", None, {})


def row(
    value: float | None, rating: str | None, ci95: Interval | None = None, **extra: Any
) -> MetricScore:
    unit = extra.pop("unit", "fraction")
    return MetricScore(
        value, None, unit, rating, None, value, value, 100, ci95, False, False, None, **extra
    )


def model(  # the settings of one column
    name: str,
    final: float | None = 0.9,
    cost: float | None = 1.0,
    *,
    calls: int = 400,
    cases: int | None = None,
    ci95: Interval | None = None,
    rows: Mapping[str, MetricScore] | None = None,
    blockers: Sequence[Blocker] = (),
    floor: float | None = None,
    origin: str = "",
    official: bool = True,
    option: str = "B",
    status: Any = None,
    reasons: Sequence[str] = (),
    zeroed: float | None = None,
    waiting: Sequence[str] = (),
    corrected: Corrected | None = None,
) -> ModelScore:
    """A model with a QA score; without a Final, invalid if it has blockers, else incomplete."""
    if status is None:
        status = "valid" if final is not None else "invalid" if blockers else "incomplete"
    task = TaskScore(
        status=status,
        score=final,
        ungated_score=final,
        reasons=waiting,
        n=calls,
        cases=calls if cases is None else cases,
        official=official,
        coverage=1.0,
        blocked_calls=0,
        subscores={},
        metrics=rows or {},
        trivial_floor=floor,
    )
    known: Any = "unknown" if cost is None else "known" if cost else "zero"
    return ModelScore(
        model=name,
        tasks={"qa": task},
        benchmarks=NOT_RUN,
        final=FinalScore(
            option=option,
            status=status,
            score=final,
            floor_score=None,
            official=official and final is not None,
            a=None,
            b=final,
            reasons=reasons or ([] if final is not None else ["qa"]),
            weights={"qa": 1.0},
            over=["qa"],
            zeroed_final=zeroed,
            ci95=ci95,
            corrected=corrected,
        ),
        cost=Cost(known, "USD", cost, cost, calls),
        blockers=blockers,
        blocked_calls=0,
        origin=origin,
    )


def failing(*slugs: str, value: float = 0.847, ci95: Interval = (0.79, 0.88)) -> dict[str, Any]:
    return {"rows": {slug: row(value, "Fail", ci95) for slug in slugs}}


def broken(replies: int) -> Blocker:
    """Replies without the requested structure."""
    return Blocker("qa", "qa.structure", 0.0, 1.0, [f"c{n}" for n in range(replies)])


def false_passes(value: float) -> Blocker:
    return Blocker("qa", "qa.false_pass_rate", value, 3.0, ["c1"])


def gap(
    first: str,
    second: str,
    difference: float,
    ci95: Interval | None = None,
    claim: Interval | None = None,
    **extra: Any,
) -> ModelContrast:
    """Second minus first; significant if the interval excludes 0."""
    significant = ci95 is not None and (ci95[0] > 0 or ci95[1] < 0)
    needed = extra.pop("needed", None)
    of = extra.pop("of", "final")
    return ModelContrast(
        of, first, second, difference, ci95, significant, 400, needed, claim=claim, **extra
    )


def card(
    *models: ModelScore,
    gaps: Sequence[ModelContrast] = (),
    intervals: bool = True,
    heading: str = "Final Score",
    judge: str | None = None,
    race: RaceCard | None = None,
    signature: str = "",
) -> Scorecard:
    method = IntervalMethod(0.95, "future calls", 400, 400, 10_000, 1)
    made = Scorecard(
        framework="6.0",
        signature=signature,
        models=models,
        ranking=rank(models),
        intervals=method if intervals else None,
        contrasts=gaps,
        final_heading=heading,
        judging=None if judge is None else Judging(judge, None, 9, 0, 0, 0, None, 0, 0, None, 0, 0),
    )
    return made if race is None else msgspec.structs.replace(made, race=race)


def racing(
    name: str, *, finished: bool = False, out: RaceExit | None = None, clearly_worse: bool = False
) -> RacingModel:
    requests = 400 if finished else 100
    return RacingModel(
        name, 10, requests, 400, 1.0, 1.0, (0.9, 0.9), out, {}, finished, clearly_worse
    )


def race(
    status: Any,
    decision: str | None,
    band: Sequence[str],
    *models: RacingModel,
    risk: RaceRisk | None = None,
) -> RaceCard:
    return RaceCard(
        status=status,
        decision=decision,
        tie_band=band,
        stopped="one model is left" if decision else "the budget is spent",
        estimate=False,
        about="pool",
        alpha=0.05,
        margin=0.01,
        seed=0,
        guarantee="the best model of this data set is eliminated with a probability of at most 5 %",
        blocks=10,
        of_blocks=40,
        requests=412,
        of_requests=1200,
        saved_requests=0.66,
        saved_cost=0.5,
        models=models,
        clear_margin=AS_RECOMMENDED.margin,
        risk=risk,
    )


def printed(made: Scorecard, decide: Decide = AS_RECOMMENDED, width: int = 80) -> str:
    """The decision as a terminal of this width shows it."""
    decided = with_decision(made, SPEC, decide)
    shown = statement_lines(state_decision(decided), width)
    return "\n".join("".join(piece.text for piece in line).rstrip() for line in shown)
